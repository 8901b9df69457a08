// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/tokenizer/mecab/mecab_builder.h"
#include "tests/tokenizer/test_directory.h"
#include "tokenizer/files/files.h"
#include "tokenizer/mecab/word_lattice.h"

namespace bert::tokenizer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint16_t kClasses = 4;

// A dictionary, and its slow twin: every way to cut a text, by its definition.
struct TestDictionary {
  TestDirectory directory;
  TestWords words, unknown;
  std::vector<TestCategory> categories;
  std::map<char32_t, std::vector<uint32_t>> kinds;
  std::vector<int16_t> costs;

  void write() const {
    directory.write("sys.dic", word_list(words, kClasses));
    directory.write("unk.dic", word_list(unknown, kClasses));
    directory.write("char.bin", kind_table(categories, kinds));
    directory.write("matrix.bin", cost_table(costs, kClasses));
  }

  std::vector<uint32_t> kinds_of(char c) const {
    const auto found = kinds.find(static_cast<uint8_t>(c));
    return found == kinds.end() ? std::vector{0U} : found->second;
  }
  bool are_of_one_kind(char a, char b) const {
    return std::ranges::any_of(
        kinds_of(a), [&](uint32_t kind) { return std::ranges::count(kinds_of(b), kind) != 0; });
  }
  // The ends of unknown words that begin at `at`.
  std::set<size_t> unknown_ends(const std::string& text, size_t at) const {
    const TestCategory& category = categories[kinds_of(text[at])[0]];
    std::set<size_t> ends;
    size_t run = at + 1;
    while (run < text.size() && are_of_one_kind(text[run - 1], text[run])) ++run;
    if (category.group && run - at <= 25) ends.insert(run);
    for (size_t end = at + 1; end <= at + category.length && end <= text.size(); ++end) {
      if (end > at + 1 && !are_of_one_kind(text[at], text[end - 1])) break;
      if (category.group && end == run) break;
      ends.insert(end);
    }
    return ends;
  }
  // The least cost of what follows `at`, after a word of class `right`; of the given words only,
  // if there are any.
  int64_t least(const std::string& text, size_t at, uint16_t right,
                const std::vector<WordLattice::Span>* only) const {
    while (at < text.size() && text[at] == ' ') ++at;
    if (at == text.size()) return costs[right];
    int64_t best = int64_t{1} << 50;
    bool is_known = false;
    const auto look = [&](size_t end, const std::vector<TestWord>& readings) {
      const auto is_it = [&](auto& word) { return word.begin == at && word.end == end; };
      if (only != nullptr && std::ranges::none_of(*only, is_it)) return;
      for (const TestWord& word : readings) {
        const int64_t cost = costs[size_t{word.left} * kClasses + right] + word.cost;
        best = std::min(best, cost + least(text, end, word.right, only));
      }
    };
    for (const auto& [word, readings] : words) {
      if (text.compare(at, word.size(), word) != 0) continue;
      is_known = true;
      look(at + word.size(), readings);
    }
    const TestCategory& category = categories[kinds_of(text[at])[0]];
    if (is_known && !category.always) return best;
    std::set<size_t> ends = unknown_ends(text, at);
    if (ends.empty() && !is_known) ends.insert(at + 1);
    for (const size_t end : ends) look(end, unknown.at(category.name));
    return best;
  }
};

void randomise(std::mt19937& random, TestDictionary& out) {
  const auto under = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  const auto some_word = [&] {
    return TestWord{static_cast<uint16_t>(under(kClasses)), static_cast<uint16_t>(under(kClasses)),
                    static_cast<int16_t>(static_cast<int>(under(8000)) - 2000)};
  };
  out.categories = {{"DEFAULT", under(2), under(2), under(4)},
                    {"SPACE", 0, 1, 0},
                    {"LETTER", under(2), under(2), under(4)},
                    {"DIGIT", under(2), under(2), under(4)}};
  out.kinds = {{' ', {1}}, {'a', {2}}, {'b', {2}}, {'c', {2, 3}}, {'1', {3}}, {'2', {3, 2}}};
  for (const TestCategory& category : out.categories) {
    for (uint32_t i = 0; i <= under(2); ++i) out.unknown[category.name].push_back(some_word());
  }
  for (int i = 0; i < 12; ++i) {
    std::string text;
    for (uint32_t k = 0; k <= under(3); ++k) text += "abc12-"[under(6)];
    out.words[text].push_back(some_word());
  }
  for (int i = 0; i < kClasses * kClasses; ++i) {
    out.costs.push_back(static_cast<int16_t>(static_cast<int>(under(6000)) - 3000));
  }
  out.write();
}

