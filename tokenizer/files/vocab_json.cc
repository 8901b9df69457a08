// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/files/definition.h"
#include "tokenizer/files/files.h"
#include "tokenizer/files/tokenizer_config.h"

namespace bert::tokenizer {

namespace {

// The classes that read vocab.json and merges.txt as RobertaTokenizer does.
constexpr const char* kRobertaLikeClasses[] = {"Roberta", "Longformer"};

void check_class(const TokenizerConfig& config, const std::string& directory) {
  const std::string& name = config.tokenizer_class;
  const bool known = std::ranges::any_of(
      kRobertaLikeClasses, [&](const char* stem) { return is_tokenizer_class(name, stem); });
  if (known) return;
  const std::string type = read_model_text(directory, "model_type");
  if (name.empty() && (type == "roberta" || type == "longformer")) return;
  throw std::runtime_error(
      name.empty()
          ? fmt::format("{}/config.json: model_type: found \"{}\", expected \"roberta\" or "
                        "\"longformer\", as vocab.json and merges.txt alone are those of RoBERTa",
                        directory, type)
          : fmt::format("{}: found \"{}\", expected RobertaTokenizer or LongformerTokenizer",
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

void set_special_tokens(const TokenizerConfig& config, Definition& out) {
  TokenIds ids;
  for (const auto& [token, id] : out.vocabulary) ids.emplace(token, id);
  const auto special = [&](const char* name, const char* otherwise) -> std::string {
    const auto found = config.special_tokens.find(name);
    return found == config.special_tokens.end() ? otherwise : found->second.content;
  };
  const auto id_of = [&](const char* name, const char* otherwise) {
    const std::string token = special(name, otherwise);
    if (const auto found = ids.find(token); found != ids.end()) return found->second;
    throw std::runtime_error(
        fmt::format("{}: the {} \"{}\" is not in the vocabulary", out.file, name, token));
  };
  const int32_t cls = id_of("cls_token", "<s>");
  set_templates(cls, id_of("sep_token", "</s>"), true, out);
  out.added_tokens = config.added_tokens;
  const auto add = [&](const NamedToken& token) {
    const auto is_it = [&](const DeclaredToken& known) { return known.content == token.content; };
    if (std::ranges::none_of(out.added_tokens, is_it)) out.added_tokens.push_back({token});
  };
  for (const NamedToken& token :
       named_tokens(config, {"<unk>", "</s>", "<pad>", "<s>", "<mask>"}, true, ids)) {
    add(token);
  }
  for (const NamedToken& token : config.additional_special_tokens) add(token);
  out.mask = special("mask_token", "<mask>");
}

}  // namespace

Definition read_vocab_json(const std::string& directory) {
  const TokenizerConfig config = read_tokenizer_config(directory);
  check_class(config, directory);
  Definition out;
  out.file = directory + "/vocab.json";
  out.model = Definition::Model::byte_pair;
  out.notes = config.notes;
  read_vocabulary(out.file, out);
  read_merges(directory + "/merges.txt", out);
  out.byte_pair.merges_name = "merges.txt";
  out.byte_level.add_prefix_space = config.add_prefix_space.value_or(false);
  if (config.trim_offsets.value_or(true)) {
    out.trims.push_back({out.byte_level.add_prefix_space});
  }
  out.max_length = config.model_max_length;
  out.truncate_left = config.truncate_left.value_or(false);
  set_special_tokens(config, out);
  return out;
}

}  // namespace bert::tokenizer
