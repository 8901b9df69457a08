// SPDX-License-Identifier: Apache-2.0
//
// Which definitions the fast pipelines do. All others are done component by component.
#include "tokenizer/files/components/components.h"

namespace bert::tokenizer {

namespace {

bool pick_word_piece(Definition& out) {
  const auto& before = out.normalizers;
  const auto& cuts = out.pre_tokenizers;
  if (before.size() != 1 || before[0].kind != Normalizer::Kind::bert) return false;
  if (cuts.size() != 1 || cuts[0].kind != PreTokenizer::Kind::bert) return false;
  out.normalizer = before[0].bert;
  return true;
}

bool find_steps(const Definition& definition, std::vector<NormalizerStep>& out) {
  for (const Normalizer& normalizer : definition.normalizers) {
    NormalizerStep step{};
    if (!as_step(normalizer, step)) return false;
    out.push_back(std::move(step));
  }
  return true;
}

bool pick_unigram(Definition& out) {
  UnigramOptions& options = out.unigram;
  const auto& cuts = out.pre_tokenizers;
  options.whitespace_split = !cuts.empty() && cuts[0].kind == PreTokenizer::Kind::whitespace_split;
  const size_t last = options.whitespace_split ? 1 : 0;
  if (cuts.size() != last + 1 || cuts[last].kind != PreTokenizer::Kind::metaspace) return false;
  if (cuts[last].scalar != 0x2581 || options.byte_fallback) return false;
  if (options.unknown < 0 || !find_steps(out, options.steps)) return false;
  options.prepend = cuts[last].prepend;
  options.split = cuts[last].splits;
  return true;
}

bool pick_byte_level(Definition& out) {
  const auto& cuts = out.pre_tokenizers;
  if (cuts.size() != 1 || cuts[0].kind != PreTokenizer::Kind::byte_level) return false;
  if (!find_steps(out, out.steps)) return false;
  out.byte_level = {cuts[0].prepend == PreTokenizer::Prepend::always, cuts[0].splits};
  return true;
}

}  // namespace

void pick_pipeline(Definition& out) {
  switch (out.model) {
    case Definition::Model::word_piece:
      out.by_parts = !pick_word_piece(out);
      return;
    case Definition::Model::unigram:
      out.by_parts = !pick_unigram(out);
      return;
    case Definition::Model::byte_pair:
      out.by_parts = !pick_byte_level(out);
      return;
    case Definition::Model::word_level:
      out.by_parts = true;
      return;
  }
}

}  // namespace bert::tokenizer
