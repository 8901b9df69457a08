// SPDX-License-Identifier: Apache-2.0
#include "models/network/batch.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

namespace bert::models {

void check_encoding(const Encoding& encoding, int64_t index, const Config& config) {
  const auto fail = [&](const std::string& reason) {
    throw std::runtime_error(fmt::format("input {}: {}", index, reason));
  };
  const size_t length = encoding.ids.size();
  if (length == 0) fail("no tokens");
  if (length > static_cast<size_t>(config.positions)) {
    fail(fmt::format("{} tokens, but the model has {} positions", length, config.positions));
  }
  if (encoding.type_ids.size() != length) {
    fail(fmt::format("{} ids, but {} type_ids", length, encoding.type_ids.size()));
  }
  for (size_t i = 0; i < length; ++i) {
    if (encoding.ids[i] < 0 || encoding.ids[i] >= config.vocabulary) {
      fail(fmt::format("ids[{}] is {}, outside the vocabulary of {}", i, encoding.ids[i],
                       config.vocabulary));
    }
    if (config.types > 0 && (encoding.type_ids[i] < 0 || encoding.type_ids[i] >= config.types)) {
      fail(fmt::format("type_ids[{}] is {}, but the model has {} segments", i, encoding.type_ids[i],
                       config.types));
    }
  }
  check_unattended(encoding, index, config);
}

void check_end(const Encoding& encoding, int64_t index, const Config& config) {
  if (config.end_token < 0 || std::ranges::count(encoding.ids, config.end_token)) return;
  throw std::runtime_error(fmt::format(
      "input {}: found no token {} (eos_token_id in config.json), whose state the classifier reads",
      index, config.end_token));
}

Batch make_batch(std::span<const Encoding> encodings, std::span<const int64_t> order,
                 const Config& config) {
  Batch batch;
  for (const int64_t i : order) {
    const Encoding& encoding = encodings[i];
    batch.ids.insert(batch.ids.end(), encoding.ids.begin(), encoding.ids.end());
    batch.type_ids.insert(batch.type_ids.end(), encoding.type_ids.begin(), encoding.type_ids.end());
    int32_t position = config.first_position;
    for (const int32_t id : encoding.ids) {
      // Padding tokens within a text do not advance the position.
      batch.positions.push_back(id == config.padding ? config.padding : position++);
    }
    batch.starts.push_back(static_cast<int32_t>(batch.ids.size()));
  }
  batch.attended = attended_tokens(encodings, order);
  // A table that the model does not have is a single row of zeros.
  if (config.types == 0) std::ranges::fill(batch.type_ids, 0);
  if (!config.adds_positions) std::ranges::fill(batch.positions, 0);
  return batch;
}

std::vector<std::vector<int64_t>> plan_batches(std::span<const Encoding> encodings,
                                               int64_t batch_tokens) {
  std::vector<int64_t> order(encodings.size());
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](int64_t i) { return static_cast<int64_t>(encodings[i].ids.size()); };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return length(a) > length(b); });
  std::vector<std::vector<int64_t>> batches;
  int64_t room = 0;
  for (const int64_t i : order) {
    if (batches.empty() || length(i) > room) {
      batches.emplace_back();
      room = batch_tokens;
    }
    batches.back().push_back(i);
    room -= length(i);
  }
  return batches;
}

}  // namespace bert::models
