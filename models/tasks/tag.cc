// SPDX-License-Identifier: Apache-2.0
//
// Words and entities with their labels, as Hugging Face's token-classification pipeline finds them.
#include <algorithm>
#include <utility>
#include <vector>

#include "models/model_impl.h"
#include "models/tasks/spans.h"

namespace bert {
namespace {

using models::guarded;

// logits: [S, C] of the input's tokens.
Tags make_tags(const Input& input, const Encoding& encoding, const Output& logits,
               const Tokenizer& tokenizer, const std::vector<std::string>& labels) {
  Tags tags;
  tags.tokens = static_cast<int32_t>(encoding.ids.size());
  tags.truncated = encoding.truncated;
  for (const auto& [text, range] : {std::pair{0, encoding.first}, std::pair{1, encoding.second}}) {
    for (int32_t t = range.begin; t < range.end; ++t) {
      const Offset offset = encoding.offsets[t];
      if (t > range.begin && models::is_same_word(tokenizer, encoding, t)) {
        tags.words.back().offset.end = offset.end;
        continue;
      }
      const std::vector<float> scores = models::softmax(logits.row(t));
      const auto best = std::ranges::max_element(logits.row(t)) - logits.row(t).begin();
      tags.words.push_back({.text = text,
                            .offset = offset,
                            .string = "",
                            .label = labels[best],
                            .probability = scores[best]});
    }
  }
  for (Span& word : tags.words) {
    const std::string& text = word.text ? *input.second : input.first;
    word.offset = models::without_spaces(text, word.offset);
    word.string = models::cut(text, word.offset);
  }
  std::erase_if(tags.words, [](const Span& word) { return word.string.empty(); });
  tags.entities = models::entities_of(tags.words, input);
  return tags;
}

}  // namespace

std::vector<Tags> Model::tag(std::span<const Input> inputs) const {
  return guarded([&] {
    impl_->check_task(Task::tag);
    const std::vector<Encoding> encodings = impl_->tokenize(inputs);
    const std::vector<Output> logits = impl_->run_tokens(encodings);
    std::vector<Tags> output;
    for (size_t i = 0; i < inputs.size(); ++i) {
      output.push_back(
          make_tags(inputs[i], encodings[i], logits[i], impl_->tokenizer, impl_->info.labels));
    }
    return output;
  });
}

}  // namespace bert
