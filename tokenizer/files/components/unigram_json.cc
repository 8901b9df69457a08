// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/files/components/components.h"

namespace bert::tokenizer {

namespace {

void read_metaspace(const JsonField& field, UnigramOptions& out) {
  using Prepend = UnigramOptions::Prepend;
  if (field.at("replacement").string() != "\u2581") field.at("replacement").fail("\"\u2581\"");
  if (field.has("split")) out.split = field.at("split").boolean();
  const bool old = !field.has("add_prefix_space") || field.at("add_prefix_space").boolean();
  out.prepend = old ? Prepend::always : Prepend::never;
  if (!field.has("prepend_scheme")) return;
  const JsonField scheme = field.at("prepend_scheme");
  const std::string& name = scheme.string();
  if (name != "always" && name != "first" && name != "never") {
    scheme.fail("\"always\", \"first\" or \"never\"");
  }
  if (!old && name != "never") {
    scheme.fail("\"never\", as add_prefix_space is false");
  }
  out.prepend = name == "always"  ? Prepend::always
                : name == "first" ? Prepend::first
                                  : Prepend::never;
}

void read_pre_tokenizer(const JsonField& field, UnigramOptions& out) {
  if (!field.is_object()) field.fail("a Metaspace");
  const JsonField type = field.at("type");
  if (type.string() == "Metaspace") return read_metaspace(field, out);
  if (type.string() != "Sequence") type.fail("\"Metaspace\" or \"Sequence\"");
  const JsonField list = field.at("pretokenizers");
  const std::vector<JsonField> parts = list.elements();
  const auto is = [&](size_t i, const char* name) {
    return i < parts.size() && parts[i].is_object() && parts[i].at("type").string() == name;
  };
  out.whitespace_split = is(0, "WhitespaceSplit");
  const size_t last = out.whitespace_split ? 1 : 0;
  if (parts.size() != last + 1 || !is(last, "Metaspace")) {
    list.fail_with("expected a Metaspace, alone or after a WhitespaceSplit");
  }
  read_metaspace(parts[last], out);
}

// A score as Hugging Face's tokenizers read it: their JSON parser divides the digits, as one
// integer, by a power of ten, which with sixteen digits or more may be off by one in the last
// place. Segmentations whose sums are all but equal are then ranked as they are there.
double score_as_hugging_face_reads(double score) {
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, score, std::chars_format::scientific).ptr;
  uint64_t digits = 0;
  int exponent = 0, places = 0;
  bool in_fraction = false;
  const char* at = text;
  for (; at != end && *at != 'e'; ++at) {
    if (*at == '.') in_fraction = true;
    if (*at < '0' || *at > '9') continue;
    digits = 10 * digits + static_cast<uint64_t>(*at - '0');
    places += in_fraction;
  }
  if (at == end) return score;
  at += at[1] == '+' ? 2 : 1;
  std::from_chars(at, end, exponent);
  exponent -= places;
  if (exponent > 0 || exponent < -22) return score;  // not the score of any piece
  const double value = static_cast<double>(digits) / std::pow(10.0, -exponent);
  return std::signbit(score) ? -value : value;
}

void read_vocabulary(const JsonField& vocab, Definition& out) {
  const std::vector<JsonField> entries = vocab.elements();
  if (entries.size() > static_cast<size_t>(Vocabulary::kMaxId) + 1) {
    vocab.fail_with(fmt::format("found {} tokens, expected at most {}", entries.size(),
                                Vocabulary::kMaxId + 1));
  }
  out.vocabulary.reserve(entries.size());
  out.unigram.scores.reserve(entries.size());
  for (const JsonField& entry : entries) {
    const std::vector<JsonField> pair = entry.elements();
    if (pair.size() != 2) entry.fail_with("expected a token and its score");
    out.vocabulary.emplace_back(pair[0].string(), static_cast<int32_t>(out.vocabulary.size()));
    out.unigram.scores.push_back(score_as_hugging_face_reads(pair[1].number()));
    if (!std::isfinite(out.unigram.scores.back())) pair[1].fail("a finite number");
  }
}

}  // namespace

void read_unigram(const JsonField& document, Definition& out) {
  out.model = Definition::Model::unigram;
  const JsonField model = document.at("model");
  if (model.has("byte_fallback") && model.at("byte_fallback").boolean()) {
    model.at("byte_fallback").fail("false");
  }
  if (!document.at("normalizer").is_null()) {
    read_normalizers(document.at("normalizer"), out.unigram.steps);
  }
  read_pre_tokenizer(document.at("pre_tokenizer"), out.unigram);
  if (out.vocabulary.empty()) read_vocabulary(model.at("vocab"), out);
  const auto size = static_cast<int64_t>(out.vocabulary.size());
  if (size == 0) model.at("vocab").fail_with("expected at least the unknown token");
  out.unigram.unknown = static_cast<int32_t>(model.at("unk_id").integer(0, size - 1));
  out.word_piece.unknown = out.vocabulary[static_cast<size_t>(out.unigram.unknown)].first;
}

}  // namespace bert::tokenizer
