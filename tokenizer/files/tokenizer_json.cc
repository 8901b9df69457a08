// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/files/definition.h"
#include "tokenizer/files/files.h"
#include "tokenizer/files/tokenizer_config.h"
#include "tokenizer/files/unigram_json.h"

namespace bert::tokenizer {

namespace {

constexpr int64_t kMaxTypeId = 1 << 20;

void expect_type(const JsonField& field, std::string_view type) {
  if (!field.is_object()) field.fail(fmt::format("a {}", type));
  const JsonField found = field.at("type");
  if (found.string() != type) found.fail(fmt::format("\"{}\"", type));
}

NormalizerOptions read_normalizer(const JsonField& field) {
  expect_type(field, "BertNormalizer");
  NormalizerOptions options;
  options.clean_text = field.at("clean_text").boolean();
  options.handle_chinese_chars = field.at("handle_chinese_chars").boolean();
  options.lowercase = field.at("lowercase").boolean();
  options.strip_accents =
      field.has("strip_accents") ? field.at("strip_accents").boolean() : options.lowercase;
  return options;
}

int32_t read_id(const JsonField& field) {
  return static_cast<int32_t>(field.integer(0, Vocabulary::kMaxId));
}

void read_model(const JsonField& model, Definition& out) {
  if (model.has("merges")) model.fail_with("found \"merges\", which WordPiece does not have");
  out.word_piece.unknown = model.at("unk_token").string();
  out.word_piece.continuing_prefix = model.at("continuing_subword_prefix").string();
  out.word_piece.max_chars =
      static_cast<size_t>(model.at("max_input_chars_per_word").integer(0, INT32_MAX));
  for (const auto& [token, id] : model.at("vocab").members()) {
    out.vocabulary.emplace_back(token, read_id(id));
  }
  const auto greatest = std::max_element(out.vocabulary.begin(), out.vocabulary.end(),
                                         [](auto& a, auto& b) { return a.second < b.second; });
  if (greatest != out.vocabulary.end() && greatest->second > Vocabulary::kMaxId) {
    model.at("vocab").fail_with(
        fmt::format("found id {}, expected at most {}", greatest->second, Vocabulary::kMaxId));
  }
}

bool is_unigram_model(const JsonField& model) {
  if (!model.is_object()) model.fail("a WordPiece or Unigram model");
  if (!model.has("type")) return model.has("unk_id");  // old files have no type
  const JsonField type = model.at("type");
  if (type.string() != "WordPiece" && type.string() != "Unigram") {
    type.fail("\"WordPiece\" or \"Unigram\"");
  }
  return type.string() == "Unigram";
}

// The template of TemplateProcessing. Each text must be in it exactly once: otherwise truncation to
// a length would be meaningless.
class TemplateReader {
 public:
  explicit TemplateReader(const JsonField& processor) : special_(processor.at("special_tokens")) {}

  Template read(const JsonField& pieces, bool pair) const {
    Template out;
    int first = 0, second = 0;
    for (const JsonField& piece : pieces.elements()) {
      out.push_back(read_piece(piece));
      first += out.back().kind == TemplatePiece::Kind::first;
      second += out.back().kind == TemplatePiece::Kind::second;
    }
    if (first != 1 || second != (pair ? 1 : 0)) {
      pieces.fail_with(fmt::format("found sequence A {} times and B {} times, expected {}", first,
                                   second, pair ? "each once" : "A once"));
    }
    return out;
  }

 private:
  TemplatePiece read_piece(const JsonField& piece) const {
    TemplatePiece out;
    const bool is_sequence = piece.has("Sequence");
    if (!is_sequence && !piece.has("SpecialToken")) piece.fail("a Sequence or a SpecialToken");
    const JsonField body = piece.at(is_sequence ? "Sequence" : "SpecialToken");
    out.type_id = static_cast<int32_t>(body.at("type_id").integer(0, kMaxTypeId));
    const std::string id = body.at("id").string();
    if (is_sequence) {
      if (id != "A" && id != "B") body.at("id").fail("\"A\" or \"B\"");
      out.kind = id == "A" ? TemplatePiece::Kind::first : TemplatePiece::Kind::second;
    } else {
      for (const JsonField& number : special_.at(id).at("ids").elements()) {
        out.ids.push_back(read_id(number));
      }
    }
    return out;
  }

