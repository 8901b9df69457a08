// SPDX-License-Identifier: Apache-2.0
//
// Tasks that answer in other numbers than logits: one row per input, or one per token of it. Plus
// the tokens themselves.
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/unicode/printable.h"
#include "tools/console/counted.h"
#include "tools/console/numbers.h"
#include "tools/infer/answers/answers.h"
#include "tools/infer/answers/retrieval/embeddings.h"

namespace bert::tools {
namespace {

// The first few numbers of a vector.
std::string beginning(const char* name, std::span<const float> values) {
  constexpr size_t kShown = 6;
  double squares = 0;
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    squares += static_cast<double>(values[i]) * values[i];
    if (i < kShown) text += fmt::format("{}{:.4f}", i > 0 ? ", " : "", values[i]);
  }
  return fmt::format("{}: {} of length {:.4f}: [{}{}]", name, counted(std::ssize(values), "number"),
                     std::sqrt(squares), text, values.size() > kShown ? ", ..." : "");
}

class EmbedAnswers final : public SequenceAnswers {
 public:
  EmbedAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), options_(options) {
    model_.embed(encodings_);  // of no inputs: refuses a model that does not embed
  }

  void append_json(std::string& line, size_t i) const override {
    line += "\"embedding\": ";
    append_array(line, row(i), append_finite);
  }

  std::string text(size_t i) const override { return beginning("embedding", row(i)); }

  std::span<const float> row(size_t i) const override {
    return embeddings_.row(static_cast<int64_t>(i));
  }

 private:
  void run() override { embeddings_ = embed(model_, encodings_, options_); }

  const bert::Model& model_;
  const InferOptions& options_;
  bert::Output embeddings_;
};

class HiddenAnswers final : public SequenceAnswers {
 public:
  explicit HiddenAnswers(const LoadedModel& loaded) : model_(*loaded.model) {}

  void append_json(std::string& line, size_t i) const override {
    const bert::Output& states = hidden_[i].states;
    line += "\"hidden\": [";
    for (int64_t t = 0; t < states.rows; ++t) {
      if (t > 0) line += ", ";
      append_array(line, states.row(t), append_finite);
    }
    line += ']';
    if (hidden_[i].pooler.empty()) return;
    line += ", \"pooler\": ";
    append_array(line, std::span(hidden_[i].pooler), append_finite);
  }

  std::string text(size_t i) const override {
    return beginning("hidden state of the first token", hidden_[i].states.row(0));
  }

  std::span<const float> row(size_t i) const override { return hidden_[i].states.values; }

 private:
  void run() override {
    hidden_.clear();
    hidden_ = model_.hidden(encodings_);
  }

  const bert::Model& model_;
  std::vector<bert::Hidden> hidden_;
};

class TokensAnswers final : public SequenceAnswers {
 public:
  explicit TokensAnswers(const LoadedModel& loaded) : tokenizer_(loaded.tokenizer) {}

  void append_json(std::string& line, size_t i) const override {
    const bert::Encoding& encoding = encodings_[i];
    line += "\"ids\": ";
    append_array(line, std::span(encoding.ids), append_number<int32_t>);
    line += ", \"type_ids\": ";
    append_array(line, std::span(encoding.type_ids), append_number<int32_t>);
    line += ", \"tokens\": ";
    if (has_strings(i)) {
      append_array(line, std::span(strings_[i]),
                   [](std::string& to, const std::string& token) { append_quoted(to, token); });
    } else {
      append_array(line, std::span(encoding.ids),
                   [this](std::string& to, int32_t id) { to += quoted_pieces_.at(id); });
    }
    if (encoding.offsets.size() < encoding.ids.size()) return;  // the input gave ids
    line += ", \"offsets\": ";
    append_array(line, std::span(encoding.offsets), [](std::string& to, bert::Offset offset) {
      to += '[';
      append_number(to, offset.begin);
      to += ", ";
      append_number(to, offset.end);
      to += ']';
    });
  }

  std::string text(size_t i) const override {
    const bert::Encoding& encoding = encodings_[i];
    std::string text = "position      id  segment     offset  token";
    for (size_t t = 0; t < encoding.ids.size(); ++t) {
      std::string offset;  // special tokens have none
      if (t < encoding.offsets.size() && encoding.offsets[t] != bert::Offset()) {
        offset = fmt::format("{}-{}", encoding.offsets[t].begin, encoding.offsets[t].end);
      }
      const std::string& token =
          has_strings(i) ? strings_[i][t] : tokenizer_.token(encoding.ids[t]);
      text += fmt::format("\n{:>8} {:>7} {:>8} {:>10}  {}", t, encoding.ids[t],
                          encoding.type_ids[t], offset, tokenizer::printable(token));
    }
    return text;
  }

 private:
  bool has_strings(size_t i) const { return i < strings_.size() && !strings_[i].empty(); }

  // token() throws for an id that the vocabulary does not have.
  void run() override {
    for (const bert::Encoding& encoding : encodings_) {
      for (const int32_t id : encoding.ids) {
        if (quoted_pieces_.contains(id)) continue;
        const std::string& piece = tokenizer_.token(id);  // first: nothing stays where it throws
        append_quoted(quoted_pieces_[id], piece);
      }
    }
  }

  const bert::Tokenizer& tokenizer_;
  std::unordered_map<int32_t, std::string> quoted_pieces_;  // by id
};

}  // namespace

std::unique_ptr<Answers> make_row_answers(const InferOptions& options, const LoadedModel& loaded) {
  switch (loaded.task) {
    case Task::embed:
      return std::make_unique<EmbedAnswers>(options, loaded);
    case Task::hidden:
      return std::make_unique<HiddenAnswers>(loaded);
    case Task::tokens:
      return std::make_unique<TokensAnswers>(loaded);
    default:
      return nullptr;
  }
}

}  // namespace bert::tools
