// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/truncate.h"

#include <algorithm>
#include <utility>

#include "tokenizer/text_encoder_impl.h"

namespace bert::tokenizer {

void longest_first(size_t room, size_t& first, size_t& second, bool first_gets_odd) {
  if (first + second <= room) return;
  size_t& shorter = first > second ? second : first;
  size_t& longer = first > second ? first : second;
  longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = room - shorter;
    if (first_gets_odd && first < second) std::swap(first, second);
  }
}

std::pair<size_t, size_t> TextEncoder::Impl::truncated_sizes(const TokenSequence& first,
                                                             const TokenSequence& second,
                                                             size_t limit, size_t special) const {
  // How many tokens Hugging Face counts: truncating on the left, it goes through the words from the
  // last one backwards, and stops at the limit.
  const auto counted_size = [&](const TokenSequence& text) {
    if (!truncate_left || text.size <= limit) return text.size;
    const auto after = std::ranges::upper_bound(text.notes.words, text.size - limit);
    return after == text.notes.words.begin() ? text.size : text.size - after[-1];
  };
  size_t first_size = counted_size(first), second_size = counted_size(second);
  longest_first(limit - special, first_size, second_size, first_gets_odd);
  return {first_size, second_size};
}

}  // namespace bert::tokenizer
