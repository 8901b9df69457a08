// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tokenizer/unigram/double_array.h"

namespace bert::tokenizer {

template <class Found>
void DoubleArray::for_each_prefix(std::string_view text, Found&& found) const {
  uint32_t node = kRoot, unit = units_[node];
  for (size_t i = 0; i < text.size();) {
    const auto label = static_cast<uint8_t>(text[i]);
    node = unit >> kBaseShift ^ label;
    unit = units_[node];
    if ((unit & kLabelMask) != label) return;
    ++i;
    if (unit & kHasValue) found(values_[node], i);
    if (unit & kHasTail) {
      const Tail& tail = tails_[static_cast<size_t>(values_[node])];
      if (tail_matches(unit, tail, text, i)) found(tail.value, i + tail.size);
      return;
    }
  }
}

}  // namespace bert::tokenizer
