// SPDX-License-Identifier: Apache-2.0
//
// Exact search: every query is compared with every text.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/tasks/ranking/bert_ranking.h"
#include "models/tasks/ranking/text_vectors.h"

namespace bert {
namespace {

// Texts per block, so that a corpus grows without being copied, and queries that are compared with
// a block at a time: their scores take 2 MB.
constexpr int64_t kBlockTexts = 4096, kQueriesAtOnce = 128;

bool is_better(const Match& a, const Match& b) {
  return a.score > b.score || (a.score == b.score && a.index < b.index);
}

// The k best so far, as a heap with the worst one first.
class BestMatches {
 public:
  explicit BestMatches(int64_t k) : k_(k) {}

  void add(const Match& match) {
    if (std::ssize(heap_) == k_) {
      if (k_ == 0 || !is_better(match, heap_.front())) return;
      std::ranges::pop_heap(heap_, is_better);
      heap_.back() = match;
    } else {
      heap_.push_back(match);
    }
    std::ranges::push_heap(heap_, is_better);
  }

  std::vector<Match> take() {
    std::ranges::sort(heap_, is_better);
    return std::move(heap_);
  }

 private:
  int64_t k_;
  std::vector<Match> heap_;
};

template <typename T>
void move_to_end(std::span<T> from, std::vector<T>& to) {
  to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
}

int64_t bytes_of(const models::TextVectors& block) {
  size_t bytes = block.embeddings.values.capacity() * sizeof(float);
  for (const SparseVector& vector : block.sparse) {
    bytes += sizeof vector + vector.ids.capacity() * sizeof(int32_t) +
             vector.weights.capacity() * sizeof(float);
  }
  for (const Output& rows : block.of_tokens) {
    bytes += sizeof rows + rows.values.capacity() * sizeof(float);
  }
  return static_cast<int64_t>(bytes);
}

// Embeddings from elsewhere, as vectors_of() gives them.
models::TextVectors checked(const Internals::Impl& model, const Output& vectors) {
  if (!model.retrieval.embeds) throw Error("the model has no embeddings to compare vectors with");
  if (vectors.columns != model.sentence.columns()) {
    throw Error(fmt::format("the vectors have {} numbers, expected {}, as the model's embeddings",
                            vectors.columns, model.sentence.columns()));
  }
  if (std::ssize(vectors.values) != vectors.rows * vectors.columns) {
    throw Error(fmt::format("the vectors have {} numbers in all, expected {} times {}",
                            vectors.values.size(), vectors.rows, vectors.columns));
  }
  const auto wrong =
      std::ranges::find_if(vectors.values, [](float x) { return !std::isfinite(x); });
  if (wrong != vectors.values.end()) {
    throw Error(fmt::format("vector {} has a number that is not finite",
                            (wrong - vectors.values.begin()) / vectors.columns));
  }
  models::TextVectors result;
  result.embeddings = vectors;
  if (model.retrieval.comparison == models::Comparison::cosine) {
    models::normalize_rows(
        {result.embeddings.values.data(), result.embeddings.rows, result.embeddings.columns});
  }
  return result;
}

}  // namespace

struct Corpus::Impl {
  explicit Impl(const Model& from) : model(from) {}

  // Moves vectors [first, first + count) to the end of a block.
  void append(models::TextVectors& vectors, int64_t first, int64_t count) {
    models::TextVectors& block = blocks.back();
    if (impl().retrieval.embeds) {
      const auto columns = vectors.embeddings.columns;
      const auto from = vectors.embeddings.values.begin() + first * columns;
      auto& to = block.embeddings;
      to.columns = columns;
      to.values.insert(to.values.end(), from, from + count * columns);
      to.rows += count;
    } else if (impl().retrieval.sparse) {
      move_to_end(std::span(vectors.sparse).subspan(first, count), block.sparse);
    } else {
      move_to_end(std::span(vectors.of_tokens).subspan(first, count), block.of_tokens);
    }
    size += count;
  }

  void begin_block() {
    models::TextVectors& block = blocks.emplace_back();
    if (impl().retrieval.embeds) {
      block.embeddings.values.reserve(kBlockTexts * impl().sentence.columns());
    }
  }

