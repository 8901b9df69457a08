// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/files/tokenizer_config.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include <fmt/format.h>

#include "tokenizer/files/files.h"

namespace bert::tokenizer {

namespace {

// "No limit" is written as int(1e30) or int(1e20); no BERT has a million positions.
constexpr double kMaxNamedLength = 1e6;
constexpr const char* kTokenFields[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};
constexpr size_t kWithoutDefault = 2;  // bos_token and eos_token
// The classes that give models no segment ids.
constexpr const char* kWithoutTypes[] = {"DistilBert", "Roberta", "XLMRoberta", "MPNet",
                                         "Camembert"};

std::optional<bool> optional_bool(const JsonField& config, const char* name) {
  if (!config.has(name)) return std::nullopt;
  return config.at(name).boolean();
}

NamedToken read_named_token(const JsonField& field) {
  NamedToken token;
  token.special = true;
  token.has_flags = field.is_object();
  token.content = token.has_flags ? field.at("content").string() : field.string();
  if (!token.has_flags) return token;
  const auto flag = [&](const char* name) { return field.has(name) && field.at(name).boolean(); };
  token.single_word = flag("single_word");
  token.lstrip = flag("lstrip");
  token.rstrip = flag("rstrip");
  token.normalized = flag("normalized");
  return token;
}

std::optional<NamedToken> read_special_token(const JsonField& config, const char* name) {
  if (config.has(name)) return read_named_token(config.at(name));
  if (config.has_null(name)) return NamedToken();
  return std::nullopt;
}

std::string in_quotes(const std::string& token) {
  return token.empty() ? "null" : fmt::format("\"{}\"", token);
}

// Reads a list; extra_special_tokens may also be an object, with names that the model chooses, and
// model_specific_special_tokens is one.
void read_more_special_tokens(const JsonField& config, const char* name, TokenizerConfig& out) {
  if (!config.has(name)) return;
  std::vector<JsonField> fields;
  if (config.at(name).is_object()) {
    for (const auto& [key, field] : config.at(name).members()) fields.push_back(field);
    if (fields.size() > 1) {  // new ones are numbered in the file's order, which members() loses
      fields.clear();
      const auto document = nlohmann::ordered_json::parse(read_file(config.file()));
      for (const auto& member : document.at(name).items()) {
        fields.push_back(config.at(name).at(member.key()));
      }
    }
  } else {
    fields = config.at(name).elements();
  }
  TokenList list(out.additional_special_tokens);
  for (const JsonField& field : fields) list.add(read_named_token(field));
}

int read_max_length(const JsonField& config) {
  const char* const name = config.has("model_max_length") ? "model_max_length" : "max_len";
  if (!config.has(name)) return 0;
  const JsonField field = config.at(name);
  const double value = field.number();
  if (value > kMaxNamedLength) return 0;
  return static_cast<int>(field.integer(1, static_cast<int64_t>(kMaxNamedLength)));
}

void read_added_tokens_decoder(const JsonField& config, TokenizerConfig& out) {
  out.has_decoder = config.has("added_tokens_decoder");
  if (!out.has_decoder) return;
  for (const auto& [name, field] : config.at("added_tokens_decoder").members()) {
    DeclaredToken token{read_added_token(field)};
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data(), end, token.id);
    if (error != std::errc() || stop != end || token.id < 0 || token.id > Vocabulary::kMaxId) {
      field.fail_with(fmt::format("the key is not an id: expected an integer from 0 to {}",
                                  Vocabulary::kMaxId));
    }
    out.added_tokens.push_back(std::move(token));
  }
}

// The older form of added_tokens_decoder: {"token": id}.
void read_added_tokens_json(const std::string& path, TokenizerConfig& out) {
  const nlohmann::json document = parse_json(path);
  std::unordered_set<std::string_view> special;
  for (const NamedToken& token : out.additional_special_tokens) special.insert(token.content);
  for (const auto& [name, token] : out.special_tokens) special.insert(token.content);
  for (const auto& [content, field] : JsonField(document, path).members()) {
    DeclaredToken token;
    token.content = content;
    token.id = field.integer(0, Vocabulary::kMaxId);
    token.special = special.contains(content);
    token.normalized = !token.special;
    out.added_tokens.push_back(std::move(token));
  }
}

// As in transformers, this file counts for more than tokenizer_config.json, unless that has an
// added_tokens_decoder: then it does not count at all.
void read_special_tokens_map(const std::string& path, TokenizerConfig& out) {
  const nlohmann::json document = parse_json(path);
  const JsonField map(document, path);
  for (const char* name : kTokenFields) {
    const std::optional<NamedToken> token = read_special_token(map, name);
    if (!token) continue;
    const auto known = out.special_tokens.find(name);
    if (known != out.special_tokens.end() && known->second.content != token->content) {
      const std::string ours = in_quotes(known->second.content), theirs = in_quotes(token->content);
      out.notes.push_back(
          fmt::format("{}: {} is {}, but {} has {}, which is used",
                      out.has_decoder ? path : out.file, name, out.has_decoder ? theirs : ours,
                      out.has_decoder ? out.file : path, out.has_decoder ? ours : theirs));
    }
    if (!out.has_decoder) out.special_tokens[name] = *token;
  }
  if (!out.has_decoder) read_more_special_tokens(map, "additional_special_tokens", out);
}

void read_japanese(const JsonField& config, TokenizerConfig& out) {
  const auto read = [](const JsonField& from, const char* name, std::string& text) {
    if (from.has(name)) text = from.at(name).string();
  };
  read(config, "word_tokenizer_type", out.word_tokenizer_type);
  read(config, "subword_tokenizer_type", out.subword_tokenizer_type);
  out.do_word_tokenize = optional_bool(config, "do_word_tokenize");
  out.do_subword_tokenize = optional_bool(config, "do_subword_tokenize");
  if (!config.has("mecab_kwargs")) return;
  const JsonField mecab = config.at("mecab_kwargs");
  for (const auto& [name, value] : mecab.members()) {
    if (name == "mecab_dic" && value.is_null()) out.mecab.dictionary.clear();
  }
  read(mecab, "mecab_dic", out.mecab.dictionary);
  read(mecab, "mecab_option", out.mecab.option);
  out.mecab.normalizes = optional_bool(mecab, "normalize_text").value_or(true);
}

void read_config(const JsonField& config, TokenizerConfig& out) {
  if (config.has("tokenizer_class")) {
    out.tokenizer_class = config.at("tokenizer_class").string();
    out.class_field = out.file + ": tokenizer_class";
  }
  read_japanese(config, out);
  out.do_lower_case = optional_bool(config, "do_lower_case");
  out.keep_accents = optional_bool(config, "keep_accents");
  out.add_prefix_space = optional_bool(config, "add_prefix_space");
  out.trim_offsets = optional_bool(config, "trim_offsets");
  out.split_by_punct = optional_bool(config, "split_by_punct");
  out.normalization = optional_bool(config, "normalization");
  out.cleans_up = optional_bool(config, "clean_up_tokenization_spaces");
  out.cleans_up_bpe = optional_bool(
      config, "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output");
  out.strip_accents = optional_bool(config, "strip_accents");
  out.tokenize_chinese_chars = optional_bool(config, "tokenize_chinese_chars");
  out.clean_text = optional_bool(config, "clean_text");
  out.do_basic_tokenize = optional_bool(config, "do_basic_tokenize");
  out.model_max_length = read_max_length(config);
  for (const char* name : kTokenFields) {
    if (auto token = read_special_token(config, name)) out.special_tokens[name] = *token;
  }
  // Version 5 of transformers, the first that takes a list, ignores the older field beside one.
  const bool has_list = config.has("extra_special_tokens") &&
                        !config.at("extra_special_tokens").is_object() &&
                        !config.at("extra_special_tokens").elements().empty();
  if (!has_list) read_more_special_tokens(config, "additional_special_tokens", out);
  read_more_special_tokens(config, "extra_special_tokens", out);
  read_more_special_tokens(config, "model_specific_special_tokens", out);
  if (optional_bool(config, "split_special_tokens").value_or(false)) {
    config.at("split_special_tokens").fail("false");
  }
  if (config.has("truncation_side")) {
    const JsonField side = config.at("truncation_side");
    if (side.string() != "left" && side.string() != "right") side.fail("\"left\" or \"right\"");
    out.truncate_left = side.string() == "left";
  }
  if (config.has("model_input_names")) {
    const auto names = config.at("model_input_names").elements();
    out.has_types = std::ranges::any_of(
        names, [](const JsonField& name) { return name.string() == "token_type_ids"; });
  }
  read_added_tokens_decoder(config, out);
}

}  // namespace

