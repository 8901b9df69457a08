// SPDX-License-Identifier: Apache-2.0
//
// answer() against a slow twin, which cuts windows, scores every span and finds words by itself.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert {
namespace {

using test::error_of;
using test::load_golden;
using testing::HasSubstr;

struct PairForm {
  const char* name;
  int between;  // special tokens between question and text
  bool sentence_piece = false;
};

// A text of words and emoji separated by spaces, and its scalars.
struct Text {
  std::string utf8;
  std::u32string scalars;  // an x for each of a word
  std::u32string letters;

  void add(const std::string& word, size_t length) {
    if (!utf8.empty()) {
      utf8 += ' ';
      scalars += U' ';
      letters += U' ';
    }
    utf8 += word;
    scalars += std::u32string(length, U'x');
    // An emoji's scalar is of no matter here, as no word is one letter but "a".
    letters += length == word.size() ? std::u32string(word.begin(), word.end()) : U"\u263a";
  }
};

Text random_text(int words, uint32_t seed) {
  const std::string known[] = {"a",     "man",  "playing", "walked", "zebra", "guitars",
                               "music", "dogs", "beachly", "qxz",    "the",   "\U0001F600"};
  std::mt19937 generator(seed);
  Text text;
  for (int i = 0; i < words; ++i) {
    const std::string& word = known[generator() % std::size(known)];
    text.add(word, word[0] == '\xf0' ? 1 : word.size());
  }
  return text;
}

struct Twin {
  double score = -1, no_answer = 1;
  std::vector<std::pair<double, Offset>> others;  // the next best
  int windows = 0;
  int64_t tokens = 0;
  Offset offset;
  bool grown = false, several = false;  // grown to whole words; more than one word
};

struct TwinSpan {
  double score;
  Offset found, window;  // in the text: the span, and what its window shows
};

// To whole words: outwards to the next space or the window's edge. SentencePiece's words include
// the space before them.
Offset grow(Offset found, Offset window, const std::u32string& text, bool includes_space) {
  const auto space = [&](int32_t at) { return text[at] == U' '; };
  if (!space(found.begin)) {
    while (found.begin > window.begin && !space(found.begin - 1)) --found.begin;
    if (includes_space && found.begin > window.begin) --found.begin;
  }
  while (found.end < window.end && !space(found.end)) ++found.end;
  return found;
}

Offset strip(Offset offset, const std::u32string& text) {
  while (offset.begin < offset.end && text[offset.begin] == U' ') ++offset.begin;
  while (offset.begin < offset.end && text[offset.end - 1] == U' ') --offset.end;
  return offset;
}

// The tokens [first, end) of the context, which begins at `begin` of `whole`, and what is around
// it.
Encoding window_of(const Encoding& whole, int64_t begin, int64_t first, int64_t end) {
  Encoding window;
  const auto size = static_cast<int64_t>(whole.ids.size());
  for (int64_t t = 0; t < size; ++t) {
    if (t >= begin && t < size - 1 && (t < begin + first || t >= begin + end)) continue;
    window.ids.push_back(whole.ids[t]);
    window.type_ids.push_back(whole.type_ids[t]);
  }
  return window;
}

// Spans of the same words count together.
void choose(Twin& twin, std::vector<TwinSpan> spans, const PairForm& form, const Text& text,
            const AnswerOptions& options) {
  const auto grown = [&](const TwinSpan& span) {
    return grow(span.found, span.window, text.scalars, form.sentence_piece);
  };
  const auto string = [&](Offset offset) {
    return text.letters.substr(offset.begin, offset.end - offset.begin);
  };
  std::map<std::u32string, double> scores;
  for (const TwinSpan& span : spans) scores[string(grown(span))] += span.score;
  const auto total = [&](const TwinSpan& span) { return scores[string(grown(span))]; };
  std::ranges::stable_sort(spans, std::greater(), total);
  std::set<std::u32string> seen;
  for (const TwinSpan& span : spans) {
    if (!seen.insert(string(grown(span))).second) continue;
    if (std::ssize(seen) > options.top_k) break;
    const Offset offset = strip(grown(span), text.scalars);
    if (seen.size() > 1) {
      twin.others.emplace_back(total(span), offset);
      continue;
    }
    twin.score = total(span);
    twin.offset = offset;
    const Offset found = strip(span.found, text.scalars);
    twin.grown = twin.offset.end != found.end || twin.offset.begin != found.begin;
    twin.several = string(twin.offset).find(U' ') != std::u32string::npos;
  }
}

Twin slow_answer(const Model& model, const PairForm& form, const Input& input, const Text& text,
                 const AnswerOptions& options) {
  const Tokenizer tokenizer = Tokenizer::load(test::golden(form.name), 1 << 20);
  const Encoding whole = tokenizer.encode(input);
  const auto begin =
      static_cast<int64_t>(tokenizer.encode({input.first}).ids.size()) + form.between - 1;
  const int64_t context = static_cast<int64_t>(whole.ids.size()) - 1 - begin;
  const int64_t room = model.info().max_length - begin - 1;
  Twin twin;
  std::vector<TwinSpan> spans;
  for (int64_t first = 0;; first += room - std::min<int64_t>(options.stride, room / 2)) {
    const int64_t end = std::min(first + room, context);
    const Encoding window = window_of(whole, begin, first, end);
    const Output logits = model.run_tokens({&window, 1})[0];
    std::vector<float> starts = {logits.row(0)[0]}, ends = {logits.row(0)[1]};
    for (int64_t t = begin; t < begin + end - first; ++t) {
      starts.push_back(logits.row(t)[0]);
      ends.push_back(logits.row(t)[1]);
    }
    const std::vector<double> start = test::softmax(starts), stop = test::softmax(ends);
    twin.no_answer = std::min(twin.no_answer, start[0] * stop[0]);
    ++twin.windows;
    twin.tokens += logits.rows;
    const auto at = [&](int64_t t) { return whole.offsets[begin + first + t - 1]; };
    const Offset shown = {at(1).begin, at(end - first).end};
    std::vector<TwinSpan> in_window;
    for (int64_t i = 1; i < std::ssize(start); ++i) {
      for (int64_t j = i; j < std::ssize(stop) && j < i + options.most_tokens; ++j) {
        in_window.push_back({start[i] * stop[j], {at(i).begin, at(j).end}, shown});
      }
    }
    std::ranges::stable_sort(in_window, std::greater(), &TwinSpan::score);
    const size_t most = 10 + 2 * options.top_k;
    if (in_window.size() > most) in_window.resize(most);
    spans.insert(spans.end(), in_window.begin(), in_window.end());
    if (end == context) break;
  }
  choose(twin, spans, form, text, options);
  return twin;
}

std::string cut(const std::string& text, Offset offset) {
  std::string result;
  int32_t scalar = -1;
  for (const char byte : text) {
    scalar += (byte & 0xC0) != 0x80;
    if (scalar >= offset.begin && scalar < offset.end) result += byte;
  }
  return result;
}

class AnswerTwin : public testing::TestWithParam<PairForm> {};

TEST_P(AnswerTwin, FindsTheSameSpanAndScores) {
  const PairForm form = GetParam();
  int grown = 0, several = 0, most_windows = 0;
  int64_t others = 0, same_place = 0;
  for (const int max_length : {0, 24}) {
    const Model model = load_golden(form.name, 2, Precision::automatic, max_length);
    EXPECT_EQ(model.info().task, Task::answer);
    for (const int words : {1, 2, 7, 40, 150}) {
      for (const AnswerOptions& options :
           {AnswerOptions{}, {0, 15, 3}, {3, 4}, {1000, 1, 20}, {5, 1000, 1000}}) {
        SCOPED_TRACE(testing::Message() << max_length << " " << words << " " << options.stride);
        const Text text = random_text(words, words * 100 + options.stride);
        const Input input = {words % 2 ? "two dogs" : "\U0001F600 zebra", text.utf8};
        const Answer got = model.answer({&input, 1}, options)[0];
        const Twin want = slow_answer(model, form, input, text, options);
        ASSERT_EQ(got.offset, want.offset)
            << got.offset.begin << " " << got.offset.end << ", expected " << want.offset.begin
            << " " << want.offset.end << " of " << text.utf8;
        EXPECT_EQ(got.string, cut(text.utf8, want.offset));
        EXPECT_NEAR(got.score, want.score, 1e-5 * want.score);
        EXPECT_NEAR(got.no_answer, want.no_answer, 1e-5 * want.no_answer);
        EXPECT_EQ(got.windows, want.windows);
        EXPECT_EQ(got.tokens, want.tokens);
        ASSERT_EQ(got.others.size(), want.others.size());
        for (size_t i = 0; i < got.others.size(); ++i) {
          const auto& [score, offset] = want.others[i];
          EXPECT_NEAR(got.others[i].score, score, 1e-5 * score) << i;
          EXPECT_EQ(got.others[i].string, cut(text.utf8, got.others[i].offset)) << i;
          same_place += got.others[i].offset == offset;
        }
        others += std::ssize(got.others);
        grown += want.grown;
        several += want.several;
        most_windows = std::max(most_windows, want.windows);
      }
    }
  }
  EXPECT_GT(grown, 3);
  EXPECT_GT(several, 1);
  EXPECT_GT(most_windows, 10);
  EXPECT_GT(others, 1000);
  EXPECT_GE(100 * same_place, 99 * others);  // but for those of almost the same score
}

INSTANTIATE_TEST_SUITE_P(Families, AnswerTwin,
                         testing::Values(PairForm{"bert-qa", 1}, PairForm{"distilbert-qa", 1},
                                         PairForm{"electra-qa", 1}, PairForm{"albert-qa", 1, true},
                                         PairForm{"xlm-roberta-qa", 2, true},
                                         PairForm{"camembert-qa", 2, true},
                                         PairForm{"mpnet-qa", 2}));

// Neither the rest of the batch nor the thread count changes the bits.
TEST(Answer, IsTheSameInAnyBatch) {
  for (const char* name : {"bert-qa", "xlm-roberta-qa"}) {
    const Model one = load_golden(name, 1, Precision::automatic, 30);
    const Model two = load_golden(name, 2, Precision::automatic, 30);
    std::vector<Input> inputs;
    for (const int words : {1, 50, 3, 120}) {
      inputs.push_back({"two dogs", random_text(words, words).utf8});
    }
    const std::vector<Answer> all = one.answer(inputs), by_two = two.answer(inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Answer alone = two.answer({&inputs[i], 1})[0];
      for (const Answer* other : {&by_two[i], &alone}) {
        EXPECT_TRUE(test::same_bits({&all[i].score, 1}, {&other->score, 1}));
        EXPECT_TRUE(test::same_bits({&all[i].no_answer, 1}, {&other->no_answer, 1}));
        EXPECT_EQ(all[i].offset, other->offset);
      }
    }
  }
}

TEST(Answer, ToAnEmptyTextIsEmpty) {
  for (const char* name : {"bert-qa", "xlm-roberta-qa"}) {
    const Model model = load_golden(name);
    for (const char* text : {"", "  "}) {
      const Input input = {"two dogs", text};
      const Answer answer = model.answer({&input, 1})[0];
      EXPECT_EQ(answer.offset.begin, answer.offset.end);
      EXPECT_EQ(answer.string, "");
      EXPECT_EQ(answer.windows, 1);
      EXPECT_GT(answer.no_answer, 0);
      EXPECT_LE(answer.no_answer, 1);
    }
    // Only the first token is left to point at.
    const Input input = {"two dogs", ""};
    const Answer answer = model.answer({&input, 1})[0];
    EXPECT_EQ(answer.score, 0);
    EXPECT_FLOAT_EQ(answer.no_answer, 1);
  }
}

TEST(Answer, TakesAnEmptyQuestion) {
  const Model model = load_golden("bert-qa");
  const std::vector<Input> inputs = {{"", "a man"}};
  EXPECT_THAT(model.answer(inputs)[0].string, testing::AnyOf("a", "man", "a man"));
}

TEST(Answer, RefusesWhatItCannotRead) {
  const Model model = load_golden("bert-qa", 1, Precision::automatic, 10);
  const auto error = [&](const std::vector<Input>& inputs, const AnswerOptions& options = {}) {
    return error_of([&] { model.answer(inputs, options); });
  };
  const Input fine = {"two dogs", "a man"};
  EXPECT_EQ(error({{"two dogs two dogs the", "a man on the beach"}}), "no error");
  EXPECT_EQ(error({{"two dogs two dogs the a", "a man on the beach"}}), "no error");
  const std::string too_long = error({fine, {"two dogs two dogs the a man", "a man"}});
  EXPECT_THAT(too_long, HasSubstr("input 1: the first text has 7 tokens"));
  EXPECT_THAT(too_long, HasSubstr("10"));
  EXPECT_THAT(error({fine, {"two dogs"}}), HasSubstr("input 1: found one text"));
  EXPECT_THAT(error({fine, fine, {"\xff", "a"}}), HasSubstr("input 2: "));
  EXPECT_THAT(error({fine}, {-1, 15}), HasSubstr("stride is -1"));
  EXPECT_THAT(error({fine}, {0, 0}), HasSubstr("most_tokens 0"));
  EXPECT_THAT(error({fine}, {0, 1, 0}), HasSubstr("top_k 0"));
  EXPECT_TRUE(model.answer(std::span<const Input>()).empty());
}

}  // namespace
}  // namespace bert
