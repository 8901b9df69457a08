// SPDX-License-Identifier: Apache-2.0
//
// The part of a text that answers a question, as Hugging Face's question-answering pipeline
// (transformers 4.57, the last to have one) finds it.
#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/model_impl.h"
#include "models/tasks/extraction/spans.h"
#include "models/tasks/extraction/windows.h"
#include "models/tasks/logits.h"

namespace bert {
namespace {

using models::guarded;
using models::Windows;

struct ScoredSpan {
  int64_t first, last;  // tokens of the window
  float score;
};
struct WindowAnswers {
  std::vector<ScoredSpan> spans;  // best first
  float no_answer;
};

// The spans that compete in a window: as many as in the pipeline, if one answer is wanted.
constexpr size_t kSpans = 12;

// The most probable spans within the text's tokens [begin, end); the window's first token means no
// answer.
WindowAnswers best_spans(const Output& logits, int64_t begin, int64_t end, int64_t most_tokens) {
  std::vector<float> starts, ends;
  for (int64_t t = 0; t < logits.rows; ++t) {
    const bool allowed = t == 0 || (t >= begin && t < end);
    starts.push_back(allowed ? logits.row(t)[0] : -10000.0f);
    ends.push_back(allowed ? logits.row(t)[1] : -10000.0f);
  }
  starts = models::softmax(starts);
  ends = models::softmax(ends);
  WindowAnswers best = {{}, starts[0] * ends[0]};
  std::vector<ScoredSpan>& spans = best.spans;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = i; j < std::min(end, i + most_tokens); ++j) {
      const float score = starts[i] * ends[j];
      if (spans.size() == kSpans && !(score > spans.back().score)) continue;
      if (spans.size() == kSpans) spans.pop_back();
      const auto worse = [&](const ScoredSpan& other) { return score > other.score; };
      spans.insert(std::ranges::find_if(spans, worse), {i, j, score});
    }
  }
  return best;
}

// The part of the text that contains tokens [first, last], extended to whole words, except words
// cut by the window's edges. window: its tokens of the text. begins: of each of the text's tokens,
// whether a word begins with it.
Offset whole_words(const std::vector<bool>& begins, const Encoding& whole, TokenRange window,
                   int64_t first, int64_t last) {
  const auto is_same_word = [&](int64_t t) { return !begins[t - whole.second.begin]; };
  while (first > window.begin && is_same_word(first)) --first;
  while (last + 1 < window.end && is_same_word(last + 1)) ++last;
  return {whole.offsets[first].begin, whole.offsets[last].end};
}

// The best answer of all windows. Spans that differ only in case or place count together. logits:
// of the input's windows, which begin with the text's tokens `starts`.
Answer make_answer(const std::vector<bool>& word_begins, const Encoding& whole,
                   const models::ScalarText& text, std::span<const Output> logits,
                   std::span<const int64_t> starts, int64_t most_tokens) {
  Answer answer;
  answer.windows = static_cast<int>(logits.size());
  answer.no_answer = 1;
  const int64_t after_text = std::ssize(whole.ids) - whole.second.end;
  std::vector<std::pair<double, Offset>> candidates;  // score and where it was first seen
  std::unordered_map<std::u32string, size_t> by_string;
  for (size_t i = 0; i < logits.size(); ++i) {
    answer.tokens += static_cast<int32_t>(logits[i].rows);
    const auto begin = static_cast<int64_t>(whole.second.begin), end = logits[i].rows - after_text;
    const WindowAnswers best = best_spans(logits[i], begin, end, most_tokens);
    answer.no_answer = std::min(answer.no_answer, best.no_answer);
    const TokenRange window = {static_cast<int32_t>(begin + starts[i]),
                               static_cast<int32_t>(end + starts[i])};
    for (const ScoredSpan& span : best.spans) {
      const Offset offset =
          whole_words(word_begins, whole, window, span.first + starts[i], span.last + starts[i]);
      // As in the pipeline, including the space that a SentencePiece word begins with.
      const auto [same, is_new] =
          by_string.try_emplace(models::lower_case(text.cut(offset)), candidates.size());
      if (is_new) candidates.emplace_back(0, offset);
      candidates[same->second].first += span.score;
    }
  }
  if (candidates.empty()) return answer;  // the text has no tokens
  const auto& [score, offset] =
      *std::ranges::max_element(candidates, {}, [](const auto& of) { return of.first; });
  answer.score = static_cast<float>(score);
  answer.offset = text.without_spaces(offset);
  answer.string = text.cut(answer.offset);
  return answer;
}

// The windows over the input's second text.
void add_windows(Windows& windows, const Input& input, const Encoding& whole, int64_t max_length,
                 int64_t stride) {
  if (!input.second) throw Error("found one text, expected a question and a text");
  const auto around = std::ssize(whole.ids) - (whole.second.end - whole.second.begin);
  if (around >= max_length) {
    throw Error(
        fmt::format("the first text has {} tokens, which leaves no room for the second in "
                    "an input of at most {}",
                    whole.first.end - whole.first.begin, max_length));
  }
  windows.add(whole, whole.second, max_length, stride);
}

}  // namespace

std::vector<Answer> Model::Impl::answer(std::span<const Input> inputs,
                                        const AnswerOptions& options) const {
  check_task(Task::answer);
  if (options.stride < 0 || options.most_tokens < 1) {
    throw Error(fmt::format("stride is {} and most_tokens {}, expected at least 0 and 1",
                            options.stride, options.most_tokens));
  }
  const std::vector<Encoding> wholes =
      models::encode_whole(tokenizer.impl_->text_encoder, inputs, on_workers());
  Windows windows;
  for (size_t i = 0; i < inputs.size(); ++i) {
    try {
      add_windows(windows, inputs[i], wholes[i], info.max_length, options.stride);
    } catch (const Error& error) {
      throw Error(fmt::format("input {}: {}", i, error.what()));
    }
  }
  const std::vector<Output> logits =
      run_tokens(windows.encodings, [&](size_t window) { return windows.input_of(window); });
  std::vector<Answer> output;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t first = windows.inputs[i], count = windows.inputs[i + 1] - first;
    const std::string& text = *inputs[i].second;
    const std::vector<bool> begins = tokenizer.impl_->text_encoder.word_begins(text);
    output.push_back(make_answer(
        begins, wholes[i], models::ScalarText(text), std::span(logits).subspan(first, count),
        std::span(windows.starts).subspan(first, count), options.most_tokens));
  }
  return output;
}

std::vector<Answer> Model::answer(std::span<const Input> inputs,
                                  const AnswerOptions& options) const {
  return guarded([&] { return impl_->answer(inputs, options); });
}

}  // namespace bert
