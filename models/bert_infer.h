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

#include "bert_encoding.h"

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

// A row-major matrix of float32.
struct Output {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<float> values;  // [rows, columns]

  Output() = default;
  Output(int64_t n, int64_t m) : rows(n), columns(m), values(static_cast<size_t>(n * m)) {}
  std::span<float> row(int64_t i) {
    return {values.data() + i * columns, static_cast<size_t>(columns)};
  }
  std::span<const float> row(int64_t i) const {
    return {values.data() + i * columns, static_cast<size_t>(columns)};
  }
};

// What the encoder says of one input.
struct Hidden {
  Output states;               // [S, H] last hidden state
  std::vector<float> pooler;   // [H] pooler output, or empty where the checkpoint has no pooler
  std::vector<Output> layers;  // [S, H] of each layer that was asked for
};

// What each token of one input attends to.
struct Attention {
  // Of each layer that was asked for the probabilities [A * S, S]: of head a and token i in row
  // a S + i, which sums to 1.
  std::vector<Output> layers;
};

// What the encoder's dense layers and attention are multiplied in. Sums, norms, softmax, GELU, the
// embeddings and the heads are f32 in each.
//   automatic  f32; int8 where the directory holds int8 weights (bert-convert)
//   f32        as near to float64 as float32 goes: logits to the fifth decimal
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
  // Tokens that an input is truncated to. 0: max_seq_length of sentence_bert_config.json, else
  // model_max_length of tokenizer_config.json, else the truncation of tokenizer.json, else as many
  // positions as the model has, which is the most in any case.
  int max_length = 0;
  // Of config_sentence_transformers.json: the name of what is put before each first text. "" takes
  // the directory's default_prompt_name, if there is one.
  std::string prompt;
};

// How logits become probabilities, by the config's problem_type and number of labels.
enum class Scores { softmax, sigmoid, raw };

// What the checkpoint's head is for.
enum class Task {
  embed,      // none: the encoder alone
  classify,   // run(): one of the labels for each input
  choose,     // choose(): one of several choices
  fill_mask,  // fill_mask()
  tag,        // tag(): a label for each word
  answer,     // answer(): a part of the second text answers the first
  detect,     // run_tokens(): which tokens were replaced (ELECTRA's pre-training)
};

struct Info {
  std::string architecture;  // as in config.json: BertForSequenceClassification, ...
  int layers = 0, hidden = 0, heads = 0, intermediate = 0, vocabulary = 0;
  Task task = Task::embed;
  int max_length = 0;             // tokens, special tokens included
  bool has_logits = false;        // a head that run() evaluates
  bool has_token_logits = false;  // a head that run_tokens() evaluates
  bool has_pooler = false;
  // [C], in the order of the logits of run(), or where there is only that of run_tokens(). The
  // logits of a masked language model are the vocabulary's.
  std::vector<std::string> labels;
  Scores scores = Scores::raw;
  std::string pooling;    // what embed() does: "mean", "cls, normalised", ...
  int embedding = 0;      // size of its vectors: the hidden size, unless a dense layer changes it
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

// A mask token of an input, and what may stand there: the most probable first.
struct Blank {
  int32_t token = 0;  // its place in the encoding
  struct Fill {
    int32_t id = 0;
    std::string token;
    float probability = 0;
  };
  std::vector<Fill> fills;
};

// A part of a text with a label.
struct Span {
  int text = 0;        // 0: of the first text, 1: of the second
  Offset offset;       // in Unicode scalars
  std::string string;  // what stands there
  std::string label;
  float probability = 0;
};
struct Tags {
  // Pieces that belong together are a word; its label is that of its first piece.
  std::vector<Span> words;
  // Neighbouring words of one kind, joined where the labels are of the form B-KIND and I-KIND (else
  // neighbours of the same label); words labelled O are left out. Their probability is the mean.
  std::vector<Span> entities;
  int32_t tokens = 0;
  bool truncated = false;
};

struct AnswerOptions {
  int stride = 128;      // tokens by which windows overlap; at most half of what fits is taken
  int most_tokens = 15;  // of an answer
};
struct Answer {
  Offset offset;       // in the second text, in Unicode scalars
  std::string string;  // what stands there; whole words
  // The product of the probabilities that the answer starts and ends there, in its window; and that
  // of pointing at the first token, which says that the text has no answer: the least of all
  // windows. As Hugging Face's question-answering pipeline has them.
  float score = 0, no_answer = 0;
  int windows = 0;
  int32_t tokens = 0;  // of all windows
};

struct Choices {
  std::string first;
  std::vector<std::string> choices;
};
struct Choice {
  int index = 0;                             // the best
  std::vector<float> logits, probabilities;  // [choices]
  int32_t tokens = 0;                        // of all pairs
  bool truncated = false;                    // one of them was
};

// Text to ids. Needs only the tokenizer files of a model directory: tokenizer.json, vocab.txt or a
// SentencePiece model, with tokenizer_config.json. Immutable: may be used from many threads.
class BERT_INFER_API Tokenizer {
 public:
  // max_length: 0 takes the limit that the tokenizer's files name, if any.
  static Tokenizer load(const std::string& directory, int max_length = 0);

