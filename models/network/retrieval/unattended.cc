// SPDX-License-Identifier: Apache-2.0
//
// Which tokens attend to which in a batch, if not simply each to all of its sequence.
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "models/network/batch.h"

namespace bert::models {

int64_t Batch::pairs() const {
  int64_t sum = 0;
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const int64_t length = starts[i + 1] - starts[i];
    sum += length * length;
  }
  return sum;
}

void check_unattended(const Encoding& encoding, int64_t index, const Config& config) {
  if (encoding.unattended == 0) return;
  const auto length = static_cast<int64_t>(encoding.ids.size());
  if (encoding.unattended < 0 || encoding.unattended >= length) {
    throw std::runtime_error(
        fmt::format("input {}: unattended is {}, expected 0 to {}, less than all its tokens", index,
                    encoding.unattended, length - 1));
  }
  if (config.dropped_token >= 0) {
    throw std::runtime_error(
        fmt::format("input {}: unattended is {}, expected 0 for a model with token_dropout", index,
                    encoding.unattended));
  }
  for (const int window : config.windows) {
    if (window == 0 || encoding.unattended <= window) continue;
    throw std::runtime_error(
        fmt::format("input {}: unattended is {}, expected at most {}, as far as attention reaches",
                    index, encoding.unattended, window));
  }
}

std::vector<int32_t> attended_tokens(std::span<const Encoding> encodings,
                                     std::span<const int64_t> order) {
  std::vector<int32_t> attended;
  if (std::ranges::all_of(order, [&](int64_t i) { return encodings[i].unattended == 0; })) {
    return attended;
  }
  for (const int64_t i : order) {
    attended.push_back(static_cast<int32_t>(encodings[i].ids.size()) - encodings[i].unattended);
  }
  return attended;
}

}  // namespace bert::models