  void add(models::TextVectors vectors, int64_t count) {
    const int64_t before = size;
    try {
      append_all(vectors, count);
    } catch (...) {
      shrink(before);
      throw;
    }
  }

  // Removes the last vectors again, and their blocks.
  void shrink(int64_t to) {
    blocks.resize(static_cast<size_t>(engine::divide_up(to, kBlockTexts)));
    size = to;
    if (blocks.empty()) return;
    models::TextVectors& last = blocks.back();
    const int64_t kept = to - (std::ssize(blocks) - 1) * kBlockTexts;
    last.embeddings.rows = std::min(last.embeddings.rows, kept);
    last.embeddings.values.resize(last.embeddings.rows * last.embeddings.columns);
    last.sparse.resize(std::min<size_t>(last.sparse.size(), kept));
    last.of_tokens.resize(std::min<size_t>(last.of_tokens.size(), kept));
  }

  void append_all(models::TextVectors& vectors, int64_t all) {
    for (int64_t first = 0; first < all;) {
      if (size == std::ssize(blocks) * kBlockTexts) begin_block();
      const int64_t room = std::ssize(blocks) * kBlockTexts - size;
      const int64_t count = std::min(room, all - first);
      append(vectors, first, count);
      first += count;
    }
  }

  void search(std::span<const std::string> queries, int64_t k, std::vector<Matches>& output) const {
    const models::TextVectors vectors = models::vectors_of(impl(), Role::query, queries);
    std::vector<BestMatches> best(queries.size(), BestMatches(std::min(k, size)));
    std::vector<float> scores(queries.size() * std::min(size, kBlockTexts));
    for (int64_t b = 0; b < std::ssize(blocks); ++b) {
      const int64_t first = b * kBlockTexts, texts = std::min(kBlockTexts, size - first);
      const engine::Tensor of_block{scores.data(), std::ssize(queries), texts};
      models::compare(impl(), vectors, blocks[b], of_block);
      for (int64_t i = 0; i < of_block.rows; ++i) {
        for (int64_t j = 0; j < texts; ++j) best[i].add({first + j, of_block.row(i)[j]});
      }
    }
    for (size_t i = 0; i < queries.size(); ++i) {
      const auto& [tokens, truncated] = vectors.sizes[i];
      output.push_back({best[i].take(), tokens, truncated});
    }
  }

  const Internals::Impl& impl() const { return Internals::impl(model); }

  Model model;
  std::vector<models::TextVectors> blocks;  // of kBlockTexts each, except the last
  int64_t size = 0;
};

Corpus::Corpus(const Model& model) : impl_(std::make_unique<Impl>(model)) {}
Corpus::~Corpus() = default;
Corpus::Corpus(Corpus&&) noexcept = default;
Corpus& Corpus::operator=(Corpus&&) noexcept = default;

void Corpus::add(std::span<const std::string> texts) {
  models::guarded([&] {
    impl_->add(models::vectors_of(impl_->impl(), Role::document, texts), std::ssize(texts));
  });
}

void Corpus::add_vectors(const Output& vectors) {
  models::guarded([&] { impl_->add(checked(impl_->impl(), vectors), vectors.rows); });
}

int64_t Corpus::size() const { return impl_->size; }

int64_t Corpus::memory() const {
  int64_t bytes = 0;
  for (const models::TextVectors& block : impl_->blocks) bytes += bytes_of(block);
  return bytes;
}

std::vector<Matches> Corpus::search(std::span<const std::string> queries, int64_t k) const {
  return models::guarded([&] {
    if (k < 0) throw Error(fmt::format("k is {}, expected at least 0", k));
    std::vector<Matches> output;
    for (size_t first = 0; first < queries.size(); first += kQueriesAtOnce) {
      const size_t count = std::min<size_t>(kQueriesAtOnce, queries.size() - first);
      try {
        impl_->search(queries.subspan(first, count), k, output);
      } catch (const std::exception&) {
        // The error names a query by its index among these: find its index among all.
        if (first > 0) Internals::impl(impl_->model).tokenize_for(Role::query, queries);
        throw;
      }
    }
    return output;
  });
}

}  // namespace bert
