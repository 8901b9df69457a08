// SPDX-License-Identifier: Apache-2.0
//
// How Hugging Face's fast tokenizers use a SentencePiece model: what transformers makes of it if
// there is no tokenizer.json.
#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/files/definition.h"
#include "tokenizer/files/tokenizer_config.h"
#include "tokenizer/sentencepiece/sentence_piece.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

enum class SpieceFamily { albert, xlm_roberta, camembert, deberta };

struct SpieceConvention {
  SpieceFamily family;
  const char *stem, *model_type;  // "Albert" of AlbertTokenizer(Fast); in config.json
  const char *classifier, *separator, *mask;
  bool is_roberta;  // <s> A </s></s> B </s>, of type 0
};
constexpr SpieceConvention kConventions[] = {
    {SpieceFamily::albert, "Albert", "albert", "[CLS]", "[SEP]", "[MASK]", false},
    {SpieceFamily::xlm_roberta, "XLMRoberta", "xlm-roberta", "<s>", "</s>", "<mask>", true},
    {SpieceFamily::camembert, "Camembert", "camembert", "<s>", "</s>", "<mask>", true},
    {SpieceFamily::deberta, "DebertaV2", "deberta-v2", "[CLS]", "[SEP]", "[MASK]", false},
};

const SpieceConvention& spiece_convention(const TokenizerConfig& config,
                                          const std::string& directory) {
  const std::string& name = config.tokenizer_class;
  const std::string type = name.empty() ? read_model_text(directory, "model_type") : "";
  for (const SpieceConvention& convention : kConventions) {
    if (is_tokenizer_class(name, convention.stem) || type == convention.model_type) {
      return convention;
    }
  }
  throw std::runtime_error(
      fmt::format("{}: found \"{}\", expected {}",
                  name.empty() ? directory + "/config.json: model_type" : config.class_field,
                  name.empty() ? type : name,
                  name.empty() ? "albert, xlm-roberta, camembert or deberta-v2"
                               : "AlbertTokenizer, XLMRobertaTokenizer, CamembertTokenizer or "
                                 "DebertaV2Tokenizer"));
}

// Like Python's str.isdigit, for the decimal digits of all scripts and for superscripts.
bool is_digit(char32_t c) {
  constexpr char32_t kZeros[] = {
      0x30,    0x660,   0x6f0,   0x7c0,   0x966,   0x9e6,   0xa66,   0xae6,   0xb66,   0xbe6,
      0xc66,   0xce6,   0xd66,   0xde6,   0xe50,   0xed0,   0xf20,   0x1040,  0x1090,  0x17e0,
      0x1810,  0x1946,  0x19d0,  0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0x2080,
      0x2460,  0x2488,  0x24f5,  0xa620,  0xa8d0,  0xa900,  0xa9d0,  0xa9f0,  0xaa50,  0xabf0,
      0xff10,  0x104a0, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
      0x116c0, 0x11730, 0x118e0, 0x11c50, 0x11d50, 0x16a60, 0x16b50, 0x1e140, 0x1e2f0, 0x1e950};
  const auto in = [&](char32_t zero) { return c - zero < 10; };
  return std::any_of(std::begin(kZeros), std::end(kZeros), in) || c == 0xb2 || c == 0xb3 ||
         c == 0xb9 || c == 0x2070 || (c >= 0x2074 && c <= 0x2079) || (c >= 0x1d7ce && c <= 0x1d7ff);
}

// AlbertConverter ranks such pieces (as "▁1,") far below all others.
bool ends_in_digit_and_comma(std::string_view piece) {
  if (piece.size() < 2 || piece.back() != ',') return false;
  return is_digit(utf8::decode_before(piece, piece.size() - 1));
}

