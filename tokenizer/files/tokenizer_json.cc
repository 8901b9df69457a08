// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/files/components/components.h"
#include "tokenizer/files/definition.h"
#include "tokenizer/files/files.h"
#include "tokenizer/files/tokenizer_config.h"

namespace bert::tokenizer {

namespace {

// Old files have no type.
std::string model_type(const JsonField& model) {
  if (!model.is_object()) model.fail("a WordPiece, WordLevel, Unigram or BPE model");
  if (model.has("type")) return model.at("type").string();
  if (model.has("unk_id")) return "Unigram";
  if (model.has("merges")) return "BPE";
  return model.has("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

void read_parts(const JsonField& document, Definition& out) {
  const JsonField model = document.at("model");
  const std::string type = model_type(model);
  if (document.has("normalizer")) read_normalizers(document.at("normalizer"), out.normalizers);
  if (document.has("pre_tokenizer")) {
    read_pre_tokenizers(document.at("pre_tokenizer"), out.pre_tokenizers);
  }
  if (type == "Unigram") {
    read_unigram(model, out);
  } else if (type == "BPE") {
    read_byte_pair(model, out);
  } else if (type == "WordLevel") {
    read_word_level(model, out);
  } else if (type == "WordPiece") {
    read_word_piece(model, out);
  } else {
    model.at("type").fail("\"WordPiece\", \"WordLevel\", \"Unigram\" or \"BPE\"");
  }
  pick_pipeline(out);
}

// Uses only the side of truncation, like transformers, which takes the length from
// tokenizer_config.json alone. The strategy is always longest_first. Ignoring a length is not
// noted: many published models have one.
void read_truncation(const JsonField& document, Definition& out) {
  if (!document.has("truncation")) return;
  const JsonField truncation = document.at("truncation");
  truncation.at("max_length").integer(1, INT32_MAX);
  if (truncation.has("direction")) {
    const JsonField side = truncation.at("direction");
    if (side.string() != "Left" && side.string() != "Right") side.fail("\"Left\" or \"Right\"");
    out.truncate_left = side.string() == "Left";
  }
  if (!truncation.has("strategy") || truncation.at("strategy").string() == "LongestFirst") return;
  out.notes.push_back(
      fmt::format("{}: truncation.strategy: \"{}\" is ignored, \"LongestFirst\" is used", out.file,
                  truncation.at("strategy").string()));
}

void read_added_tokens(const JsonField& document, Definition& out) {
  if (!document.has("added_tokens")) return;
  for (const JsonField& field : document.at("added_tokens").elements()) {
    DeclaredToken token{read_added_token(field)};
    token.id = read_id(field.at("id"));
    out.added_tokens.push_back(std::move(token));
  }
}

// otherwise: the default of the class `by_default`, if it has one.
void compare_switch(const std::optional<bool>& other, bool ours, const char* name,
                    const char* json_name, const TokenizerConfig& config, Definition& out,
                    std::optional<bool> otherwise = std::nullopt,
                    const std::string& by_default = "") {
  const std::optional<bool> theirs = other ? other : otherwise;
  if (!theirs || *theirs == ours) return;
  const std::string by = other ? "" : " by default for " + by_default;
  out.notes.push_back(fmt::format("{}: {} is {}{}, but {} has {} {}, which is used", config.file,
                                  name, *theirs, by, out.file, json_name, ours));
}

// The class like BertTokenizer that transformers takes, or "".
std::string bert_like_class(const std::string& directory, const TokenizerConfig& config) {
  if (is_bert_like_class(config.tokenizer_class)) return config.tokenizer_class;
  if (!config.tokenizer_class.empty()) return "";
  return is_bert_like_type(read_model_text(directory, "model_type")) ? "BertTokenizer" : "";
}

void compare_switches(const TokenizerConfig& config, const std::string& by_default,
                      Definition& out) {
  const NormalizerOptions& n = out.normalizer;
  std::optional<bool> yes, as_case;  // transformers uses the defaults of these classes, too
  if (!by_default.empty()) {
    yes = true;
    as_case = config.do_lower_case.value_or(true);
  }
  compare_switch(config.do_lower_case, n.lowercase, "do_lower_case", "normalizer.lowercase", config,
                 out, yes, by_default);
  compare_switch(config.strip_accents, n.strip_accents, "strip_accents", "normalizer.strip_accents",
                 config, out, as_case, by_default);
  compare_switch(config.tokenize_chinese_chars, n.handle_chinese_chars, "tokenize_chinese_chars",
                 "normalizer.handle_chinese_chars", config, out, yes, by_default);
  compare_switch(config.clean_text, n.clean_text, "clean_text", "normalizer.clean_text", config,
                 out);
}

// Version 5 of transformers makes this class anew of the vocabulary, without the normalizer that
// puts a "\u2581" before every text; version 4 and Mistral's models keep to tokenizer.json.
void compare_llama(const std::string& directory, const TokenizerConfig& config,
                   const JsonField& document, Definition& out) {
  if (!is_tokenizer_class(config.tokenizer_class, "Llama") || !document.has("normalizer") ||
      read_model_text(directory, "model_type") != "llama") {
    return;
  }
  out.notes.push_back(
      fmt::format("{}: its normalizer is used; the {} of transformers 5 has none, and differs "
                  "where a text begins with white space or follows a special token",
                  out.file, config.tokenizer_class));
}

// tokenizer.json does not say which of its tokens is the mask.
std::string find_mask(const TokenizerConfig& config, const Definition& out) {
  const auto named = config.special_tokens.find("mask_token");
  if (named != config.special_tokens.end()) return named->second.content;
  for (const DeclaredToken& token : out.added_tokens) {
    if (token.special && (token.content == "[MASK]" || token.content == "<mask>")) {
      return token.content;
    }
  }
  return "";
}

void compare_config(const std::string& directory, const TokenizerConfig& config, Definition& out) {
  out.notes.insert(out.notes.end(), config.notes.begin(), config.notes.end());
  const std::string bert_like = bert_like_class(directory, config);
  if (out.model == Definition::Model::word_piece && !out.by_parts) {
    compare_switches(config, bert_like, out);
  }
  if (out.model == Definition::Model::byte_pair && !out.by_parts) {
    compare_switch(config.add_prefix_space, out.byte_level.add_prefix_space, "add_prefix_space",
                   "pre_tokenizer.add_prefix_space", config, out);
  }
  const auto unknown = config.special_tokens.find("unk_token");
  const bool has_unknown = !out.word_piece.unknown.empty();  // BPE may have none
  if (has_unknown && unknown != config.special_tokens.end() && !unknown->second.content.empty() &&
      unknown->second.content != out.word_piece.unknown) {
    out.notes.push_back(fmt::format("{}: unk_token is \"{}\", but {} has \"{}\", which is used",
                                    config.file, unknown->second.content, out.file,
                                    out.word_piece.unknown));
  }
  set_encoding(config, out);
  // transformers adds these to tokenizer.json's. Those of added_tokens_decoder come with flags,
  // which count for more than tokenizer.json's; but what is special stays so.
  TokenList list(out.added_tokens);
  for (const DeclaredToken& token : config.added_tokens) {
    auto [known, is_new] = list.add(token);
    if (is_new || !config.has_decoder) continue;
    const bool is_special = known.special || token.special;
    static_cast<AddedToken&>(known) = token;
    known.special = is_special;
  }
  TokenIds ids;  // of the class's own special tokens, which the files need not name
  std::array<const char*, 5> defaults = {};
  if (!bert_like.empty()) {
    defaults = {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
    for (const auto& [token, id] : out.vocabulary) {
      const bool may_be = token.starts_with('[');  // comparing all takes a millisecond
      if (may_be && std::ranges::find(defaults, token) != defaults.end()) ids.emplace(token, id);
    }
  }
  for (const NamedToken& token : named_tokens(config, defaults, false, ids)) list.add({token});
  for (const NamedToken& token : config.additional_special_tokens) list.add({token});
  out.mask = find_mask(config, out);
}

void compare_vocabulary(const std::string& directory, Definition& out) {
  const std::string path = directory + "/vocab.txt";
  if (!is_there(path)) return;
  const VocabularyLines lines(path);
  std::vector<const std::string*> tokens(lines.size());
  size_t beyond = 0;  // tokens with ids past the last line
  for (const auto& [token, id] : out.vocabulary) {
    if (static_cast<size_t>(id) < lines.size()) {
      tokens[static_cast<size_t>(id)] = &token;
    } else {
      ++beyond;
    }
  }
  // Lines lose trailing white space, so a token of only white space cannot be compared.
  const auto is_same = [&](size_t i) {
    return tokens[i] &&
           (lines.line(i) == *tokens[i] || lines.token(i) == *tokens[i] || lines.token(i).empty());
  };
  size_t line = 0;
  while (line < lines.size() && is_same(line)) ++line;
  if (line == lines.size() && beyond == 0) return;
  out.notes.push_back(fmt::format("{}: line {} is not the token of id {} in {}, which is used",
                                  path, line + 1, line, out.file));
}

}  // namespace

Definition read_tokenizer_json(const std::string& directory) {
  Definition out;
  out.file = directory + "/tokenizer.json";
  ScannedLists lists;
  const nlohmann::json json = parse_tokenizer_json(out.file, lists);
  out.vocabulary = std::move(lists.vocabulary);
  out.byte_pair.merges = std::move(lists.merges);
  const JsonField document(json, out.file);
  if (document.has("version") && document.at("version").string() != "1.0") {
    document.at("version").fail("\"1.0\"");
  }
  read_parts(document, out);
  read_post_processor(document, out);
  out.has_decoders = true;
  if (document.has("decoder")) {
    read_decoders(document.at("decoder"), out.decoders);
  } else {
    out.decoders = {{Decoder::Kind::spaces}};
  }
  const TokenizerConfig config = read_tokenizer_config(directory);
  read_truncation(document, out);
  read_added_tokens(document, out);
  compare_config(directory, config, out);
  compare_llama(directory, config, document, out);
  if (out.model == Definition::Model::word_piece) compare_vocabulary(directory, out);
  return out;
}

}  // namespace bert::tokenizer
