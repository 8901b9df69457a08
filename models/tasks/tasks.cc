// SPDX-License-Identifier: Apache-2.0
//
// From logits to what a person asked for, as Hugging Face's pipelines do it.
#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "models/model_impl.h"
#include "models/tasks/spans.h"

namespace bert {
namespace {

using engine::Tensor;
using models::Batch;
using models::cut;
using models::guarded;
using models::softmax;

constexpr const char* kTaskNames[] = {"embed", "classify", "choose", "fill_mask",
                                      "tag",   "answer",   "detect"};

// Whether token t is of the same word as the one before it. SentencePiece's U+2581 alone is only
// the beginning of a word, of which the rest may be unknown.
bool goes_on(const Tokenizer& tokenizer, const tokenizer::Encoding& encoding, int64_t t) {
  constexpr std::string_view kBegin = "\u2581";
  if (tokenizer.continues_word(encoding.ids[t])) return true;
  return tokenizer.token(encoding.ids[t - 1]) == kBegin &&
         !tokenizer.token(encoding.ids[t]).starts_with(kBegin) &&
         encoding.offsets[t].begin <= encoding.offsets[t - 1].end;
}

}  // namespace

void Model::Impl::check_task(Task wanted) const {
  if (info.task == wanted) return;
  throw Error(fmt::format("a {} has no head for {}, but {}", config.architecture,
                          kTaskNames[static_cast<int>(wanted)], head_description()));
}

std::string Model::Impl::head_description() const {
  if (info.task == Task::embed) return "none at all: it embeds";
  return fmt::format("for {}", kTaskNames[static_cast<int>(info.task)]);
}

// ---- fill_mask ----------------------------------------------------------------------------------

std::vector<std::vector<Blank>> Model::Impl::fill_mask(std::span<const Encoding> encodings,
                                                       int k) const {
  check_task(Task::fill_mask);
  if (k < 1) throw Error(fmt::format("k is {}, expected at least 1", k));
  const int32_t mask = tokenizer.mask_id();
  if (mask < 0) throw Error("the tokenizer has no mask token");
  std::vector<std::vector<Blank>> output(encodings.size());
  for_batches(encodings, engine::Reads::all,
              [&](const Batch& batch, const auto& order, Tensor x, engine::ThreadPool& pool,
                  Workspace& space) {
                // The logits of a token are a row as long as the vocabulary: of the blanks alone,
                // in turn.
                for (int64_t i = 0; i < batch.sequences(); ++i) {
                  for (int64_t t = batch.starts[i]; t < batch.starts[i + 1]; ++t) {
                    if (batch.ids[t] != mask) continue;
                    const Tensor logits = token_head->run(pool, {x.row(t), 1, x.columns}, space);
                    const std::vector<float> scores =
                        softmax({logits.data, static_cast<size_t>(logits.columns)});
                    std::vector<int32_t> best(scores.size());
                    std::iota(best.begin(), best.end(), 0);
                    const auto end = best.begin() + std::min<int64_t>(k, std::ssize(best));
                    std::partial_sort(best.begin(), end, best.end(), [&](int32_t a, int32_t b) {
                      return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
                    });
                    Blank blank{static_cast<int32_t>(t - batch.starts[i]), {}};
                    for (auto id = best.begin(); id != end; ++id) {
                      const bool named = tokenizer.impl_->tokenizer.has(*id);
                      blank.fills.push_back({*id, named ? tokenizer.token(*id) : "", scores[*id]});
                    }
                    output[order[i]].push_back(std::move(blank));
                  }
                }
              });
  return output;
}

std::vector<std::vector<Blank>> Model::fill_mask(std::span<const Encoding> encodings, int k) const {
  return guarded([&] { return impl_->fill_mask(encodings, k); });
}
std::vector<std::vector<Blank>> Model::fill_mask(std::span<const Input> inputs, int k) const {
  return guarded([&] { return impl_->fill_mask(impl_->tokenize(inputs), k); });
}

// ---- tag ----------------------------------------------------------------------------------------

std::vector<Tags> Model::tag(std::span<const Input> inputs) const {
  return guarded([&] {
    impl_->check_task(Task::tag);
    const auto encodings = impl_->tokenizer.impl_->encode_ranges(inputs, impl_->threads());
    const std::vector<Output> logits =
        impl_->run_tokens(impl_->tokenizer.impl_->converted(encodings));
    std::vector<Tags> output;
    for (size_t i = 0; i < inputs.size(); ++i) {
      output.push_back(impl_->tags_of(inputs[i], encodings[i], logits[i]));
    }
    return output;
  });
}

Tags Model::Impl::tags_of(const Input& input, const tokenizer::Encoding& encoding,
                          const Output& logits) const {
  Tags tags;
  tags.tokens = static_cast<int32_t>(encoding.ids.size());
  tags.truncated = encoding.truncated;
  for (const auto& [text, range] : {std::pair{0, encoding.first}, std::pair{1, encoding.second}}) {
    for (int32_t t = range.begin; t < range.end; ++t) {
      const Offset offset = {encoding.offsets[t].begin, encoding.offsets[t].end};
      if (t > range.begin && goes_on(tokenizer, encoding, t)) {
        tags.words.back().offset.end = offset.end;
        continue;
      }
      const std::vector<float> scores = softmax(logits.row(t));
      const auto best = std::ranges::max_element(logits.row(t)) - logits.row(t).begin();
      tags.words.push_back({text, offset, "", info.labels[best], scores[best]});
    }
  }
  for (Span& word : tags.words) {
    const std::string& text = word.text ? *input.second : input.first;
    word.offset = models::without_spaces(text, word.offset);
    word.string = cut(text, word.offset);
  }
  std::erase_if(tags.words, [](const Span& word) { return word.string.empty(); });
  tags.entities = models::entities_of(tags.words, input);
  return tags;
}

// ---- answer -------------------------------------------------------------------------------------

namespace {

// A pair cut into windows over its second text.
struct Windows {
  std::vector<Encoding> encodings;
  std::vector<int64_t> first;  // of each, the place in the second text of its first token of it
  int64_t begin = 0;           // where the second text begins, in each window
};

Windows make_windows(const tokenizer::Encoding& whole, int64_t most, int64_t stride) {
  Windows windows;
  windows.begin = whole.second.begin;
  const int64_t context = whole.second.end - whole.second.begin;
  const int64_t behind = std::ssize(whole.ids) - whole.second.end;
  const int64_t room = most - windows.begin - behind;
  if (room < 1) {
    throw Error(
        fmt::format("the first text has {} tokens, which leaves no room for the second "
                    "among the {} of an input",
                    whole.first.end - whole.first.begin, most));
  }
  const int64_t step = room - std::min(stride, room / 2);
  for (int64_t first = 0;; first += step) {
    const int64_t end = std::min(first + room, context);
    Encoding window;
    const auto add = [&](int64_t from, int64_t to) {
      window.ids.insert(window.ids.end(), whole.ids.begin() + from, whole.ids.begin() + to);
      window.type_ids.insert(window.type_ids.end(), whole.type_ids.begin() + from,
                             whole.type_ids.begin() + to);
    };
    add(0, windows.begin);
    add(windows.begin + first, windows.begin + end);
    add(whole.second.end, std::ssize(whole.ids));
    windows.encodings.push_back(std::move(window));
    windows.first.push_back(first);
    if (end == context) return windows;
  }
}

struct Found {
  int64_t begin = -1, end = -1;  // tokens of the window, end included
  float score = 0, no_answer = 1;
};

// The most probable span of the second text [from, to); the first token stands for no answer.
Found best_span(const Output& logits, int64_t from, int64_t to, int64_t most_tokens) {
  std::vector<float> start, end;
  for (int64_t t = 0; t < logits.rows; ++t) {
    const bool read = t == 0 || (t >= from && t < to);
    start.push_back(read ? logits.row(t)[0] : -10000.0f);
    end.push_back(read ? logits.row(t)[1] : -10000.0f);
  }
  start = softmax(start);
  end = softmax(end);
  Found found;
  found.no_answer = start[0] * end[0];
  for (int64_t i = from; i < to; ++i) {
    for (int64_t j = i; j < std::min(to, i + most_tokens); ++j) {
      const float score = start[i] * end[j];
      if (found.begin < 0 || score > found.score) {
        found.begin = i;
        found.end = j;
        found.score = score;
      }
    }
  }
  return found;
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
        if (!inputs[i].second) throw Error("has one text, expected a question and a text");
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
  const auto& encoder_of_text = tokenizer.impl_->tokenizer;
  const tokenizer::Encoding whole = encoder_of_text.encode(input.first, input.second, 0);
  const Windows windows = make_windows(whole, info.max_length, options.stride);
  const std::vector<Output> logits = run_tokens(windows.encodings);
  Answer answer;
  answer.windows = static_cast<int>(logits.size());
  answer.no_answer = 1;
  int64_t begin = -1, end = -1;  // tokens of the whole, end included
  const int64_t behind = std::ssize(whole.ids) - whole.second.end;
  for (size_t i = 0; i < logits.size(); ++i) {
    answer.tokens += static_cast<int32_t>(logits[i].rows);
    const Found found =
        best_span(logits[i], windows.begin, logits[i].rows - behind, options.most_tokens);
    answer.no_answer = std::min(answer.no_answer, found.no_answer);
    if (found.begin < 0 || (begin >= 0 && found.score <= answer.score)) continue;
    answer.score = found.score;
    begin = found.begin + windows.first[i];
    end = found.end + windows.first[i];
  }
  if (begin < 0) return answer;  // a text without a token
  while (begin > whole.second.begin && goes_on(tokenizer, whole, begin)) --begin;
  while (end + 1 < whole.second.end && goes_on(tokenizer, whole, end + 1)) ++end;
  answer.offset =
      models::without_spaces(*input.second, {whole.offsets[begin].begin, whole.offsets[end].end});
  answer.string = cut(*input.second, answer.offset);
  return answer;
}

// ---- choose -------------------------------------------------------------------------------------

namespace {

// Each choice with the text that it is one for, the inputs' one behind the other. What is wrong
// with one is said by its input, not by its place among the pairs.
std::vector<Encoding> encode_choices(const Tokenizer& tokenizer, std::span<const Choices> inputs,
                                     int threads) {
  std::vector<Input> pairs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].choices.empty()) throw Error(fmt::format("input {}: no choices", i));
    for (const std::string& choice : inputs[i].choices) pairs.push_back({inputs[i].first, choice});
  }
  try {
    return tokenizer.encode(pairs, threads);
  } catch (const Error&) {
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
    const std::vector<Encoding> encodings =
        encode_choices(impl_->tokenizer, inputs, impl_->threads());
    const Output logits = impl_->run(encodings);
    std::vector<Choice> output;
    size_t at = 0;
    for (const Choices& input : inputs) {
      Choice& choice = output.emplace_back();
      for (size_t end = at + input.choices.size(); at < end; ++at) {
        choice.logits.push_back(logits.values[at]);
        choice.tokens += static_cast<int32_t>(encodings[at].ids.size());
        choice.truncated |= encodings[at].truncated;
      }
      choice.probabilities = softmax(choice.logits);
      const auto best = std::ranges::max_element(choice.logits);
      choice.index = static_cast<int>(best - choice.logits.begin());
    }
    return output;
  });
}

}  // namespace bert
