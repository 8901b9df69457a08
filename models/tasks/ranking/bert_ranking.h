// SPDX-License-Identifier: Apache-2.0
//
// What a model can rank, best first: labels that it was not trained for, documents that may answer
// a query, and the texts of a corpus that are most similar to one. Includes bert_infer.h.
//
//   bert::Corpus corpus(model);
//   corpus.add(texts);
//   for (const bert::Match& match : corpus.search(queries, 5)[0].best) use(texts[match.index]);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bert_infer.h"

namespace bert {

// How labels become hypotheses, and whether several may apply.
struct ZeroShotOptions {
  // The sentence that a text entails if it has the label; {} is replaced by the label.
  std::string hypothesis = "This example is {}.";
  // Judges each label by itself: the probability of entailment against contradiction, as for a
  // single label. Otherwise labels exclude each other, and their probabilities add up to 1.
  bool multi_label = false;
};
struct ZeroShot {
  std::vector<float> probabilities;  // [labels], in the order of the call
  std::vector<int64_t> best;         // [labels], indices of labels, the most probable first
  int32_t tokens = 0;                // in all pairs of the text and a hypothesis
  bool truncated = false;            // the text was, in any of the pairs
};
// How well each label fits each text, [N], like Hugging Face's zero-shot-classification pipeline:
// from the logits of (text, hypothesis). Only the text is truncated, and no prompt is put before
// it. Throws if none of the model's labels begins with "entail", and without labels.
BERT_INFER_API std::vector<ZeroShot> zero_shot(const Model& model,
                                               std::span<const std::string> texts,
                                               std::span<const std::string> labels,
                                               const ZeroShotOptions& options = {});

// How well a document answers a query.
struct Relevance {
  float score = 0;
  int32_t tokens = 0;  // of the document, or of the pair
  bool truncated = false;
};
// How well each document answers the query, [N]. A model with one label (a cross-encoder) scores
// the pairs, as sentence-transformers' CrossEncoder does: by a sigmoid, unless its files name
// Identity; other models' vectors are compared as in Corpus. Throws if the model has several
// labels.
BERT_INFER_API std::vector<Relevance> relevance(const Model& model, const std::string& query,
                                                std::span<const std::string> documents);

// A text or vector of a Corpus that a search found.
struct Match {
  int64_t index = 0;  // in the order in which they were added
  float score = 0;
};
// What a search found for one query.
struct Matches {
  std::vector<Match> best;  // the greatest scores first, the first text first among equals
  int32_t tokens = 0;       // of the query
  bool truncated = false;
};

// Texts to search in. Each query is compared with every text, as Info::similarity says: embeddings
// by their cosine, dot product, or negative Euclidean or Manhattan distance; sparse vectors or
// token vectors if the model has no embeddings. Queries and texts get the prompts that
// sentence-transformers' encode_query() and encode_document() would give them, or Options::prompt.
//
// Many threads may search at once, but not while another adds. A score depends on the query and the
// text alone. A moved-from corpus may only be assigned to or destroyed.
class BERT_INFER_API Corpus {
 public:
  explicit Corpus(const Model& model);
  ~Corpus();
  Corpus(Corpus&&) noexcept;
  Corpus& operator=(Corpus&&) noexcept;

  // Computes the texts' vectors. If it throws, nothing is added.
  void add(std::span<const std::string> texts);
  // Adds vectors [N, Info::embedding] in place of texts: what Model::embed gave for them before, or
  // what another encoder of the same space gave, such as CLIP's for images. Throws if the model has
  // no embeddings, if theirs are of another size, and if a number is not finite.
  void add_vectors(const Output& vectors);
  int64_t size() const;    // texts and vectors
  int64_t memory() const;  // bytes taken by their vectors; the texts are not kept
  // The k best texts for each query, [N], or all if there are fewer.
  std::vector<Matches> search(std::span<const std::string> queries, int64_t k) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bert