  JsonField special_;
};

// BertProcessing: {"cls": ["[CLS]", 101], "sep": ["[SEP]", 102]}, and the same for
// RobertaProcessing.
void read_cls_and_sep(const JsonField& field, bool is_roberta, Definition& out) {
  const auto id = [&](const char* name) {
    const std::vector<JsonField> pair = field.at(name).elements();
    if (pair.size() != 2) field.at(name).fail_with("expected a token and its id");
    return read_id(pair[1]);
  };
  const int32_t cls = id("cls"), sep = id("sep");
  set_templates(cls, sep, is_roberta, out);
  if (!is_roberta) return;
  out.trim_offsets = field.at("trim_offsets").boolean();
  out.keeps_first = field.at("add_prefix_space").boolean();
}

void read_post_processor(const JsonField& document, Definition& out) {
  out.single = {{TemplatePiece::Kind::first, {}, 0}};
  out.pair = {{TemplatePiece::Kind::first, {}, 0}, {TemplatePiece::Kind::second, {}, 1}};
  if (!document.has("post_processor")) return;
  const JsonField processor = document.at("post_processor");
  constexpr const char* kExpected = "BertProcessing, RobertaProcessing or TemplateProcessing";
  if (!processor.is_object()) processor.fail(kExpected);
  const JsonField type = processor.at("type");
  if (type.string() == "BertProcessing") return read_cls_and_sep(processor, false, out);
  if (type.string() == "RobertaProcessing") return read_cls_and_sep(processor, true, out);
  if (type.string() != "TemplateProcessing") type.fail(kExpected);
  const TemplateReader reader(processor);
  out.single = reader.read(processor.at("single"), false);
  out.pair = reader.read(processor.at("pair"), true);
}

// Only the side of truncation counts, as in transformers, which takes the length from
// tokenizer_config.json alone. The strategy is always longest_first. A length that is ignored is
// not noted: many published models have one.
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

void compare_switch(const std::optional<bool>& other, bool ours, const char* name,
                    const char* json_name, const TokenizerConfig& config, Definition& out) {
  if (!other || *other == ours) return;
  out.notes.push_back(fmt::format("{}: {} is {}, but {} has normalizer.{} {}, which is used",
                                  config.file, name, *other, out.file, json_name, ours));
}

void compare_switches(const TokenizerConfig& config, Definition& out) {
  const NormalizerOptions& n = out.normalizer;
  compare_switch(config.do_lower_case, n.lowercase, "do_lower_case", "lowercase", config, out);
  compare_switch(config.strip_accents, n.strip_accents, "strip_accents", "strip_accents", config,
                 out);
  compare_switch(config.tokenize_chinese_chars, n.handle_chinese_chars, "tokenize_chinese_chars",
                 "handle_chinese_chars", config, out);
  compare_switch(config.clean_text, n.clean_text, "clean_text", "clean_text", config, out);
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

void compare_config(const TokenizerConfig& config, Definition& out) {
  out.notes.insert(out.notes.end(), config.notes.begin(), config.notes.end());
  if (out.model == Definition::Model::word_piece) compare_switches(config, out);
  const auto unknown = config.special_tokens.find("unk_token");
  if (unknown != config.special_tokens.end() && unknown->second.content != out.word_piece.unknown) {
    out.notes.push_back(fmt::format("{}: unk_token is \"{}\", but {} has \"{}\", which is used",
                                    config.file, unknown->second.content, out.file,
                                    out.word_piece.unknown));
  }
  out.max_length = config.model_max_length;
  out.truncate_left = config.truncate_left.value_or(out.truncate_left);
  // transformers adds these to those of tokenizer.json.
  for (const DeclaredToken& token : config.added_tokens) {
    const auto is_it = [&](const DeclaredToken& known) { return known.content == token.content; };
    if (std::ranges::none_of(out.added_tokens, is_it)) out.added_tokens.push_back(token);
  }
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
  // Lines lose trailing white space, so a token of nothing else cannot be compared.
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
  const nlohmann::json json = parse_tokenizer_json(out.file, out.vocabulary);
  const JsonField document(json, out.file);
  if (document.has("version") && document.at("version").string() != "1.0") {
    document.at("version").fail("\"1.0\"");
  }
  if (is_unigram_model(document.at("model"))) {
    read_unigram(document, out);
  } else {
    out.normalizer = read_normalizer(document.at("normalizer"));
    expect_type(document.at("pre_tokenizer"), "BertPreTokenizer");
    read_model(document.at("model"), out);
  }
  read_post_processor(document, out);
  const TokenizerConfig config = read_tokenizer_config(directory);
  read_truncation(document, out);
  read_added_tokens(document, out);
  compare_config(config, out);
  if (out.model == Definition::Model::word_piece) compare_vocabulary(directory, out);
  return out;
}

}  // namespace bert::tokenizer
