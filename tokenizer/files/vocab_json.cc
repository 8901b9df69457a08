// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/files/components/components.h"
#include "tokenizer/files/definition.h"
#include "tokenizer/files/files.h"
#include "tokenizer/files/tokenizer_config.h"

namespace bert::tokenizer {

namespace {

// How a tokenizer class reads vocab.json and merges.txt without a tokenizer.json.
struct BytePairConvention {
  const char *stem, *model_type;       // of the class's name; in config.json
  bool is_roberta;                     // RoBERTa's template, and offsets without spaces
  std::array<const char*, 5> special;  // as in named_tokens()
  const char *begin = "cls_token", *end = "sep_token";  // of a text
  const char *suffix = "", *parts = "";  // end_of_word_suffix; normalizer and pre_tokenizer
};
// Words are cut out by this expression, not by ByteLevel's.
constexpr const char* kClipParts = R"json({
  "normalizer": {"type": "Sequence", "normalizers": [
    {"type": "NFC"},
    {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
    {"type": "Lowercase"}]},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "behavior": "Removed", "invert": true, "pattern": {"Regex":
      "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|)json"
                                   R"json([\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"}},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}]}
})json";
constexpr std::array<const char*, 5> kClipSpecial = {"<|endoftext|>", "<|endoftext|>",
                                                     "<|endoftext|>", "<|startoftext|>", ""};
constexpr std::array<const char*, 5> kRobertaSpecial = {"<unk>", "</s>", "<pad>", "<s>", "<mask>"};
constexpr BytePairConvention kBytePairConventions[] = {
    {"Roberta", "roberta", true, kRobertaSpecial},
    {"Bart", "bart", true, kRobertaSpecial},
    {"Longformer", "longformer", true, kRobertaSpecial},
    {"Deberta", "deberta", false, {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}},
    {"CLIP", "clip", true, kClipSpecial, "bos_token", "eos_token", "</w>", kClipParts},
    {"CLIP", "clip_text_model", true, kClipSpecial, "bos_token", "eos_token", "</w>", kClipParts}};

const BytePairConvention& find_convention(const TokenizerConfig& config,
                                          const std::string& directory) {
  const std::string& name = config.tokenizer_class;
  const std::string type = name.empty() ? read_model_text(directory, "model_type") : "";
  for (const BytePairConvention& known : kBytePairConventions) {
    if (name.empty() ? type == known.model_type : is_tokenizer_class(name, known.stem))
      return known;
  }
  throw std::runtime_error(
      name.empty()
          ? fmt::format("{}/config.json: model_type: found \"{}\", expected \"roberta\", \"bart\", "
                        "\"longformer\", \"deberta\" or \"clip\", whose vocab.json and merges.txt "
                        "are known",
                        directory, type)
          : fmt::format("{}: found \"{}\", expected RobertaTokenizer, BartTokenizer, "
                        "LongformerTokenizer, DebertaTokenizer or CLIPTokenizer",
                        config.class_field, name));
}

void read_vocabulary(const std::string& path, Definition& out) {
  const nlohmann::json document = parse_json(path);
  for (const auto& [token, id] : JsonField(document, path).members()) {
    out.vocabulary.emplace_back(token, static_cast<int32_t>(id.integer(0, Vocabulary::kMaxId)));
  }
}

void read_merges(const std::string& path, Definition& out) {
  const VocabularyLines lines(path);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines.token(i);
    if (line.starts_with("#version") || (line.empty() && i + 1 == lines.size())) continue;
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      throw std::runtime_error(
          fmt::format("{}: line {}: expected two tokens and a space between them", path, i + 1));
    }
    out.byte_pair.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
}

void set_special_tokens(const TokenizerConfig& config, const BytePairConvention& convention,
                        Definition& out) {
  const auto& [unknown, sep, pad, cls, mask] = convention.special;
  TokenIds ids;
  for (const auto& [token, id] : out.vocabulary) ids.emplace(token, id);
  const auto special = [&](const char* name, const char* otherwise) -> std::string {
    const auto found = config.special_tokens.find(name);
    return found == config.special_tokens.end() ? otherwise : found->second.content;
  };
  const auto id_of = [&](const char* name, const char* otherwise) {
    const std::string token = special(name, otherwise);
    if (token.empty()) throw null_token(config, name);
    if (const auto found = ids.find(token); found != ids.end()) return found->second;
    throw std::runtime_error(
        fmt::format("{}: the {} \"{}\" is not in the vocabulary", out.file, name, token));
  };
  const int32_t begin = id_of(convention.begin, cls);
  set_templates(begin, id_of(convention.end, sep), convention.is_roberta, out);
  out.added_tokens = config.added_tokens;
  TokenList list(out.added_tokens);
  for (const NamedToken& token : named_tokens(config, convention.special, true, ids)) {
    list.add({token});
  }
  for (const NamedToken& token : config.additional_special_tokens) list.add({token});
  out.mask = special("mask_token", mask);
}

void read_parts(const BytePairConvention& convention, Definition& out) {
  const nlohmann::json document = nlohmann::json::parse(convention.parts);
  const JsonField parts(document, out.file);
  read_normalizers(parts.at("normalizer"), out.normalizers);
  read_pre_tokenizers(parts.at("pre_tokenizer"), out.pre_tokenizers);
  out.byte_pair.suffix = convention.suffix;
  out.byte_pair.unknown = out.word_piece.unknown = convention.special[0];
  out.byte_pair.file = out.file;
  pick_pipeline(out);
}

}  // namespace

Definition read_vocab_json(const std::string& directory) {
  const TokenizerConfig config = read_tokenizer_config(directory);
  const BytePairConvention& convention = find_convention(config, directory);
  Definition out;
  out.file = directory + "/vocab.json";
  out.model = Definition::Model::byte_pair;
  out.notes = config.notes;
  read_vocabulary(out.file, out);
  read_merges(directory + "/merges.txt", out);
  out.byte_pair.merges_name = "merges.txt";
  out.byte_level.add_prefix_space = config.add_prefix_space.value_or(false);
  if (*convention.parts) {
    read_parts(convention, out);
  } else if (convention.is_roberta && config.trim_offsets.value_or(true)) {
    out.trims.push_back({out.byte_level.add_prefix_space});
  }
  set_encoding(config, out);
  set_special_tokens(config, convention, out);
  return out;
}

}  // namespace bert::tokenizer
