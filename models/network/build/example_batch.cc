// SPDX-License-Identifier: Apache-2.0
#include "models/network/build/example_batch.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace bert::models {
namespace {

struct Pair {
  const char *first, *second;
};
constexpr Pair kPairs[] = {
    {"How long does it take to get a refund?",
     "We return your money within 14 days; the bank may need another two."},
    {"The committee, which met in Geneva last Tuesday, rejected the proposal.",
     "Nobody had expected it to accept."},
    {"def mean(values): return sum(values) / len(values)",
     "see https://example.org/docs?page=3#install"},
    {"My daughter plays the violin.", "She is afraid of dogs, cats and spiders!"},
};

constexpr int kRandomInputs = 4;

// Random tokens, between the special tokens of an encoded pair of empty texts.
Encoding random_input(const Encoding& empty, std::mt19937& generator, const Config& config) {
  constexpr int kTokensPerText = 12;
  Encoding input;
  const auto add_text = [&](int32_t type_id) {
    for (int j = 0; j < kTokensPerText; ++j) {
      input.ids.push_back(static_cast<int32_t>(generator() % config.vocabulary));
      input.type_ids.push_back(type_id);
    }
  };
  for (size_t i = 0; i < empty.ids.size(); ++i) {
    input.ids.push_back(empty.ids[i]);
    input.type_ids.push_back(empty.type_ids[i]);
    if (i + 1 < empty.ids.size()) add_text(empty.type_ids[i + 1]);
  }
  if (empty.ids.size() < 2) add_text(0);
  return input;
}

}  // namespace

Batch example_batch(const EncodePair& encode, const Config& config) {
  std::vector<Encoding> inputs;
  for (const Pair& pair : kPairs) inputs.push_back(encode(pair.first, pair.second));
  const Encoding empty = encode("", "");
  std::mt19937 generator(1);
  for (int i = 0; i < kRandomInputs; ++i) inputs.push_back(random_input(empty, generator, config));
  std::vector<int64_t> order;
  const auto longest = static_cast<size_t>(config.positions);
  for (Encoding& input : inputs) {
    if (input.ids.size() > longest) {
      input.ids.resize(longest);
      input.type_ids.resize(longest);
    }
    // A token that was added to the tokenizer alone has no row in the model: any other will do.
    for (int32_t& id : input.ids) id %= config.vocabulary;
    for (int32_t& type : input.type_ids) type = std::min(type, std::max(config.types - 1, 0));
    order.push_back(std::ssize(order));
  }
  return make_batch(inputs, order, config);
}

}  // namespace bert::models
