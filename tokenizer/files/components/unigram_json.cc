// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/files/components/components.h"

namespace bert::tokenizer {

namespace {

// A score as Hugging Face's tokenizers read it: their JSON parser divides the digits, as one
// integer, by a power of ten, which with sixteen digits or more may be off by one in the last
// place. This way, segmentations with almost equal sums are ranked as they are there.
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
  if (exponent > 0 || exponent < -22) return score;  // no piece has such a score
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

void read_unigram(const JsonField& model, Definition& out) {
  out.model = Definition::Model::unigram;
  out.unigram.byte_fallback = model.has("byte_fallback") && model.at("byte_fallback").boolean();
  read_vocabulary(model.at("vocab"), out);
  const auto size = static_cast<int64_t>(out.vocabulary.size());
  if (size == 0) model.at("vocab").fail_with("expected at least the unknown token");
  out.unigram.unknown = -1;
  if (!model.has("unk_id")) return;
  out.unigram.unknown = static_cast<int32_t>(model.at("unk_id").integer(0, size - 1));
  out.word_piece.unknown = out.vocabulary[static_cast<size_t>(out.unigram.unknown)].first;
}

}  // namespace bert::tokenizer
