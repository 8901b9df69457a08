// SPDX-License-Identifier: Apache-2.0
//
// Tasks that answer in matrices: logits of each token, hidden states and attention of given layers.
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/console/numbers.h"
#include "tools/infer/answers/answers.h"
#include "tools/infer/pages/page_data.h"

namespace bert::tools {
namespace {

// Appends "NAME": {"LAYER": ..., ...}, each layer by append(i).
template <typename Append>
void append_layers(std::string& line, const char* name, const std::vector<int>& layers,
                   Append append) {
  line += fmt::format("\"{}\": {{", name);
  for (size_t j = 0; j < layers.size(); ++j) {
    line += fmt::format("{}\"{}\": ", j > 0 ? ", " : "", layers[j]);
    append(j);
  }
  line += '}';
}

// People get the JSON too.
class MatrixAnswers : public SequenceAnswers {
 public:
  std::string text(size_t i) const final {
    std::string text = "{";
    append_json(text, i);
    return text + '}';
  }
};

class TokenLogitsAnswers final : public MatrixAnswers {
 public:
  explicit TokenLogitsAnswers(const LoadedModel& loaded) : model_(*loaded.model) {}

  void append_json(std::string& line, size_t i) const override {
    line += "\"logits\": ";
    append_rows(line, logits_[i]);
  }

 private:
  void run() override {
    logits_.clear();
    logits_ = model_.run_tokens(encodings_);
  }

  const bert::Model& model_;
  std::vector<bert::Output> logits_;  // [S, C] of each input
};

class LayersAnswers final : public MatrixAnswers {
 public:
  LayersAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), layers_(options.layers) {
    model_.hidden(encodings_, layers_);  // of no inputs: refuses layers that the model lacks
  }

  void append_json(std::string& line, size_t i) const override {
    append_layers(line, "layers", layers_,
                  [&](size_t j) { append_rows(line, hidden_[i].layers[j]); });
  }

  nlohmann::ordered_json page(size_t i) const override {
    return embedding_page(model_, encodings_[i]);
  }

 private:
  void run() override {
    hidden_.clear();
    hidden_ = model_.hidden(encodings_, layers_);
  }

  const bert::Model& model_;
  const std::vector<int>& layers_;
  std::vector<bert::Hidden> hidden_;
};

class AttentionAnswers final : public MatrixAnswers {
 public:
  AttentionAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), layers_(options.layers) {
    if (layers_.empty()) {  // a page has all
      layers_.resize(static_cast<size_t>(loaded.info.layers));
      std::iota(layers_.begin(), layers_.end(), 0);
    }
    model_.attention(encodings_, layers_);  // as above
  }

  void append_json(std::string& line, size_t i) const override {
    append_layers(line, "attention", layers_, [&](size_t j) {
      const bert::Output& rows = attention_[i].layers[j];  // [A * S, S]
      line += '[';
      for (int64_t at = 0; at < rows.rows; at += rows.columns) {
        if (at > 0) line += ", ";
        append_rows(line, rows, at, rows.columns);
      }
      line += ']';
    });
  }

  nlohmann::ordered_json page(size_t i) const override {
    return attention_page(model_, encodings_[i], attention_[i], layers_);
  }

 private:
  void run() override {
    attention_.clear();
    attention_ = model_.attention(encodings_, layers_);
  }

  const bert::Model& model_;
  std::vector<int> layers_;
  std::vector<bert::Attention> attention_;
};

}  // namespace

std::unique_ptr<Answers> make_layer_answers(const InferOptions& options,
                                            const LoadedModel& loaded) {
  switch (loaded.task) {
    case Task::token_logits:
      return std::make_unique<TokenLogitsAnswers>(loaded);
    case Task::layers:
      return std::make_unique<LayersAnswers>(options, loaded);
    case Task::attention:
      return std::make_unique<AttentionAnswers>(options, loaded);
    default:
      return nullptr;
  }
}

}  // namespace bert::tools