class SpieceDirectoryReader {
 public:
  SpieceDirectoryReader(const std::string& directory, const std::string& path)
      : config_(read_tokenizer_config(directory)),
        convention_(spiece_convention(config_, directory)),
        path_(path),
        model_(read_sentence_piece(path)) {
    if (is_deberta() && config_.split_by_punct.value_or(false)) {
      throw std::runtime_error(
          fmt::format("{}: split_by_punct: found true, expected false", config_.file));
    }
  }

  Definition read() {
    out_.model = Definition::Model::unigram;
    out_.file = path_;
    out_.notes = config_.notes;
    set_encoding(config_, out_);
    set_vocabulary();
    set_steps();
    if (config_.add_prefix_space == false) {
      using enum UnigramOptions::Prepend;
      out_.unigram.prepend = is_deberta() ? first : never;
    }
    for (const auto& [token, id] : out_.vocabulary) ids_[token] = id;
    const int32_t cls = id_of(convention_.classifier), sep = id_of(convention_.separator);
    set_templates(cls, sep, convention_.is_roberta, out_);
    set_added_tokens();
    return std::move(out_);
  }

 private:
  bool is_deberta() const { return convention_.family == SpieceFamily::deberta; }

  void add(std::string token, double score) {
    out_.vocabulary.emplace_back(std::move(token), static_cast<int32_t>(out_.vocabulary.size()));
    out_.unigram.scores.push_back(score);
  }

  // Adds the pieces from `first` on.
  void add_pieces(size_t first) {
    const bool is_albert = convention_.family == SpieceFamily::albert;
    for (size_t i = first; i < model_.pieces.size(); ++i) {
      const SentencePieceModel::Piece& piece = model_.pieces[i];
      const bool is_last_resort = is_albert && ends_in_digit_and_comma(piece.text);
      add(piece.text, is_last_resort ? piece.score - 100.0 : piece.score);
    }
  }

