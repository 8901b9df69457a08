// SPDX-License-Identifier: Apache-2.0
//
// What encoder-decoder models have besides an encoder.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/bert_queue.h"
#include "tests/models/copied_model.h"

namespace bert {
namespace {

using testing::HasSubstr;

TEST(Decoder, SettingsThatChangeItAreRefused) {
  const test::CopiedModel copy("bart");
  const std::pair<nlohmann::json, const char*> wrong[] = {
      {{{"normalize_before", true}}, "normalize_before: found true, expected false"},
      {{{"add_final_layer_norm", true}}, "add_final_layer_norm: found true, expected false"},
      {{{"scale_embedding", true}}, "scale_embedding: found true, expected false"},
      {{{"static_position_embeddings", true}}, "static_position_embeddings: found true"},
      {{{"normalize_embedding", false}}, "normalize_embedding: found false, expected true"},
      {{{"extra_pos_embeddings", 1}}, "extra_pos_embeddings: found 1, expected 2"},
      {{{"decoder_attention_heads", 6}},
       "decoder_attention_heads: found 6, expected 12, as in the"},
      {{{"decoder_ffn_dim", 51}}, "decoder_ffn_dim: found 51, expected 50, as in the encoder"},
      {{{"decoder_layers", 0}}, "decoder_layers: found 0, expected"},
      {{{"decoder_start_token_id", 200}}, "decoder_start_token_id: found 200, expected"},
      {{{"decoder_layers", 4}}, "'decoder.layers.3.self_attn.q_proj.weight' is missing"}};
  const auto right = nlohmann::json::parse(copy.read("config.json"));
  for (const auto& [change, message] : wrong) {
    copy.write_json("config.json", right);
    copy.change("config.json", change);
    EXPECT_THAT(test::load_error(copy), HasSubstr(message));
  }
}

TEST(Decoder, FieldsOfPublishedFilesAreKnown) {
  const test::CopiedModel copy("bart");
  copy.change("config.json", {{"activation_dropout", 0.1},
                              {"add_bias_logits", false},
                              {"classif_dropout", 0.0},
                              {"decoder_layerdrop", 0.0},
                              {"encoder_layerdrop", 0.0},
                              {"init_std", 0.02},
                              {"normalize_embedding", true}});
  EXPECT_TRUE(Model::load(copy.path()).info().notes.empty());
}

// Which of several it reads, golden models tell.
TEST(Decoder, AClassifierNeedsAnEndOfSequence) {
  const test::CopiedModel copy("bart-classification");
  const Model model = Model::load(copy.path());
  const int end = nlohmann::json::parse(copy.read("config.json")).at("eos_token_id");
  const auto error = [&](const std::vector<int32_t>& ids) {
    const std::vector<Encoding> inputs = {{.ids = ids, .type_ids = std::vector(ids.size(), 0)}};
    return test::error_of([&] { model.run(inputs); });
  };
  EXPECT_EQ(error({7, end, 9}), "no error");
  const std::string missing = "input 0: found no token " + std::to_string(end) +
                              " (eos_token_id in config.json), whose state the classifier reads";
  EXPECT_EQ(error({7, 9}), missing);
  const std::vector<Encoding> without = {{.ids = {7, 9}, .type_ids = {0, 0}}};
  EXPECT_EQ(model.hidden(without)[0].states.rows, 2);
  Queue queue(model);
  EXPECT_EQ(queue.hidden(without).get()[0].states.rows, 2);
  EXPECT_EQ(test::error_of([&] { queue.run(without).get(); }), missing);
}

}  // namespace
}  // namespace bert