std::vector<NamedToken> named_tokens(const TokenizerConfig& config,
                                     const std::array<const char*, 5>& defaults, bool mask_strips,
                                     const TokenIds& ids) {
  std::vector<NamedToken> tokens;
  for (size_t i = 0; i < std::size(kTokenFields); ++i) {
    NamedToken token;
    if (const auto named = config.special_tokens.find(kTokenFields[i]);
        named != config.special_tokens.end()) {
      if (named->second.content.empty()) continue;
      token = named->second;
    } else if (i >= kWithoutDefault && !ids.empty() &&
               ids.contains(defaults[i - kWithoutDefault])) {
      // A token that is not in the vocabulary would get an id that the model does not have.
      token.content = defaults[i - kWithoutDefault];
    } else {
      continue;
    }
    token.special = true;
    const bool is_mask = kTokenFields[i] == std::string_view("mask_token");
    if (is_mask && !token.has_flags) token.lstrip = mask_strips;
    tokens.push_back(std::move(token));
  }
  return tokens;
}

void set_encoding(const TokenizerConfig& config, Definition& out) {
  out.max_length = config.model_max_length;
  out.truncate_left = config.truncate_left.value_or(out.truncate_left);
  const bool class_has_types = std::ranges::none_of(kWithoutTypes, [&](const char* stem) {
    return is_tokenizer_class(config.tokenizer_class, stem);
  });
  out.has_types = config.has_types.value_or(class_has_types);
}

