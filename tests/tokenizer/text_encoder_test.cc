// SPDX-License-Identifier: Apache-2.0
//
// Encoding with small vocabularies. Expected values are those of Hugging Face's tokenizers 0.23.2.
#include "tokenizer/text_encoder.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/tokenizer/test_directory.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;

TextEncoder make(const json& definition) {
  const TestDirectory directory;
  directory.write("tokenizer.json", definition.dump());
  return directory.load();
}

std::string error_of(const TextEncoder& tokenizer, const std::string& first,
                     const std::optional<std::string>& second, int max_length) {
  try {
    tokenizer.encode(first, second, max_length);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

const std::vector<std::string> kWords = {"a",   "b",   "c", "the", "##re",
                                         "##r", "##e", "!", "中",  "e"};

TEST(Encode, LongestPieceFirst) {
  const TextEncoder tokenizer = make(small_tokenizer(kWords));
  EXPECT_EQ(tokens_of(tokenizer, "There the!re"), "the ##re the ! [UNK]");
  const Encoding encoding = tokenizer.encode(" There", std::nullopt, 0);
  EXPECT_EQ(offsets_of(encoding), "0-0 1-4 4-6 0-0");
  EXPECT_EQ(encoding.type_ids, std::vector<int32_t>(4, 0));
  EXPECT_FALSE(encoding.truncated);
  // Where no token continues a word, a word is a token.
  EXPECT_EQ(tokens_of(make(small_tokenizer({"a", "b"})), "ab a"), "[UNK] a");
  EXPECT_EQ(tokens_of(make(by_parts(small_tokenizer({"a", "b"}))), "ab a"), "[UNK] a");
}

// ASCII is taken in blocks of 16 bytes, and words end where a word of 64 bits says so.
TEST(Encode, WordsEndWhereverBlocksDo) {
  const TextEncoder tokenizer = make(small_tokenizer(kWords));
  std::string words;
  std::vector<int32_t> ids = {2};
  for (int i = 0; i < 100; ++i) {
    words += i % 2 == 0 ? "a " : "b ";
    ids.push_back(i % 2 == 0 ? 5 : 6);
  }
  ids.push_back(3);
  for (size_t shift = 0; shift < 64; ++shift) {  // tabs are taken one by one
    EXPECT_EQ(tokenizer.encode(std::string(shift, '\t') + words, std::nullopt, 0).ids, ids)
        << shift;
  }
}

TEST(Encode, PairAndEmptyTexts) {
  const TextEncoder tokenizer = make(small_tokenizer(kWords));
  const Encoding pair = tokenizer.encode("a b", "c", 0);
  EXPECT_EQ(pair.ids, (std::vector<int32_t>{2, 5, 6, 3, 7, 3}));
  EXPECT_EQ(pair.type_ids, (std::vector<int32_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(offsets_of(pair), "0-0 0-1 2-3 0-0 0-1 0-0");
  EXPECT_EQ(pair.first, (TokenRange{1, 3}));
  EXPECT_EQ(pair.second, (TokenRange{4, 5}));
  EXPECT_EQ(tokenizer.encode("", "", 0).ids, (std::vector<int32_t>{2, 3, 3}));
  EXPECT_EQ(tokenizer.encode("\x01 \xc2\xa0", std::nullopt, 0).ids, (std::vector<int32_t>{2, 3}));
}

// transformers then passes none to the model.
TEST(Encode, SegmentIdsAreZeroIfTheModelsInputsLackThem) {
  const TestDirectory directory;
  directory.write("tokenizer.json", small_tokenizer(kWords).dump());
  const auto types = [&](const std::string& inputs) {
    directory.write("tokenizer_config.json", "{\"model_input_names\": " + inputs + "}");
    return directory.load().encode("a b", "c", 0).type_ids;
  };
  const std::vector<int32_t> one_segment(6, 0), two = {0, 0, 0, 0, 1, 1};
  EXPECT_EQ(types("null"), two);
  EXPECT_EQ(types(R"(["input_ids", "token_type_ids", "attention_mask"])"), two);
  EXPECT_EQ(types(R"(["input_ids", "attention_mask"])"), one_segment);
  for (const char* name : {"DistilBertTokenizerFast", "XLMRobertaTokenizer"}) {
    directory.write("tokenizer_config.json", json({{"tokenizer_class", name}}).dump());
    EXPECT_EQ(directory.load().encode("a b", "c", 0).type_ids, one_segment);
  }
  directory.remove("tokenizer.json");
  directory.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n");
  EXPECT_EQ(types("null"), two);
  EXPECT_EQ(types(R"(["input_ids"])"), one_segment);
  directory.write("tokenizer_config.json", R"({"model_input_names": ["input_ids", 7]})");
  EXPECT_EQ(directory.error(),
            "tokenizer_config.json: model_input_names[1]: found 7, expected a string");
}

TEST(Encode, OffsetsCountScalars) {
  const TextEncoder tokenizer = make(small_tokenizer(kWords));
  // U+10400 is unknown, U+0301 is stripped, U+00E9 is an e, and the Chinese character stands alone.
  const Encoding encoding = tokenizer.encode("\U00010400 e\u0301 \u00e9中b", std::nullopt, 0);
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{2, 1, 14, 14, 13, 6, 3}));
  EXPECT_EQ(offsets_of(encoding), "0-0 0-1 2-3 5-6 6-7 7-8 0-0");
}

TEST(Encode, MarksAreOrderedWhereTheyStay) {
  // U+302E is a spacing mark of a lower class than U+0301: it moves before it and, as in Hugging
  // Face's alignments, takes over its offset.
  const TextEncoder tokenizer = make(small_tokenizer({"e\u302e", "e", "\u1112\u1161"}));
  EXPECT_EQ(tokens_of(tokenizer, "\u00e9\u302e e\u0301\u302e"), "e\u302e e\u302e");
  EXPECT_EQ(offsets_of(tokenizer.encode("\u00e9\u302e e\u0301\u302e", std::nullopt, 0)),
            "0-0 0-2 3-5 0-0");
  // Hangul syllables are decomposed.
  EXPECT_EQ(tokens_of(tokenizer, "\ud558 \u1112\u1161"), "\u1112\u1161 \u1112\u1161");
  // A text that ends in an error leaves no mark to the next one.
  EXPECT_NE(error_of(tokenizer, "e\u302e\xff", std::nullopt, 0), "");
  EXPECT_EQ(tokens_of(tokenizer, "e"), "e");
}

TEST(Encode, ADottedCapitalIBecomesTwoScalars) {
  json definition = small_tokenizer({"i\u0307"});
  definition["normalizer"]["strip_accents"] = false;
  EXPECT_EQ(tokens_of(make(definition), "\u0130"), "i\u0307");
  EXPECT_EQ(tokens_of(make(by_parts(definition)), "\u0130"), "i\u0307");
}

TEST(Encode, LowercasesAsItsNormalizersDo) {
  json definition = small_tokenizer({"a"});
  EXPECT_TRUE(make(definition).lowercases());
  EXPECT_TRUE(make(by_parts(definition)).lowercases());
  definition["normalizer"]["lowercase"] = false;
  EXPECT_FALSE(make(definition).lowercases());
  EXPECT_FALSE(make(by_parts(definition)).lowercases());
  definition["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_TRUE(make(definition).lowercases());
}

TEST(Encode, WithoutATokenizerThereIsNoToken) {
  const TextEncoder none = TextEncoder::without_text("no tokenizer");
  EXPECT_EQ(error_of(none, "a", std::nullopt, 0), "no tokenizer");
  EXPECT_EQ(none.unknown_id(), -1);
  EXPECT_FALSE(none.takes_text());
  json definition = small_tokenizer({"a"});
  definition["model"]["continuing_subword_prefix"] = "";
  EXPECT_FALSE(make(definition).continues_word(5));  // no token shows it
  EXPECT_FALSE(make(by_parts(definition)).continues_word(5));
}

TEST(Encode, InvalidUtf8IsAnErrorWithItsPosition) {
  const TextEncoder tokenizer = make(small_tokenizer(kWords));
  const std::string cut = "the first text is not valid UTF-8 at byte 2";
  for (const char* bad : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xe4\xb8",
                          "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf0\x9f\x98", "\xff", "\xf8"}) {
    EXPECT_EQ(error_of(tokenizer, std::string("ab") + bad, std::nullopt, 0), cut) << bad;
    EXPECT_EQ(error_of(tokenizer, std::string("ab") + bad + "cdefghijklmnop", std::nullopt, 0),
              cut);
  }
  EXPECT_EQ(error_of(tokenizer, "a", "aaaaaaaaaaaaaaaa\xff", 0),
            "the second text is not valid UTF-8 at byte 16");
  // Nor behind what fits.
  EXPECT_EQ(error_of(tokenizer, "a b c[MASK]\xff", std::nullopt, 4),
            "the first text is not valid UTF-8 at byte 11");
  json definition = small_tokenizer(kWords);
  definition["added_tokens"].back()["single_word"] = true;  // it looks at what is before it
  EXPECT_EQ(error_of(make(definition), "\x80[MASK]", std::nullopt, 0),
            "the first text is not valid UTF-8 at byte 0");
}

TEST(Encode, LongWordsAreUnknown) {
  json definition = small_tokenizer({"\u00e9", "##\u00e9", "b", "##b"});
  definition["model"]["max_input_chars_per_word"] = 3;
  definition["normalizer"]["strip_accents"] = false;
  const TextEncoder tokenizer = make(definition);
  EXPECT_EQ(tokens_of(tokenizer, "\u00e9\u00e9\u00e9 bbbb"), "\u00e9 ##\u00e9 ##\u00e9 [UNK]");
}

TEST(Truncate, LongestFirst) {
  const TextEncoder tokenizer = make(small_tokenizer(kWords));
  const auto sizes = [&](int first, int second, int max_length) {
    std::string a, b;
    for (int i = 0; i < first; ++i) a += "a ";
    for (int i = 0; i < second; ++i) b += "b ";
    const Encoding encoding = tokenizer.encode(a, b, max_length);
    EXPECT_EQ(encoding.truncated, first + second + 3 > max_length);
    const auto count = [&](int id) {
      return std::to_string(std::count(encoding.ids.begin(), encoding.ids.end(), id));
    };
    return count(5) + "+" + count(6);
  };
  EXPECT_EQ(sizes(4, 3, 10), "4+3");
  EXPECT_EQ(sizes(4, 3, 9), "3+3");
  EXPECT_EQ(sizes(9, 2, 10), "5+2");
  EXPECT_EQ(sizes(2, 9, 10), "2+5");
  EXPECT_EQ(sizes(9, 9, 10), "3+4");
  EXPECT_EQ(sizes(9, 8, 10), "4+3");
  EXPECT_EQ(sizes(8, 9, 10), "3+4");
  EXPECT_EQ(sizes(5, 5, 3), "0+0");
  // Both are read only as far as the limit, and are then of equal length: the second is the longer.
  EXPECT_EQ(sizes(40, 20, 10), "3+4");
  EXPECT_EQ(sizes(1, 0, 4), "1+0");
  // Added tokens behind the limit do not count either.
  const std::string many = "a a a a a a a a a a[MASK][MASK][MASK]";
  EXPECT_EQ(tokenizer.encode(many, "b b b b b b b b b b b", 10).ids,
            (std::vector<int32_t>{2, 5, 5, 5, 3, 6, 6, 6, 6, 3}));
}

TEST(Truncate, WithoutSpecialTokens) {
  json definition = small_tokenizer(kWords);
  definition["post_processor"] = nullptr;
  const TextEncoder tokenizer = make(definition);
  EXPECT_TRUE(tokenizer.encode("a b c", std::nullopt, 2).truncated);
  EXPECT_TRUE(tokenizer.encode("", "a b c", 2).truncated);
  EXPECT_FALSE(tokenizer.encode("a", "b", 2).truncated);
}

TEST(Truncate, OneText) {
  const TextEncoder tokenizer = make(small_tokenizer(kWords));
  const Encoding encoding = tokenizer.encode("a b c", std::nullopt, 4);
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{2, 5, 6, 3}));
  EXPECT_TRUE(encoding.truncated);
  EXPECT_FALSE(tokenizer.encode("a b c", std::nullopt, 5).truncated);
  EXPECT_FALSE(tokenizer.encode("a b   ", std::nullopt, 4).truncated);
  EXPECT_EQ(tokenizer.encode("a b c", std::nullopt, 2).ids, (std::vector<int32_t>{2, 3}));
}