TEST(Mecab, TheWordsCostTheLeast) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    TestDictionary test;
    randomise(random, test);
    const MecabDictionary dictionary(test.directory.path());
    WordLattice lattice(dictionary);
    for (int i = 0; i < 40; ++i) {
      std::string text;
      for (uint32_t k = 0; k < random() % 8; ++k) text += "abc12- "[random() % 7];
      const std::vector<WordLattice::Span> words = lattice.words(text);
      EXPECT_EQ(test.least(text, 0, 0, nullptr), test.least(text, 0, 0, &words)) << text;
      std::string joined, expected = text;
      for (const auto& [begin, end] : words) joined += text.substr(begin, end - begin);
      std::erase(expected, ' ');
      EXPECT_EQ(joined, expected);
    }
  }
}

// What is forgotten of a long text does not change its words.
TEST(Mecab, ALongTextHasTheWordsOfItsParts) {
  std::mt19937 random(4);
  TestDictionary test;
  randomise(random, test);
  test.words = {{"ab", {{1, 1, -30}}}, {"-", {{3, 3, 0}}}, {"ab-ab", {{2, 1, -300}}}};
  for (TestCategory& category : test.categories) category.always = 0;
  test.costs.assign(kClasses * kClasses, 7);
  test.write();
  const MecabDictionary dictionary(test.directory.path());
  WordLattice lattice(dictionary);
  for (size_t first = 0; first < 6; ++first) {  // so that it is forgotten at other places
    std::string text(first, '-');
    for (int i = 0; i < 20000; ++i) text += "ab-ab ";
    const std::vector<WordLattice::Span> words = lattice.words(text);
    ASSERT_EQ(words.size(), first + 20000);
    for (size_t i = 0; i < words.size(); ++i) {
      ASSERT_EQ(words[i].begin, i < first ? i : first + (i - first) * 6);
    }
  }
}

TEST(Mecab, ALongRunOfUnknownCharactersIsNoWord) {
  std::mt19937 random(8);
  TestDictionary test;
  randomise(random, test);
  test.categories[2] = {"LETTER", 0, 1, 0};
  test.words = {{"-", {{1, 1, 0}}}};
  test.write();
  const MecabDictionary dictionary(test.directory.path());
  WordLattice lattice(dictionary);
  EXPECT_EQ(lattice.words(std::string(25, 'a') + "-").size(), 2);
  const std::vector<WordLattice::Span> words = lattice.words(std::string(26, 'a') + "-");
  ASSERT_EQ(words.size(), 3);
  EXPECT_EQ(words[0].end, 1);
}

