// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/files/components/components.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

std::string read_character(const JsonField& field) {
  char bytes[4];
  return {bytes, utf8::encode(read_scalar(field), bytes)};
}

Decoder read_word_piece_decoder(const JsonField& field) {
  Decoder out{Decoder::Kind::word_piece, field.at("prefix").string()};
  out.cleans_up = field.at("cleanup").boolean();
  return out;
}

Decoder read_ctc(const JsonField& field) {
  Decoder out{Decoder::Kind::ctc, field.at("pad_token").string()};
  out.delimiter = field.at("word_delimiter_token").string();
  out.cleans_up = field.at("cleanup").boolean();
  return out;
}

Decoder read_metaspace_decoder(const JsonField& field) {
  std::vector<PreTokenizer> same;
  read_pre_tokenizers(field, same);
  Decoder out{Decoder::Kind::metaspace, "", read_character(field.at("replacement"))};
  out.drops_first = same[0].prepend != PreTokenizer::Prepend::never;
  return out;
}

Decoder read_byte_level_decoder(const JsonField& field) {
  std::vector<PreTokenizer> same;
  read_pre_tokenizers(field, same);
  return {Decoder::Kind::byte_level};
}

Decoder read_replace_decoder(const JsonField& field) {
  Decoder out{Decoder::Kind::replace, field.at("content").string()};
  out.pattern = read_pattern(field.at("pattern")).pattern;
  return out;
}

Decoder read_strip_decoder(const JsonField& field) {
  Decoder out{Decoder::Kind::strip, "", read_character(field.at("content"))};
  out.start = static_cast<size_t>(field.at("start").integer(0, INT32_MAX));
  out.stop = static_cast<size_t>(field.at("stop").integer(0, INT32_MAX));
  return out;
}

Decoder read_decoder(const JsonField& field) {
  if (!field.is_object()) field.fail("a decoder");
  const JsonField type = field.at("type");
  const std::string& name = type.string();
  if (name == "BPEDecoder") return {Decoder::Kind::end_of_word, field.at("suffix").string()};
  if (name == "ByteFallback") return {Decoder::Kind::byte_fallback};
  if (name == "ByteLevel") return read_byte_level_decoder(field);
  if (name == "CTC") return read_ctc(field);
  if (name == "Fuse") return {Decoder::Kind::fuse};
  if (name == "Metaspace") return read_metaspace_decoder(field);
  if (name == "Replace") return read_replace_decoder(field);
  if (name == "Strip") return read_strip_decoder(field);
  if (name == "WordPiece") return read_word_piece_decoder(field);
  type.fail(
      "\"BPEDecoder\", \"ByteFallback\", \"ByteLevel\", \"CTC\", \"Fuse\", \"Metaspace\", "
      "\"Replace\", \"Sequence\", \"Strip\" or \"WordPiece\"");
}

}  // namespace

void read_decoders(const JsonField& field, std::vector<Decoder>& out) {
  for_each_part(field, "decoders",
                [&](const JsonField& part) { out.push_back(read_decoder(part)); });
}

}  // namespace bert::tokenizer