TEST(Truncate, NoRoomIsAnError) {
  const TextEncoder tokenizer = make(small_tokenizer(kWords));
  EXPECT_EQ(error_of(tokenizer, "a", std::nullopt, 1),
            "max_length: found 1, expected at least 2 for the special tokens");
  EXPECT_EQ(error_of(tokenizer, "a", "b", 2),
            "max_length: found 2, expected at least 3 for the special tokens");
  EXPECT_EQ(error_of(tokenizer, "a", "b", -1),
            "max_length: found -1, expected at least 3 for the special tokens");
}

TEST(AddedTokens, AreFoundInTheText) {
  const TextEncoder tokenizer = make(small_tokenizer(kWords));
  const Encoding encoding = tokenizer.encode("a[MASK]b [mask] [SEP", std::nullopt, 0);
  EXPECT_EQ(encoding.ids[1], 5);
  EXPECT_EQ(encoding.ids[2], 4);
  EXPECT_EQ(encoding.ids[3], 6);
  EXPECT_EQ(encoding.ids[4], 1);  // [mask] is not normalised
  EXPECT_EQ(encoding.offsets[2].begin, 1);
  EXPECT_EQ(encoding.offsets[2].end, 7);
}

TEST(AddedTokens, NewOnesAreNumberedAfterTheVocabulary) {
  json definition = small_tokenizer(kWords);  // 15 tokens
  definition["added_tokens"].push_back(added_token("<new>", 15));
  definition["added_tokens"].push_back(added_token("<other>", 99));
  const TextEncoder tokenizer = make(definition);
  EXPECT_EQ(tokens_of(tokenizer, "a<other><new>"), "a <other> <new>");
  EXPECT_EQ(tokenizer.encode("<other>", std::nullopt, 0).ids[1], 16);
  EXPECT_EQ(tokenizer.vocabulary_size(), 17);
  ASSERT_EQ(tokenizer.notes().size(), 1u);
  EXPECT_NE(tokenizer.notes()[0].find("\"<other>\" has id 16"), std::string::npos);
  for (const char* content : {"<new>", "", "<last>"}) {
    definition["added_tokens"].push_back(added_token(content, 17));
  }
  EXPECT_EQ(make(definition).find("<last>"), 17);
  definition["added_tokens"].push_back(added_token("\u0001", 18));
  definition["added_tokens"].back()["normalized"] = true;
  const TestDirectory directory;
  directory.write("tokenizer.json", definition.dump());
  EXPECT_EQ(directory.error(),
            "tokenizer.json: the added token \"\u0001\" is empty when normalised");
}

