// SPDX-License-Identifier: Apache-2.0
//
// SentencePiece models with Hugging Face's conventions: small ones, written here.
// sentence_piece_test.py compares larger ones with the library's own results.
#include <random>
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
using Ids = std::vector<int32_t>;

// Writes the model where a tokenizer class reads it.
void write(const TestDirectory& directory, const std::string& name, const SpieceBuilder& model,
           json config = json::object()) {
  const bool is_albert = name == "AlbertTokenizer";
  config["tokenizer_class"] = name;
  directory.write(is_albert                       ? "spiece.model"
                  : name.starts_with("DebertaV2") ? "spm.model"
                                                  : "sentencepiece.bpe.model",
                  model.build());
  directory.write("tokenizer_config.json", config.dump());
}

TextEncoder tokenizer_of(const std::string& name, const SpieceBuilder& model,
                         const json& config = json::object()) {
  const TestDirectory directory;
  write(directory, name, model, config);
  return directory.load();
}

std::string error_of(const std::string& name, const SpieceBuilder& model) {
  const TestDirectory directory;
  write(directory, name, model);
  return directory.error();
}

json unigram_json() {
  return json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null, "added_tokens": [
      {"id": 4, "content": "<mask>", "single_word": false, "lstrip": true, "rstrip": false,
       "normalized": false, "special": true}],
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Replace", "pattern": {"String": "``"}, "content": "\""}, {"type": "NFKC"},
      {"type": "Strip", "strip_left": false, "strip_right": true},
      {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "WhitespaceSplit"},
      {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": true}]},
    "post_processor": null, "decoder": null,
    "model": {"type": "Unigram", "unk_id": 0, "vocab": [
      ["<unk>", 0.0], ["\u2581", -3.5], ["\u2581a", -2], ["b", -4.0], ["<mask>", 0.0]]}})");
}

std::string json_error(const std::function<void(json&)>& change) {
  json definition = unigram_json();
  change(definition);
  const TestDirectory directory;
  directory.write("tokenizer.json", definition.dump());
  return directory.error();
}

