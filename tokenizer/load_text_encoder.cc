// SPDX-License-Identifier: Apache-2.0
//
// Makes a TextEncoder from a directory's tokenizer files, and reports on them.
#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/files/files.h"
#include "tokenizer/text_encoder_impl.h"

namespace bert::tokenizer {
namespace {

bool is_unigram(const Definition& definition) {
  return definition.model == Definition::Model::unigram;
}

bool is_word_piece(const Definition& definition) {
  return definition.model == Definition::Model::word_piece;
}

const char* name_of(Definition::Model model) {
  switch (model) {
    case Definition::Model::word_piece:
      return "WordPiece";
    case Definition::Model::unigram:
      return "Unigram";
    case Definition::Model::byte_pair:
      return "BPE";
    case Definition::Model::word_level:
      return "WordLevel";
  }
  return "";
}

bool lowercases_text(const Definition& definition) {
  if (definition.by_parts) {
    return std::ranges::any_of(definition.normalizers, [](const Normalizer& part) {
      return part.kind == Normalizer::Kind::lowercase ||
             (part.kind == Normalizer::Kind::bert && part.bert.lowercase);
    });
  }
  if (is_word_piece(definition)) return definition.normalizer.lowercase;
  return std::ranges::any_of(
      is_unigram(definition) ? definition.unigram.steps : definition.steps,
      [](const NormalizerStep& step) { return step.kind == NormalizerStep::Kind::lowercase; });
}

std::unique_ptr<const Pipeline> make_pipeline(const Definition& definition,
                                              const Vocabulary& vocabulary) {
  if (definition.by_parts) {
    auto pipeline = make_character_pipeline(definition, vocabulary);
    return pipeline ? std::move(pipeline) : make_parts_pipeline(definition, vocabulary);
  }
  if (is_unigram(definition)) return make_unigram_pipeline(definition, vocabulary);
  if (is_word_piece(definition)) return make_word_piece_pipeline(definition, vocabulary);
  if (definition.is_fast_bpe) return make_fast_bpe_pipeline(definition, vocabulary);
  return make_byte_level_pipeline(definition, vocabulary);
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<Pattern> patterns)
    : patterns_(std::move(patterns)) {
  std::vector<DoubleArray::Entry> entries;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    const Pattern& pattern = patterns_[i];
    if (pattern.text.empty()) {
      throw std::runtime_error(
          fmt::format("the added token \"{}\" is empty when normalised", pattern.token.content));
    }
    entries.push_back({pattern.text, static_cast<int32_t>(i)});
    const auto first = static_cast<uint8_t>(pattern.text[0]);
    begins_[first] = true;
    looks_around_ |= pattern.token.single_word || pattern.token.lstrip || pattern.token.rstrip;
    only_begin_ = i == 0 || only_begin_ == first ? first : -1;
  }
  std::sort(entries.begin(), entries.end(), [](auto& a, auto& b) { return a.key < b.key; });
  const auto same = std::adjacent_find(entries.begin(), entries.end(),
                                       [](auto& a, auto& b) { return a.key == b.key; });
  if (same != entries.end()) {
    throw std::runtime_error(
        fmt::format("the added tokens \"{}\" and \"{}\" are both \"{}\" when normalised",
                    patterns_[static_cast<size_t>(same[0].value)].token.content,
                    patterns_[static_cast<size_t>(same[1].value)].token.content, same->key));
  }
  trie_ = DoubleArray(entries, {});
}

TextEncoder::Impl::Impl(Definition definition)
    : file(definition.file),
      decoders(definition.has_decoders ? std::move(definition.decoders)
                                       : default_decoders(definition)),
      algorithm(name_of(definition.model)),
      vocabulary(
          std::move(definition.vocabulary),
          is_word_piece(definition) ? definition.word_piece.continuing_prefix : std::string_view(),
          is_word_piece(definition)),
      pipeline(make_pipeline(definition, vocabulary)),
      single(std::move(definition.single)),
      pair(std::move(definition.pair)),
      lowercases(lowercases_text(definition)),
      truncate_left(definition.truncate_left),
      first_gets_odd(definition.first_gets_odd),
      max_length(definition.max_length),
      notes(std::move(definition.notes)) {
  add_tokens(definition);
  if (!definition.has_types) {  // transformers gives models none, which they take for zeros
    for (Template* pieces : {&single, &pair}) {
      for (TemplatePiece& piece : *pieces) piece.type_id = 0;
    }
  }
  check_template(single);
  check_template(pair);
  trimmer = OffsetTrimmer(std::move(definition.trims), vocabulary);
}

// Added tokens get the ids that Hugging Face gives them, whatever the file says: the vocabulary's
// if it has the token, otherwise the next unused one. New ids begin at the vocabulary's size, which
// is the length of the list for Unigram and the number of distinct tokens for WordPiece.
void TextEncoder::Impl::add_tokens(const Definition& definition) {
  std::unordered_map<std::string_view, int32_t> ids;
  std::vector<std::pair<int32_t, const DeclaredToken*>> tokens;  // one per id: the last one counts
  std::unordered_map<int32_t, size_t> places;                    // in `tokens`, by id
  int32_t next = is_unigram(definition) ? vocabulary.end_id() : vocabulary.count();
  for (const DeclaredToken& token : definition.added_tokens) {
    if (token.content.empty()) continue;
    int32_t id = vocabulary.find(token.content);
    if (id == Vocabulary::kNone) {
      const auto [known, is_new] = ids.emplace(token.content, next);
      id = known->second;
      next += is_new;
    }
    if (token.id != -1 && token.id != id) {
      notes.push_back(
          fmt::format("{}: the added token \"{}\" has id {} by Hugging Face's rules, not {}", file,
                      token.content, id, token.id));
    }
    const auto [place, is_first] = places.emplace(id, tokens.size());
    if (is_first) tokens.emplace_back(id, &token);
    tokens[place->second].second = &token;
  }
  std::vector<AddedTokenMatcher::Pattern> raw, normalized;
  std::unordered_set<std::string_view> special;
  for (const auto& [id, token] : tokens) {
    if (!vocabulary.has(id)) vocabulary.name(id, token->content);
    if (token->content == definition.mask) mask = id;
    added_ids.push_back(id);
    if (token->special) special.insert(token->content);
    if (!token->normalized) {
      raw.push_back({token->content, id, *token});
    } else {
      normalized.push_back({pipeline->normalized(token->content), id, *token});
    }
    decoded_tokens.emplace(id, (token->normalized ? normalized : raw).back().text);
  }
  raw_tokens = AddedTokenMatcher(std::move(raw));
  normalized_tokens = AddedTokenMatcher(std::move(normalized));
  std::sort(added_ids.begin(), added_ids.end());
  for (const auto& [id, text] : decoded_tokens) {
    if (special.contains(text)) special_ids.push_back(id);
  }
  if (mask == -1) mask = vocabulary.find(definition.mask);
}

void TextEncoder::Impl::check_template(const Template& pieces) const {
  for (const TemplatePiece& piece : pieces) {
    for (const int32_t id : piece.ids) {
      if (!vocabulary.has(id)) {
        throw std::runtime_error(
            fmt::format("the template's special token {} is not in the vocabulary", id));
      }
    }
  }
}

void set_templates(int32_t cls, int32_t sep, bool is_roberta, Definition& out) {
  using Piece = TemplatePiece::Kind;
  const int32_t type = is_roberta ? 0 : 1;
  out.single = {{Piece::special, {cls}, 0}, {Piece::first, {}, 0}, {Piece::special, {sep}, 0}};
  out.pair = out.single;
  if (is_roberta) out.pair.push_back({Piece::special, {sep}, 0});
  out.pair.push_back({Piece::second, {}, type});
  out.pair.push_back({Piece::special, {sep}, type});
}

namespace {

Definition read_definition(const std::string& directory) {
  if (has_bpe_codes(directory)) return read_bpe_codes(directory);
  if (is_there(directory + "/tokenizer.json")) return read_tokenizer_json(directory);
  if (is_there(directory + "/vocab.txt")) return read_vocab_txt(directory);
  for (const char* name : {"spiece.model", "sentencepiece.bpe.model", "spm.model"}) {
    const std::string path = fmt::format("{}/{}", directory, name);
    if (is_there(path)) return read_sentence_piece_directory(directory, path);
  }
  if (is_there(directory + "/vocab.json")) return read_vocab_json(directory);
  throw std::runtime_error(
      fmt::format("{}: found none of tokenizer.json, vocab.txt, spiece.model, "
                  "sentencepiece.bpe.model, spm.model and vocab.json, expected one",
                  directory));
}

}  // namespace

TextEncoder TextEncoder::load(const std::string& directory) {
  Definition definition = read_definition(directory);
  const std::string file = definition.file;
  try {
    return TextEncoder(std::make_unique<const Impl>(std::move(definition)));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}", file, error.what()));
  }
}

