// SPDX-License-Identifier: Apache-2.0
//
// Ids back to text, as the tokenizer's file says, or as Hugging Face's tokenizers do for such
// files.
#include <algorithm>
#include <string>
#include <vector>

#include "tokenizer/decoders/decoders.h"
#include "tokenizer/text_encoder_impl.h"
#include "tokenizer/unigram/text_normalizer.h"

namespace bert::tokenizer {

std::string TextEncoder::decode(std::span<const int32_t> ids, bool skips_special) const {
  std::vector<std::string> tokens;
  size_t length = 0;
  for (const int32_t id : ids) {
    const std::string& token = impl_->vocabulary.token(id);  // throws if there is none
    if (skips_special && std::ranges::binary_search(impl_->special_ids, id)) continue;
    const auto added = impl_->decoded_tokens.find(id);
    tokens.push_back(added == impl_->decoded_tokens.end() ? token : added->second);
    length += tokens.back().size();
  }
  const size_t most = most_of_normalised(length);
  for (const Decoder& decoder : impl_->decoders) tokenizer::decode(decoder, most, tokens);
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

std::vector<Decoder> default_decoders(const Definition& definition) {
  using Kind = Decoder::Kind;
  switch (definition.model) {
    case Definition::Model::word_piece: {
      Decoder out{Kind::word_piece, definition.word_piece.continuing_prefix};
      out.cleans_up = true;
      return {out};
    }
    case Definition::Model::unigram: {
      Decoder out{Kind::metaspace, "", "\u2581"};
      out.drops_first = definition.unigram.prepend != UnigramOptions::Prepend::never;
      return {out};
    }
    case Definition::Model::word_level:
      return {{Kind::spaces}};
    case Definition::Model::byte_pair:
      break;
  }
  return {{Kind::byte_level}};
}

}  // namespace bert::tokenizer