  // Throws on invalid UTF-8, with the byte's position.
  Encoding encode(const Input& input) const;
  // Encodes all inputs, in order, on this many threads (0: as many as this process may use). If any
  // fail, throws the error of the first that does, as "input i: ...".
  std::vector<Encoding> encode(std::span<const Input> inputs, int threads = 0) const;
  // The token with an id, as the vocabulary spells it ("##ing").
  const std::string& token(int32_t id) const;
  // Whether the token continues the word before it.
  bool continues_word(int32_t id) const;
  int32_t mask_id() const;  // -1 if there is no mask token
  const std::vector<std::string>& notes() const;

 private:
  friend class Model;
  struct Impl;
  explicit Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// A loaded model. Immutable: may be used from many threads; copies share the weights. One that was
// moved from may only be assigned to or destroyed, and a process that forks loads after it.
//
// Results do not depend on what else is in the call, on the batch size or on the thread count: an
// input gives the same bits in every company.
class BERT_INFER_API Model {
 public:
  static Model load(const std::string& directory, const Options& options = {});

  // Raw logits of each input, [N, C]: of a classification, a next sentence or a choice. Throws
  // where the checkpoint has no head for that.
  Output run(std::span<const Input> inputs) const;
  Output run(std::span<const Encoding> encodings) const;
  // Raw logits of each token, [N] of [S, C]: of a token classification, of question answering
  // (start and end), of a masked language model (the vocabulary's), of ELECTRA's pre-training.
  // Throws where the checkpoint has no head for that.
  std::vector<Output> run_tokens(std::span<const Input> inputs) const;
  std::vector<Output> run_tokens(std::span<const Encoding> encodings) const;
  // The k most probable tokens for each mask token of an input, [N]; from a masked language model.
  std::vector<std::vector<Blank>> fill_mask(std::span<const Input> inputs, int k = 5) const;
  std::vector<std::vector<Blank>> fill_mask(std::span<const Encoding> encodings, int k = 5) const;
  // The words of the inputs with their labels, [N]; from a token classification.
  std::vector<Tags> tag(std::span<const Input> inputs) const;
  // What part of each second text answers the first, [N]; from a model for question answering. A
  // text that does not fit is read in windows, each of which overlaps the one before.
  std::vector<Answer> answer(std::span<const Input> inputs,
                             const AnswerOptions& options = {}) const;
  // Which of its choices each text goes with, [N]; from a model for multiple choice.
  std::vector<Choice> choose(std::span<const Choices> inputs) const;
  // One vector an input, [N, info().embedding], as info().pooling says.
  Output embed(std::span<const Input> inputs) const;
  Output embed(std::span<const Encoding> encodings) const;
  // Last hidden states and pooler output, [N]; and the states after other layers: 0 is what enters
  // the first layer, L the last hidden state, and -1 that too, counted from the end.
  std::vector<Hidden> hidden(std::span<const Input> inputs, std::span<const int> layers = {}) const;
  std::vector<Hidden> hidden(std::span<const Encoding> encodings,
                             std::span<const int> layers = {}) const;
  // Attention probabilities of layers from 0 to L - 1, or from -1 back to -L, [N]. They take
  // A S S floats an input and layer.
  std::vector<Attention> attention(std::span<const Input> inputs,
                                   std::span<const int> layers) const;
  std::vector<Attention> attention(std::span<const Encoding> encodings,
                                   std::span<const int> layers) const;

  std::vector<Encoding> tokenize(std::span<const Input> inputs) const;
  const Tokenizer& tokenizer() const;
  const Info& info() const;

 private:
  struct Impl;
  friend struct Internals;  // what bert-regress sees of the stages between
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// The directory of the demo model that comes with the library: share/bert-infer/demo or models/demo
// in one of the folders above the library, or above the program that it is linked to statically.
// Throws where there is none.
BERT_INFER_API std::string demo_model();
BERT_INFER_API std::string version();

}  // namespace bert