  // With fairseq's ids, its special tokens replace the model's first `count` pieces.
  void check_replaced(size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      const int type = i < model_.pieces.size() ? model_.pieces[i].type : 0;
      if (type == SentencePieceModel::kUnknown || type == SentencePieceModel::kControl) continue;
      throw std::runtime_error(fmt::format(
          "{}: pieces[{}]: found {}, expected an unknown or control piece, which "
          "{}Tokenizer replaces with its own",
          path_, i, type == 0 ? "none" : "\"" + model_.pieces[i].text + "\"", convention_.stem));
    }
  }

  void set_vocabulary() {
    int32_t unknown = 3;
    switch (convention_.family) {
      case SpieceFamily::albert:
      case SpieceFamily::deberta:
        add_pieces(0);
        unknown = model_.unknown;
        break;
      case SpieceFamily::xlm_roberta:
        check_replaced(3);
        for (const char* token : {"<s>", "<pad>", "</s>", "<unk>"}) add(token, 0);
        add_pieces(3);
        add("<mask>", 0);
        break;
      case SpieceFamily::camembert:
        check_replaced(1);
        for (const char* token : {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"}) add(token, 0);
        add("<unk>NOTUSED", -100);
        add_pieces(1);
        add("<mask>", 0);
        break;
    }
    out_.unigram.unknown = unknown;
    out_.word_piece.unknown = out_.vocabulary[static_cast<size_t>(unknown)].first;
  }

  void set_steps() {
    using Kind = NormalizerStep::Kind;
    std::vector<NormalizerStep>& steps = out_.unigram.steps;
    const bool is_albert = convention_.family == SpieceFamily::albert;
    if (is_albert) {
      steps.push_back({.kind = Kind::replace, .from = U"``", .to = U"\""});
      steps.push_back({.kind = Kind::replace, .from = U"''", .to = U"\""});
      if (!config_.keep_accents.value_or(false)) {
        steps.push_back({Kind::nfkd});
        steps.push_back({Kind::strip_accents});
      }
      if (config_.do_lower_case.value_or(true)) steps.push_back({Kind::lowercase});
    }
    if (is_deberta()) {
      if (config_.do_lower_case.value_or(false)) steps.push_back({Kind::lowercase});
      steps.push_back({.kind = Kind::strip, .left = true, .right = true});
    }
    if (!model_.charsmap.empty()) {
      NormalizerStep step{Kind::precompiled};
      try {
        step.charsmap = std::make_shared<const Charsmap>(model_.charsmap);
      } catch (const std::runtime_error& error) {
        throw std::runtime_error(
            fmt::format("{}: normalizer_spec.precompiled_charsmap: {}", path_, error.what()));
      }
      steps.push_back(std::move(step));
    }
    const bool is_roberta = convention_.is_roberta;
    if (is_roberta) steps.push_back({.kind = Kind::strip, .right = true});
    steps.push_back({.kind = Kind::replace_spaces, .to = is_roberta ? U"\u2581" : U" "});
  }

  int32_t id_of(const char* token) const {
    const auto found = ids_.find(token);
    if (found == ids_.end()) {
      throw std::runtime_error(
          fmt::format("{}: the special token \"{}\" is not among the pieces", path_, token));
    }
    return found->second;
  }

  // In transformers' order, in which new ones get their ids: the model's own, those that the files
  // list with ids, those that the class names, and the others that the files name.
  void set_added_tokens() {
    using Model = SentencePieceModel;
    // User-defined pieces stay pieces, as in training, in the slow tokenizers and in the
    // tokenizer.json published with ALBERT. Newer converters turn them into added tokens, which for
    // ALBERT puts a U+2581 after each "." and "-".
    const auto own = std::ranges::find(model_.pieces, Model::kUserDefined, &Model::Piece::type);
    if (own != model_.pieces.end()) {
      out_.notes.push_back(
          fmt::format("{}: the user-defined piece \"{}\" does not end a word, as in training; the "
                      "fast tokenizers that transformers makes of the file begin one after it",
                      path_, own->text));
    }
    for (const Model::Piece& piece : model_.pieces) {
      if (piece.type != Model::kControl) continue;
      NamedToken token;
      token.content = piece.text;
      token.special = true;
      out_.added_tokens.push_back({token});
    }
    std::set<std::string> listed;  // as which they count
    for (const DeclaredToken& token : config_.added_tokens) {
      listed.insert(token.content);
      out_.added_tokens.push_back(token);
    }
    const auto add_named = [&](const NamedToken& token) {
      if (!listed.contains(token.content)) out_.added_tokens.push_back({token});
    };
    const auto named = config_.special_tokens.find("mask_token");
    out_.mask = named != config_.special_tokens.end() ? named->second.content : convention_.mask;
    const char* const classifier = convention_.classifier;
    const char* const unknown = is_deberta() ? "[UNK]" : "<unk>";
    const char* const padding = is_deberta() ? "[PAD]" : "<pad>";
    for (const NamedToken& token : named_tokens(
             config_, {unknown, convention_.separator, padding, classifier, out_.mask.c_str()},
             !is_deberta(), ids_)) {
      add_named(token);
    }
    if (is_deberta() && named == config_.special_tokens.end()) {  // not among its pieces
      NamedToken mask;
      mask.content = out_.mask;
      mask.special = true;
      add_named(mask);
    }
    std::vector<NamedToken> more = config_.additional_special_tokens;
    if (more.empty() && convention_.family == SpieceFamily::camembert) {
      for (const char* content : {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"}) {
        more.emplace_back().content = content;
        more.back().special = true;
      }
    }
    for (const NamedToken& token : more) add_named(token);
  }

  TokenizerConfig config_;
  const SpieceConvention& convention_;
  std::string path_;
  SentencePieceModel model_;
  Definition out_;
  TokenIds ids_;  // views of out_.vocabulary
};

}  // namespace

Definition read_sentence_piece_directory(const std::string& directory, const std::string& model) {
  return SpieceDirectoryReader(directory, model).read();
}

}  // namespace bert::tokenizer
