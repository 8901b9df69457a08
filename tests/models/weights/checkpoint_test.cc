// SPDX-License-Identifier: Apache-2.0
//
// Broken directories give an error that names the file, or the same answer as before.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "models/network/build/example_batch.h"
#include "tests/models/goldens.h"

namespace bert {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class Directory : public testing::Test {
 protected:
  void SetUp() override { copy("plain"); }
  void TearDown() override { fs::remove_all(path_); }

  void copy(const std::string& name) {
    fs::remove_all(path_);
    fs::copy(test::golden(name), path_, fs::copy_options::recursive);
  }
  // The logits of one input, or its embedding if there is no head; {} and the error if there is
  // one.
  std::vector<float> answer(std::string* error = nullptr) const {
    try {
      Options options;
      options.threads = 1;
      const Model model = Model::load(path_, options);
      const std::span<const Encoding> input(&test::kInput, 1);
      return (model.info().has_logits ? model.run(input) : model.embed(input)).values;
    } catch (const Error& caught) {
      if (error) *error = caught.what();
      return {};
    }
  }
  std::string error() const {
    std::string message = "no error";
    answer(&message);
    return message;
  }
  json header() const {
    const std::string file = test::read_file(weights());
    uint64_t length;
    std::memcpy(&length, file.data(), 8);
    return json::parse(file.substr(8, length));
  }
  void change_header(const std::function<void(json&)>& change) const {
    std::string file = test::read_file(weights());
    uint64_t length;
    std::memcpy(&length, file.data(), 8);
    json changed = json::parse(file.substr(8, length));
    change(changed);
    const std::string text = changed.dump();
    const uint64_t new_length = text.size();
    write_file(weights(), std::string(reinterpret_cast<const char*>(&new_length), 8) + text +
                              file.substr(8 + length));
  }
  void change_config(const std::function<void(json&)>& change) const {
    json config = json::parse(test::read_file(path_ / "config.json"));
    change(config);
    write_file(path_ / "config.json", config.dump());
  }
  fs::path weights() const { return path_ / "model.safetensors"; }