std::runtime_error null_token(const TokenizerConfig& config, const char* name) {
  return std::runtime_error(fmt::format("{}: {}: found null, expected a token", config.file, name));
}

AddedToken read_added_token(const JsonField& field) {
  AddedToken token;
  token.content = field.at("content").string();
  token.single_word = field.at("single_word").boolean();
  token.lstrip = field.at("lstrip").boolean();
  token.rstrip = field.at("rstrip").boolean();
  token.normalized = field.at("normalized").boolean();
  token.special = field.at("special").boolean();
  return token;
}

std::string read_model_text(const std::string& directory, const char* field) {
  const std::string path = directory + "/config.json";
  if (!is_there(path)) return "";
  const nlohmann::json document = parse_json(path);
  const JsonField config(document, path);
  return config.has(field) ? config.at(field).string() : "";
}

bool is_tokenizer_class(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem)) return false;
  const std::string_view rest = name.substr(stem.size());
  return rest == "Tokenizer" || rest == "TokenizerFast";
}

bool is_bert_like_class(std::string_view name) {
  // Others differ: FunnelTokenizer has another template.
  constexpr const char* kStems[] = {
      "Bert",        "DistilBert", "Electra", "MobileBert",        "ConvBert",
      "SqueezeBert", "LayoutLM",   "Lxmert",  "DPRContextEncoder", "DPRQuestionEncoder",
      "RetriBert"};
  return std::ranges::any_of(kStems,
                             [&](const char* stem) { return is_tokenizer_class(name, stem); });
}

bool is_bert_like_type(std::string_view type) {
  constexpr std::string_view kTypes[] = {
      "bert",        "convbert",    "distilbert",    "electra",    "ernie",
      "layoutlm",    "lxmert",      "megatron-bert", "mobilebert", "nomic_bert",
      "squeezebert", "visual_bert", "chinese_clip"};
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}

TokenizerConfig read_tokenizer_config(const std::string& directory) {
  TokenizerConfig out;
  out.file = directory + "/tokenizer_config.json";
  if (is_there(out.file)) {
    const nlohmann::json document = parse_json(out.file);
    read_config(JsonField(document, out.file), out);
  }
  if (out.tokenizer_class.empty()) {  // older models have it there
    out.tokenizer_class = read_model_text(directory, "tokenizer_class");
    out.class_field = directory + "/config.json: tokenizer_class";
  }
  const std::string map = directory + "/special_tokens_map.json";
  if (is_there(map)) read_special_tokens_map(map, out);
  const std::string added = directory + "/added_tokens.json";
  if (!out.has_decoder && is_there(added)) read_added_tokens_json(added, out);
  std::stable_sort(out.added_tokens.begin(), out.added_tokens.end(),
                   [](const auto& a, const auto& b) { return a.id < b.id; });
  return out;
}

}  // namespace bert::tokenizer