TextEncoder TextEncoder::without_text(std::string reason) {
  return TextEncoder(std::make_unique<const Impl>(std::move(reason)));
}

TextEncoder::TextEncoder(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
TextEncoder::TextEncoder(TextEncoder&&) noexcept = default;
TextEncoder& TextEncoder::operator=(TextEncoder&&) noexcept = default;
TextEncoder::~TextEncoder() = default;

bool TextEncoder::Impl::continues_word(int32_t id) const {
  const std::string& piece = vocabulary.token(id);
  return id != pipeline->unknown() && !is_added(id) && pipeline->continues_word(piece);
}

int32_t TextEncoder::Impl::find(std::string_view token) const {
  const auto added =
      std::ranges::find_if(added_ids, [&](int32_t id) { return vocabulary.token(id) == token; });
  if (added != added_ids.end()) return *added;
  const int32_t id = vocabulary.find(token);
  return id == Vocabulary::kNone ? -1 : id;
}

const std::string& TextEncoder::file() const { return impl_->file; }
const char* TextEncoder::algorithm() const { return impl_->algorithm; }
int TextEncoder::vocabulary_size() const { return impl_->vocabulary.end_id(); }
int TextEncoder::size_without_added() const {
  int32_t size = vocabulary_size();
  while (size > 0 && (!has(size - 1) || impl_->is_added(size - 1))) --size;
  return size;
}
bool TextEncoder::has(int32_t id) const { return impl_->vocabulary.has(id); }
bool TextEncoder::lowercases() const { return impl_->lowercases; }
bool TextEncoder::truncates_left() const { return impl_->truncate_left; }
const std::string& TextEncoder::token(int32_t id) const { return impl_->vocabulary.token(id); }
bool TextEncoder::continues_word(int32_t id) const { return impl_->continues_word(id); }
std::vector<bool> TextEncoder::word_begins(std::string_view text) const {
  EncodingScratch scratch;
  TokenSequence& tokens = scratch.first;
  scratch.notes_words = true;
  impl_->encode_text(text, "text", std::numeric_limits<size_t>::max(), scratch, tokens);
  std::vector<bool> begins(tokens.size);
  for (const size_t i : tokens.notes.added) begins[i] = true;
  for (const size_t i : tokens.notes.words) {
    if (i < tokens.size) begins[i] = true;  // a word may have no tokens
  }
  return begins;
}
int32_t TextEncoder::find(std::string_view token) const { return impl_->find(token); }
int32_t TextEncoder::mask_id() const { return impl_->mask; }
int32_t TextEncoder::unknown_id() const {
  return impl_->pipeline == nullptr ? -1 : impl_->pipeline->unknown();
}
const std::string& TextEncoder::refusal() const { return impl_->refusal; }
bool TextEncoder::takes_text() const { return impl_->refusal.empty(); }
int TextEncoder::default_max_length() const { return impl_->max_length; }
const std::vector<std::string>& TextEncoder::notes() const { return impl_->notes; }

}  // namespace bert::tokenizer
