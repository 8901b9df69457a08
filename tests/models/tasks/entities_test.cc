// SPDX-License-Identifier: Apache-2.0
//
// Entities of labels that a call names, against the float64 logits of tests/golden/span_models.py.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/calls/for_batches.h"
#include "models/tasks/extraction/named_windows.h"
#include "tests/models/copied_model.h"

namespace bert {
namespace {

using models::NamedLabels;
using models::NamedText;
using test::CopiedModel;
using test::error_of;
using Texts = std::vector<std::string>;
using testing::HasSubstr;

constexpr size_t kWidest = 4, kMostWords = 12;  // as in span_models.py

struct Reference {
  Texts labels, texts;
  std::vector<std::vector<Offset>> words;
  std::vector<std::vector<std::vector<double>>> logits;  // by text, as the head gives them
};

// Of a model whose head judges spans, and one whose head judges words.
constexpr const char* kModels[] = {"gliner", "gliner-words"};

Reference read_reference(const std::string& name = "gliner") {
  const models::JsonFile file(test::golden(name + ".json"));
  Reference reference{file.root().at("labels"), {}, {}, {}};
  for (const auto& text : file.root().at("texts")) {
    reference.texts.push_back(text.at("text"));
    auto& words = reference.words.emplace_back();
    for (const auto& word : text.at("words")) words.push_back({word[0], word[1]});
    reference.logits.push_back(text.at("logits"));
  }
  return reference;
}

std::vector<Tags> find_entities(const Model& model, const Texts& texts, const Texts& labels,
                                TagOptions options = {}) {
  std::vector<Input> inputs;
  for (const std::string& text : texts) inputs.push_back({text});
  options.labels = labels;
  return model.tag(inputs, options);
}

// By text and window, as EntityHead gives them.
std::vector<Output> logits_of(const Model& model, const Texts& texts, const Texts& labels) {
  const Internals::Impl& impl = Internals::impl(model);
  const models::SpanSettings& settings = *impl.config.spans;
  const NamedLabels prompt(impl.text_encoder(), settings, labels);
  std::vector<NamedText> named;
  for (const std::string& text : texts) {
    named.push_back(models::read_named(impl.text_encoder(), settings, prompt, text, 64, 0));
  }
  std::vector<const models::NamedWindow*> windows;
  std::vector<Encoding> encodings;
  for (const NamedText& text : named) {
    for (const models::NamedWindow& window : text.windows) {
      windows.push_back(&window);
      encodings.push_back(window.encoding);
    }
  }
  std::vector<Output> all(windows.size());
  impl.for_batches(encodings, engine::Reads::all,
                   [&](const models::Batch& batch, const auto& order, engine::Tensor x,
                       engine::Team& team, models::Workspace&) {
                     impl.entity_head->run(
                         team, x, models::tokens_of(windows, order, prompt, batch),
                         [&](int64_t i, engine::ConstTensor logits) {
                           Output& out = all[order[i]];
                           out = Output(logits.rows, logits.columns);
                           std::copy_n(logits.data, logits.size(), out.values.data());
                         });
                   });
  return all;
}

void check_logits(const std::string& name, const Options& options, double tolerance) {
  const Reference reference = read_reference(name);
  const Model model = Model::load(test::golden(name), options);
  const std::vector<Output> found = logits_of(model, reference.texts, reference.labels);
  ASSERT_EQ(found.size(), reference.texts.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].rows, std::ssize(reference.logits[i]));
    for (int64_t row = 0; row < found[i].rows; ++row) {
      const std::vector<double>& want = reference.logits[i][row];
      ASSERT_EQ(found[i].columns, std::ssize(want));
      for (int64_t column = 0; column < found[i].columns; ++column) {
        EXPECT_NEAR(found[i].row(row)[column], want[column], tolerance)
            << name << ": " << reference.texts[i] << ": " << row << ", " << column;
      }
    }
  }
}

TEST(NamedEntities, LogitsAreThoseOfTheReference) {
  for (const auto& [precision, tolerance] :
       {std::pair{Precision::f32, 1e-5}, {Precision::bf16, 0.1}, {Precision::int8, 0.3}}) {
    for (const Backend backend : test::backends_of(precision)) {
      Options options;
      options.precision = precision;
      options.backend = backend;
      for (const char* name : kModels) check_logits(name, options, tolerance);
    }
  }
}

