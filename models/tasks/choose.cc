// SPDX-License-Identifier: Apache-2.0
//
// The best of several choices for a text, scored like Hugging Face's multiple-choice models.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "models/model_impl.h"
#include "models/tasks/logits.h"

namespace bert {
namespace {

using models::guarded;

// Pairs each text with each of its choices, input after input. Errors name the input and the
// choice, not the pair.
template <typename Tokenize>
std::vector<Encoding> encode_choices(const Tokenizer& tokenizer, std::span<const Choices> inputs,
                                     const Tokenize& tokenize) {
  std::vector<Input> pairs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].choices.empty()) throw Error(fmt::format("input {}: no choices", i));
    for (const std::string& choice : inputs[i].choices) pairs.push_back({inputs[i].first, choice});
  }
  try {
    return tokenize(pairs);
  } catch (const std::exception&) {
    for (size_t i = 0, pair = 0; i < inputs.size(); ++i) {
      for (size_t j = 0; j < inputs[i].choices.size(); ++j) {
        try {
          tokenizer.encode(pairs[pair++]);
        } catch (const Error& error) {
          throw Error(fmt::format("input {}: choice {}: {}", i, j, error.what()));
        }
      }
    }
    throw;
  }
}

}  // namespace

std::vector<Choice> Model::choose(std::span<const Choices> inputs) const {
  return guarded([&] {
    impl_->check_task(Task::choose);
    const std::vector<Encoding> encodings = encode_choices(
        impl_->tokenizer, inputs, [&](const auto& pairs) { return impl_->tokenize(pairs); });
    std::vector<size_t> input_of;  // by pair
    for (size_t i = 0; i < inputs.size(); ++i) {
      input_of.insert(input_of.end(), inputs[i].choices.size(), i);
    }
    const Output logits = impl_->run(encodings, [&](size_t pair) { return input_of[pair]; });
    std::vector<Choice> output;
    size_t pair = 0;
    for (const Choices& input : inputs) {
      Choice& choice = output.emplace_back();
      for (const size_t end = pair + input.choices.size(); pair < end; ++pair) {
        choice.logits.push_back(logits.values[pair]);
        choice.tokens += static_cast<int32_t>(encodings[pair].ids.size());
        choice.truncated |= encodings[pair].truncated;
      }
      choice.probabilities = models::softmax(choice.logits);
      const auto best = std::ranges::max_element(choice.logits);
      choice.index = static_cast<int>(best - choice.logits.begin());
    }
    return output;
  });
}

}  // namespace bert