TEST(AddedTokens, SingleWordAndStrip) {
  json definition = small_tokenizer(kWords);
  json single = added_token("<w>", 15), left = added_token("<l>", 16),
       right = added_token("<r>", 17);
  single["single_word"] = true;
  left["lstrip"] = true;
  right["rstrip"] = true;
  for (const json& token : {single, left, right}) definition["added_tokens"].push_back(token);
  const TextEncoder tokenizer = make(definition);
  EXPECT_EQ(tokens_of(tokenizer, "a <w> !<w>!"), "a <w> ! <w> !");
  EXPECT_EQ(tokens_of(tokenizer, "a<w> <w>_ <w>\u0301"),
            "a [UNK] [UNK] [UNK] [UNK] [UNK] [UNK] [UNK] [UNK] [UNK] [UNK]");
  EXPECT_EQ(offsets_of(tokenizer.encode("a \u3000<l> b", std::nullopt, 0)), "0-0 0-1 1-6 7-8 0-0");
  EXPECT_EQ(offsets_of(tokenizer.encode("a <r> \u3000b", std::nullopt, 0)), "0-0 0-1 2-7 7-8 0-0");
  EXPECT_EQ(offsets_of(tokenizer.encode("<r>  <l>", std::nullopt, 0)), "0-0 0-5 5-8 0-0");
  // One that begins with white space takes it back from the one before.
  definition["added_tokens"].push_back(added_token("\u3000<q>", 18));
  EXPECT_EQ(offsets_of(make(definition).encode("\u00e9<r> \u3000<q> a", std::nullopt, 0)),
            "0-0 0-1 1-6 5-9 10-11 0-0");
}

