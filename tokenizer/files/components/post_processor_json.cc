// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/files/components/components.h"

namespace bert::tokenizer {

namespace {

constexpr int64_t kMaxTypeId = 1 << 20;

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
  if (!is_roberta || !field.at("trim_offsets").boolean()) return;
  out.trims.push_back({field.at("add_prefix_space").boolean(), false});
}

// ByteLevel only trims; the others add special tokens, which one of a sequence may do.
void read_processor(const JsonField& processor, bool& has_template, bool& has_cls,
                    Definition& out) {
  constexpr const char* kExpected =
      "\"BertProcessing\", \"RobertaProcessing\", \"TemplateProcessing\", \"ByteLevel\" or "
      "\"Sequence\"";
  if (!processor.is_object()) processor.fail("a post-processor");
  const JsonField type = processor.at("type");
  const std::string& name = type.string();
  if (name == "Sequence") {
    for (const JsonField& part : processor.at("processors").elements()) {
      if (part.is_object() && part.at("type").string() == "Sequence") {
        part.fail_with("found a Sequence in a Sequence");
      }
      read_processor(part, has_template, has_cls, out);
    }
    return;
  }
  if (name == "ByteLevel") {
    if (!processor.at("trim_offsets").boolean()) return;
    return out.trims.push_back({processor.at("add_prefix_space").boolean(), has_cls});
  }
  const bool is_roberta = name == "RobertaProcessing";
  if (!is_roberta && name != "BertProcessing" && name != "TemplateProcessing") {
    type.fail(kExpected);
  }
  if (has_template) processor.fail_with("found a second processor that adds special tokens");
  has_template = true;
  // TemplateProcessing keeps its special tokens apart from the texts for those that come after it.
  has_cls = name != "TemplateProcessing";
  if (has_cls) return read_cls_and_sep(processor, is_roberta, out);
  const TemplateReader reader(processor);
  out.single = reader.read(processor.at("single"), false);
  out.pair = reader.read(processor.at("pair"), true);
}

}  // namespace

int32_t read_id(const JsonField& field) {
  return static_cast<int32_t>(field.integer(0, Vocabulary::kMaxId));
}

void read_post_processor(const JsonField& document, Definition& out) {
  out.single = {{TemplatePiece::Kind::first, {}, 0}};
  out.pair = {{TemplatePiece::Kind::first, {}, 0}, {TemplatePiece::Kind::second, {}, 1}};
  if (!document.has("post_processor")) return;
  bool has_template = false, has_cls = false;
  read_processor(document.at("post_processor"), has_template, has_cls, out);
}

}  // namespace bert::tokenizer
