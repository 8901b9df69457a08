// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>

#include "tests/tokenizer/test_directory.h"
#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;
using testing::ElementsAre;

// vocabulary: five special tokens, to which the bytes and a word are added.
void write_files(const TestDirectory& directory, json vocabulary) {
  for (int byte = 0; byte < 256; ++byte) {
    char bytes[4];
    vocabulary[std::string(bytes, utf8::encode(byte_characters()[byte], bytes))] = 5 + byte;
  }
  vocabulary["\u0120a"] = 261;
  directory.write("vocab.json", vocabulary.dump());
  directory.write("merges.txt", "#version: 0.2\n\u0120 a\n");
}

TEST(VocabJson, IsRobertas) {
  const TestDirectory directory;
  write_files(directory, {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"<mask>", 4}});
  EXPECT_THAT(directory.error(), testing::HasSubstr("expected \"roberta\""));
  directory.write("config.json", R"({"model_type": "roberta"})");
  const TextEncoder tokenizer = directory.load();
  const Encoding pair = tokenizer.encode("a a", " a <mask>", 0);
  EXPECT_THAT(pair.ids, ElementsAre(0, 102, 261, 2, 2, 261, 4, 2));
  EXPECT_THAT(pair.type_ids, testing::Each(0));
  EXPECT_EQ(offsets_of(pair), "0-0 0-1 2-3 0-0 0-0 1-2 3-9 0-0");
  EXPECT_EQ(tokenizer.mask_id(), 4);
  directory.write("tokenizer_config.json", R"({"add_prefix_space": true, "trim_offsets": false})");
  const Encoding prefixed = directory.load().encode("a a", std::nullopt, 0);
  EXPECT_THAT(prefixed.ids, ElementsAre(0, 261, 261, 2));
  EXPECT_EQ(offsets_of(prefixed), "0-0 0-1 1-3 0-0");
  directory.write("merges.txt", "a b c\n");
  EXPECT_EQ(directory.error(), "merges.txt: line 1: expected two tokens and a space between them");
  directory.write("merges.txt", "a b\n");
  EXPECT_EQ(directory.error(),
            "vocab.json: merges.txt: merge 0 (\"a\" and \"b\") needs \"ab\", which is not in the "
            "vocabulary");
}

TEST(VocabJson, OtherFilesNameTokensAndLengths) {
  const TestDirectory directory;
  write_files(directory, {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"<mask>", 4}});
  directory.write("merges.txt", "\u0120 a\n\n");
  json token = {{"content", "<mask>"}, {"single_word", false}, {"lstrip", false},
                {"rstrip", true},      {"normalized", false},  {"special", true}};
  json config = {{"tokenizer_class", "LongformerTokenizer"},
                 {"cls_token", "<pad>"},
                 {"additional_special_tokens", {"<x>"}},
                 {"model_max_length", 7},
                 {"truncation_side", "left"},
                 {"added_tokens_decoder", {{"4", token}}}};
  directory.write("tokenizer_config.json", config.dump());
  directory.write("special_tokens_map.json", R"({"cls_token": "<s>"})");
  const TextEncoder tokenizer = directory.load();
  const Encoding encoding = tokenizer.encode("<x> a <mask> a", std::nullopt, 0);
  EXPECT_THAT(encoding.ids, ElementsAre(1, 262, 261, 37, 4, 102, 2));
  EXPECT_EQ(offsets_of(encoding), "0-0 0-3 4-5 6-6 6-12 13-14 0-0");
  EXPECT_EQ(tokenizer.decode(encoding.ids, true), " a a");
  EXPECT_EQ(tokenizer.default_max_length(), 7);
  EXPECT_TRUE(tokenizer.truncates_left());
  EXPECT_THAT(tokenizer.notes(),
              ElementsAre(testing::HasSubstr("special_tokens_map.json: cls_token is \"<s>\"")));
}

TEST(VocabJson, NullIsNoToken) {
  const TestDirectory directory;
  write_files(directory, {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"<mask>", 4}});
  directory.write("config.json", R"({"model_type": "roberta"})");
  directory.write("tokenizer_config.json", R"({"mask_token": null, "bos_token": null})");
  EXPECT_EQ(tokens_of(directory.load(), "<s><mask>"), "<s> < m a s k >");
  EXPECT_EQ(directory.load().mask_id(), -1);
  directory.write("tokenizer_config.json", R"({"sep_token": null})");
  EXPECT_EQ(directory.error(), "tokenizer_config.json: sep_token: found null, expected a token");
}

TEST(VocabJson, IsTheFirstDebertas) {
  const TestDirectory directory;
  write_files(directory, {{"[PAD]", 0}, {"[CLS]", 1}, {"[SEP]", 2}, {"[UNK]", 3}, {"[MASK]", 4}});
  directory.write("tokenizer_config.json", R"({"tokenizer_class": "DebertaV2Tokenizer"})");
  EXPECT_THAT(directory.error(), testing::HasSubstr("DebertaTokenizer or CLIPTokenizer"));
  directory.write("tokenizer_config.json", R"({"tokenizer_class": "DebertaTokenizer"})");
  const TextEncoder tokenizer = directory.load();
  const Encoding pair = tokenizer.encode("a a", " a [MASK]", 0);
  EXPECT_THAT(pair.ids, ElementsAre(1, 102, 261, 2, 261, 4, 2));
  EXPECT_THAT(pair.type_ids, ElementsAre(0, 0, 0, 0, 1, 1, 1));
  EXPECT_EQ(offsets_of(pair), "0-0 0-1 1-3 0-0 0-2 2-9 0-0");
  EXPECT_EQ(tokenizer.mask_id(), 4);
}

// Words end with a suffix, and are cut out by another expression. As in CLIPTokenizer, c, which has
// no token, becomes the end of text.
TEST(VocabJson, IsClips) {
  const TestDirectory directory;
  json vocabulary = {{"<|startoftext|>", 300}, {"<|endoftext|>", 301}};
  for (const char* token : {"a", "b", "s", "'", "1", "2", "a</w>", "b</w>", "'s</w>", "s</w>",
                            "1</w>", "2</w>", "'</w>", "ab</w>"}) {
    vocabulary[token] = vocabulary.size();
  }
  directory.write("vocab.json", vocabulary.dump());
  directory.write("merges.txt", "#version: 0.2\na b</w>\n' s</w>\n");
  directory.write("config.json", R"({"model_type": "clip_text_model"})");
  const Encoding pair = directory.load().encode("AB \n ba12", "ab's<|endoftext|> c", 0);
  EXPECT_THAT(pair.ids, ElementsAre(300, 15, 3, 8, 12, 13, 301, 301, 15, 10, 301, 301, 301));
  EXPECT_EQ(offsets_of(pair), "0-0 0-2 5-6 6-7 7-8 8-9 0-0 0-0 0-2 2-4 4-17 18-19 0-0");
  directory.write("tokenizer_config.json", R"({"tokenizer_class": "CLIPTokenizer"})");
  EXPECT_EQ(directory.load().encode("AB \n ba12", "ab's<|endoftext|> c", 0).ids, pair.ids);
}

}  // namespace
}  // namespace bert::tokenizer