TEST(AddedTokens, NormalizedOnesMatchNormalizedText) {
  json definition = small_tokenizer(kWords);
  json token = added_token("Caf\u00c9 B", 15);
  token["normalized"] = true;
  definition["added_tokens"].push_back(token);
  const TextEncoder tokenizer = make(definition);
  EXPECT_EQ(tokens_of(tokenizer, "a CAFE\u0301\tb CAF\u00e9 bb"), "a Caf\u00c9 B Caf\u00c9 B b");
  EXPECT_EQ(offsets_of(tokenizer.encode("a CAFE\u0301\tb", std::nullopt, 0)), "0-0 0-1 2-9 0-0");
}

TEST(AddedTokens, LongestOfThoseThatBeginFirst) {
  json definition = small_tokenizer(kWords);
  for (const char* content : {"<x", "<x>", "x>y"}) {
    definition["added_tokens"].push_back(added_token(content, 15));
  }
  EXPECT_EQ(tokens_of(make(definition), "<x>y <xx>y"), "<x> [UNK] <x x>y");
}

// What a token stands for, where that is not its name.
TEST(Strings, AreTheTexts) {
  json definition = small_tokenizer(kWords);
  definition["added_tokens"].back()["lstrip"] = true;
  definition["added_tokens"].push_back(added_token("<X>", 15));
  definition["added_tokens"].back()["normalized"] = true;
  using Strings = std::vector<std::string>;
  EXPECT_EQ(make(definition).strings("a  [MASK] <x> zz", std::nullopt, 0),
            (Strings{"[CLS]", "a", "  [MASK]", "<x>", "[UNK]", "[SEP]"}));
  definition["truncation"] = {{"max_length", 5}, {"direction", "Left"}};
  const TextEncoder left = make(definition);
  EXPECT_EQ(left.strings("a  [MASK] b \t[MASK]   [MASK] c", std::nullopt, 5),
            (Strings{"[CLS]", " \t[MASK]", "   [MASK]", "c", "[SEP]"}));
  json& vocab = (definition["model"] = {{"type", "Unigram"}, {"unk_id", 1}})["vocab"];
  for (const char* piece :
       {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2581", "\u2581a", "b"}) {
    vocab.push_back({piece, -1.0});
  }
  definition["normalizer"] = nullptr;
  definition["pre_tokenizer"] = {
      {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}};
  definition["post_processor"]["special_tokens"]["[CLS]"]["tokens"] = {"<begin>"};
  for (const json& any : {definition, by_parts(definition)}) {
    EXPECT_EQ(make(any).strings("a xy b zz  [MASK]", std::nullopt, 0),
              (Strings{"<begin>", "\u2581a", "\u2581", "xy", "\u2581", "b", "\u2581", "zz",
                       "  [MASK]", "[SEP]"}));
    EXPECT_EQ(make(any).strings("a xy b zz  [MASK]", std::nullopt, 5),
              (Strings{"<begin>", "\u2581", "zz", "  [MASK]", "[SEP]"}));
  }
}

TEST(Template, IsRead) {
  json definition = small_tokenizer(kWords);
  definition["post_processor"] = json::parse(R"({"type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 3}}, {"SpecialToken": {"id": "x", "type_id": 4}}],
    "pair": [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "x", "type_id": 2}},
             {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"x": {"id": "x", "ids": [3, 2], "tokens": ["[SEP]", "[CLS]"]}}})");
  const TextEncoder tokenizer = make(definition);
  const Encoding single = tokenizer.encode("a", std::nullopt, 0);
  EXPECT_EQ(single.ids, (std::vector<int32_t>{5, 3, 2}));
  EXPECT_EQ(single.type_ids, (std::vector<int32_t>{3, 4, 4}));
  const Encoding pair = tokenizer.encode("a a a", "b b b", 5);
  EXPECT_EQ(pair.ids, (std::vector<int32_t>{6, 6, 3, 2, 5}));
  EXPECT_EQ(pair.type_ids, (std::vector<int32_t>{1, 1, 2, 2, 0}));
  EXPECT_EQ(offsets_of(pair), "0-1 2-3 0-0 0-0 0-1");
}

