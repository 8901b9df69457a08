// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bert::tokenizer {

// One file of a dictionary, mapped for reading.
class DictionaryFile {
 public:
  explicit DictionaryFile(const std::string& path);
  ~DictionaryFile();
  DictionaryFile(const DictionaryFile&) = delete;
  DictionaryFile& operator=(const DictionaryFile&) = delete;

  std::string_view bytes() const { return bytes_; }
  [[noreturn]] void fail(std::string_view reason) const;

 private:
  std::string path_;
  std::string_view bytes_;
};

// What a dictionary says about a word: which words may stand beside it, and its own cost.
struct MecabWord {
  uint16_t left, right;  // the word's class as seen from its left, and from its right
  uint16_t part_of_speech;
  int16_t cost;
  uint32_t feature, compound;
};

// What char.bin says about a character.
struct CharacterKind {
  uint32_t bits;
  bool is_kind_of(CharacterKind other) const { return (bits & other.bits & 0x3FFFF) != 0; }
  uint32_t category() const { return bits >> 18 & 0xFF; }
  uint32_t length() const { return bits >> 26 & 15; }        // of unknown words, in characters
  bool groups() const { return (bits >> 30 & 1) != 0; }      // a run of its kind is a word
  bool always_unknown() const { return (bits >> 31) != 0; }  // may be, where known words begin too
};

// sys.dic and unk.dic: words by their bytes.
class WordList {
 public:
  explicit WordList(const std::string& path);

  // Calls found(length, words) for every word that the text begins with, shorter ones first.
  template <class Found>
  void prefixes(std::string_view text, Found&& found) const {
    int64_t base = unit(0).base;
    for (size_t i = 0;; ++i) {
      const Unit end = unit(base);
      if (end.check == base && end.base < 0) found(i, words(end));
      if (i == text.size()) return;
      const int64_t next = base + static_cast<uint8_t>(text[i]) + 1;
      const Unit step = unit(next);
      if (step.check != base) return;
      base = step.base;
    }
  }
  std::span<const MecabWord> find(std::string_view text) const;
  uint32_t count() const { return count_; }
  uint32_t left_classes() const { return left_; }
  uint32_t right_classes() const { return right_; }
  [[noreturn]] void fail(std::string_view reason) const { file_.fail(reason); }

 private:
  struct Unit {
    int32_t base;
    uint32_t check;
  };
  Unit unit(int64_t at) const {
    return at >= 0 && static_cast<size_t>(at) < units_.size() ? units_[static_cast<size_t>(at)]
                                                              : Unit{0, UINT32_MAX};
  }
  std::span<const MecabWord> words(Unit end) const;

  DictionaryFile file_;
  uint32_t count_ = 0, left_ = 0, right_ = 0;
  std::span<const Unit> units_;
  std::span<const MecabWord> words_;
};

// A compiled dictionary of MeCab 0.996 in UTF-8: sys.dic, unk.dic, char.bin and matrix.bin.
class MecabDictionary {
 public:
  // Throws std::runtime_error.
  explicit MecabDictionary(const std::string& directory);

  const WordList& words() const { return words_; }
  // What a word of this kind may be if the dictionary does not have it.
  std::span<const MecabWord> unknown(CharacterKind kind) const {
    return unknown_words_[kind.category()];
  }
  // MeCab has no kind for U+FFFF, and takes what is beyond for U+0000.
  CharacterKind kind(char32_t c) const {
    if (c == 0xFFFF) return {};
    return kinds_[c < 0xFFFF ? c : 0];
  }
  CharacterKind space() const { return space_; }
  // A word's connection costs, by the right class of the word before it.
  std::span<const int16_t> costs_before(const MecabWord& word) const {
    return costs_.subspan(size_t{word.left} * words_.left_classes(), words_.left_classes());
  }
  // Throws if a word has a class that the costs do not have.
  void check(const MecabWord& word) const {
    if (word.right >= words_.left_classes() || word.left >= words_.right_classes()) {
      words_.fail("a word has a class that matrix.bin does not have");
    }
  }

 private:
  void read_kinds();
  void read_costs();

  WordList words_, unknown_;
  DictionaryFile kinds_file_, costs_file_;
  std::span<const CharacterKind> kinds_;
  std::vector<std::span<const MecabWord>> unknown_words_;  // by category
  CharacterKind space_{};
  std::span<const int16_t> costs_;
};

}  // namespace bert::tokenizer
