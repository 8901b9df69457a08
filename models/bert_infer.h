// SPDX-License-Identifier: Apache-2.0
//
// bert-infer: BERT encoders from an unmodified Hugging Face directory. This is the whole public
// API.
//
//   const bert::Model model = bert::Model::load("path/to/model");
//   const std::vector<bert::Input> pairs = {{"A man plays.", "Somebody plays."}};
//   const bert::Output logits = model.run(pairs);   // one row an input
//
// Letters: S tokens of one input (special tokens included), H hidden size, N inputs, C labels.
// Every function here reports failure by throwing bert::Error, and by nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define BERT_INFER_API __attribute__((visibility("default")))

namespace bert {

// what() is one sentence that names the file or the input, the field, what was found and what was
// expected.
class BERT_INFER_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  Error(const Error&) = default;
  ~Error() override;
};

// A text, or a pair of texts, in UTF-8.
struct Input {
  std::string first;
  std::optional<std::string> second = std::nullopt;
};

// Where a token stands in its text, in Unicode scalars of the original (not bytes): [begin, end).
// {0, 0} for special tokens that the template adds.
struct Offset {
  int32_t begin = 0;
  int32_t end = 0;
  bool operator==(const Offset&) const = default;
};

// One input as the model reads it: [CLS] first [SEP], or [CLS] first [SEP] second [SEP].
struct Encoding {
  std::vector<int32_t> ids;       // [S]
  std::vector<int32_t> type_ids;  // [S] segment of each token (token_type_ids): 0 first, 1 second
  std::vector<Offset> offsets;    // [S], or empty where the ids did not come from text
  bool truncated = false;         // tokens were dropped to keep to the greatest length
};

// A row-major matrix of float32.
struct Output {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<float> values;  // [rows, columns]

  std::span<const float> row(int64_t i) const {
    return {values.data() + i * columns, static_cast<size_t>(columns)};
  }
};

// What the encoder says of one input.
struct Hidden {
  Output states;              // [S, H] last hidden state
  std::vector<float> pooler;  // [H] pooler output, or empty where the checkpoint has no pooler
};

// What the encoder's dense layers and attention are multiplied in. Sums, norms, softmax, GELU, the
// embeddings and the heads are f32 in each.
//   automatic  f32; int8 where the directory holds int8 weights (bert-convert)
//   f32        within 1e-5 of float64
//   bf16       half the memory, near f32; faster only where the processor multiplies it, as
//              info().notes say of a BF16 checkpoint
//   int8       a third of the memory and of the time; a label in a thousand or so changes. Weights
//              are s8 with a scale an output, inputs u8 by token, so that a result depends on
//              nothing else in its batch
enum class Precision { automatic, f32, bf16, int8 };

struct Options {
  Precision precision = Precision::automatic;
  // Batches that are computed at a time, all with one copy of the weights, and the threads that
  // each is computed on. What is too little to share out is one batch, on all of them. With both 0
  // there are as many workers of one thread as this process may use threads (affinity, cgroup
  // quota); threads alone means one worker, workers alone shares out what the process may use.
  int workers = 0, threads = 0;
  int batch_tokens = 4096;  // the most tokens computed at a time (one longer input goes alone)
  int max_length = 0;       // tokens an input is truncated to; 0: the model's own
};

// How logits become probabilities, by the config's problem_type and number of labels.
enum class Scores { softmax, sigmoid, raw };

struct Info {
  std::string architecture;  // as in config.json: BertForSequenceClassification, ...
  int layers = 0, hidden = 0, heads = 0, intermediate = 0, vocabulary = 0;
  int max_length = 0;       // tokens, special tokens included
  bool has_logits = false;  // a head that run() evaluates
  bool has_pooler = false;
  std::vector<std::string> labels;  // [C], in the order of the logits
  Scores scores = Scores::raw;
  std::string pooling;    // what embed() does: "mean", "cls, normalised", ...
  std::string precision;  // what was resolved: "f32", "bf16" or "int8"
  int workers = 0, threads = 0;
  std::vector<std::string> notes;  // what loading resolved and a user should know, a sentence each
};

struct Label {
  int index = 0;
  std::string name;
  float probability = 0;  // NaN where the head's scores are raw
};

// One probability a logit, [C]; the logits themselves where the scores are raw.
BERT_INFER_API std::vector<float> probabilities(std::span<const float> logits, const Info& info);
// The label with the greatest logit; the first of equals.
BERT_INFER_API Label best_label(std::span<const float> logits, const Info& info);

// Text to ids. Needs only the tokenizer's files of a model's directory: tokenizer.json; or vocab.txt
// or a SentencePiece model with tokenizer_config.json. Immutable: may be used from many threads.
class BERT_INFER_API Tokenizer {
 public:
  // max_length: 0 takes the directory's own, or none where it names none.
  static Tokenizer load(const std::string& directory, int max_length = 0);

  // Throws on invalid UTF-8, with the byte's position.
  Encoding encode(const Input& input) const;
  // The same for each input, in their order, on so many threads (0: as many as this process may
  // use). Of errors, that of the first input which has one is thrown, as "input i: ...".
  std::vector<Encoding> encode(std::span<const Input> inputs, int threads = 0) const;
  // The piece of an id, as the vocabulary spells it ("##ing").
  const std::string& token(int32_t id) const;
  const std::vector<std::string>& notes() const;

 private:
  friend class Model;
  struct Impl;
  explicit Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// A loaded model. Immutable: may be used from many threads; copies share the weights.
//
// Results do not depend on what else is in the call, on the batch size or on the thread count: an
// input gives the same bits in every company.
class BERT_INFER_API Model {
 public:
  static Model load(const std::string& directory, const Options& options = {});

  // Raw logits, [N, C]. Throws where the checkpoint has no classification head.
  Output run(std::span<const Input> inputs) const;
  Output run(std::span<const Encoding> encodings) const;
  // One vector an input, [N, H], as the directory's pooling configuration says (info().pooling).
  Output embed(std::span<const Input> inputs) const;
  Output embed(std::span<const Encoding> encodings) const;
  // Last hidden states and pooler output, [N].
  std::vector<Hidden> hidden(std::span<const Input> inputs) const;
  std::vector<Hidden> hidden(std::span<const Encoding> encodings) const;

  std::vector<Encoding> tokenize(std::span<const Input> inputs) const;
  const Tokenizer& tokenizer() const;
  const Info& info() const;

 private:
  struct Impl;
  friend struct Internals;  // what bert-regress sees of the stages between
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// The directory of the demo model that comes with the library, found from the library's own place,
// installed or in the build tree.
BERT_INFER_API std::string demo_model();
BERT_INFER_API std::string version();

}  // namespace bert
