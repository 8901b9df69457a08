// SPDX-License-Identifier: Apache-2.0
//
// Tasks for search: sparse vectors, vectors of tokens, and how similar two texts are.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/unicode/printable.h"
#include "tools/console/counted.h"
#include "tools/console/numbers.h"
#include "tools/infer/answers/answers.h"
#include "tools/infer/answers/retrieval/embeddings.h"

namespace bert::tools {
namespace {

class SparseAnswers final : public SequenceAnswers {
 public:
  SparseAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), most_(options.is_given("--top-k") ? options.top_k : INT32_MAX) {
    model_.sparse(encodings_);  // of no inputs: refuses a model without them
  }

  void append_json(std::string& line, size_t i) const override {
    line += "\"sparse\": [";
    const char* separator = "";
    for (const size_t place : greatest(found_[i])) {
      line += separator;
      line += "{\"token\": ";
      append_quoted(line, token(found_[i].ids[place]));
      line += ", \"id\": ";
      append_number(line, found_[i].ids[place]);
      line += ", \"weight\": ";
      append_finite(line, found_[i].weights[place]);
      line += '}';
      separator = ", ";
    }
    line += ']';
  }

  std::string text(size_t i) const override {
    std::string text;
    for (const size_t place : greatest(found_[i])) {
      text +=
          fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ",
                      tokenizer::printable(token(found_[i].ids[place])), found_[i].weights[place]);
    }
    return text.empty() ? "no weights" : text;
  }

 private:
  void run() override { found_ = model_.sparse(encodings_); }

  // Not every id has a token: rows of the embeddings may be padding.
  std::string token(int32_t id) const {
    try {
      return model_.tokenizer().token(id);
    } catch (const bert::Error&) {
      return "";
    }
  }
  // The places of the greatest weights, in that order; the lowest id first among equals.
  std::vector<size_t> greatest(const bert::SparseVector& sparse) const {
    std::vector<size_t> places(sparse.ids.size());
    std::iota(places.begin(), places.end(), 0);
    std::ranges::stable_sort(
        places, [&](size_t a, size_t b) { return sparse.weights[a] > sparse.weights[b]; });
    places.resize(std::min(places.size(), static_cast<size_t>(most_)));
    return places;
  }

  const bert::Model& model_;
  const int most_;
  std::vector<bert::SparseVector> found_;
};

class MultiVectorAnswers final : public SequenceAnswers {
 public:
  MultiVectorAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), role_(options.role) {
    model_.multi_vector(encodings_, role_);  // as above
  }

  void append_json(std::string& line, size_t i) const override {
    line += "\"vectors\": ";
    append_rows(line, found_[i]);
  }

  std::string text(size_t i) const override {
    return fmt::format("{} of {}", counted(found_[i].rows, "vector"),
                       counted(found_[i].columns, "number"));
  }

  std::span<const float> row(size_t i) const override { return found_[i].values; }

 private:
  void run() override {
    found_.clear();
    found_ = model_.multi_vector(encodings_, role_);
  }

  const bert::Model& model_;
  const bert::Role role_;
  std::vector<bert::Output> found_;
};

// Of two texts, each computed by itself, as Info::similarity says.
class SimilarityAnswers final : public Answers {
 public:
  SimilarityAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), options_(options) {}

  void compute(const Window& window, size_t first, size_t count) override {
    encodings_ = std::span(window.encodings).subspan(2 * first, 2 * count);
    similarities_.clear();
    if (model_.info().embedding > 0) {
      const bert::Output rows = embed(model_, encodings_, options_);
      for (int64_t i = 0; i < rows.rows; i += 2) {
        similarities_.push_back(bert::similarity(rows.row(i), rows.row(i + 1), model_.info()));
      }
    } else if (model_.info().has_sparse) {
      const std::vector<bert::SparseVector> rows = model_.sparse(encodings_);
      for (size_t i = 0; i < rows.size(); i += 2) {
        similarities_.push_back(bert::dot(rows[i], rows[i + 1]));
      }
    } else {
      compare_vectors();
    }
  }

  Size size(size_t i) const override {
    const bert::Encoding &first = encodings_[2 * i], &second = encodings_[2 * i + 1];
    return {std::ssize(first.ids) + std::ssize(second.ids), first.truncated || second.truncated};
  }

  void append_json(std::string& line, size_t i) const override {
    append_members(line, {{"similarity", json_number(similarities_[i])}});
  }

  std::string text(size_t i) const override { return fmt::format("{:.4f}", similarities_[i]); }

 private:
  void compare_vectors() {
    std::vector<bert::Encoding> queries, documents;
    for (size_t i = 0; i < encodings_.size(); i += 2) {
      queries.push_back(encodings_[i]);
      documents.push_back(encodings_[i + 1]);
    }
    const auto of_queries = model_.multi_vector(queries, bert::Role::query);
    const auto of_documents = model_.multi_vector(documents, bert::Role::document);
    const bool is_mean = model_.info().similarity == "meanmaxsim";
    for (size_t i = 0; i < of_queries.size(); ++i) {
      const float sum = bert::max_sim(of_queries[i], of_documents[i]);
      similarities_.push_back(is_mean ? sum / static_cast<float>(of_queries[i].rows) : sum);
    }
  }

  const bert::Model& model_;
  const InferOptions& options_;
  std::span<const bert::Encoding> encodings_;  // two per input
  std::vector<float> similarities_;
};

}  // namespace

std::unique_ptr<Answers> make_retrieval_answers(const InferOptions& options,
                                                const LoadedModel& loaded) {
  switch (loaded.task) {
    case Task::sparse:
      return std::make_unique<SparseAnswers>(options, loaded);
    case Task::multi_vector:
      return std::make_unique<MultiVectorAnswers>(options, loaded);
    case Task::similarity:
      return std::make_unique<SimilarityAnswers>(options, loaded);
    default:
      return nullptr;
  }
}

}  // namespace bert::tools
