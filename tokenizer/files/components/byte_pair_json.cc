// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "tokenizer/files/components/components.h"

namespace bert::tokenizer {

void read_token_ids(const JsonField& vocab, Definition& out) {
  for (const auto& [token, id] : vocab.members()) out.vocabulary.emplace_back(token, read_id(id));
  const auto greatest = std::max_element(out.vocabulary.begin(), out.vocabulary.end(),
                                         [](auto& a, auto& b) { return a.second < b.second; });
  if (greatest != out.vocabulary.end() && greatest->second > Vocabulary::kMaxId) {
    vocab.fail_with(
        fmt::format("found id {}, expected at most {}", greatest->second, Vocabulary::kMaxId));
  }
}

namespace {

bool flag(const JsonField& model, const char* name) {
  return model.has(name) && model.at(name).boolean();
}

std::string text(const JsonField& model, const char* name) {
  return model.has(name) ? model.at(name).string() : "";
}

// "a b", or ["a", "b"], which may have spaces in them.
void read_merges(const JsonField& merges, BytePairOptions& out) {
  for (const JsonField& merge : merges.elements()) {
    if (!merge.is_string()) {
      const std::vector<JsonField> pair = merge.elements();
      if (pair.size() != 2) merge.fail_with("expected two tokens");
      out.merges.emplace_back(pair[0].string(), pair[1].string());
      continue;
    }
    const std::string& line = merge.string();
    if (line.starts_with("#version")) continue;
    const size_t space = line.find(' ');
    if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) {
      merge.fail("two tokens and a space between them");
    }
    out.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
}

void read_options(const JsonField& model, BytePairOptions& out) {
  if (model.has("dropout") && model.at("dropout").number() != 0) {
    model.at("dropout").fail("none, as it makes tokens random");
  }
  out.unknown = text(model, "unk_token");
  out.file = model.file();
  out.prefix = text(model, "continuing_subword_prefix");
  out.suffix = text(model, "end_of_word_suffix");
  out.fuse_unknown = flag(model, "fuse_unk");
  out.byte_fallback = flag(model, "byte_fallback");
  out.ignore_merges = flag(model, "ignore_merges");
  if (out.byte_fallback && !(out.prefix.empty() && out.suffix.empty())) {
    model.at("byte_fallback").fail("false with a prefix or a suffix");
  }
  read_merges(model.at("merges"), out);
}

}  // namespace

void read_byte_pair(const JsonField& model, Definition& out) {
  out.model = Definition::Model::byte_pair;
  read_token_ids(model.at("vocab"), out);
  read_options(model, out.byte_pair);
  out.word_piece.unknown = out.byte_pair.unknown;
}

void read_word_piece(const JsonField& model, Definition& out) {
  if (model.has("merges")) model.fail_with("found \"merges\", which WordPiece does not have");
  out.word_piece.unknown = model.at("unk_token").string();
  out.word_piece.continuing_prefix = model.at("continuing_subword_prefix").string();
  out.word_piece.max_chars =
      static_cast<size_t>(model.at("max_input_chars_per_word").integer(0, INT32_MAX));
  read_token_ids(model.at("vocab"), out);
}

void read_word_level(const JsonField& model, Definition& out) {
  out.model = Definition::Model::word_level;
  out.word_piece.unknown = model.at("unk_token").string();
  read_token_ids(model.at("vocab"), out);
}

}  // namespace bert::tokenizer