struct Found {
  Offset offset;
  std::string label;
  double probability;
};

double sigmoid(double logit) { return 1 / (1 + std::exp(-logit)); }

// All that is probable enough, by the logits of spans or of words.
std::vector<Found> candidates(const Reference& reference, size_t text, bool by_words,
                              double threshold) {
  std::vector<Found> all;
  const std::vector<Offset>& words = reference.words[text];
  const auto& logits = reference.logits[text];
  const size_t labels = reference.labels.size();
  const auto add = [&](size_t i, size_t j, size_t label, double probability) {
    if (probability <= threshold) return;
    all.push_back({{words[i].begin, words[j].end}, reference.labels[label], probability});
  };
  size_t span = 0;
  for (size_t i = 0; i < words.size() && !by_words; ++i) {
    for (size_t j = i; j < std::min(words.size(), i + kWidest); ++j, ++span) {
      for (size_t label = 0; label < labels; ++label)
        add(i, j, label, sigmoid(logits[span][label]));
    }
  }
  for (size_t i = 0; i < words.size() && by_words; ++i) {
    for (size_t label = 0; label < labels; ++label) {
      for (size_t j = i; j < words.size(); ++j) {
        double least = std::min(logits[i * labels + label][0], logits[j * labels + label][1]);
        for (size_t inside = i; inside <= j; ++inside) {
          least = std::min(least, logits[inside * labels + label][2]);
        }
        add(i, j, label, sigmoid(least));
      }
    }
  }
  return all;
}

// What the reference's logits mean, by trying all candidates in the order of their probability.
std::vector<Found> decode(const Reference& reference, size_t text, bool by_words,
                          const TagOptions& options) {
  std::vector<Found> all = candidates(reference, text, by_words, options.threshold), kept;
  std::ranges::stable_sort(all, std::greater(), &Found::probability);
  for (const Found& candidate : all) {
    const auto clashes = [&](const Found& other) {
      const Offset a = candidate.offset, b = other.offset;
      if (a == b) return !options.multi_label;
      const bool apart = a.end <= b.begin || b.end <= a.begin;
      const bool nested =
          (a.begin <= b.begin && b.end <= a.end) || (b.begin <= a.begin && a.end <= b.end);
      return !apart && (!options.nested || !nested);
    };
    if (std::ranges::none_of(kept, clashes)) kept.push_back(candidate);
  }
  std::ranges::stable_sort(kept, {}, [](const Found& found) { return found.offset.begin; });
  return kept;
}

// How many there are.
size_t check_entities(const std::string& name, const TagOptions& options) {
  const Reference reference = read_reference(name);
  const Model model = Model::load(test::golden(name));
  const std::vector<Tags> tags = find_entities(model, reference.texts, reference.labels, options);
  EXPECT_EQ(tags.size(), reference.texts.size());
  size_t count = 0;
  for (size_t i = 0; i < tags.size(); ++i) {
    const std::vector<Found> want = decode(reference, i, name == kModels[1], options);
    EXPECT_EQ(tags[i].entities.size(), want.size()) << reference.texts[i];
    EXPECT_EQ(tags[i].windows, 1);
    EXPECT_TRUE(tags[i].words.empty());
    for (size_t j = 0; j < std::min(want.size(), tags[i].entities.size()); ++j, ++count) {
      EXPECT_EQ(tags[i].entities[j].offset, want[j].offset);
      EXPECT_EQ(tags[i].entities[j].label, want[j].label);
      EXPECT_NEAR(tags[i].entities[j].probability, want[j].probability, 1e-5);
    }
  }
  return count;
}

TEST(NamedEntities, AreTheMostProbableSpans) {
  for (const std::string name : kModels) {
    size_t count = 0;
    for (const float threshold : {0.1f, 0.4f, 0.9f}) {
      for (const bool nested : {false, true}) {
        for (const bool multi : {false, true}) {
          TagOptions options;
          options.threshold = threshold;
          options.nested = nested;
          options.multi_label = multi;
          count += check_entities(name, options);
        }
      }
    }
    EXPECT_GT(count, 100u) << name;
  }
}

