// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/bert_infer.h"
#include "tools/infer/inputs/task_inputs.h"
#include "tools/infer/loaded_model.h"
#include "tools/infer/options/infer_options.h"

namespace bert::tools {

// The answers of one task to some inputs: computed together, then written one by one.
class Answers {
 public:
  struct Size {
    int64_t tokens;  // that were read
    bool truncated;
  };

  virtual ~Answers() = default;
  // Answers `count` inputs of the window from `first` on, in place of those before. The window must
  // outlive the answers. Throws bert::Error where the library refuses one of the inputs.
  virtual void compute(const Window& window, size_t first, size_t count) = 0;

  // Of the i-th of these inputs:
  virtual Size size(size_t i) const = 0;
  // Appends the members of a JSON object. Throws NonFinite where a number is NaN or infinite.
  virtual void append_json(std::string& line, size_t i) const = 0;
  virtual std::string text(size_t i) const = 0;  // for people, without a newline at its end
  // What .tsv, .npy and .safetensors files hold: logits [C], an embedding, hidden states [S, H],
  // or the vectors of a query or a document [rows, columns].
  virtual std::span<const float> row(size_t) const { return {}; }
  // What a page of --html shows.
  virtual nlohmann::ordered_json page(size_t) const { return {}; }
};

// Both arguments must outlive the answers. Throws bert::Error for layers that the model does not
// have.
std::unique_ptr<Answers> make_answers(const InferOptions& options, const LoadedModel& loaded);

// What make_answers() tries in turn: each returns null for a task that is not in its file.
std::unique_ptr<Answers> make_logits_answers(const InferOptions& options,
                                             const LoadedModel& loaded);
std::unique_ptr<Answers> make_row_answers(const InferOptions& options, const LoadedModel& loaded);
std::unique_ptr<Answers> make_layer_answers(const InferOptions& options, const LoadedModel& loaded);
std::unique_ptr<Answers> make_retrieval_answers(const InferOptions& options,
                                                const LoadedModel& loaded);
std::unique_ptr<Answers> make_text_answers(const InferOptions& options, const LoadedModel& loaded);
// What make_text_answers() tries in turn.
std::unique_ptr<Answers> make_ranking_answers(const InferOptions& options,
                                              const LoadedModel& loaded);

// Answers to inputs that are one sequence each.
class SequenceAnswers : public Answers {
 public:
  void compute(const Window& window, size_t first, size_t count) final;
  Size size(size_t i) const final;

 protected:
  virtual void run() = 0;  // computes the answers to encodings_

  std::span<const bert::Encoding> encodings_;
  std::span<const std::vector<std::string>> strings_;  // as Window has them
};

}  // namespace bert::tools
