// SPDX-License-Identifier: Apache-2.0
//
// What a TextEncoder holds; load_text_encoder.cc makes it, text_encoder.cc encodes with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/added_tokens/added_tokens.h"
#include "tokenizer/files/definition.h"
#include "tokenizer/offsets/offset_trimmer.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/text_encoder.h"
#include "tokenizer/token_sequence.h"
#include "tokenizer/vocabulary.h"

namespace bert::tokenizer {

// Memory reused from call to call.
struct EncodingScratch {
  TokenSequence first, second;
  PieceScratch piece;
  std::vector<AddedTokenMatcher::Piece> pieces;
  bool notes_words = false;  // asks for TokenNotes::words and added
};

struct TextEncoder::Impl {
  explicit Impl(Definition definition);
  explicit Impl(std::string reason) : refusal(std::move(reason)) {}

  Encoding encode(std::string_view first, std::optional<std::string_view> second, int most,
                  EncodingScratch& scratch) const;
  // How many tokens of each text to keep if `limit` fit, `special` of which are special ones.
  std::pair<size_t, size_t> truncated_sizes(const TokenSequence& first, const TokenSequence& second,
                                            size_t limit, size_t special) const;
  bool continues_word(int32_t id) const;
  int32_t find(std::string_view token) const;
  void encode_text(std::string_view text, const char* which, size_t limit, EncodingScratch& scratch,
                   TokenSequence& out) const;
  void check_template(const Template& pieces) const;
  bool is_added(int32_t id) const { return std::ranges::binary_search(added_ids, id); }

  std::string refusal;  // why every text is refused, if there is no tokenizer
  std::string file;
  std::vector<Decoder> decoders;
  const char* algorithm = "none";
  Vocabulary vocabulary;
  std::unique_ptr<const Pipeline> pipeline;
  AddedTokenMatcher raw_tokens{{}}, normalized_tokens{{}};
  Template single, pair;
  std::vector<int32_t> added_ids, special_ids;  // sorted; the latter are left out of decoded texts
  // What decode() makes of added tokens: their contents, normalised if the token is. Only those
  // equal to a special token's content are left out as special, as in Hugging Face's tokenizers.
  std::map<int32_t, std::string> decoded_tokens;
  int32_t mask = -1;
  bool lowercases = false;
  OffsetTrimmer trimmer;
  bool truncate_left = false;
  bool first_gets_odd = false;  // see longest_first()
  int max_length = 0;
  std::vector<std::string> notes;

 private:
  void add_tokens(const Definition& definition);
};

}  // namespace bert::tokenizer