TEST(NamedEntities, ALabelGivenTwiceCountsOnce) {
  const Model model = test::load_golden("gliner");
  TagOptions options;
  options.threshold = 0.1f;
  options.multi_label = true;
  const auto found = [&](const Texts& labels) {
    return find_entities(model, {"a man and a dog"}, labels, options)[0].entities;
  };
  const std::vector<Span> once = found({"man", "dog"}), twice = found({"man", "dog", "man"});
  ASSERT_EQ(once.size(), twice.size());
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].label, twice[i].label);
    EXPECT_EQ(once[i].probability, twice[i].probability);
  }
}

TEST(NamedEntities, HaveTheSameBitsInAnyBatch) {
  const Reference reference = read_reference();
  Texts texts;
  for (int i = 0; i < 9; ++i) {
    for (const std::string& text : reference.texts) {
      texts.push_back(text.substr(0, text.size() - i % 3 * 2));
    }
  }
  texts[2] = "";
  for (const char* name : kModels) {
    const std::vector<Output> together =
        logits_of(test::load_golden(name, 2), texts, reference.labels);
    const Model one = test::load_golden(name);
    size_t at = 0;
    for (const std::string& text : texts) {
      for (const Output& alone : logits_of(one, {text}, reference.labels)) {
        EXPECT_TRUE(test::same_bits(alone.values, together[at++].values)) << name << ": " << text;
      }
    }
    EXPECT_EQ(at, together.size());
  }
}

// As many words as fit; neighbouring windows share as many as the stride allows.
TEST(NamedEntities, LongTextsAreReadInWindows) {
  const Model model = test::load_golden("gliner");
  const Internals::Impl& impl = Internals::impl(model);
  const Texts labels = {"man"};
  const NamedLabels prompt(impl.text_encoder(), *impl.config.spans, labels);
  const auto around = std::ssize(prompt.before) + std::ssize(prompt.after);
  std::string text;
  for (int i = 0; i < 40; ++i) text += i % 5 ? " dogs" : " abcdefgh";  // a token, and eight
  for (const int64_t stride : {0, 1, 9, 1000}) {
    for (const int64_t room : {3, 8, 9, 17, 64}) {
      const NamedText named = models::read_named(impl.text_encoder(), *impl.config.spans, prompt,
                                                 text, around + room, stride);
      ASSERT_EQ(named.words.size(), 40u);
      size_t end = 0;
      for (const models::NamedWindow& window : named.windows) {
        const size_t words = window.beginning.size();
        EXPECT_LE(std::ssize(window.encoding.ids), around + room);
        EXPECT_LE(words, kMostWords);
        EXPECT_LE(window.first, end) << "a word is left out";
        EXPECT_GT(window.first + words, end) << "nothing new";
        if (stride == 0 && end > 0) {
          EXPECT_EQ(window.first, end);
        }
        if (stride > 8 && room == 64 && end > 0) {
          EXPECT_LT(window.first, end);
        }
        end = window.first + words;
      }
      EXPECT_EQ(end, 40u);
    }
  }
  TagOptions options;
  options.threshold = 0.3f;
  const Tags tags = find_entities(model, Texts{text}, labels, options)[0];
  EXPECT_GT(tags.windows, 3);
  EXPECT_FALSE(tags.entities.empty());
  for (size_t i = 1; i < tags.entities.size(); ++i) {
    EXPECT_GE(tags.entities[i].offset.begin, tags.entities[i - 1].offset.end) << "they overlap";
  }
  EXPECT_EQ(tags.entities.back().string, text.substr(tags.entities.back().offset.begin));
}

