// SPDX-License-Identifier: Apache-2.0
//
// Which definitions the fast pipelines can run. All others run component by component.
#include <algorithm>

#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/files/components/components.h"
#include "tokenizer/unicode/utf8.h"

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

// How many digits a piece of one of the known Splits may have; 0 for any other Split.
int find_split_digits(const PreTokenizer& cut) {
  if (cut.kind != PreTokenizer::Kind::split || cut.inverted) return 0;
  if (cut.behavior != Delimiter::isolated || !cut.is_expression) return 0;
  return cut.from == kThreeDigitsExpression ? 3 : cut.from == kOneDigitExpression;
}

bool pick_byte_level(Definition& out) {
  const auto& cuts = out.pre_tokenizers;
  if (cuts.empty() || cuts.size() > 2) return false;
  const PreTokenizer &first = cuts.front(), &last = cuts.back();
  if (last.kind != PreTokenizer::Kind::byte_level) return false;
  ByteLevelOptions options{.add_prefix_space = last.prepend == PreTokenizer::Prepend::always,
                           .use_regex = last.splits};
  if (cuts.size() == 2) {
    options.single_digits = first.kind == PreTokenizer::Kind::digits && first.individual;
    options.split_digits = find_split_digits(first);
    // A space would be added to every piece that the first one cuts.
    if (options.add_prefix_space || options.use_regex != options.single_digits) return false;
    if (!options.single_digits && options.split_digits == 0) return false;
  }
  if (!find_steps(out, out.steps)) return false;
  out.byte_level = options;
  return true;
}

std::string find_space_mark(const Definition& definition) {
  if (definition.normalizers.size() != 1) return {};
  const Normalizer& normalizer = definition.normalizers[0];
  const std::string& mark = normalizer.to;
  if (normalizer.kind != Normalizer::Kind::replace || normalizer.is_expression) return {};
  if (normalizer.from != " " || utf8::count_scalars(mark) != 1 || mark == " ") return {};
  // Gemma's Split at spaces does nothing: none are left.
  const auto does_nothing = [](const PreTokenizer& cut) {
    return cut.kind == PreTokenizer::Kind::split && cut.from == " " && !cut.is_expression &&
           !cut.inverted;
  };
  return std::ranges::all_of(definition.pre_tokenizers, does_nothing) ? mark : std::string();
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
      if (out.by_parts) out.space_mark = find_space_mark(out);
      return;
    case Definition::Model::word_level:
      out.by_parts = true;
      return;
  }
}

}  // namespace bert::tokenizer