  // One directory per process, because ctest runs tests in parallel.
  fs::path path_ =
      fs::temp_directory_path() / ("bert_infer_checkpoint_" + std::to_string(getpid()));
};

using Safetensors = Directory;

TEST_F(Safetensors, ErrorsNameTheFileAndTheTensor) {
  const std::string word = "bert.embeddings.word_embeddings.weight";
  const auto after = [&](const std::function<void(json&)>& change) {
    copy("plain");
    change_header(change);
    return error();
  };
  EXPECT_EQ(error(), "no error");
  EXPECT_THAT(after([&](json& h) { h[word]["dtype"] = "F8_E4M3"; }),
              AllOf(HasSubstr("model.safetensors"), HasSubstr(word), HasSubstr("F8_E4M3")));
  EXPECT_THAT(after([&](json& h) { h[word]["dtype"] = "I32"; }),
              HasSubstr("expected F32, F16 or BF16"));
  EXPECT_THAT(after([&](json& h) {
                h[word]["shape"] = {1, 9600};
              }),
              HasSubstr("has shape [1, 9600]"));
  EXPECT_THAT(after([&](json& h) {
                h[word]["shape"] = {1LL << 62, 1LL << 62};
              }),
              HasSubstr("overflows"));
  EXPECT_THAT(after([&](json& h) {
                h[word]["shape"] = {-200, 48};
              }),
              HasSubstr("shape[0]: found -200"));
  EXPECT_THAT(after([&](json& h) {
                h[word]["data_offsets"] = {0, 1LL << 60};
              }),
              HasSubstr("outside"));
  EXPECT_THAT(after([&](json& h) { h[word]["data_offsets"] = {8, 0}; }), HasSubstr("outside"));
  EXPECT_THAT(after([&](json& h) {
                h[word]["data_offsets"] = {4, 4 + 200 * 48 * 4};
              }),
              HasSubstr("overlap"));
  EXPECT_THAT(after([&](json& h) { h[word].erase("dtype"); }), HasSubstr("\"dtype\" is missing"));
  EXPECT_THAT(after([&](json& h) {
                h[word]["strides"] = {48, 1};
              }),
              HasSubstr("found other fields than dtype, shape and data_offsets"));
  EXPECT_THAT(after([&](json& h) { h[word] = 3; }), HasSubstr("\"]: found 3, expected an object"));
  EXPECT_THAT(after([&](json& h) { h.erase(word); }), HasSubstr("overlap or leave a gap"));
  EXPECT_THAT(after([&](json& h) {
                h["bert.extra"] = h["classifier.bias"];
                h.erase("classifier.bias");
              }),
              HasSubstr("classifier.bias' is missing"));
}

TEST_F(Safetensors, TruncatedAndForeignFilesAreErrors) {
  const std::string whole = test::read_file(weights());
  for (const size_t size : {size_t{0}, size_t{7}, size_t{8}, size_t{100}, whole.size() - 1}) {
    write_file(weights(), whole.substr(0, size));
    EXPECT_THAT(error(), HasSubstr("model.safetensors: ")) << size << " bytes";
  }
  write_file(weights(), whole + "x");
  EXPECT_THAT(error(), HasSubstr("1 bytes follow the last tensor"));
  write_file(weights(), std::string(8, '\xff') + whole.substr(8));
  EXPECT_THAT(error(), HasSubstr("header's length"));
  const std::string deep(1 << 20, '[');
  const uint64_t length = deep.size();
  write_file(weights(), std::string(reinterpret_cast<const char*>(&length), 8) + deep);
  EXPECT_THAT(error(), HasSubstr("header: not valid JSON at byte 1048576"));
  const auto with_header = [&](const std::string& header) {
    const uint64_t size = header.size();
    write_file(weights(), std::string(reinterpret_cast<const char*>(&size), 8) + header);
    return error();
  };
  EXPECT_THAT(with_header("[]"), HasSubstr("header: found an array, expected an object"));
  EXPECT_THAT(with_header(std::string("{}\0{}", 5)), HasSubstr("header: not valid JSON at byte 2"));
  const std::string empty = R"({"dtype": "F32", "shape": [0], "data_offsets": [0, 0]})";
  EXPECT_THAT(with_header("{\"a\": " + empty + ", \"a\": " + empty + "}"),
              HasSubstr("header: \"a\" is given twice"));
  fs::remove(weights());
  EXPECT_THAT(error(), HasSubstr("found no weights, expected model.safetensors"));
  fs::create_directory(weights());
  EXPECT_THAT(error(), HasSubstr("not a regular file"));
}

TEST_F(Safetensors, UnexpectedTensorsAreErrorsButKnownOnesAreNot) {
  struct Extra {
    const char *golden, *tensor, *message;
  };
  constexpr const char* kNone = "no error";
  for (const auto& [golden, tensor, message] :
       {Extra{"plain", "bert.embeddings.position_ids", kNone},
        {"plain", "classifier.out.weight", "unexpected tensor"},
        {"plain", "embeddings.word_embeddings.weight", "found both"},
        {"pretraining", "fit_denses.0.weight", kNone},  // TinyBERT's
        {"plain", "fit_denses.0.weight", kNone},
        {"deberta", "embeddings.position_embeddings.weight", kNone}}) {
    copy(golden);
    const std::vector<float> want = answer();
    int64_t end = 0;
    change_header([&, key = tensor](json& h) {
      for (const auto& [name, entry] : h.items()) {
        if (name != "__metadata__") end = std::max(end, entry["data_offsets"][1].get<int64_t>());
      }
      h[key] = {{"dtype", "I64"}, {"shape", {1, 2}}, {"data_offsets", {end, end + 16}}};
    });
    write_file(weights(), test::read_file(weights()) + std::string(16, '\0'));
    EXPECT_THAT(error(), HasSubstr(message)) << golden << ' ' << tensor;
    if (std::string(message) == kNone) {
      EXPECT_EQ(answer(), want);
    }
  }
}

TEST_F(Safetensors, ShardsMustMatchTheIndex) {
  copy("next-sentence");
  EXPECT_EQ(error(), "no error");
  const fs::path index = path_ / "model.safetensors.index.json";
  const json good = json::parse(test::read_file(index));
  const std::string name = "bert.embeddings.word_embeddings.weight";
  const auto after = [&](const std::function<void(json&)>& change) {
    json changed = good;
    change(changed);
    write_file(index, changed.dump());
    return error();
  };
  EXPECT_THAT(after([&](json& i) { i["weight_map"][name] = "absent.safetensors"; }),
              HasSubstr("absent.safetensors: cannot be read: No such file"));
  EXPECT_THAT(after([&](json& i) { i["weight_map"][name] = "../model.safetensors"; }),
              HasSubstr("a file in the same directory"));
  EXPECT_THAT(after([&](json& i) { i["weight_map"].erase(name); }), HasSubstr("places 10 there"));
  EXPECT_THAT(after([&](json& i) { i["weight_map"]["x"] = i["weight_map"][name]; }),
              HasSubstr("tensor 'x' is missing"));
  EXPECT_THAT(after([&](json& i) { i.erase("weight_map"); }),
              HasSubstr("\"weight_map\" is missing"));
  EXPECT_THAT(after([&](json& i) {
                i["weight_map"] = {{"a", 1}};
              }),
              HasSubstr("weight_map[\"a\"]: found 1, expected a string"));
}

using ConfigFile = Directory;

TEST_F(ConfigFile, ErrorsNameTheFieldWhatWasFoundAndWhatWasExpected) {
  const auto after = [&](const std::string& field, const json& value) {
    copy("plain");
    change_config(
        [&](json& c) { value.is_null() ? void(c.erase(field)) : void(c[field] = value); });
    return error();
  };
  EXPECT_THAT(after("hidden_act", "mish"),
              AllOf(HasSubstr("config.json: hidden_act: found \"mish\""), HasSubstr("gelu_new")));
  EXPECT_THAT(after("hidden_size", nullptr), HasSubstr("\"hidden_size\" is missing"));
  EXPECT_THAT(after("hidden_size", "48"), HasSubstr("hidden_size: found \"48\""));
  EXPECT_THAT(after("hidden_size", 48.5), HasSubstr("hidden_size: found 48.5"));
  EXPECT_THAT(after("hidden_size", 96), HasSubstr("has shape"));
  EXPECT_THAT(after("hidden_size", 0), HasSubstr("from 1 to"));
  EXPECT_THAT(after("num_attention_heads", 5),
              HasSubstr("a divisor of 'hidden_size', which is 48"));
  EXPECT_THAT(after("num_hidden_layers", 3), HasSubstr("encoder.layer.2.attention"));
  EXPECT_THAT(after("num_hidden_layers", 1), HasSubstr("unexpected tensor"));
  EXPECT_THAT(after("num_hidden_layers", 4e18), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(after("architectures", {"BertLMHeadModel"}),
              HasSubstr("architectures[0]: found \"BertLMHeadModel\""));
  EXPECT_THAT(after("architectures", nullptr), HasSubstr("\"architectures\" is missing"));
  EXPECT_THAT(after("model_type", "distilbert"), HasSubstr("one of DistilBertFor"));
  EXPECT_THAT(after("model_type", "big_bird"),
              AllOf(HasSubstr("found \"big_bird\""), HasSubstr("one of albert, bart, bert, ")));
  EXPECT_THAT(after("is_decoder", true), HasSubstr("only encoders"));
  EXPECT_THAT(after("position_embedding_type", "relative_key"),
              HasSubstr("layer.0.attention.self.distance_embedding.weight' is missing"));
  EXPECT_THAT(after("position_embedding_type", "rotary"), HasSubstr("relative_key_query"));
  for (const int epsilon : {-1, 1}) {
    EXPECT_THAT(after("layer_norm_eps", epsilon),
                HasSubstr("expected a number of at least 0 and less than 1"));
  }
  EXPECT_THAT(after("pruned_heads", {{"0", {1}}}),
              HasSubstr("pruned_heads: found an object, expected none"));
  EXPECT_THAT(after("problem_type", "ranking"), HasSubstr("ranking"));
  EXPECT_THAT(after("id2label", {{"0", "a"}, {"2", "b"}, {"3", "c"}}),
              HasSubstr("id2label: \"1\" is missing"));
  EXPECT_EQ(after("id2label", {{"0", 7}, {"1", "b"}, {"2", "c"}}), "no error");
  EXPECT_EQ(after("num_labels", 3), "no error");
  EXPECT_THAT(after("num_labels", 5),
              HasSubstr("num_labels: found 5, expected 3, as many as id2label has"));
  EXPECT_THAT(after("per_layer_config", {{"1", {{"num_attention_heads", 1}}}}),
              HasSubstr("per_layer_config: found an object, expected none"));
  EXPECT_THAT(after("quantization_config", {{"quant_method", "gptq"}}),
              HasSubstr("quantization_config.quant_method: found \"gptq\", expected"));
  EXPECT_THAT(after("id2label", {{"0", "a"}}), HasSubstr("classifier.weight' has shape [3, 48]"));
  EXPECT_THAT(after("vocab_size", 100),
              HasSubstr("ids up to 199, but config.json's vocab_size is"));
  EXPECT_THAT(after("vocab_size", 300),
              HasSubstr("word_embeddings.weight' has shape [200, 48], expected [300, 48]"));
  copy("plain");
  write_file(path_ / "config.json", "{\"hidden_size\": ");
  EXPECT_THAT(error(), HasSubstr("config.json: not valid JSON at byte"));
  write_file(path_ / "config.json", "[]");
  EXPECT_THAT(error(), HasSubstr("config.json: found an array, expected an object"));
}

TEST_F(ConfigFile, MayNotNestDeeply) {
  copy("plain");
  write_file(path_ / "config.json", std::string(1000000, '[') + std::string(1000000, ']'));
  EXPECT_THAT(error(), HasSubstr("config.json: nests more than 100 deep"));
}

// 240 mutants from a fixed seed. A mutant of the weights must be an error or leave the answer as it
// is; a mutant of the configuration may also be valid, and its answer must then be finite.
TEST_F(Directory, MutantsAreCleanErrorsOrGiveTheSameAnswer) {
  std::mt19937 generator(2026);
  const auto pick = [&](size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(generator);
  };
  const std::vector<float> want = answer();
  ASSERT_FALSE(want.empty());
  const std::string good_weights = test::read_file(weights()),
                    good_config = test::read_file(path_ / "config.json");
  const size_t header_end = 8 + header().dump().size();
  int errors = 0;
  for (int i = 0; i < 240; ++i) {
    std::string file = good_weights, config = good_config;
    switch (i % 6) {
      case 0:
        file.resize(pick(file.size()));
        break;
      case 1:
        file[pick(header_end)] ^= static_cast<char>(1 << pick(8));
        break;
      case 2:
        file[pick(8)] = static_cast<char>(pick(256));
        break;
      case 3:
        file.erase(8 + pick(header_end - 8), 1 + pick(20));
        break;
      case 4:
        config[pick(config.size())] ^= static_cast<char>(1 << pick(8));
        break;
      case 5:
        config.resize(pick(config.size()));
        break;
    }
    write_file(weights(), file);
    write_file(path_ / "config.json", config);
    std::string message;
    const std::vector<float> got = answer(&message);
    errors += !message.empty();
    if (message.empty() && i % 6 < 4) {
      EXPECT_EQ(got, want) << "mutant " << i;
    }
    for (const float value : got) EXPECT_TRUE(std::isfinite(value)) << "mutant " << i;
    if (!message.empty()) {
      EXPECT_THAT(message, HasSubstr(path_.string())) << "mutant " << i;
    }
  }
  EXPECT_GE(errors, 150);
}

TEST_F(Directory, VocabularyOfAnotherSizeIsAnErrorOrANote) {
  const fs::path vocabulary = path_ / "vocab.txt";
  const std::string good = test::read_file(vocabulary);
  EXPECT_TRUE(Model::load(path_).info().notes.empty());
  write_file(vocabulary, good + "one-more\n");
  EXPECT_THAT(error(), HasSubstr("ids up to 200, but config.json's vocab_size is 200"));
  write_file(vocabulary, good);
  write_file(path_ / "added_tokens.json", R"({"<image>": 200})");
  const Model added = Model::load(path_);
  EXPECT_THAT(added.info().notes,
              testing::ElementsAre(HasSubstr("has 201 ids, but config.json's")));
  EXPECT_EQ(added.run(std::vector<Input>{{"a man"}}).rows, 1);
  EXPECT_THAT(test::error_of([&] { added.run(std::vector<Input>{{"a <image>"}}); }),
              HasSubstr("is 200, outside the vocabulary of 200"));
  fs::remove(path_ / "added_tokens.json");
  write_file(vocabulary,
             good.substr(0, good.size() - 2).substr(0, good.rfind('\n', good.size() - 2) + 1));
  EXPECT_THAT(Model::load(path_).info().notes,
              testing::ElementsAre(HasSubstr("has 199 ids, but config.json's vocab_size is 200")));
}

// int8 is calibrated on texts, whose words may be among the tokens without a row.
TEST_F(Directory, ExamplesOfInputsHaveTokensOfTheModelAlone) {
  write_file(path_ / "added_tokens.json", R"({"violin": 200})");
  Options options;
  options.precision = Precision::int8;
  const Model model = Model::load(path_, options);
  EXPECT_EQ(model.run(std::vector<Input>{{"a man"}}).rows, 1);
  const models::Config config = models::read_config(path_, "");
  const models::Batch batch = models::example_batch(
      [&](const char* first, const char* second) {
        return model.tokenizer().encode({first, second});
      },
      config);
  EXPECT_LT(std::ranges::max(batch.ids), config.vocabulary);
}

TEST_F(Directory, UnsupportedPoolingIsRefusedByName) {
  copy("st-mean");
  EXPECT_EQ(error(), "no error");
  const fs::path pooling = path_ / "1_Pooling" / "config.json", modules = path_ / "modules.json";
  const std::string good_pooling = test::read_file(pooling),
                    good_modules = test::read_file(modules);
  json changed = json::parse(good_pooling);
  changed["pooling_mode_middle_token"] = true;
  write_file(pooling, changed.dump());
  EXPECT_THAT(error(), HasSubstr("pooling_mode_middle_token: found true"));
  write_file(pooling, good_pooling);
  changed = json::parse(good_modules);
  changed[2]["type"] = "sentence_transformers.models.LayerNorm";
  write_file(modules, changed.dump());
  EXPECT_THAT(error(), HasSubstr("models.LayerNorm"));
  write_file(modules, "{}");
  EXPECT_THAT(error(), HasSubstr("array of modules"));
  fs::remove(pooling);
  write_file(modules, good_modules);
  EXPECT_THAT(error(), HasSubstr("1_Pooling/config.json: cannot be read: No such file"));
}

}  // namespace
}  // namespace bert
