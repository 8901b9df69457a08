// SPDX-License-Identifier: Apache-2.0
//
// Words and entities tagged, against the logits of run_tokens().
#include <algorithm>
#include <span>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/config/extraction/span_tags.h"
#include "models/tasks/extraction/spans.h"
#include "tests/models/copied_model.h"

namespace bert {
namespace {

using test::CopiedModel;
using test::load_golden;

struct Word {
  int token;  // the first one of the word
  int text;
  Offset offset;
  std::string string;
};

void check_words(const Model& model, const Input& input, const std::vector<Word>& want) {
  SCOPED_TRACE(input.first + " / " + input.second.value_or("-"));
  const Tags tags = model.tag({&input, 1})[0];
  const Output logits = model.run_tokens({&input, 1})[0];
  EXPECT_EQ(tags.tokens, logits.rows);
  ASSERT_EQ(tags.words.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const Span& word = tags.words[i];
    EXPECT_EQ(word.text, want[i].text) << i;
    EXPECT_EQ(word.offset, want[i].offset) << i << ": " << word.offset.begin;
    EXPECT_EQ(word.string, want[i].string) << i;
    const std::vector<double> scores = test::softmax(logits.row(want[i].token));
    const auto best = std::ranges::max_element(scores) - scores.begin();
    EXPECT_EQ(word.label, model.info().labels[best]) << i;
    EXPECT_NEAR(word.probability, scores[best], 1e-6) << i;
  }
}

TEST(Tag, WordPieceWordsAreWholeAndHaveTheOffsetsOfTheText) {
  const Model model = load_golden("bert-tokens");
  check_words(model, {"Caf\u00e9 e\u0301d dogs!", "你好 \U0001F600x"},
              {{1, 0, {0, 4}, "Caf\u00e9"},
               {5, 0, {5, 8}, "e\u0301d"},
               {7, 0, {9, 13}, "dogs"},
               {8, 0, {13, 14}, "!"},
               {10, 1, {0, 1}, "你"},
               {11, 1, {1, 2}, "好"},
               {12, 1, {3, 5}, "\U0001F600x"}});
  // A mark at the end of a word is dropped by the normalizer, and belongs to no token.
  check_words(model, {"cafe\u0301", std::nullopt}, {{1, 0, {0, 4}, "cafe"}});
  check_words(model, {"", "playing"}, {{2, 1, {0, 7}, "playing"}});
  check_words(model, {"a", ""}, {{1, 0, {0, 1}, "a"}});
  check_words(model, {"", std::nullopt}, {});
  check_words(model, {" walked\tx1  ", std::nullopt},
              {{1, 0, {1, 7}, "walked"}, {6, 0, {8, 10}, "x1"}});
}

TEST(Tag, SentencePieceWordsAreWholeAndHaveTheOffsetsOfTheText) {
  const Model model = load_golden("xlm-roberta-tokens");
  // An unknown piece inside a word is a word of its own, as in Hugging Face's pipeline.
  check_words(model, {"two dogs", "caf\u00e9 \U0001F600"},
              {{1, 0, {0, 3}, "two"},
               {2, 0, {4, 8}, "dogs"},
               {5, 1, {0, 3}, "caf"},
               {9, 1, {3, 4}, "\u00e9"},
               {10, 1, {5, 6}, "\U0001F600"}});
  check_words(model, {"", "a man"}, {{3, 1, {0, 1}, "a"}, {4, 1, {2, 5}, "man"}});
  check_words(model, {"  walked ", std::nullopt}, {{1, 0, {2, 8}, "walked"}});
  check_words(model, {"", std::nullopt}, {});
}

TEST(Tag, PhobertsWordsAreWhole) {
  const CopiedModel copy("xlm-roberta-tokens");
  copy.write("vocab.txt", "ab@@ 1\nc@@ 1\nd 1\n@@ 1\n");
  copy.write("bpe.codes", "a b 1\n@ @</w> 1\n");
  copy.change("tokenizer_config.json", {{"tokenizer_class", "PhobertTokenizer"}});
  check_words(
      Model::load(copy.path()), {"abcd d", "@@ d"},
      {{1, 0, {0, 4}, "abcd"}, {4, 0, {5, 6}, "d"}, {7, 1, {0, 2}, "@@"}, {8, 1, {3, 4}, "d"}});
}

TEST(Tag, AWordHasTheMeanOrTheGreatestScoresOfItsTokens) {
  const Model model = load_golden("bert-tokens");
  const Input input = {"Caf\u00e9"};  // tokens 1 to 4
  const Output logits = model.run_tokens({&input, 1})[0];
  std::vector<double> mean(model.info().labels.size()), greatest = {0};
  for (int64_t t = 1; t <= 4; ++t) {
    const std::vector<double> scores = test::softmax(logits.row(t));
    for (size_t c = 0; c < mean.size(); ++c) mean[c] += scores[c] / 4;
    if (std::ranges::max(scores) > std::ranges::max(greatest)) greatest = scores;
  }
  for (const auto& [aggregation, scores] :
       {std::pair{Aggregation::average, mean}, {Aggregation::max, greatest}}) {
    const Tags tags = model.tag({&input, 1}, {.aggregation = aggregation})[0];
    ASSERT_EQ(tags.words.size(), 1u);
    const auto best = std::ranges::max_element(scores) - scores.begin();
    EXPECT_EQ(tags.words[0].label, model.info().labels[best]);
    EXPECT_NEAR(tags.words[0].probability, scores[best], 1e-6);
  }
}

std::vector<Span> words_of(const std::string& text, const std::vector<std::string>& labels) {
  std::vector<Span> words;
  int32_t at = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto end = std::min(text.find(' ', at), text.size());
    words.push_back({0,
                     {at, static_cast<int32_t>(end)},
                     text.substr(at, end - at),
                     labels[i],
                     0.5f + 0.125f * static_cast<float>(i % 4)});
    at = static_cast<int32_t>(end) + 1;
  }
  return words;
}

// "LABEL string" of each entity.
std::vector<std::string> grouped(const std::vector<Span>& words,
                                 const std::vector<std::string>& texts) {
  const std::vector<models::ScalarText> scalars(texts.begin(), texts.end());
  std::vector<std::string> result;
  for (const Span& entity : models::entities_of(words, scalars)) {
    result.push_back(entity.label + " " + entity.string);
  }
  return result;
}

TEST(Entities, AreNeighbouringWordsOfOneKind) {
  const std::string text = "a b c d e f";
  using Strings = std::vector<std::string>;
  const auto of = [&](const Strings& labels) { return grouped(words_of(text, labels), {text}); };
  EXPECT_EQ(of({"O", "O"}), Strings{});
  EXPECT_EQ(of({"B-PER", "I-PER", "O", "I-PER"}), (Strings{"PER a b", "PER d"}));
  EXPECT_EQ(of({"B-PER", "B-PER", "I-PER", "I-LOC"}), (Strings{"PER a", "PER b c", "LOC d"}));
  EXPECT_EQ(of({"I-LOC", "I-LOC", "B-LOC"}), (Strings{"LOC a b", "LOC c"}));
  EXPECT_EQ(of({"VERB", "VERB", "NOUN", "O", "NOUN"}), (Strings{"VERB a b", "NOUN c", "NOUN e"}));
  EXPECT_EQ(of({"B-A-B", "I-A-B"}), Strings{"A-B a b"});
  EXPECT_EQ(of({"E-X", "E-X", "I-X", "S-A-B", "I-A-B"}),
            (Strings{"X a b", "X c", "A-B d", "A-B e"}));

  const std::vector<models::ScalarText> scalars = {models::ScalarText(text)};
  const std::vector<Span> entities =
      models::entities_of(words_of(text, {"O", "B-X", "I-X", "I-X", "O"}), scalars);
  ASSERT_EQ(entities.size(), 1u);
  EXPECT_EQ(entities[0].offset, (Offset{2, 7}));
  EXPECT_FLOAT_EQ(entities[0].probability, (0.625f + 0.75f + 0.875f) / 3);

  std::vector<Span> both = words_of(text, {"B-X", "I-X"});
  both[1].text = 1;
  both[1].offset = {0, 2};
  EXPECT_EQ(grouped(both, {text, "\u00e9\u00e9!"}), (Strings{"X a", "X \u00e9\u00e9"}))
      << "texts are apart";
}

TEST(Tag, EntitiesAreThoseOfTheWords) {
  for (const char* name : {"bert-tokens", "xlm-roberta-tokens"}) {
    const CopiedModel copy(name);
    copy.change("config.json",
                {{"id2label",
                  {{"0", "O"}, {"1", "B-PER"}, {"2", "I-PER"}, {"3", "B-LOC"}, {"4", "I-LOC"}}}});
    const Model model = Model::load(copy.path());
    const std::vector<Input> inputs = {
        {"the girl is walking and two men play", "a boy on the beach, the dogs are running"},
        {"not a piano", "in the guitar"}};
    size_t entities = 0, longest = 0;
    for (const Tags& tags : model.tag(inputs)) {
      EXPECT_FALSE(tags.truncated);
      entities += tags.entities.size();
      for (const Span& entity : tags.entities) {
        EXPECT_TRUE(entity.label == "PER" || entity.label == "LOC") << entity.label;
        EXPECT_EQ(entity.string.find_first_of(' '), entity.string.find(' ', 1));
        const auto is_in = [&](const Span& word) {
          return word.text == entity.text && word.offset.begin >= entity.offset.begin &&
                 word.offset.end <= entity.offset.end;
        };
        const auto words = static_cast<size_t>(std::ranges::count_if(tags.words, is_in));
        EXPECT_GE(words, 1u);
        longest = std::max(longest, words);
        for (const Span& word : tags.words) {
          if (is_in(word)) {
            EXPECT_EQ(word.label.substr(2), entity.label);
          }
        }
      }
    }
    EXPECT_GT(entities, 0u);
    EXPECT_GT(longest, 1u);
  }
}

// As in transformers' pipeline: `simple` joins neighbours of one kind, unless the second begins it.
TEST(Tag, TokensByThemselvesAndTheirNeighbours) {
  const CopiedModel copy("bert-tokens");
  copy.change(
      "config.json",
      {{"id2label", {{"0", "O"}, {"1", "B-PER"}, {"2", "I-PER"}, {"3", "B-LOC"}, {"4", "I-LOC"}}}});
  const Model model = Model::load(copy.path());
  size_t joined = 0;
  for (const char* text : {"the girl is walking and two men play", "a boy on the beach, the dogs",
                           "not a piano in the guitar", "walking walking girl men men"}) {
    const Input input{text};
    const Tags none = model.tag({&input, 1}, {.aggregation = Aggregation::none})[0];
    EXPECT_EQ(std::ssize(none.words), none.tokens - 2);
    std::vector<Span> each, expected;
    std::string before;
    for (const Span& token : none.words) {
      const std::string kind = token.label == "O" ? "O" : token.label.substr(2);
      const bool begins = before != kind || token.label[0] == 'B';
      before = kind;
      if (kind == "O") continue;
      each.push_back(token);
      if (begins) expected.push_back(token);
      expected.back().label = kind;
      expected.back().offset.end = token.offset.end;
    }
    joined += each.size() - expected.size();
    const auto places = [](const std::vector<Span>& spans) {
      std::vector<std::tuple<std::string, int32_t, int32_t>> all;
      for (const Span& span : spans) {
        all.emplace_back(span.label, span.offset.begin, span.offset.end);
      }
      return all;
    };
    EXPECT_EQ(places(none.entities), places(each));
    const Tags simple = model.tag({&input, 1}, {.aggregation = Aggregation::simple})[0];
    EXPECT_EQ(places(simple.entities), places(expected));
  }
  EXPECT_GT(joined, 0u);
}

// A text that does not fit is read in windows; a word in several of them is there once.
TEST(Tag, ReadsATextOfAnyLength) {
  for (const char* name : {"bert-tokens", "xlm-roberta-tokens"}) {
    const Model model = load_golden(name, 1, Precision::automatic, 7);
    const std::string text = "the dogs are running on the beach and two men play a guitar";
    const Model unlimited = load_golden(name);
    const std::vector<Span> words = unlimited.tag(std::vector<Input>{{text}})[0].words;
    for (const int stride : {0, 1, 3, 100}) {
      const Tags tags = model.tag(std::vector<Input>{{text}, {"two dogs"}}, {.stride = stride})[0];
      EXPECT_GT(tags.windows, 2);
      EXPECT_FALSE(tags.truncated);
      if (stride == 0) continue;  // words are cut
      ASSERT_EQ(tags.words.size(), words.size()) << name << " " << stride;
      for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(tags.words[i].offset, words[i].offset);
      for (size_t i = 1; i < tags.entities.size(); ++i) {
        EXPECT_GE(tags.entities[i].offset.begin, tags.entities[i - 1].offset.end) << stride;
      }
    }
    // Windows that do not overlap hold five tokens each, beside two special ones.
    const Encoding whole = unlimited.tokenize(std::vector<Input>{{text}})[0];
    const TagOptions apart{.aggregation = Aggregation::none, .stride = 0};
    const std::vector<Span> tokens = model.tag(std::vector<Input>{{text}}, apart)[0].words;
    ASSERT_EQ(tokens.size(), whole.ids.size() - 2);
    for (size_t begin = 0; begin < tokens.size(); begin += 5) {
      const size_t count = std::min<size_t>(5, tokens.size() - begin);
      const std::span<const int32_t> ids = std::span(whole.ids).subspan(1 + begin, count);
      Encoding window{{whole.ids.front()}, std::vector<int32_t>(count + 2), {}, false};
      window.ids.insert(window.ids.end(), ids.begin(), ids.end());
      window.ids.push_back(whole.ids.back());
      const Output logits = model.run_tokens({&window, 1})[0];
      for (size_t i = 0; i < count; ++i) {
        const std::vector<double> scores = test::softmax(logits.row(static_cast<int64_t>(1 + i)));
        const auto best = std::ranges::max_element(scores) - scores.begin();
        EXPECT_EQ(tokens[begin + i].label, model.info().labels[static_cast<size_t>(best)]);
        EXPECT_NEAR(tokens[begin + i].probability, scores[static_cast<size_t>(best)], 1e-6);
      }
    }
    const Model without_room = load_golden(name, 1, Precision::automatic, 2);
    EXPECT_EQ(without_room.tag(std::vector<Input>{{""}})[0].windows, 1);
    EXPECT_EQ(test::error_of([&] { without_room.tag(std::vector<Input>{{text}}); }),
              "inputs have at most 2 tokens, expected room for 2 special tokens and text");
  }
}

TEST(Tag, SaysThatAPairWasCutOff) {
  const Model model = load_golden("bert-tokens", 1, Precision::automatic, 7);
  const std::vector<Tags> tags =
      model.tag(std::vector<Input>{{"the dogs are running", "on the beach"}, {"two", "dogs"}});
  EXPECT_TRUE(tags[0].truncated);
  EXPECT_EQ(tags[0].tokens, 7);
  EXPECT_EQ(tags[0].windows, 1);
  EXPECT_EQ(tags[0].words.size(), 4u);
  EXPECT_FALSE(tags[1].truncated);
}

// Gives a model the labels of one kind of spans.
void mark_spans(const CopiedModel& copy) {
  copy.change("config.json",
              {{"id2label",
                {{"0", "I-NAME"}, {"1", "O"}, {"2", "S-NAME"}, {"3", "E-NAME"}, {"4", "B-NAME"}}}});
}

TEST(Tag, LabelsOfSpansMarkWholeOnes) {
  const CopiedModel copy("bert-tokens");
  mark_spans(copy);
  const Model model = Model::load(copy.path());
  const std::vector<Input> inputs = {
      {"the girl is walking and two men play", "a boy, on the beach"}, {"not a piano"}};
  const std::vector<Tags> tagged = model.tag(inputs);
  size_t entities = 0;
  for (const Tags& tags : tagged) {
    std::string before = "O";
    int text = 0;
    for (const Span& word : tags.words) {
      const bool is_open = text == word.text && (before[0] == 'B' || before[0] == 'I');
      EXPECT_EQ(is_open, word.label[0] == 'I' || word.label[0] == 'E') << before << word.label;
      before = word.label;
      text = word.text;
    }
    entities += tags.entities.size();
    for (const Span& entity : tags.entities) EXPECT_EQ(entity.label, "NAME");
    const auto begins = std::ranges::count_if(
        tags.words, [](const Span& word) { return word.label[0] == 'B' || word.label[0] == 'S'; });
    EXPECT_EQ(std::ssize(tags.entities), begins);
  }
  EXPECT_GT(entities, 2u);
  // Hugging Face's strategies know only B- and I-, so an E- is an entity by itself.
  size_t more = 0;
  for (const Tags& tags : model.tag(inputs, {.aggregation = Aggregation::simple})) {
    more += tags.entities.size();
    for (const Span& entity : tags.entities) EXPECT_EQ(entity.label, "NAME");
  }
  EXPECT_GT(more, entities);
}

TEST(Tag, TheDirectorysBiasesCount) {
  const CopiedModel copy("bert-tokens");
  mark_spans(copy);
  nlohmann::json biases;
  for (const char* name : {"background_stay", "background_to_start", "inside_to_continue",
                           "inside_to_end", "end_to_background", "end_to_start"}) {
    biases[std::string("transition_bias_") + name] = 0;
  }
  const auto write = [&] {
    copy.write_json("viterbi_calibration.json",
                    {{"operating_points", {{"default", {{"biases", biases}}}}}});
  };
  const std::vector<Input> inputs = {{"the girl is walking and two men play"}};
  const auto entities = [&] { return Model::load(copy.path()).tag(inputs)[0].entities.size(); };
  const std::vector<std::string> labels = Model::load(copy.path()).info().labels;
  int value = 0;
  for (auto& bias : biases) bias = ++value;  // by name: background..., end..., inside...
  write();
  const models::SpanTags::Biases read = models::read_span_tags(labels, copy.path())->biases;
  EXPECT_EQ(std::tuple(read.stay_outside, read.outside_to_start, read.end_to_outside,
                       read.end_to_start, read.inside_to_continue, read.inside_to_end),
            std::tuple(1, 2, 3, 4, 5, 6));
  for (auto& bias : biases) bias = 0;
  biases["transition_bias_background_stay"] = 1000;
  write();
  EXPECT_LE(entities(), 1u);
  biases["transition_bias_background_stay"] = -1000;
  write();
  EXPECT_GE(entities(), 1u);
  biases.erase("transition_bias_end_to_start");
  write();
  EXPECT_THAT(test::load_error(copy),
              testing::HasSubstr("viterbi_calibration.json: operating_points.default.biases: "
                                 "\"transition_bias_end_to_start\" is missing"));
}

TEST(Tag, RefusesAnUnknownAggregation) {
  const Input input = {"A man plays."};
  EXPECT_EQ(test::error_of([&] {
              load_golden("bert-tokens").tag({&input, 1}, {.aggregation = Aggregation{77}});
            }),
            "unknown aggregation 77");
}

// Of overlapping spans the longer, then the more probable one stays.
TEST(Spans, WithoutOverlaps) {
  const auto span = [](int begin, int end, float probability) {
    return Span{0, {begin, end}, "", "X", probability};
  };
  const std::vector<Span> kept = models::without_overlaps(
      {span(9, 12, 0.1f), span(0, 4, 0.9f), span(3, 8, 0.2f), span(8, 9, 0.3f), span(8, 9, 0.4f)});
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].offset, (Offset{3, 8}));
  EXPECT_EQ(kept[1].probability, 0.4f);
  EXPECT_EQ(kept[2].offset, (Offset{9, 12}));
}

}  // namespace
}  // namespace bert
