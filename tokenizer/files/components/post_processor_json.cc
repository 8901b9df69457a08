// SPDX-License-Identifier: Apache-2.0
//
// Turns a chain of post-processors into templates, for one text and for two.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/files/components/components.h"

namespace bert::tokenizer {

namespace {

constexpr int64_t kMaxTypeId = 1 << 20;

// Applies processors to a list of encodings, as Hugging Face does. Here the encodings are
// templates, initially of one text or of two.
class Chain {
 public:
  Chain(bool is_pair, std::vector<Template> encodings)
      : is_pair_(is_pair), encodings_(std::move(encodings)) {}

  void apply(const JsonField& processor) {
    const std::string& name = processor.at("type").string();
    if (name == "ByteLevel") {
      if (processor.at("trim_offsets").boolean()) trim();
    } else if (name == "TemplateProcessing") {
      apply_template(processor);
    } else {
      const bool is_roberta = name == "RobertaProcessing";
      if (is_roberta && processor.at("trim_offsets").boolean()) trim();
      add_cls_and_sep(read_token(processor.at("cls")), read_token(processor.at("sep")), is_roberta);
    }
  }

  // All encodings as one. field: the chain's, for messages.
  Template merged(const JsonField& field) const {
    Template out;
    for (const Template& encoding : encodings_) {
      out.insert(out.end(), encoding.begin(), encoding.end());
    }
    size_t first = 0, second = 0, special = 0;
    for (const TemplatePiece& piece : out) {
      first += piece.kind == TemplatePiece::Kind::first;
      second += piece.kind == TemplatePiece::Kind::second;
      special += piece.ids.size();
    }
    if (first != 1 || second != (is_pair_ ? 1 : 0)) {
      field.fail_with(fmt::format("found sequence A {} times and B {} times, expected {}", first,
                                  second, is_pair_ ? "each once" : "A once"));
    }
    if (special != counted_) {  // truncation relies on this count
      field.fail_with(fmt::format("its processors say that they add {} special tokens, but add {}",
                                  counted_, special));
    }
    return out;
  }

 private:
  static TemplatePiece read_token(const JsonField& field) {
    const std::vector<JsonField> pair = field.elements();
    if (pair.size() != 2) field.fail_with("expected a token and its id");
    return {TemplatePiece::Kind::special, {read_id(pair[1])}, 0, {pair[0].string()}};
  }

  // BertProcessing: [CLS] A [SEP], B [SEP]. RobertaProcessing: <s> A </s>, </s> B </s>, of type 0.
  void add_cls_and_sep(TemplatePiece cls, TemplatePiece sep, bool is_roberta) {
    for (size_t i = 0; i < encodings_.size(); ++i) {
      Template& encoding = encodings_[i];
      sep.type_id = is_roberta || i == 0 ? 0 : 1;
      if (i == 0 || is_roberta) encoding.insert(encoding.begin(), i == 0 ? cls : sep);
      encoding.push_back(sep);
      for (TemplatePiece& piece : encoding) piece.type_id = is_roberta ? 0 : piece.type_id;
    }
    counted_ += !is_pair_ ? 2 : is_roberta ? 4 : 3;
  }

  void apply_template(const JsonField& processor) {
    if (encodings_.size() > 2) {
      processor.fail_with(
          "found a TemplateProcessing after one that makes more than two parts, expected none");
    }
    const JsonField pieces = processor.at(encodings_.size() == 2 ? "pair" : "single");
    std::vector<Template> out;
    for (const JsonField& piece : pieces.elements()) {
      const bool is_sequence = piece.has("Sequence");
      if (!is_sequence && !piece.has("SpecialToken")) piece.fail("a Sequence or a SpecialToken");
      const JsonField body = piece.at(is_sequence ? "Sequence" : "SpecialToken");
      const auto type = static_cast<int32_t>(body.at("type_id").integer(0, kMaxTypeId));
      if (is_sequence) {
        out.push_back(sequence(body.at("id"), type));
      } else {
        out.push_back({special(processor.at("special_tokens").at(body.at("id").string()), type)});
      }
    }
    encodings_ = std::move(out);
    for (const JsonField& piece : processor.at(is_pair_ ? "pair" : "single").elements()) {
      if (!piece.has("SpecialToken")) continue;
      const std::string& id = piece.at("SpecialToken").at("id").string();
      counted_ += special(processor.at("special_tokens").at(id), 0).ids.size();
    }
  }