TEST(NamedEntities, ErrorsSayWhatIsWrong) {
  const Model model = test::load_golden("gliner"), other = test::load_golden("bert-tokens");
  const Texts texts = {"a dog", "a \xff"}, labels = {"man"};
  const auto error = [](const Model& of, const Texts& in, const Texts& named) {
    return error_of([&] { find_entities(of, in, named); });
  };
  EXPECT_THAT(error(other, texts, labels), HasSubstr("BertForTokenClassification has its own"));
  EXPECT_THAT(error(model, texts, {}), HasSubstr("labels is empty, expected some to look for"));
  EXPECT_THAT(error(model, {}, {"man", " "}), HasSubstr("label 1 has no tokens"));
  EXPECT_THAT(error(model, {}, {"\xc3"}), HasSubstr("label 0: the first text is not valid UTF-8"));
  EXPECT_EQ(error(model, texts, labels), "input 1: the text is not valid UTF-8 at byte 2");
  std::string long_label = "man";
  for (int i = 1; i < 80; ++i) long_label += " man";
  EXPECT_THAT(error(model, {"a"}, {long_label}),
              HasSubstr("input 0: inputs have at most 64 tokens, expected room for 84 of the "
                        "labels and for 1 of the text"));
  TagOptions options;
  options.labels = labels;
  EXPECT_EQ(error_of([&] {
              model.tag(std::vector<Input>{{"a"}, {"b", "c"}}, options);
            }),
            "input 1: there are two texts, but a GLiNER reads one");
  options.stride = -1;
  EXPECT_THAT(error_of([&] { find_entities(model, texts, labels, options); }),
              HasSubstr("stride is -1"));
  options.stride = 0;
  for (const float threshold : {-0.1f, 1.5f, NAN}) {
    options.threshold = threshold;
    EXPECT_THAT(error_of([&] { find_entities(model, texts, labels, options); }),
                HasSubstr("expected a number from 0 to 1"));
  }
  const CopiedModel copy("gliner");
  copy.change_tensor("token_rep_layer.bert_layer.model.embeddings.word_embeddings.weight",
                     [](float* values, size_t count) { std::fill_n(values, count, NAN); });
  EXPECT_THAT(
      error(Model::load(copy.path()), {"", "a dog"}, labels),
      HasSubstr("input 1: the model of " + copy.path("model.safetensors") + " produced nan"));
  EXPECT_TRUE(find_entities(model, {}, labels).empty());
  EXPECT_EQ(find_entities(model, {" "}, labels)[0].windows, 0);
}

TEST(NamedEntities, OtherKindsOfModelsAreRefused) {
  for (const auto& [field, value, want] :
       std::vector<std::tuple<const char*, nlohmann::json, const char*>>{
           {"span_mode", "markerV1", "span_mode: found \"markerV1\", expected \"markerV0\" or"},
           {"subtoken_pooling", "mean", "expected \"first\""},
           {"words_splitter_type", "jieba", "expected \"whitespace\""},
           {"fuse_layers", true, "fuse_layers: found true, expected false"},
           {"labels_encoder", "a/b", "labels_encoder: found \"a/b\", expected null"},
           {"hidden_size", 21, "hidden_size: found 21, expected an even number"},
           {"max_width", 0, "max_width: found 0"},
           {"encoder_config", nullptr, "encoder_config is missing, and model_name, '', which"},
           {"encoder_config",
            {{"hidden_size", 51}},
            "encoder_config: num_attention_heads: found 4"},
           {"encoder_config", {{"model_type", "gpt2"}}, "encoder_config: model_type"}}) {
    const CopiedModel copy("gliner");
    copy.change("gliner_config.json", {{field, value}});
    const std::string error = test::load_error(copy);
    EXPECT_THAT(error, HasSubstr("gliner_config.json"));
    EXPECT_THAT(error, HasSubstr(want)) << field;
  }
  const CopiedModel copy("gliner");
  copy.change("gliner_config.json", {{"class_token_index", 3}});
  const Model model = Model::load(copy.path());
  EXPECT_THAT(error_of([&] { find_entities(model, {}, Texts{"man"}); }),
              HasSubstr("class_token_index: found 3, but the tokenizer makes 1 of <<ENT>>"));
}

// The first models leave out what the tokenizer and the weights tell.
TEST(NamedEntities, SizesAndMarkersMayFollowFromOtherFiles) {
  const Reference reference = read_reference();
  const auto entities = [&](const std::string& path) {
    return find_entities(Model::load(path), reference.texts, reference.labels)[0].entities;
  };
  const std::vector<Span> want = entities(test::golden("gliner"));
  const CopiedModel copy("gliner");
  copy.change(
      "gliner_config.json",
      {{"class_token_index", -1}, {"vocab_size", -1}, {"encoder_config", {{"vocab_size", 7}}}});
  copy.write("config.json", "{}");  // says nothing
  const std::vector<Span> got = entities(copy.path());
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].string, want[i].string);
    EXPECT_EQ(got[i].probability, want[i].probability);
  }
  // Without markers, they are the tokens after all others, of which this table has no rows.
  copy.change("tokenizer_config.json", {{"added_tokens_decoder", nullptr}});
  EXPECT_THAT(error_of([&] { entities(copy.path()); }), HasSubstr("201"));
}

}  // namespace
}  // namespace bert
