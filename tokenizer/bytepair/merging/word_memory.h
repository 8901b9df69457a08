// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tokenizer/bytepair/merging/byte_pair.h"
#include "tokenizer/bytepair/merging/word_cache.h"

namespace bert::tokenizer {

// How words that are no tokens are merged, whether from bytes or from characters: a word that was
// merged before is recalled; others are divided into parts that no merge joins, each of which is
// looked up, recalled or merged. Rules has
//   size_t part_end(std::string_view word, size_t begin) const;
//     where the part that begins there ends; `begin` if it is not well-formed
//   WordPart* find_part(std::string_view part, WordPart* out) const;  null: it has to be merged
//   WordPart* merge_part(std::string_view part, BytePairScratch& scratch, WordPart* out) const;
// All functions write tokens from `out` on, which has room for one per byte, and return their end.
// ShortWord::kMaxSize bytes must be readable from a word's first on.
class WordMemory {
 public:
  // Null if the word, of one byte or more, is not well-formed. scratch remembers its tokens.
  template <typename Rules>
  WordPart* tokenize(const Rules& rules, std::string_view word, BytePairScratch& scratch,
                     WordPart* out) const {
    if (word.size() > WordCache::kMaxSize) {
      return tokenize_parts(rules, word, rules.part_end(word, 0), scratch, out);
    }
    const WordCache::Key key = key_of(word);
    if (WordPart* const end = scratch.memory.recall(key, out)) return end;
    const size_t first = rules.part_end(word, 0);
    const bool is_part = first == word.size();
    WordPart* const end = is_part ? rules.merge_part(word, scratch, out)
                                  : tokenize_parts(rules, word, first, scratch, out);
    // Long words are rarely met again, unlike their parts.
    if (end != nullptr && (is_part || word.size() <= ShortWord::kMaxSize)) {
      scratch.memory.keep(key, {out, end});
    }
    return end;
  }

 private:
  // end: of the first part.
  template <typename Rules>
  WordPart* tokenize_parts(const Rules& rules, std::string_view word, size_t end,
                           BytePairScratch& scratch, WordPart* out) const {
    for (size_t begin = 0; end > begin; end = rules.part_end(word, begin)) {
      out = tokenize_part(rules, word.substr(begin, end - begin), scratch, out);
      begin = end;
      if (begin == word.size()) return out;
    }
    return nullptr;
  }
  template <typename Rules>
  WordPart* tokenize_part(const Rules& rules, std::string_view part, BytePairScratch& scratch,
                          WordPart* out) const {
    if (WordPart* const end = rules.find_part(part, out)) return end;
    if (part.size() > WordCache::kMaxSize) return rules.merge_part(part, scratch, out);
    const WordCache::Key key = key_of(part);
    if (WordPart* const end = scratch.memory.recall(key, out)) return end;
    WordPart* const end = rules.merge_part(part, scratch, out);
    scratch.memory.keep(key, {out, end});
    return end;
  }

  WordCache::Key key_of(std::string_view word) const {
    if (word.size() > ShortWord::kMaxSize) return {owner_, word};
    return {owner_, ShortWord::padded(word.data(), word.size())};
  }

  uint64_t owner_ = WordCache::new_owner();
};

}  // namespace bert::tokenizer