  Template sequence(const JsonField& id, int32_t type) const {
    if (id.string() != "A" && id.string() != "B") id.fail("\"A\" or \"B\"");
    const size_t i = id.string() == "A" ? 0 : 1;
    if (i >= encodings_.size()) id.fail("\"A\", as there is only one text");
    Template out = encodings_[i];
    for (TemplatePiece& piece : out) piece.type_id = type;
    return out;
  }

  TemplatePiece special(const JsonField& token, int32_t type) {
    TemplatePiece out{TemplatePiece::Kind::special, {}, type};
    const JsonField ids = token.at("ids");
    constexpr size_t kMost = 1 << 16;  // each piece of a template repeats all ids of its token
    if ((read_ += ids.size()) > kMost) {
      ids.fail_with(fmt::format("the templates have more than {} special tokens", kMost));
    }
    for (const JsonField& id : ids.elements()) out.ids.push_back(read_id(id));
    if (!token.has("tokens")) return out;
    for (const JsonField& text : token.at("tokens").elements()) {
      out.strings.push_back(text.string());
    }
    if (out.strings.size() != out.ids.size()) {
      token.fail_with(fmt::format("found {} ids and {} tokens, expected equal numbers",
                                  out.ids.size(), out.strings.size()));
    }
    return out;
  }

  // Adds a trimming pass over the offsets of every text.
  void trim() {
    for (Template& encoding : encodings_) {
      bool is_after = false;
      for (TemplatePiece& piece : encoding) {
        if (piece.kind != TemplatePiece::Kind::special) piece.after.push_back(is_after);
        is_after = is_after || !piece.ids.empty();
      }
    }
  }

  bool is_pair_;
  std::vector<Template> encodings_;
  size_t read_ = 0;     // ids of special tokens, in all pieces
  size_t counted_ = 0;  // special tokens, as Hugging Face's processors count them
};

void check_processor(const JsonField& field) {
  if (!field.is_object()) field.fail("a post-processor");
  const JsonField type = field.at("type");
  const std::string& name = type.string();
  if (name != "BertProcessing" && name != "ByteLevel" && name != "RobertaProcessing" &&
      name != "TemplateProcessing") {
    type.fail(
        "\"BertProcessing\", \"ByteLevel\", \"RobertaProcessing\", \"Sequence\" or "
        "\"TemplateProcessing\"");
  }
}

}  // namespace

int32_t read_id(const JsonField& field) {
  return static_cast<int32_t>(field.integer(0, Vocabulary::kMaxId));
}

void read_post_processor(const JsonField& document, Definition& out) {
  out.single = {{TemplatePiece::Kind::first, {}, 0}};
  out.pair = {{TemplatePiece::Kind::first, {}, 0}, {TemplatePiece::Kind::second, {}, 1}};
  if (!document.has("post_processor")) return;
  const JsonField field = document.at("post_processor");
  std::vector<JsonField> processors;
  for_each_part(field, "processors", [&](const JsonField& part) {
    check_processor(part);
    processors.push_back(part);
  });
  Chain single(false, {out.single}), pair(true, {{out.pair[0]}, {out.pair[1]}});
  for (const JsonField& processor : processors) {
    single.apply(processor);
    pair.apply(processor);
    const bool is_byte_level = processor.at("type").string() == "ByteLevel";
    if (!is_byte_level && processor.at("type").string() != "RobertaProcessing") continue;
    if (!processor.at("trim_offsets").boolean()) continue;
    out.trims.push_back({processor.at("add_prefix_space").boolean()});
  }
  out.single = single.merged(field);
  out.pair = pair.merged(field);
}

}  // namespace bert::tokenizer
