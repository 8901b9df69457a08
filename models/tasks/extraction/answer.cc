// SPDX-License-Identifier: Apache-2.0
//
// The part of a text that answers a question, as Hugging Face's question-answering pipeline
// (transformers 4.57, the last to have one) finds it.
#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/model_impl.h"
#include "models/tasks/extraction/spans.h"
#include "models/tasks/extraction/windows.h"
#include "models/tasks/logits.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert {
namespace {

using models::guarded;
using models::least_room;
using models::Windows;

struct ScoredSpan {
  int64_t first, last;  // tokens of the window
  float score;

  bool is_better_than(const ScoredSpan& other) const {
    if (score != other.score) return score > other.score;
    return std::pair(first, last) < std::pair(other.first, other.last);
  }
};
struct WindowAnswers {
  std::vector<ScoredSpan> spans;  // best first
  float no_answer;
};

// The most probable spans within the text's tokens [begin, end), as many as compete in the
// pipeline; the window's first token means no answer.
WindowAnswers best_spans(const Output& logits, int64_t begin, int64_t end,
                         const AnswerOptions& options) {
  std::vector<float> starts, ends;
  for (int64_t t = 0; t < logits.rows; ++t) {
    const bool allowed = t == 0 || (t >= begin && t < end);
    starts.push_back(allowed ? logits.row(t)[0] : -10000.0f);
    ends.push_back(allowed ? logits.row(t)[1] : -10000.0f);
  }
  starts = models::softmax(starts);
  ends = models::softmax(ends);
  WindowAnswers best = {{}, starts[0] * ends[0]};
  const size_t most = 2 * static_cast<size_t>(options.top_k) + 10;
  std::vector<ScoredSpan>& spans = best.spans;  // a heap, whose front is the worst
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = i; j < std::min(end, i + options.most_tokens); ++j) {
      const ScoredSpan span = {i, j, starts[i] * ends[j]};
      if (spans.size() == most) {
        if (!span.is_better_than(spans.front())) continue;
        std::ranges::pop_heap(spans, &ScoredSpan::is_better_than);
        spans.pop_back();
      }
      spans.push_back(span);
      std::ranges::push_heap(spans, &ScoredSpan::is_better_than);
    }
  }
  std::ranges::sort_heap(spans, &ScoredSpan::is_better_than);
  return best;
}

// Compares parts of a text without regard to case.
class LowerText {
 public:
  explicit LowerText(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      starts_.push_back(lower_.size());
      lower_ += lower(tokenizer::utf8::decode(text.data(), at));
    }
    starts_.push_back(lower_.size());
  }
  std::u32string_view part(Offset offset) const {
    const size_t begin = starts_[offset.begin];
    return std::u32string_view(lower_).substr(begin, starts_[offset.end] - begin);
  }

 private:
  // As Python's lower(), of which only these two letters are more than a scalar's own lower case.
  // (A final sigma stands at the end of a word: here it counts as any other.)
  static std::u32string lower(char32_t scalar) {
    constexpr char32_t kFinalSigma = 0x3c2, kSigma = 0x3c3, kDottedI = 0x130;
    if (scalar == kDottedI) return U"i\u0307";
    return {scalar == kFinalSigma ? kSigma : tokenizer::unicode::to_lower(scalar)};
  }

  std::u32string lower_;
  std::vector<size_t> starts_;  // of each of the text's scalars, and of the end
};

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

// The best answers of all windows. Spans that differ only in case or place count together. logits:
// of the input's windows, which begin with the text's tokens `starts`.
Answer make_answer(const std::vector<bool>& word_begins, const Encoding& whole,
                   const std::string& context, std::span<const Output> logits,
                   std::span<const int64_t> starts, const AnswerOptions& options) {
  Answer answer;
  answer.windows = static_cast<int>(logits.size());
  answer.no_answer = 1;
  const int64_t after_text = std::ssize(whole.ids) - whole.second.end;
  std::vector<std::pair<double, Offset>> candidates;  // score and where it was first seen
  const models::ScalarText text(context);
  const LowerText lower(context);
  std::unordered_map<std::u32string_view, size_t> by_string;
  for (size_t i = 0; i < logits.size(); ++i) {
    answer.tokens += static_cast<int32_t>(logits[i].rows);
    const auto begin = static_cast<int64_t>(whole.second.begin), end = logits[i].rows - after_text;
    const WindowAnswers best = best_spans(logits[i], begin, end, options);
    answer.no_answer = std::min(answer.no_answer, best.no_answer);
    const TokenRange window = {static_cast<int32_t>(begin + starts[i]),
                               static_cast<int32_t>(end + starts[i])};
    for (const ScoredSpan& span : best.spans) {
      const Offset offset =
          whole_words(word_begins, whole, window, span.first + starts[i], span.last + starts[i]);
      // As in the pipeline, including the space that a SentencePiece word begins with.
      const auto [same, is_new] = by_string.try_emplace(lower.part(offset), candidates.size());
      if (is_new) candidates.emplace_back(0, offset);
      candidates[same->second].first += span.score;
    }
  }
  std::ranges::stable_sort(candidates, std::greater(), [](const auto& of) { return of.first; });
  if (std::ssize(candidates) > options.top_k) candidates.resize(options.top_k);
  for (const auto& [score, seen] : candidates) {
    const Offset offset = text.without_spaces(seen);
    answer.others.push_back({offset, text.cut(offset), static_cast<float>(score)});
  }
  if (answer.others.empty()) return answer;  // the text has no tokens
  static_cast<AnswerSpan&>(answer) = std::move(answer.others.front());
  answer.others.erase(answer.others.begin());
  return answer;
}

// The windows over the input's second text.
void add_windows(Windows& windows, const Input& input, const Encoding& whole, int64_t max_length,
                 int64_t stride) {
  if (!input.second) throw Error("found one text, expected a question and a text");
  const int64_t size = whole.second.end - whole.second.begin;
  const int64_t room = max_length - (std::ssize(whole.ids) - size);
  const int64_t least = std::min(std::max<int64_t>(1, size), least_room(max_length));
  if (room < least) {
    throw Error(
        fmt::format("the first text has {} tokens, which leaves no room for {} of the second in an "
                    "input of at most {}",
                    whole.first.end - whole.first.begin, least, max_length));
  }
  windows.add(whole, whole.second, max_length, stride);
}

}  // namespace

std::vector<Answer> Model::Impl::answer(std::span<const Input> inputs,
                                        const AnswerOptions& options) const {
  check_task(Task::answer);
  if (options.stride < 0 || options.most_tokens < 1 || options.top_k < 1) {
    throw Error(
        fmt::format("stride is {}, most_tokens {} and top_k {}, expected at least 0, 1 and 1",
                    options.stride, options.most_tokens, options.top_k));
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
    output.push_back(make_answer(begins, wholes[i], text, std::span(logits).subspan(first, count),
                                 std::span(windows.starts).subspan(first, count), options));
  }
  return output;
}

std::vector<Answer> Model::answer(std::span<const Input> inputs,
                                  const AnswerOptions& options) const {
  return guarded([&] { return impl_->answer(inputs, options); });
}

}  // namespace bert