TEST(Template, BertProcessingAndNone) {
  json definition = small_tokenizer(kWords);
  definition["post_processor"] =
      json::parse(R"({"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]})");
  const Encoding bert = make(definition).encode("a", "b", 0);
  EXPECT_EQ(bert.ids, (std::vector<int32_t>{2, 5, 3, 6, 3}));
  EXPECT_EQ(bert.type_ids, (std::vector<int32_t>{0, 0, 0, 1, 1}));
  definition["post_processor"] = nullptr;
  const Encoding none = make(definition).encode("a", "b", 0);
  EXPECT_EQ(none.ids, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(none.type_ids, (std::vector<int32_t>{0, 1}));
}

const TextEncoder* used_at_exit = nullptr;
int ids_at_exit = 0;

struct EncodesAtExit {
  ~EncodesAtExit() {
    for (int i = 0; i < 3; ++i) {
      ids_at_exit += static_cast<int>(used_at_exit->encode("hello there", "b", 0).ids.size());
    }
  }
};

TEST(Encode, WhenTheThreadsOtherObjectsAreGone) {
  const TextEncoder tokenizer = make(small_tokenizer(kWords));
  used_at_exit = &tokenizer;
  std::thread([] {
    thread_local EncodesAtExit before;  // made before the tokenizer's own, destroyed after it
    (void)&before;
    used_at_exit->encode("a", std::nullopt, 0);
  }).join();
  EXPECT_EQ(ids_at_exit, 3 * std::ssize(tokenizer.encode("hello there", "b", 0).ids));
}

}  // namespace
}  // namespace bert::tokenizer
