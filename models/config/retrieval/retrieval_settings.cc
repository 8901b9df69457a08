// SPDX-License-Identifier: Apache-2.0
#include "models/config/retrieval/retrieval_settings.h"

#include <algorithm>
#include <climits>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace bert::models {
namespace {

constexpr const char* kTokenFeatures = "token_embeddings";
constexpr int kMostTokens = 1 << 20;

// What wrote a directory with vectors of tokens: sentence-transformers' MultiVectorEncoder, PyLate,
// or its SentenceTransformer, of which MultiVectorEncoder makes one that normalises the vectors.
enum class Form { own, pylate, converted };

std::vector<std::string> punctuation() {
  std::vector<std::string> words;
  for (const char c : std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")) {
    words.emplace_back(1, c);
  }
  return words;
}

int read_length(const JsonFile& file, const char* field, int fallback) {
  return static_cast<int>(file.integer(field, 1, kMostTokens, fallback));
}

std::vector<std::string> read_words(const JsonFile& file, const char* field) {
  std::vector<std::string> words;
  for (const JsonField& word : file.at(field).elements()) words.push_back(word.string());
  return words;
}

// {"pooling_strategy": "max", "activation_function": "relu"}
SpladeSettings read_splade(const ModuleList& list, const Config& config) {
  constexpr const char* kExpected = "Transformer or MLMTransformer, and SpladePooling";
  for (size_t i = 0; i < list.modules.size(); ++i) {
    const std::string& name = list.modules[i].name;
    const bool is_transformer = name == "Transformer" || name == "MLMTransformer";
    if (i > 1 || !(i == 0 ? is_transformer : name == "SpladePooling")) list.refuse(i, kExpected);
  }
  const bool predicts = std::ranges::any_of(
      config.heads_on_top, [](const HeadRow* head) { return head->kind == HeadKind::masked_lm; });
  if (!predicts) {
    list.fail(1, fmt::format("SpladePooling needs a masked language model, but {} says {}",
                             config.path, config.architecture));
  }
  const JsonFile file(list.modules[1].folder + "/config.json");
  const std::string pooling = file.text("pooling_strategy", "max");
  if (pooling != "max" && pooling != "sum") file.fail("pooling_strategy", "max or sum");
  const std::string function = file.text("activation_function", "relu");
  if (function != "relu" && function != "log1p_relu") {
    file.fail("activation_function", "relu or log1p_relu");
  }
  for (const char* field : {"embedding_dimension", "word_embedding_dimension"}) {
    file.integer(field, config.vocabulary, config.vocabulary, config.vocabulary);
  }
  return {.sums = pooling == "sum", .is_log_twice = function == "log1p_relu"};
}

// config_sentence_transformers.json of a SparseEncoder.
void refuse_sparse_variants(const JsonFile& file) {
  if (file.has("max_active_dims")) file.fail("max_active_dims", "null");
  if (file.text("similarity_fn_name", "dot") != "dot") file.fail("similarity_fn_name", "dot");
}

// MultiVectorMask's config.json. PyLate's directories name a skiplist of their own.
void read_mask(const std::string& path, Form form, TokenSettings& tokens) {
  const JsonFile file(path);
  for (const char* field : {"skiplist_words", "skiplist_tasks"}) {
    if (form == Form::pylate && file.has(field)) file.fail(field, "none in PyLate's directories");
  }
  if (file.has("skiplist_words")) tokens.skiplist = read_words(file, "skiplist_words");
  if (file.has("keep_only_token_ids")) file.fail("keep_only_token_ids", "null");
  tokens.document.skips = true;
  if (!file.has("skiplist_tasks")) return;
  const std::vector<std::string> sides = read_words(file, "skiplist_tasks");
  tokens.query.skips = std::ranges::count(sides, "query") > 0;
  tokens.document.skips = std::ranges::count(sides, "document") > 0;
}

// By default, Normalize is for the vector of the whole input, and leaves those of tokens as they
// are; but sentence-transformers normalises these itself in directories of other forms.
void expect_token_features(const std::string& path, Form form) {
  if (form != Form::own && !is_there(path)) return;
  const JsonFile file(path);
  for (const char* field : {"module_input_name", "module_output_name"}) {
    const bool is_required = field == std::string_view("module_input_name");
    if (file.text(field, is_required ? "" : kTokenFeatures) != kTokenFeatures) {
      file.fail(field, fmt::format("\"{}\"", kTokenFeatures));
    }
  }
}

// Transformer, Dense..., then MultiVectorMask and Normalize, except in PyLate's directories.
void read_token_modules(const ModuleList& list, Form form, int hidden, TokenSettings& tokens) {
  int64_t width = hidden;
  bool is_masked = false;
  for (size_t i = 0; i < list.modules.size(); ++i) {
    const auto& [type, name, folder] = list.modules[i];
    if (name == "Dense" && i > 0 && !tokens.normalizes) {
      tokens.dense.push_back(read_dense(folder, width, kTokenFeatures));
      width = tokens.dense.back().columns;
    } else if (name == "MultiVectorMask" && i > 0 && !is_masked) {
      is_masked = true;
      read_mask(folder + "/config.json", form, tokens);
    } else if (name == "Normalize" && i > 0 && !tokens.normalizes) {
      tokens.normalizes = true;
      expect_token_features(folder + "/config.json", form);
    } else if (name != "Transformer" || i > 0) {
      list.refuse(i, "Transformer, and for vectors of tokens Dense, MultiVectorMask and Normalize");
    }
  }
  if (form == Form::converted && tokens.dense.empty()) {
    list.fail(list.modules.size(), "missing, expected Dense, or the model_type MultiVectorEncoder");
  }
  tokens.normalizes |= form != Form::own;
}

// sentence_bert_config.json of sentence-transformers' MultiVectorEncoder.
void read_expansion(const JsonFile& file, TokenSettings& tokens) {
  tokens.query.length = read_length(file, "query_length", 0);
  tokens.document.length = read_length(file, "document_length", 0);
  if (!file.has("query_expansion")) return;
  const JsonField field = file.at("query_expansion");
  TokenSettings::Expansion expansion;
  const std::string strategy = field.at("strategy").string();
  if (strategy != "fixed" && strategy != "min") field.at("strategy").fail("fixed or min");
  expansion.is_exact = strategy == "fixed";
  expansion.length = static_cast<int>(field.at("length").integer(1, kMostTokens));
  if (tokens.query.length > 0 && tokens.query.length < expansion.length) {
    file.fail("query_length", fmt::format("at least query_expansion's {}", expansion.length));
  }
  expansion.is_attended = field.has("attend") && field.at("attend").boolean();
  if (field.has("token")) expansion.token = field.at("token").string();
  tokens.expansion = expansion;
}

// PyLate's fields of config_sentence_transformers.json, all optional. Its markers are inserted as
// tokens.
void read_pylate(const JsonFile& file, TokenSettings& tokens) {
  constexpr int kQuery = 32, kDocument = 180;
  tokens.query.marker_field = fmt::format("{}: query_prefix", file.path());
  tokens.query.marker = file.text("query_prefix", "[Q] ");
  tokens.document.marker_field = fmt::format("{}: document_prefix", file.path());
  tokens.document.marker = file.text("document_prefix", "[D] ");
  tokens.query.length = read_length(file, "query_length", kQuery);
  tokens.document.length = read_length(file, "document_length", kDocument);
  if (file.boolean("do_query_expansion", true)) {
    tokens.expansion = {.length = tokens.query.length,
                        .is_attended = file.boolean("attend_to_expansion_tokens", false)};
  }
  tokens.skiplist = file.has("skiplist_words") ? read_words(file, "skiplist_words") : punctuation();
  tokens.document.skips = true;
}

Form find_form(const JsonFile& file) {
  constexpr const char *kOwn = "MultiVectorEncoder", *kConverted = "SentenceTransformer";
  const std::string type = file.text("model_type", kConverted);
  if (file.has("query_expansion")) file.fail("query_expansion", "none");
  if (file.has("attend_to_mask_tokens") && !file.has("attend_to_expansion_tokens")) {
    file.fail("attend_to_mask_tokens", "attend_to_expansion_tokens instead");
  }
  for (const char* field : {"query_prefix", "document_prefix", "query_length", "document_length",
                            "do_query_expansion", "attend_to_expansion_tokens", "skiplist_words"}) {
    if (!file.has(field)) continue;
    if (type == kOwn) file.fail(field, fmt::format("none, as model_type is {}", kOwn));
    return Form::pylate;
  }
  if (type == "ColBERT") return Form::pylate;
  if (type != kOwn && type != kConverted) {
    file.fail("model_type", fmt::format("{}, {} or ColBERT", kOwn, kConverted));
  }
  return type == kOwn ? Form::own : Form::converted;
}

// ColBERT's artifact.metadata, with the defaults of Stanford's code.
void read_stanford(const std::string& directory, TokenSettings& tokens) {
  tokens.source = TokenSettings::Source::checkpoint;
  tokens.normalizes = true;
  tokens.document.skips = true;
  const std::string path = directory + "/artifact.metadata";
  tokens.query.marker_field = fmt::format("{}: query_token_id", path);
  tokens.document.marker_field = fmt::format("{}: doc_token_id", path);
  tokens.query.marker = "[unused0]";
  tokens.document.marker = "[unused1]";
  tokens.expansion = TokenSettings::Expansion();
  tokens.skiplist = punctuation();
  if (!is_there(path)) return;
  const JsonFile file(path);
  tokens.query.marker = file.text("query_token_id", tokens.query.marker);
  tokens.document.marker = file.text("doc_token_id", tokens.document.marker);
  tokens.document.length = read_length(file, "doc_maxlen", 0);
  tokens.expansion->length = read_length(file, "query_maxlen", tokens.expansion->length);
  tokens.expansion->is_attended = file.boolean("attend_to_mask_tokens", false);
  if (!file.boolean("mask_punctuation", true)) tokens.skiplist.clear();
  if (file.text("similarity", "cosine") != "cosine") file.fail("similarity", "cosine");
}

// settings: config_sentence_transformers.json, which need not be there.
void read_modules(const std::string& directory, const std::string& settings, const ModuleList& list,
                  const Config& config, TokenSettings& tokens) {
  const auto transformer = read_sentence_settings(directory);
  if (transformer) read_expansion(*transformer, tokens);
  const Form form = is_there(settings) ? find_form(JsonFile(settings)) : Form::converted;
  if (form == Form::pylate) {
    for (const char* field : {"query_expansion", "query_length", "document_length"}) {
      if (!transformer || !transformer->has(field)) continue;
      transformer->fail(field, fmt::format("none, as {} is PyLate's", settings));
    }
    read_pylate(JsonFile(settings), tokens);
  }
  read_token_modules(list, form, config.output, tokens);
  if (form == Form::own && tokens.expansion && !tokens.expansion->is_attended &&
      !list.has("MultiVectorMask")) {
    transformer->fail("query_expansion",
                      fmt::format("none, as {} has no MultiVectorMask", list.path));
  }
}

TokenSettings read_tokens(const std::string& directory, const ModuleList& list,
                          const Config& config) {
  TokenSettings tokens;
  const std::string path = directory + "/config_sentence_transformers.json";
  if (!list.exists) {
    read_stanford(directory, tokens);
  } else {
    read_modules(directory, path, list, config, tokens);
  }
  if (is_there(path)) {
    const JsonFile file(path);
    const std::string similarity = file.text("similarity_fn_name", "maxsim");
    // PyLate's older files name how two tokens' vectors are compared.
    constexpr const char* kKnown[] = {"maxsim", "MaxSim", "meanmaxsim", "cosine", "dot"};
    if (!std::ranges::count(kKnown, similarity)) {
      file.fail("similarity_fn_name", "maxsim or meanmaxsim");
    }
    tokens.is_mean = similarity == "meanmaxsim";
  }
  return tokens;
}

struct ComparisonName {
  Comparison comparison;
  const char* name;  // as in "similarity_fn_name"
};
constexpr ComparisonName kComparisons[] = {{Comparison::cosine, "cosine"},
                                           {Comparison::dot, "dot"},
                                           {Comparison::euclidean, "euclidean"},
                                           {Comparison::manhattan, "manhattan"}};

Comparison read_comparison(const JsonFile& file, Comparison standard) {
  const std::string name = file.text("similarity_fn_name", name_of(standard));
  const auto* const known = std::ranges::find(kComparisons, name, &ComparisonName::name);
  if (known == std::end(kComparisons)) {
    file.fail("similarity_fn_name", "cosine, dot, euclidean or manhattan");
  }
  return known->comparison;
}

RetrievalSettings read_vectors(const std::string& directory, const Config& config) {
  RetrievalSettings settings;
  if (config.embeds_first) settings.comparison = Comparison::dot;
  const ModuleList list(directory);
  const bool is_stanford = !list.exists && config.custom_name == "HF_ColBERT";
  const bool projects = list.has("Dense") && !list.has("Pooling");
  if (!list.query_table.empty() && !list.has("SpladePooling")) {
    list.fail(list.modules.size(), "missing, expected SpladePooling for documents");
  }
  if (list.has("SpladePooling")) {
    settings.splade = read_splade(list, config);
    settings.query_table = list.query_table;
    settings.embeds = false;
  } else if (is_stanford || list.has("MultiVectorMask") || projects) {
    settings.tokens = read_tokens(directory, list, config);
    settings.embeds = false;
  }
  const auto transformer = read_sentence_settings(directory);
  for (const char* field : {"query_expansion", "query_length", "document_length"}) {
    if (settings.tokens || !transformer || !transformer->has(field)) continue;
    transformer->fail(field, "none, as no module makes vectors of tokens");
  }
  if (settings.splade || settings.tokens) return settings;
  const std::string sparse = directory + "/sparse_linear.pt",
                    dense = directory + "/colbert_linear.pt";
  if (is_there(sparse)) settings.token_weights = sparse;
  if (is_there(dense)) {
    settings.tokens.emplace();
    settings.tokens->source = TokenSettings::Source::file;
    settings.tokens->file = dense;
    settings.tokens->normalizes = true;
    settings.tokens->has_first = false;
  }
  return settings;
}

}  // namespace

const char* name_of(Comparison comparison) {
  return std::ranges::find(kComparisons, comparison, &ComparisonName::comparison)->name;
}

RetrievalSettings read_retrieval_settings(const std::string& directory, const Config& config) {
  RetrievalSettings settings = read_vectors(directory, config);
  const std::string path = directory + "/config_sentence_transformers.json";
  if (!is_there(path)) return settings;
  // Both always exist, even if empty, so encode_query() and encode_document() never fall back on
  // the default prompt, nor the latter on one named passage or corpus.
  Prompts prompts = read_prompts(directory);
  settings.query_prompt = prompts.by_name["query"];
  settings.document_prompt = prompts.by_name["document"];
  if (settings.tokens) {
    settings.tokens->query.prompt = settings.query_prompt;
    settings.tokens->document.prompt = settings.document_prompt;
  }
  if (settings.splade) refuse_sparse_variants(JsonFile(path));
  if (settings.embeds) {
    settings.comparison = read_comparison(JsonFile(path), settings.comparison);
  }
  return settings;
}

}  // namespace bert::models
