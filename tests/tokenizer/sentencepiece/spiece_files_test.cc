// SPDX-License-Identifier: Apache-2.0
//
// What the files beside a SentencePiece model change, and how the families differ.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tokenizer/sentencepiece/spiece_builder.h"
#include "tests/tokenizer/test_directory.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// The model, in a directory of a family's tokenizer class.
class SpieceFiles : public testing::Test {
 protected:
  TextEncoder load(const std::string& name, const SpieceBuilder& model, json config = {}) const {
    write_all(name, model, std::move(config));
    return directory_.load();
  }
  std::string error(const std::string& name, const SpieceBuilder& model) const {
    write_all(name, model, {});
    return directory_.error();
  }
  const TestDirectory directory_;

 private:
  void write_all(const std::string& name, const SpieceBuilder& model, json config) const {
    config["tokenizer_class"] = name + "Tokenizer";
    directory_.write("spiece.model", model.build());
    directory_.write("tokenizer_config.json", config.dump());
  }
};

TEST_F(SpieceFiles, NameTokens) {
  json token = added_token("<f>", 15);
  token.erase("id");
  directory_.write("special_tokens_map.json", R"({"mask_token": "[MASK]"})");
  const TextEncoder tokenizer = load("Albert", small_albert(),
                                     {{"mask_token", "[X]"},
                                      {"additional_special_tokens", {"<e>"}},
                                      {"added_tokens_decoder", {{"15", token}, {"16", token}}}});
  EXPECT_THAT(tokenizer.notes(), testing::Contains(HasSubstr("mask_token is \"[MASK]\", but")));
  EXPECT_EQ(tokenizer.mask_id(), tokenizer.find("[X]"));
  EXPECT_EQ(tokenizer.find("<f>"), 14);
  EXPECT_EQ(tokenizer.find("[X]"), 15);
  EXPECT_EQ(tokenizer.find("<e>"), 16);
}

TEST_F(SpieceFiles, NoteUserDefinedPieces) {
  EXPECT_THAT(load("Albert", small_albert()).notes(), testing::IsEmpty());
  const TextEncoder tokenizer =
      load("Albert", small_albert().piece(".", 0, SpieceBuilder::kUserDefined));
  EXPECT_THAT(tokenizer.notes(), ElementsAre(HasSubstr("piece \".\" does not end a word")));
  EXPECT_EQ(tokens_of(tokenizer, "ab.b"), "\u2581ab . b");
}

TEST_F(SpieceFiles, MayWantNoPrefix) {
  const TextEncoder tokenizer = load("Albert", small_albert(), {{"add_prefix_space", false}});
  EXPECT_EQ(tokens_of(tokenizer, "b"), "b");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{6, 7}, true), " ab");
  const TextEncoder prefixed = load("Albert", small_albert());
  EXPECT_EQ(tokens_of(prefixed, "b"), "\u2581 b");
  EXPECT_EQ(prefixed.decode(std::vector<int32_t>{6, 7}, true), "ab");
}

TEST_F(SpieceFiles, XlmRobertaRanksDigitsLikeAllElse) {
  const SpieceBuilder model = small_roberta().piece("1,", -1).piece("1", -3).piece(",", -3);
  EXPECT_EQ(tokens_of(load("XLMRoberta", model), "1,"), "\u2581 1,");
}

TEST_F(SpieceFiles, CamembertHasUnusedTokens) {
  // The score of one of them is the lowest, which that of an unknown character depends on.
  const SpieceBuilder model =
      small_roberta().piece("qr", -9).piece("s", -9).piece("t", -9).piece("rst", -1);
  const TextEncoder tokenizer = load("Camembert", model);
  EXPECT_EQ(tokens_of(tokenizer, "qrst"), "\u2581 qr s t");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{0, 9}, true), "b");
  const TextEncoder named = load("Camembert", model, {{"additional_special_tokens", {"<e>"}}});
  EXPECT_EQ(named.decode(std::vector<int32_t>{0, 9}, true), "<s>NOTUSEDb");
  EXPECT_THAT(
      error("Camembert",
            SpieceBuilder().piece("a", 0).piece("<unk>", 0, SpieceBuilder::kUnknown).unknown(1)),
      HasSubstr("pieces[0]: found \"a\", expected an unknown or control piece"));
}

TEST_F(SpieceFiles, DebertaStripsTheTextButNotBeforeItsMask) {
  SpieceBuilder model;
  for (const char* name : {"[PAD]", "[CLS]", "[SEP]"}) {
    model.piece(name, 0, SpieceBuilder::kControl);
  }
  model.piece("[UNK]", 0, SpieceBuilder::kUnknown).unknown(3).piece("\u2581a", -2);
  for (const json& config : {json::object(), json{{"mask_token", "[MASK]"}}}) {
    const Encoding encoding =
        load("DebertaV2", model, config).encode("  a [MASK]", std::nullopt, 0);
    EXPECT_THAT(encoding.ids, ElementsAre(1, 4, 5, 2));
    EXPECT_EQ(offsets_of(encoding), "0-0 2-3 4-10 0-0");
  }
}

}  // namespace
}  // namespace bert::tokenizer
