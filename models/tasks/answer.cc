// SPDX-License-Identifier: Apache-2.0
//
// The part of a text that answers a question, as Hugging Face's question-answering pipeline finds
// it.
#include <algorithm>
#include <new>
#include <vector>

#include <fmt/format.h>

#include "models/model_impl.h"
#include "models/tasks/spans.h"

namespace bert {
namespace {

using models::guarded;

// A pair cut into windows over its second text.
struct Windows {
  std::vector<Encoding> encodings;
  std::vector<int64_t> starts;  // by window: which token of the second text is its first
  int64_t second_begin = 0;     // where the second text begins in each window
};

Windows make_windows(const Encoding& whole, int64_t max_length, int64_t stride) {
  Windows windows;
  windows.second_begin = whole.second.begin;
  const int64_t second_size = whole.second.end - whole.second.begin;
  const int64_t after_second = std::ssize(whole.ids) - whole.second.end;
  const int64_t room = max_length - whole.second.begin - after_second;
  if (room < 1) {
    throw Error(
        fmt::format("the first text has {} tokens, which leaves no room for the second "
                    "in an input of at most {}",
                    whole.first.end - whole.first.begin, max_length));
  }
  const int64_t step = room - std::min(stride, room / 2);
  for (int64_t start = 0;; start += step) {
    const int64_t end = std::min(start + room, second_size);
    Encoding window;
    const auto append = [&](int64_t from, int64_t to) {
      window.ids.insert(window.ids.end(), whole.ids.begin() + from, whole.ids.begin() + to);
      window.type_ids.insert(window.type_ids.end(), whole.type_ids.begin() + from,
                             whole.type_ids.begin() + to);
    };
    append(0, whole.second.begin);
    append(whole.second.begin + start, whole.second.begin + end);
    append(whole.second.end, std::ssize(whole.ids));
    windows.encodings.push_back(std::move(window));
    windows.starts.push_back(start);
    if (end == second_size) return windows;
  }
}

struct ScoredSpan {
  int64_t first = -1, last = -1;  // tokens of the window; -1 where it has none of the second text
  float score = 0, no_answer = 1;
};

// The most probable span within the second text's tokens [begin, end); the window's first token
// stands for no answer.
ScoredSpan best_span(const Output& logits, int64_t begin, int64_t end, int64_t most_tokens) {
  std::vector<float> starts, ends;
  for (int64_t t = 0; t < logits.rows; ++t) {
    const bool allowed = t == 0 || (t >= begin && t < end);
    starts.push_back(allowed ? logits.row(t)[0] : -10000.0f);
    ends.push_back(allowed ? logits.row(t)[1] : -10000.0f);
  }
  starts = models::softmax(starts);
  ends = models::softmax(ends);
  ScoredSpan best;
  best.no_answer = starts[0] * ends[0];
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = i; j < std::min(end, i + most_tokens); ++j) {
      const float score = starts[i] * ends[j];
      if (best.first >= 0 && !(score > best.score)) continue;
      best.first = i;
      best.last = j;
      best.score = score;
    }
  }
  return best;
}

}  // namespace

std::vector<Answer> Model::answer(std::span<const Input> inputs,
                                  const AnswerOptions& options) const {
  return guarded([&] {
    impl_->check_task(Task::answer);
    if (options.stride < 0 || options.most_tokens < 1) {
      throw Error(fmt::format("stride is {} and most_tokens {}, expected at least 0 and 1",
                              options.stride, options.most_tokens));
    }
    std::vector<Answer> output;
    for (size_t i = 0; i < inputs.size(); ++i) {
      try {
        if (!inputs[i].second) throw Error("found one text, expected a question and a text");
        output.push_back(impl_->answer(inputs[i], options));
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception& error) {
        throw Error(fmt::format("input {}: {}", i, error.what()));
      }
    }
    return output;
  });
}

Answer Model::Impl::answer(const Input& input, const AnswerOptions& options) const {
  const Encoding whole = tokenizer.impl_->text_encoder.encode(input.first, input.second, 0);
  const Windows windows = make_windows(whole, info.max_length, options.stride);
  const std::vector<Output> logits = run_tokens(windows.encodings);
  Answer answer;
  answer.windows = static_cast<int>(logits.size());
  answer.no_answer = 1;
  int64_t first = -1, last = -1;  // tokens of `whole`
  const int64_t after_second = std::ssize(whole.ids) - whole.second.end;
  for (size_t i = 0; i < logits.size(); ++i) {
    answer.tokens += static_cast<int32_t>(logits[i].rows);
    const ScoredSpan best = best_span(logits[i], windows.second_begin,
                                      logits[i].rows - after_second, options.most_tokens);
    answer.no_answer = std::min(answer.no_answer, best.no_answer);
    if (best.first < 0 || (first >= 0 && best.score <= answer.score)) continue;
    answer.score = best.score;
    first = best.first + windows.starts[i];
    last = best.last + windows.starts[i];
  }
  if (first < 0) return answer;  // the second text has no tokens
  // To whole words.
  while (first > whole.second.begin && models::is_same_word(tokenizer, whole, first)) --first;
  while (last + 1 < whole.second.end && models::is_same_word(tokenizer, whole, last + 1)) ++last;
  answer.offset =
      models::without_spaces(*input.second, {whole.offsets[first].begin, whole.offsets[last].end});
  answer.string = models::cut(*input.second, answer.offset);
  return answer;
}

}  // namespace bert
