// SPDX-License-Identifier: Apache-2.0
//
// Words and entities with their labels, as Hugging Face's token-classification pipeline finds them.
#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/model_impl.h"
#include "models/tasks/extraction/spans.h"
#include "models/tasks/extraction/windows.h"
#include "models/tasks/logits.h"
#include "models/tasks/span_path.h"
#include "models/tasks/task_names.h"

namespace bert {
namespace {

using models::guarded;
using models::ScalarText;
using models::Windows;
using ClassScores = std::vector<float>;  // [C], the probabilities of a token's or a word's labels

size_t best_of(const ClassScores& scores) {
  return static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
}

// A word's scores, from those of its tokens.
ClassScores word_scores(std::span<const ClassScores> tokens, Aggregation aggregation) {
  if (aggregation == Aggregation::max) {
    return *std::ranges::max_element(tokens, {},
                                     [](const ClassScores& s) { return s[best_of(s)]; });
  }
  ClassScores scores = tokens[0];
  if (aggregation != Aggregation::average) return scores;
  for (size_t c = 0; c < scores.size(); ++c) {
    for (const ClassScores& token : tokens.subspan(1)) scores[c] += token[c];
    scores[c] /= static_cast<float>(tokens.size());
  }
  return scores;
}

// One input: its encoding and its texts.
struct Tagged {
  const Tokenizer& tokenizer;
  const std::vector<std::string>& labels;
  const Encoding& whole;
  std::vector<ScalarText> texts;
  Aggregation aggregation;
  const models::SpanTags* span_tags;  // null: a word has its most probable label

  bool joins_tokens() const {
    return aggregation != Aggregation::none && aggregation != Aggregation::simple;
  }

  // The words among tokens [range.begin, range.end) of a text, or the tokens themselves. logits:
  // row t - shift is token t's. The range is the whole text or a window's part of it.
  void add_words(std::vector<Span>& words, int text, TokenRange range, const Output& logits,
                 int64_t shift) const {
    const TokenRange all = text == 0 ? whole.first : whole.second;
    std::vector<int> path;
    if (span_tags) {
      path = models::best_path(*span_tags, {logits, range.begin - shift, range.end - shift},
                               range.begin == all.begin, range.end == all.end);
    }
    for (int32_t t = range.begin; t < range.end;) {
      const int32_t first = t;
      Offset offset = whole.offsets[t];
      std::vector<ClassScores> tokens;
      do {
        offset.end = whole.offsets[t].end;
        tokens.push_back(models::softmax(logits.row(t - shift)));
        ++t;
      } while (joins_tokens() && t < range.end && models::is_same_word(tokenizer, whole, t));
      offset = texts[text].without_spaces(offset);
      if (offset.begin == offset.end) continue;
      const ClassScores scores = word_scores(tokens, aggregation);
      const size_t best = span_tags ? path[first - range.begin] : best_of(scores);
      words.push_back({.text = text,
                       .offset = offset,
                       .string = texts[text].cut(offset),
                       .label = labels[best],
                       .probability = scores[best]});
    }
  }

  std::vector<Span> entities_of(const std::vector<Span>& words) const {
    if (aggregation != Aggregation::none) return models::entities_of(words, texts, span_tags);
    std::vector<Span> entities;
    std::ranges::copy_if(words, std::back_inserter(entities), models::is_entity);
    return entities;
  }
};

void append(std::vector<Span>& to, const std::vector<Span>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Tags a single text by the logits of its windows, which begin with its tokens `starts`.
Tags tag_windows(const Tagged& tagged, std::span<const Output> logits,
                 std::span<const int64_t> starts) {
  Tags tags;
  tags.windows = static_cast<int>(logits.size());
  const TokenRange text = tagged.whole.first;
  const int64_t around = std::ssize(tagged.whole.ids) - (text.end - text.begin);
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto begin = static_cast<int32_t>(text.begin + starts[i]);
    const auto end = static_cast<int32_t>(begin + logits[i].rows - around);
    std::vector<Span> words;
    tagged.add_words(words, 0, {begin, end}, logits[i], starts[i]);
    append(tags.entities, tagged.entities_of(words));
    append(tags.words, words);
    tags.tokens += static_cast<int32_t>(logits[i].rows);
  }
  if (logits.size() > 1) {
    tags.words = models::without_overlaps(std::move(tags.words));
    tags.entities = models::without_overlaps(std::move(tags.entities));
  }
  return tags;
}

// Tags a pair, which is a single window, truncated if need be.
Tags tag_pair(const Tagged& tagged, const Output& logits) {
  Tags tags;
  tagged.add_words(tags.words, 0, tagged.whole.first, logits, 0);
  tagged.add_words(tags.words, 1, tagged.whole.second, logits, 0);
  tags.entities = tagged.entities_of(tags.words);
  tags.tokens = static_cast<int32_t>(logits.rows);
  tags.truncated = tagged.whole.truncated;
  return tags;
}

}  // namespace

std::vector<Tags> Model::Impl::tag(std::span<const Input> inputs, const TagOptions& options) const {
  check_task(Task::tag);
  if (options.stride < 0) {
    throw Error(fmt::format("stride is {}, expected at least 0", options.stride));
  }
  if (std::ranges::find(models::kAggregations, options.aggregation,
                        &models::Named<Aggregation>::value) == std::end(models::kAggregations)) {
    throw Error(fmt::format("unknown aggregation {}", static_cast<int>(options.aggregation)));
  }
  if (entity_head) return find_entities(inputs, options);
  if (!options.labels.empty()) {
    throw Error(
        fmt::format("{} has its own labels, expected none to look for", config.architecture));
  }
  std::vector<Encoding> wholes =
      models::encode_whole(tokenizer.impl_->text_encoder, inputs, on_workers());
  Windows windows;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const auto& second = inputs[i].second) {  // without the prompt, as a text alone
      wholes[i] = text_encoder().encode(inputs[i].first, *second, info.max_length);
    }
    windows.add(wholes[i], wholes[i].first, info.max_length, options.stride);
  }
  const std::vector<Output> logits =
      run_tokens(windows.encodings, [&](size_t window) { return windows.input_of(window); });
  const bool is_automatic = options.aggregation == Aggregation::automatic;
  const auto& span_tags = config.by_token.span_tags;
  const Aggregation aggregation = !is_automatic ? options.aggregation
                                  : span_tags   ? Aggregation::simple
                                                : Aggregation::first;
  std::vector<Tags> output;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tagged tagged = {tokenizer, info.labels, wholes[i],
                     {},        aggregation, is_automatic && span_tags ? &*span_tags : nullptr};
    tagged.texts.emplace_back(inputs[i].first);
    if (inputs[i].second) tagged.texts.emplace_back(*inputs[i].second);
    const size_t first = windows.inputs[i], count = windows.inputs[i + 1] - first;
    output.push_back(inputs[i].second
                         ? tag_pair(tagged, logits[first])
                         : tag_windows(tagged, std::span(logits).subspan(first, count),
                                       std::span(windows.starts).subspan(first, count)));
  }
  return output;
}

std::vector<Tags> Model::tag(std::span<const Input> inputs, const TagOptions& options) const {
  return guarded([&] { return impl_->tag(inputs, options); });
}

}  // namespace bert
