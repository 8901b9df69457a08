// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/files/definition.h"
#include "tokenizer/files/files.h"
#include "tokenizer/files/tokenizer_config.h"
#include "tokenizer/mecab/japanese_words.h"

namespace bert::tokenizer {

namespace {

// The template, and the default special tokens.
struct VocabularyConvention {
  const char *unknown, *separator, *padding, *classifier, *mask;
  bool is_roberta;  // <s> A </s></s> B </s>, of type 0; the mask strips the white space on its left
  const char* separator_field = "sep_token";
  bool splits_at_tokens = false;  // at the vocabulary's longest tokens and at white space
  bool is_japanese = false;       // see cut_japanese_words()
};
constexpr VocabularyConvention kBert = {.unknown = "[UNK]",
                                        .separator = "[SEP]",
                                        .padding = "[PAD]",
                                        .classifier = "[CLS]",
                                        .mask = "[MASK]",
                                        .is_roberta = false};
constexpr VocabularyConvention kMpnet = {.unknown = "[UNK]",
                                         .separator = "</s>",
                                         .padding = "<pad>",
                                         .classifier = "<s>",
                                         .mask = "<mask>",
                                         .is_roberta = true};
// A protein's letters, or a genome's words of six.
constexpr VocabularyConvention kEsm = {.unknown = "<unk>",
                                       .separator = "<eos>",
                                       .padding = "<pad>",
                                       .classifier = "<cls>",
                                       .mask = "<mask>",
                                       .is_roberta = false,
                                       .separator_field = "eos_token",
                                       .splits_at_tokens = true};

constexpr VocabularyConvention kJapanese = [] {
  VocabularyConvention convention = kBert;
  convention.is_japanese = true;
  return convention;
}();

const VocabularyConvention& vocabulary_convention(const TokenizerConfig& config,
                                                  const std::string& directory) {
  const std::string& name = config.tokenizer_class;
  if (is_tokenizer_class(name, "MPNet")) return kMpnet;
  if (is_tokenizer_class(name, "Esm")) return kEsm;
  if (is_tokenizer_class(name, "BertJapanese")) return kJapanese;
  if (name.empty()) {
    const std::string type = read_model_text(directory, "model_type");
    return type == "mpnet" ? kMpnet : type == "esm" ? kEsm : kBert;
  }
  if (!is_bert_like_class(name)) {
    throw std::runtime_error(fmt::format(
        "{}: found \"{}\", expected BertTokenizer, an equivalent class, MPNetTokenizer, "
        "EsmTokenizer or BertJapaneseTokenizer",
        config.class_field, name));
  }
  return kBert;
}

void check_config(const TokenizerConfig& config) {
  if (config.do_basic_tokenize == false) {
    throw std::runtime_error(
        fmt::format("{}: do_basic_tokenize: found false, expected true", config.file));
  }
  if (config.word_tokenizer_type != "basic") {
    throw std::runtime_error(
        fmt::format("{}: word_tokenizer_type: found \"{}\", expected \"basic\"", config.file,
                    config.word_tokenizer_type));
  }
}

class VocabTxtReader {
 public:
  explicit VocabTxtReader(const std::string& directory)
      : config_(read_tokenizer_config(directory)),
        path_(directory + "/vocab.txt"),
        convention_(vocabulary_convention(config_, directory)) {}

  Definition read() {
    if (!convention_.is_japanese) check_config(config_);
    out_.file = path_;
    out_.notes = config_.notes;
    read_lines();
    set_options();
    out_.word_piece.unknown = special("unk_token", convention_.unknown);
    const int32_t cls = id_of("cls_token", special("cls_token", convention_.classifier));
    const char* const field = convention_.separator_field;
    const int32_t sep = id_of(field, special(field, convention_.separator));
    set_templates(cls, sep, convention_.is_roberta, out_);
    set_added_tokens();
    if (convention_.splits_at_tokens) split_at_tokens();
    if (convention_.is_japanese) cut_japanese_words(config_, out_);
    return std::move(out_);
  }