TEST(SentencePiece, Albert) {
  const TextEncoder tokenizer = tokenizer_of("AlbertTokenizer", small_albert());
  const Encoding one = tokenizer.encode("A B", std::nullopt, 0);
  EXPECT_EQ(one.ids, (Ids{2, 6, 5, 7, 3}));
  EXPECT_EQ(offsets_of(one), "0-0 0-1 1-2 2-3 0-0");
  const Encoding pair = tokenizer.encode("ab", "b", 0);
  EXPECT_EQ(pair.ids, (Ids{2, 8, 3, 5, 7, 3}));
  EXPECT_EQ(pair.type_ids, (Ids{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(tokenizer.encode("", std::nullopt, 0).ids, (Ids{2, 3}));
  EXPECT_EQ(tokenizer.encode("", "", 0).ids, (Ids{2, 3, 3}));
  EXPECT_EQ(tokenizer.mask_id(), 4);
}

TEST(SentencePiece, AlbertNormalizes) {
  const TextEncoder tokenizer = tokenizer_of("AlbertTokenizer", small_albert());
  const Encoding quotes = tokenizer.encode("``\u00c9''", std::nullopt, 0);
  EXPECT_EQ(quotes.ids, (Ids{2, 5, 9, 13, 9, 3}));
  EXPECT_EQ(offsets_of(quotes), "0-0 1-2 1-2 2-3 4-5 0-0");
  // A piece that ends in a digit and a comma ranks far below all others.
  EXPECT_EQ(tokens_of(tokenizer, "1,"), "\u2581 1 ,");
  for (const std::string digit : {"9", "\u00b9", "\u0669", "\U0001d7ff"}) {
    const SpieceBuilder model = small_albert().piece(digit + ",", -1).piece(digit, -3);
    const TextEncoder as_is = tokenizer_of("AlbertTokenizer", model, {{"keep_accents", true}});
    EXPECT_EQ(tokens_of(as_is, digit + ","), "\u2581 " + digit + " ,");
  }
  const TextEncoder cased = tokenizer_of("AlbertTokenizer", small_albert(),
                                         {{"do_lower_case", false}, {"keep_accents", true}});
  EXPECT_EQ(tokens_of(cased, "A e \u00e9"), "\u2581 <unk> \u2581 e \u2581 <unk>");
}

TEST(SentencePiece, AdjacentUnknownsAreOneToken) {
  const TextEncoder tokenizer = tokenizer_of("AlbertTokenizer", small_albert());
  const Encoding encoding = tokenizer.encode("a\u4e2d\u6587\U0001f600b", std::nullopt, 0);
  EXPECT_EQ(encoding.ids, (Ids{2, 6, 1, 7, 3}));
  EXPECT_EQ(offsets_of(encoding), "0-0 0-1 1-4 4-5 0-0");
}

TEST(SentencePiece, SpecialTokensInText) {
  const TextEncoder tokenizer = tokenizer_of("AlbertTokenizer", small_albert());
  const Encoding encoding = tokenizer.encode("a  [MASK] a[SEP]", std::nullopt, 0);
  EXPECT_EQ(encoding.ids, (Ids{2, 6, 4, 6, 3, 3}));
  EXPECT_EQ(offsets_of(encoding), "0-0 0-1 1-9 9-11 11-16 0-0");
}

TEST(SentencePiece, XlmRobertaShiftsIds) {
  const TextEncoder tokenizer = tokenizer_of("XLMRobertaTokenizer", small_roberta());
  EXPECT_EQ(tokenizer.vocabulary_size(), 9);
  const Encoding pair = tokenizer.encode("a  b ", "<x>z <mask>", 0);
  EXPECT_EQ(pair.ids, (Ids{0, 5, 4, 6, 2, 2, 4, 7, 3, 8, 2}));
  EXPECT_EQ(pair.type_ids, Ids(pair.ids.size(), 0));
  EXPECT_EQ(offsets_of(pair), "0-0 0-1 2-3 3-4 0-0 0-0 0-1 0-3 3-4 4-11 0-0");
  EXPECT_EQ(tokenizer.mask_id(), 8);
}

TEST(SentencePiece, CamembertShiftsIds) {
  const TextEncoder tokenizer = tokenizer_of("CamembertTokenizerFast", small_roberta());
  EXPECT_EQ(tokenizer.vocabulary_size(), 12);
  EXPECT_EQ(tokenizer.encode("ab", "z", 0).ids, (Ids{5, 8, 9, 6, 6, 7, 3, 6}));
  EXPECT_EQ(tokenizer.token(0), "<s>NOTUSED");
  EXPECT_EQ(tokenizer.mask_id(), 11);
}

TEST(SentencePiece, DebertasMaskFollowsThePieces) {
  SpieceBuilder model;
  for (const char* name : {"[PAD]", "[CLS]", "[SEP]"})
    model.piece(name, 0, SpieceBuilder::kControl);
  model.piece("[UNK]", 0, SpieceBuilder::kUnknown).unknown(3).map('~', "b");
  model.piece("\u2581", -3).piece("\u2581a", -2).piece("b", -4).piece("\u2581A", -4);
  const TextEncoder tokenizer = tokenizer_of("DebertaV2Tokenizer", model);
  EXPECT_EQ(tokenizer.mask_id(), 8);
  const Encoding pair = tokenizer.encode(" a  ~ ", "Az [MASK]", 0);
  EXPECT_EQ(pair.ids, (Ids{1, 5, 4, 6, 2, 7, 3, 8, 2}));
  EXPECT_EQ(pair.type_ids, (Ids{0, 0, 0, 0, 0, 1, 1, 1, 1}));
  const TextEncoder lower =
      tokenizer_of("DebertaV2TokenizerFast", model, {{"do_lower_case", true}});
  EXPECT_EQ(lower.encode("A [UNK]", std::nullopt, 0).ids, (Ids{1, 5, 3, 2}));
  const TestDirectory directory;
  write(directory, "DebertaV2Tokenizer", model, {{"split_by_punct", true}});
  EXPECT_EQ(directory.error(), "tokenizer_config.json: split_by_punct: found true, expected false");
}

TEST(SentencePiece, ModelTypeIfNoClassIsNamed) {
  const TestDirectory directory;
  directory.write("spiece.model", small_albert().build());
  directory.write("config.json", R"({"model_type": "albert"})");
  EXPECT_EQ(directory.load().encode("a", std::nullopt, 0).ids, (Ids{2, 6, 3}));
  directory.write("config.json", R"({"model_type": "t5"})");
  EXPECT_EQ(directory.error(),
            "config.json: model_type: found \"t5\", expected albert, xlm-roberta, camembert or "
            "deberta-v2");
  directory.write("tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer"})");
  EXPECT_EQ(directory.error(),
            "tokenizer_config.json: tokenizer_class: found \"T5Tokenizer\", expected "
            "AlbertTokenizer, XLMRobertaTokenizer, CamembertTokenizer or DebertaV2Tokenizer");
}

TEST(SentencePiece, Charsmap) {
  SpieceBuilder model = small_albert();
  const TextEncoder tokenizer = tokenizer_of("AlbertTokenizer", model.map('z', "ab"));
  EXPECT_EQ(offsets_of(tokenizer.encode("z", std::nullopt, 0)), "0-0 0-1 0-0");
  EXPECT_EQ(tokens_of(tokenizer, "z"), "\u2581ab");
  // A grapheme whose first character is mapped is replaced as a whole.
  const TextEncoder accents = tokenizer_of("AlbertTokenizer", model, {{"keep_accents", true}});
  EXPECT_EQ(tokens_of(accents, "z\u0301b"), "\u2581ab b");
  const TextEncoder dropped = tokenizer_of("AlbertTokenizer", model.map('z', ""));
  EXPECT_EQ(tokens_of(dropped, "zab"), "\u2581ab");
}

TEST(SentencePiece, ContinuesWord) {
  const TextEncoder tokenizer = tokenizer_of("AlbertTokenizer", small_albert());
  std::vector<int32_t> continuing;
  for (int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    if (tokenizer.continues_word(id)) continuing.push_back(id);
  }
  EXPECT_THAT(continuing, ElementsAre(7, 9, 10, 11, 12, 13));
  EXPECT_THROW(tokenizer.continues_word(99), std::runtime_error);
}

TEST(SentencePiece, TruncatesLongestFirst) {
  const TextEncoder tokenizer = tokenizer_of("XLMRobertaTokenizer", small_roberta());
  EXPECT_EQ(tokenizer.encode("a a a a", "a", 7).ids, (Ids{0, 5, 5, 2, 2, 5, 2}));
  EXPECT_TRUE(tokenizer.encode("a a a a", std::nullopt, 4).truncated);
  EXPECT_FALSE(tokenizer.encode("a a ", std::nullopt, 4).truncated);
  // Both are read only as far as the limit.
  EXPECT_EQ(tokenizer.encode("a a a a a a a a a", "a a a a a a a a", 7).ids,
            (Ids{0, 5, 2, 2, 5, 5, 2}));
  const TextEncoder named = tokenizer_of(
      "AlbertTokenizer", small_albert(),
      {{"model_max_length", 9}, {"truncation_side", "left"}, {"split_by_punct", true}});
  EXPECT_EQ(named.default_max_length(), 9);
  EXPECT_TRUE(named.truncates_left());
}

TEST(SentencePiece, InvalidUtf8) {
  const TextEncoder tokenizer = tokenizer_of("AlbertTokenizer", small_albert());
  EXPECT_THROW(
      {
        try {
          tokenizer.encode("ab\xff", std::nullopt, 0);
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(), "the first text is not valid UTF-8 at byte 2");
          throw;
        }
      },
      std::runtime_error);
}

// None of it is dropped, though one unknown token may stand for all.
TEST(SentencePiece, LongTextsAreLinear) {
  const TextEncoder tokenizer = tokenizer_of("AlbertTokenizer", small_albert());
  for (const auto& [unit, least] : {std::pair{"a", 1},
                                    {" ", 0},
                                    {"a ", 100'000},
                                    {"\u4e2d", 1},
                                    {"e\u0301", 100'000},
                                    {"``", 100'000},
                                    {"\u0301", 0}}) {
    const auto tokens = [&, part = unit](size_t bytes) {
      std::string text;
      while (text.size() < bytes) text += part;
      return std::ssize(tokenizer.encode(text, std::nullopt, 0).ids) - 2;  // without [CLS], [SEP]
    };
    const auto all = tokens(1'000'000);
    EXPECT_GE(all, least) << unit;
    EXPECT_NEAR(static_cast<double>(all), 2 * static_cast<double>(tokens(500'000)), 4) << unit;
  }
}

TEST(SentencePiece, SaysWhatIsWrongWithTheModel) {
  const auto albert = [](const SpieceBuilder& model) { return error_of("AlbertTokenizer", model); };
  EXPECT_EQ(albert(small_albert().kind(2)),
            "spiece.model: trainer_spec.model_type: found BPE, expected UNIGRAM");
  EXPECT_EQ(albert(small_albert().unknown(0)),
            "spiece.model: trainer_spec.unk_id: found 0, expected the id of the unknown piece");
  EXPECT_THAT(albert(small_albert().unknown(99)), HasSubstr("unk_id: found 99, expected the id"));
  EXPECT_THAT(albert(small_albert().unknown(-1)), HasSubstr("unk_id: found -1, expected the id"));
  EXPECT_THAT(albert(small_albert().piece(std::string(1025, 'x'), 0)),
              HasSubstr("pieces[14].piece: expected 1 to 1024 bytes"));
  EXPECT_THAT(albert(small_albert().piece("x", 0, 0)), HasSubstr("[14].type: found 0, expected"));
  EXPECT_EQ(albert(small_albert().piece("", 0)),
            "spiece.model: pieces[14].piece: expected 1 to 1024 bytes of UTF-8 without NUL");
  EXPECT_EQ(albert(small_albert().piece("\xff", 0)),
            "spiece.model: pieces[14].piece: expected 1 to 1024 bytes of UTF-8 without NUL");
  EXPECT_EQ(albert(small_albert().piece("x", 0, 9)),
            "spiece.model: pieces[14].type: found 9, expected 1 to 6");
  EXPECT_EQ(albert(small_albert().piece("x", 1.0f / 0.0f)),
            "spiece.model: pieces[14].score: expected a finite number");
  EXPECT_THAT(albert(small_albert().piece("b", 0)),
              HasSubstr("spiece.model: SentencePiece says: "));
  EXPECT_EQ(albert(SpieceBuilder()),
            "spiece.model: found no pieces, so this is not a SentencePiece model");
  EXPECT_THAT(
      albert(small_albert().charsmap("abcd")),
      HasSubstr(
          "spiece.model: normalizer_spec.precompiled_charsmap: not a charsmap: it has 4 bytes"));
  EXPECT_EQ(albert(small_roberta()),
            "spiece.model: the special token \"[CLS]\" is not among the pieces");
  EXPECT_THAT(error_of("XLMRobertaTokenizer",
                       SpieceBuilder().piece("<unk>", 0, SpieceBuilder::kUnknown).piece("a", 0)),
              HasSubstr("pieces[1]: found \"a\", expected an unknown or control piece"));
}

TEST(SentencePiece, BrokenModelsAreErrors) {
  const std::string model = small_albert().map('z', "ab").build();
  const TestDirectory directory;
  write(directory, "AlbertTokenizer", small_albert());
  const std::pair<std::string, std::string> broken[] = {
      {"no model at all",
       "the SentencePiece model is cut short or damaged: found wire type 6 at byte 1 of it"},
      {{"\x0a\x02\x15\0", 4}, "pieces[0] is cut short or damaged: unexpected end at byte 1 of it"},
      {{"\x0a\x02\x10\0", 4},
       "pieces[0] is cut short or damaged: score has wire type 0, expected 5 at byte 2 of it"}};
  for (const auto& [content, message] : broken) {
    directory.write("spiece.model", content);
    EXPECT_EQ(directory.error(), "spiece.model: " + message);
  }
  std::mt19937 random(1);
  for (size_t size = 0; size < 4000; size += size < 300 ? 1 : 100) {
    directory.write("spiece.model", model.substr(0, size));
    EXPECT_THAT(directory.error(), HasSubstr("spiece.model: ")) << size;
  }
  for (int round = 0; round < 2000; ++round) {
    std::string mutated = model;
    for (int i = 0; i < 1 + round % 4; ++i) {
      mutated[random() % (round % 2 ? 350 : mutated.size())] = static_cast<char>(random());
    }
    directory.write("spiece.model", mutated);
    if (directory.error().empty()) {
      directory.load().encode("a z\u0301 [MASK] 1, ``x", "z z", 0);
    }
  }
}

TEST(UnigramJson, Encodes) {
  const TestDirectory directory;
  directory.write("tokenizer.json", unigram_json().dump());
  const TextEncoder tokenizer = directory.load();
  const Encoding encoding = tokenizer.encode(" \uff41\tb <mask>zz", std::nullopt, 0);
  EXPECT_EQ(encoding.ids, (Ids{2, 1, 3, 4, 1, 0}));
  EXPECT_EQ(offsets_of(encoding), "1-2 3-4 3-4 4-11 11-12 11-13");
  EXPECT_TRUE(tokenizer.continues_word(3));
  EXPECT_FALSE(tokenizer.continues_word(0));  // unknown
  EXPECT_EQ(tokenizer.mask_id(), 4);
  json old = unigram_json();
  old["model"].erase("type");
  directory.write("tokenizer.json", old.dump());
  EXPECT_EQ(directory.load().encode(" \uff41\tb <mask>zz", std::nullopt, 0).ids, encoding.ids);
  // tokenizer.json takes precedence over a model beside it.
  write(directory, "AlbertTokenizer", small_albert());
  EXPECT_EQ(directory.load().vocabulary_size(), 5);
}

TEST(UnigramJson, PrependSchemes) {
  json definition = unigram_json();
  const TestDirectory directory;
  const auto tokens = [&](const json& metaspace) {
    definition["pre_tokenizer"] = metaspace;
    directory.write("tokenizer.json", definition.dump());
    std::string out;
    for (const int32_t id : directory.load().encode("b<mask>b", std::nullopt, 0).ids) {
      out += std::to_string(id) + " ";
    }
    return out;
  };
  json metaspace = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}};
  EXPECT_EQ(tokens(metaspace), "1 3 4 1 3 ");
  metaspace["prepend_scheme"] = "first";
  EXPECT_EQ(tokens(metaspace), "1 3 4 3 ");
  metaspace["prepend_scheme"] = "never";
  EXPECT_EQ(tokens(metaspace), "3 4 3 ");
  definition["model"]["vocab"].push_back({"b\u2581b", -1});
  for (const bool splits : {false, true}) {
    metaspace["split"] = splits;
    tokens(metaspace);
    EXPECT_EQ(directory.load().encode("b b", std::nullopt, 0).ids,
              splits ? (Ids{3, 1, 3}) : (Ids{5}));
  }
  metaspace.erase("prepend_scheme");
  metaspace["add_prefix_space"] = false;
  EXPECT_EQ(tokens(metaspace), "3 4 3 ");
}

TEST(UnigramJson, SaysWhatIsWrongAndWhere) {
  const std::string file = "tokenizer.json: ";
  EXPECT_EQ(json_error([](json& d) { d["model"]["unk_id"] = 5; }),
            file + "model.unk_id: found 5, expected an integer from 0 to 4");
  EXPECT_EQ(json_error([](json& d) { d["model"]["unk_id"] = 4; }), "");
  EXPECT_EQ(json_error([](json& d) {
              d["model"]["vocab"].erase(d["model"]["vocab"].begin() + 1, d["model"]["vocab"].end());
              d["model"]["unk_id"] = 1;
            }),
            file + "model.unk_id: found 1, expected 0");
  EXPECT_EQ(json_error([](json& d) { d["model"]["vocab"] = json::array(); }),
            file + "model.vocab: expected at least the unknown token");
  EXPECT_EQ(json_error([](json& d) { d["model"]["vocab"][1] = {"a"}; }),
            file + "model.vocab[1]: expected a token and its score");
  EXPECT_EQ(json_error([](json& d) { d["model"]["vocab"][1][1] = "x"; }),
            file + "model.vocab[1][1]: found \"x\", expected a number");
  EXPECT_THAT(json_error([](json& d) { d["normalizer"]["normalizers"][1]["type"] = "Upper"; }),
              HasSubstr("normalizer.normalizers[1].type: found \"Upper\", expected \"Bert"));
  EXPECT_EQ(
      json_error([](json& d) { d["normalizer"]["normalizers"][3]["pattern"]["Regex"] = "a["; }),
      file +
          "normalizer.normalizers[3].pattern.Regex: not a valid Oniguruma expression: "
          "premature end of char-class");
  EXPECT_EQ(json_error([](json& d) {
              d["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "AA=A"}};
            }),
            file + "normalizer.precompiled_charsmap: character 2 is not base64");
  EXPECT_THAT(json_error([](json& d) {
                d["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "AAAA"}};
              }),
              HasSubstr("normalizer.precompiled_charsmap: not a charsmap: it has 3 bytes"));
  EXPECT_EQ(json_error([](json& d) {
              d["pre_tokenizer"] = {{"type", "ByteLevel"}};
            }),
            file + "pre_tokenizer: \"add_prefix_space\" is missing");
  EXPECT_EQ(json_error([](json& d) { d["model"]["type"] = "Char"; }),
            file +
                "model.type: found \"Char\", expected \"WordPiece\", \"WordLevel\", \"Unigram\" or "
                "\"BPE\"");
}

}  // namespace
}  // namespace bert::tokenizer