TEST(Mecab, DamagedFilesAreErrors) {
  std::mt19937 random(5);
  TestDictionary test;
  randomise(random, test);
  const auto load = [&]() -> std::string {
    try {
      const MecabDictionary dictionary(test.directory.path());
      WordLattice lattice(dictionary);
      for (const char* text : {"abc12-", "1a 2b", "äb\uFFFF\U0001F600 a", "ccc", ""}) {
        lattice.words(text);
      }
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(load(), "");
  for (const char* name : {"sys.dic", "unk.dic", "char.bin", "matrix.bin"}) {
    const std::string path = test.directory.path() + "/" + name;
    const std::string whole = read_file(path);
    for (size_t size = 0; size < whole.size(); size += whole.size() / 20 + 1) {
      test.directory.write(name, whole.substr(0, size));
      EXPECT_THAT(load(), HasSubstr(path + ": cannot be read as a dictionary of MeCab: it"));
    }
    const size_t head = std::min<size_t>(whole.size(), 2000);
    for (int i = 0; i < 100; ++i) {
      std::string changed = whole;
      for (uint32_t k = 0; k <= random() % 3; ++k) {
        changed[random() % head] = static_cast<char>(random() % 4 == 0 ? 0xFF : random());
      }
      test.directory.write(name, changed);
      load();  // an error, or other words
    }
    test.directory.remove(name);
    EXPECT_EQ(load(), path + ": cannot be read: No such file or directory");
    test.directory.write(name, whole);
  }
  std::string other = word_list(test.words, kClasses);
  other.replace(40, 6, "EUC-JP");
  test.directory.write("sys.dic", other);
  EXPECT_THAT(load(), HasSubstr("its character set is \"EUC-JP\", not UTF-8"));
}

class JapaneseFiles : public testing::Test {
 protected:
  JapaneseFiles() {
    std::mt19937 random(6);
    randomise(random, dictionary_);
    dictionary_.words = {{"ab", {{1, 1, -3000}}}, {"12", {{2, 1, -3000}}}};
    dictionary_.write();
    model_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nab\na\n##b\n1\n##2\nb\n");
    setenv("BERT_INFER_MECAB", dictionary_.directory.path().c_str(), 1);
  }
  ~JapaneseFiles() override { unsetenv("BERT_INFER_MECAB"); }

  std::string error(const std::string& fields) {
    model_.write("tokenizer_config.json",
                 R"({"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "mecab")" +
                     fields + "}");
    return model_.error();
  }

  TestDictionary dictionary_;
  TestDirectory model_;
};

TEST_F(JapaneseFiles, WordPieceOrCharacters) {
  EXPECT_EQ(error(R"(, "mecab_kwargs": {"mecab_dic": null, "mecab_option": "-d /home"})"), "");
  EXPECT_EQ(tokens_of(model_.load(), "ａｂ12 ab[MASK]ab"), "ab 1 ##2 ab [MASK] ab");
  EXPECT_EQ(error(R"(, "subword_tokenizer_type": "character")"), "");
  const TextEncoder tokenizer = model_.load();
  EXPECT_EQ(tokens_of(tokenizer, "ａｂ12 ab"), "a b 1 [UNK] a b");
  EXPECT_EQ(offsets_of(tokenizer.encode("ａｂ 12", std::nullopt, 0)), "0-0 0-1 1-2 3-4 4-5 0-0");
  EXPECT_THAT(tokenizer.notes(), ElementsAre(HasSubstr("found 2 words, but unidic_lite has")));
}

TEST_F(JapaneseFiles, WhatIsRefused) {
  const std::string file = "tokenizer_config.json: ";
  EXPECT_EQ(error(R"(, "subword_tokenizer_type": "sentencepiece")"),
            file +
                "subword_tokenizer_type: found \"sentencepiece\", expected \"wordpiece\" or "
                "\"character\"");
  EXPECT_EQ(error(R"(, "do_word_tokenize": false)"),
            file + "do_word_tokenize: found false, expected true");
  EXPECT_EQ(error(R"(, "do_subword_tokenize": false)"),
            file + "do_subword_tokenize: found false, expected true");
  EXPECT_EQ(error(R"(, "do_lower_case": true)"),
            file + "do_lower_case: found true, expected false");
  EXPECT_EQ(error(R"(, "mecab_kwargs": {"mecab_dic": "../x"})"),
            file +
                "mecab_kwargs.mecab_dic: found \"../x\", expected \"ipadic\", \"unidic_lite\", "
                "\"unidic\" or null");
  EXPECT_EQ(error(R"(, "mecab_kwargs": {"normalize_text": false})"),
            file + "mecab_kwargs.normalize_text: found false, expected true");
  EXPECT_EQ(error(R"(, "mecab_kwargs": {"mecab_option": "-u words.dic"})"),
            file + "mecab_kwargs.mecab_option: found \"-u words.dic\", expected none");
  const auto missing = [&](const std::string& where) {
    return file +
           "mecab_kwargs.mecab_dic: found MeCab's dictionary \"unidic_lite\" neither where "
           "Debian's "
           "packages put it nor in BERT_INFER_MECAB" +
           where + ", expected the folder with its sys.dic there";
  };
  unsetenv("BERT_INFER_MECAB");
  EXPECT_EQ(error(""), missing(" (which is not set)"));
  setenv("BERT_INFER_MECAB", "/nowhere", 1);
  EXPECT_EQ(error(""), missing("=/nowhere"));
  setenv("BERT_INFER_MECAB", model_.path().c_str(), 1);
  namespace fs = std::filesystem;
  fs::create_directory(model_.path() + "/unidic_lite");
  fs::copy(dictionary_.directory.path(), model_.path() + "/unidic_lite/dicdir");
  EXPECT_EQ(error(""), "");
}

}  // namespace
}  // namespace bert::tokenizer