 private:
  void read_lines() {
    const VocabularyLines lines(path_);
    if (lines.size() > static_cast<size_t>(Vocabulary::kMaxId) + 1) {
      throw std::runtime_error(fmt::format("{}: found {} lines, expected at most {}", path_,
                                           lines.size(), Vocabulary::kMaxId + 1));
    }
    out_.vocabulary.reserve(lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      out_.vocabulary.emplace_back(lines.token(i), static_cast<int32_t>(i));
    }
    size_t repeated = 0;
    for (const auto& [token, id] : out_.vocabulary) {
      const auto [known, is_new] = ids_.emplace(token, id);
      if (is_new) continue;
      if (repeated++ == 0) {
        out_.notes.push_back(
            fmt::format("{}: line {} repeats \"{}\" from line {}, so id {} is never used", path_,
                        id + 1, token, known->second + 1, known->second));
      }
      known->second = id;
    }
    if (repeated > 1) out_.notes.back() += fmt::format("; lines that repeat tokens: {}", repeated);
  }

  void set_options() {
    if (!config_.do_lower_case && !convention_.splits_at_tokens && !convention_.is_japanese) {
      out_.notes.push_back(fmt::format(
          "{}: do_lower_case is not given: taken as true, like BertTokenizer", config_.file));
    }
    out_.normalizer.lowercase = config_.do_lower_case.value_or(true);
    out_.normalizer.strip_accents = config_.strip_accents.value_or(out_.normalizer.lowercase);
    out_.normalizer.handle_chinese_chars = config_.tokenize_chinese_chars.value_or(true);
    if (!config_.clean_text.value_or(true)) {
      out_.notes.push_back(config_.file + ": clean_text is ignored, as in transformers");
    }
    set_encoding(config_, out_);
  }

  std::string special(const char* name, const char* otherwise) const {
    const auto found = config_.special_tokens.find(name);
    return found == config_.special_tokens.end() ? otherwise : found->second.content;
  }

  int32_t id_of(const char* name, const std::string& token) const {
    if (token.empty()) throw null_token(config_, name);
    const auto found = ids_.find(token);
    if (found == ids_.end()) {
      throw std::runtime_error(
          fmt::format("{}: the {} \"{}\" is not in the vocabulary", path_, name, token));
    }
    return found->second;
  }

  void set_added_tokens() {
    out_.added_tokens = config_.added_tokens;
    TokenList list(out_.added_tokens);
    out_.mask = special("mask_token", convention_.mask);
    const VocabularyConvention& names = convention_;
    for (const NamedToken& token : named_tokens(
             config_, {names.unknown, names.separator, names.padding, names.classifier, names.mask},
             names.is_roberta, ids_)) {
      list.add({token});
    }
    for (const NamedToken& token : config_.additional_special_tokens) list.add({token});
  }

  // Whatever is between two tokens of the vocabulary is one unknown token for each of its words.
  void split_at_tokens() {
    out_.model = Definition::Model::word_level;
    out_.by_parts = out_.first_gets_odd = true;
    out_.pre_tokenizers = {{.kind = PreTokenizer::Kind::whitespace_split}};
    std::set<std::string_view> added;
    for (const DeclaredToken& token : out_.added_tokens) added.insert(token.content);
    std::vector<DeclaredToken> ordinary;
    for (const auto& [token, id] : out_.vocabulary) {
      if (added.contains(token)) continue;
      ordinary.emplace_back().content = token;
    }
    std::ranges::move(ordinary, std::back_inserter(out_.added_tokens));
  }

  TokenizerConfig config_;
  std::string path_;
  const VocabularyConvention& convention_;
  Definition out_;
  TokenIds ids_;  // views of out_.vocabulary
};

}  // namespace

Definition read_vocab_txt(const std::string& directory) { return VocabTxtReader(directory).read(); }

}  // namespace bert::tokenizer
