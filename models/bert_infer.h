// SPDX-License-Identifier: Apache-2.0
//
// bert-infer runs BERT encoders from an unmodified Hugging Face directory. This is its public API;
// bert_queue.h adds requests that do not wait for their answers, bert_ranking.h ranking.
//
//   const bert::Model model = bert::Model::load("path/to/model");
//   const std::vector<bert::Input> pairs = {{"A man plays.", "Somebody plays."}};
//   const bert::Output logits = model.run(pairs);   // one row per input
//
// Letters in shapes: N inputs, S tokens of one input (special tokens included), H hidden size (that
// of the last state, if it is projected), A attention heads, L layers, C labels. Functions report
// failure by throwing bert::Error and nothing else (but see Options::progress).
#pragma once

#include <cstdint>
#include <functional>
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

// what() is one sentence that names the file or input, the field, what was found and what was
// expected. It may quote a model's files and the inputs. Control sequences are escaped (\x1b), and
// the middle of a message over a few hundred characters is omitted.
class BERT_INFER_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what);
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
  int64_t rows = 0, columns = 0;
  std::vector<float> values;  // [rows, columns]

  Output() = default;
  Output(int64_t n, int64_t m) : rows(n), columns(m), values(static_cast<size_t>(n * m)) {}
  std::span<float> row(int64_t i) {  // [columns]
    return {values.data() + i * columns, static_cast<size_t>(columns)};
  }
  std::span<const float> row(int64_t i) const {  // [columns]
    return {values.data() + i * columns, static_cast<size_t>(columns)};
  }
};

// The encoder's output for one input.
struct Hidden {
  Output states;               // [S, H] last hidden state
  std::vector<float> pooler;   // [H] pooler output, or empty if the checkpoint has no pooler
  std::vector<Output> layers;  // [S, H] for each requested layer
};

// What each token of one input attends to.
struct Attention {
  // For each requested layer the probabilities [A * S, S]. Row a * S + i is how much token i
  // attends to each token in head a; it sums to 1.
  std::vector<Output> layers;
};

// The number format of the products in the encoder's dense layers and attention. Sums, norms,
// softmax, GELU, the embeddings and the heads are always f32. Memory and time are relative to f32.
//   automatic  f32, or int8 if the directory holds int8 weights (from bert-convert)
//   f32        as close to float64 as float32 gets: logits agree to the fifth decimal
//   bf16       three quarters of the memory, close to f32; faster only if the processor multiplies
//              bf16, which info().notes tells for a BF16 checkpoint
//   int8       half the memory, a third of the time; about one label in a thousand changes (two
//              without VNNI, with 7-bit activations). Weights are s8 with one scale per output,
//              activations u8 with one scale per token
enum class Precision { automatic, f32, bf16, int8 };

// The matrix products of dense layers.
//   automatic  the faster of the two on this processor, by measurement
//   onednn     oneDNN: its micro-kernels from 3.6 on, its matmul primitives before. Not every
//              precision runs on every processor
//   panels     this library's own kernels
enum class Backend { automatic, onednn, panels };

struct Options {  // how a model is loaded and run
  Precision precision = Precision::automatic;
  Backend backend = Backend::automatic;
  // A call computes as many batches at the same time as there are workers, each on `threads`
  // threads; they share one copy of the weights. Work too small to split is one batch on all
  // threads. If both are 0, there are as many single-threaded workers as this process may use
  // threads (affinity, cgroup quota). If only threads is given, there is one worker; if only
  // workers is given, they divide the threads this process may use. Concurrent calls share all
  // workers times threads (at most 1024), divided anew at each batch; small calls, of up to 512
  // tokens, go first.
  int workers = 0, threads = 0;
  int batch_tokens = 4096;  // at most this many tokens at a time (a longer input runs alone)
  // At most this many bytes of working memory are kept for later calls; the rest is freed at
  // once. -1: 256 MB for each worker.
  int64_t kept_memory = -1;
  // Truncates inputs to this many tokens, except queries whose length the files set. 0 takes
  // max_seq_length of sentence_bert_config.json, else model_max_length of tokenizer_config.json,
  // else the number of positions, the limit in any case. Truncation in tokenizer.json is ignored.
  int max_length = 0;
  // The name of a prompt in config_sentence_transformers.json, to put before each first text. ""
  // takes the directory's default_prompt_name, if there is one.
  std::string prompt = {};
  // An adapter to add to the weights: one of those in the model's own files, by its name in
  // config.json's lora_adaptations, or a folder that PEFT wrote, which is looked for in the model's
  // directory first. "" adds none, except "retrieval" for jina_embeddings_v5.
  std::string adapter = {};
  // Called by the thread that loads, after each layer, with the number of layers loaded so far and
  // the total. An exception from it aborts loading: one derived from std::exception becomes an
  // Error with the same what(), any other is thrown on.
  std::function<void(int loaded, int layers)> progress = {};
};

// How logits become probabilities: depends on the config's problem_type and number of labels.
enum class Scores { softmax, sigmoid, raw };

// What a model is for.
enum class Task {
  embed,         // no head, the encoder alone
  classify,      // run(): one of the labels for each input
  choose,        // choose(): one of several choices
  fill_mask,     // fill_mask(): the tokens that mask tokens stand for
  tag,           // tag(): a label for each word
  answer,        // answer(): the part of the second text that answers the first
  detect,        // run_tokens(): which tokens were replaced (ELECTRA's pre-training)
  sparse,        // sparse(): weights of the vocabulary, and no vector of a whole input
  multi_vector,  // multi_vector(): a vector for each token, and none of a whole input
};

struct Info {                      // what a model is, and how it was loaded
  std::string architecture;        // as in config.json: BertForSequenceClassification, ...
  std::string family;              // model_type: "bert", "xlm-roberta", ...
  std::vector<std::string> files;  // those that were read: config.json, weights, tokenizer, ...
  std::string tokenizer;  // its algorithm: "WordPiece", "Unigram", "BPE", "WordLevel" or "none"
  int layers = 0, hidden = 0, heads = 0, intermediate = 0, vocabulary = 0;
  Task task = Task::embed;        // head_task, but embed if modules.json says how to pool
  Task head_task = Task::embed;   // what its head is for
  int max_length = 0;             // in tokens, special tokens included
  bool has_logits = false;        // whether there is a head for run()
  bool has_token_logits = false;  // whether there is a head for run_tokens()
  bool has_pooler = false, has_chat_template = false;  // the latter for pairs
  // [C], in the order of run()'s logits, or of run_tokens()' if the model has no head for run().
  // Empty for a masked language model, whose logits are the vocabulary's, and for a GLiNER.
  std::vector<std::string> labels;
  Scores scores = Scores::raw;
  std::string pooling;  // what embed() does: "mean", "cls, normalised", ...; "" if it does not
  int embedding = 0;    // size of its vectors: H, unless dense modules or truncate_dim change it
  bool has_sparse = false;  // whether sparse() works
  int token_vector = 0;     // size of multi_vector()'s vectors; 0 if there are none
  // How two inputs are compared: by the "cosine" of embeddings, unless the directory names their
  // "dot" product or negative "euclidean" or "manhattan" distance; by the "dot" product of sparse
  // vectors; by max_sim(): "maxsim", or that divided by the number of the query's vectors:
  // "meanmaxsim".
  std::string similarity;
  std::string precision, backend;  // in use: "f32", "bf16" or "int8"; "onednn" or "panels"
  int workers = 0, threads = 0;    // threads of each worker
  int64_t kept_memory = 0;         // the limit, in bytes
  std::vector<std::string> notes;  // what a user should know about loading, one sentence each
};

struct Label {  // one of those that a head chooses from
  int index = 0;
  std::string name;
  float probability = 0;  // NaN if the head's scores are raw
};

// One probability per logit, [C], or the logits themselves if the scores are raw.
BERT_INFER_API std::vector<float> probabilities(std::span<const float> logits, const Info& info);
// The label with the greatest logit, the first if there are several. Needs one logit per label.
BERT_INFER_API Label best_label(std::span<const float> logits, const Info& info);

// The cosine of two vectors of the same size, 0 if either is zero.
BERT_INFER_API float similarity(std::span<const float> a, std::span<const float> b);
// The measure of embeddings that info.similarity names; the cosine if it names one of max_sim().
BERT_INFER_API float similarity(std::span<const float> a, std::span<const float> b,
                                const Info& info);
// The indices of the k greatest scores, or of all if there are fewer, best first. Equal scores
// stay in order, NaNs come last.
BERT_INFER_API std::vector<int64_t> top_k(std::span<const float> scores, int64_t k);

// A mask token of an input and the tokens most likely to stand there, most probable first.
struct Blank {
  int32_t token = 0;  // its index in the encoding
  struct Fill {       // a token that may stand there
    int32_t id = 0;
    std::string token;
    float probability = 0;
  };
  std::vector<Fill> fills;
};

// The tokens of the vocabulary that an input has a weight for, by ascending id.
struct SparseVector {
  std::vector<int32_t> ids;
  std::vector<float> weights;  // greater than 0
};
BERT_INFER_API float dot(const SparseVector& a, const SparseVector& b);  // the dot product

// How late interaction treats an input (Khattab and Zaharia 2020): it marks queries and
// documents, fills up queries, and leaves out punctuation in documents.
enum class Role { query, document };
// The sum, over the query's vectors, of the greatest dot product with one of the document's. Throws
// if the vectors' sizes differ or the document has none.
BERT_INFER_API float max_sim(const Output& query, const Output& document);

// A labelled part of a text.
struct Span {
  int text = 0;        // 0 for the first text, 1 for the second
  Offset offset;       // in Unicode scalars
  std::string string;  // the text at that offset
  std::string label;
  float probability = 0;
};
// How labels of tokens become words and entities, as in Hugging Face's pipeline:
//   none     every token by itself; entities are the tokens that are not labelled O
//   simple   every token by itself; neighbouring tokens of one entity are joined
//   first    a word has the label of its first token; neighbouring words of one entity are joined
//   average, max  the same with the mean of its tokens' probabilities, or its most certain token's
//   automatic  first, or for BIOES labels (B-, I-, E- and S-KIND) the most probable spans
enum class Aggregation { none, simple, first, average, max, automatic };
struct TagOptions {  // of Model::tag()
  Aggregation aggregation = Aggregation::automatic;
  // A text that does not fit is read in windows that overlap by this many tokens, at most half a
  // window. A pair that does not fit is truncated.
  int stride = 128;
  // Of a GLiNER (Zaratiana et al. 2023), which reads single texts and gives no words: the labels of
  // the entities to find, with a probability greater than the threshold.
  std::vector<std::string> labels = {};
  float threshold = 0.5f;
  bool nested = false;       // an entity may lie within another; otherwise none overlap
  bool multi_label = false;  // the same words may have several labels
};
struct Tags {               // the words and entities of one input
  std::vector<Span> words;  // or tokens, as the aggregation says
  // Neighbouring words of one entity, joined: by labels of the form B-KIND and I-KIND, otherwise by
  // equal labels. Words labelled O are left out. The probability is the mean of the words'.
  std::vector<Span> entities;
  int windows = 1;
  int32_t tokens = 0;  // in all windows
  bool truncated = false;
};

struct AnswerOptions {   // of Model::answer()
  int stride = 128;      // tokens by which windows overlap, at most half a window
  int most_tokens = 15;  // the longest answer
  int top_k = 1;         // the most answers
};
// score: the probability of its start times that of its end, in its window. Among a window's
// 2 top_k + 10 best, scores of strings equal but for case add up, as in Hugging Face's pipeline.
struct AnswerSpan {
  Offset offset;       // in the second text, in Unicode scalars
  std::string string;  // the text at that offset, in whole words
  float score = 0;
};
struct Answer : AnswerSpan {  // the part of a text that answers a question best
  float no_answer = 0;        // the score of the first token, [CLS]; the least over all windows
  std::vector<AnswerSpan> others;  // the next best, [up to top_k - 1]
  int windows = 0;
  int32_t tokens = 0;  // in all windows
};

struct Choices {  // a text, and what may go with it
  std::string first;
  std::vector<std::string> choices;
};
struct Choice {                              // the candidate that fits best
  int index = 0;                             // of the best choice
  std::vector<float> logits, probabilities;  // [choices]
  int32_t tokens = 0;                        // in all pairs
  bool truncated = false;                    // whether any pair was
};

// Text to ids. Needs only the tokenizer files of a model directory: tokenizer.json, vocab.txt or a
// SentencePiece model, with tokenizer_config.json. It does not know a model's positions and default
// prompt; Model::tokenizer() does. A pair is put into the chat template for pairs, if there is one.
class BERT_INFER_API Tokenizer {
 public:
  // name: as find_model() takes it. max_length: 0 takes that of the tokenizer's files, if any.
  static Tokenizer load(const std::string& name, int max_length = 0);

  // Throws on invalid UTF-8, with the byte's position.
  Encoding encode(const Input& input) const;
  // Encodes all inputs, in order, on this many threads (0: as many as this process may use). If any
  // fail, throws the error of the first that does, as "input i: ...".
  std::vector<Encoding> encode(std::span<const Input> inputs, int threads = 0) const;
  // The strings of encode()'s tokens: the vocabulary's, but for added tokens and unknown
  // SentencePiece pieces the part of the text that they stand for.
  std::vector<std::string> strings(const Input& input) const;
  // Ids to text, as Hugging Face's fast tokenizers decode them; special tokens such as [SEP] are
  // left out if skips_special. Throws if the vocabulary does not have one of the ids.
  std::string decode(std::span<const int32_t> ids, bool skips_special = true) const;
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

// A loaded model. Immutable, so many threads may use it at once; copies share the weights. A
// moved-from model or tokenizer may only be assigned to or destroyed. After a fork, the child's
// calls run on the calling threads alone. The word embeddings are read in place from their
// file, which is mapped as long as the model lives: replacing that file is fine, but truncating it
// or writing into it kills the process (SIGBUS) or changes answers.
// An input gives the same bits regardless of what else is in the call, of the batch size and of the
// number of threads.
class BERT_INFER_API Model {
 public:
  // name: as find_model() takes it.
  static Model load(const std::string& name, const Options& options = {});

  // Raw logits of each input, [N, C]: for classification, next sentence prediction or multiple
  // choice. Throws if the checkpoint has no such head.
  Output run(std::span<const Input> inputs) const;
  Output run(std::span<const Encoding> encodings) const;
  // Raw logits of each token, [N] of [S, C]: for token classification, question answering (start
  // and end), masked language models (the vocabulary) or ELECTRA's pre-training. Throws if the
  // checkpoint has no such head.
  std::vector<Output> run_tokens(std::span<const Input> inputs) const;
  std::vector<Output> run_tokens(std::span<const Encoding> encodings) const;
  // The k most probable tokens for each mask token of each input, [N]. Needs a masked language
  // model.
  std::vector<std::vector<Blank>> fill_mask(std::span<const Input> inputs, int k = 5) const;
  std::vector<std::vector<Blank>> fill_mask(std::span<const Encoding> encodings, int k = 5) const;
  // The labelled words and entities of each input, [N]. Needs a head for tokens, or a GLiNER.
  std::vector<Tags> tag(std::span<const Input> inputs, const TagOptions& options = {}) const;
  // The part of each second text that answers the first, [N]. Needs a question answering head. A
  // text that does not fit is read in overlapping windows.
  std::vector<Answer> answer(std::span<const Input> inputs,
                             const AnswerOptions& options = {}) const;
  // The choice that goes best with each text, [N]. Needs a multiple choice head.
  std::vector<Choice> choose(std::span<const Choices> inputs) const;
  // One vector per input, [N, info().embedding], pooled as info().pooling says.
  Output embed(std::span<const Input> inputs) const;
  Output embed(std::span<const Encoding> encodings) const;
  // Weights of the vocabulary, [N]: of SPLADE models and BGE-M3.
  std::vector<SparseVector> sparse(std::span<const Input> inputs) const;
  std::vector<SparseVector> sparse(std::span<const Encoding> encodings) const;
  // Vectors of the tokens, [N] of [tokens, info().token_vector]: of ColBERT models and BGE-M3.
  // Encodings are used as they are: tokenize() with the role adds its prompt and tokens.
  std::vector<Output> multi_vector(std::span<const Input> inputs, Role role) const;
  std::vector<Output> multi_vector(std::span<const Encoding> encodings, Role role) const;
  // Last hidden states and pooler outputs, [N], and the hidden states at the given layers: 0 is the
  // first layer's input, L the last hidden state; negative ones count from the end, -1 being the
  // last hidden state.
  std::vector<Hidden> hidden(std::span<const Input> inputs, std::span<const int> layers = {}) const;
  std::vector<Hidden> hidden(std::span<const Encoding> encodings,
                             std::span<const int> layers = {}) const;
  // Attention probabilities of the given layers, 0 to L - 1 or from the end -1 to -L, [N]. They
  // take A * S * S floats per input and layer.
  std::vector<Attention> attention(std::span<const Input> inputs,
                                   std::span<const int> layers) const;
  std::vector<Attention> attention(std::span<const Encoding> encodings,
                                   std::span<const int> layers) const;

  // The encodings that the functions above make of the inputs, [N].
  std::vector<Encoding> tokenize(std::span<const Input> inputs) const;
  // The same for multi_vector(). Throws if the model has no token vectors.
  std::vector<Encoding> tokenize(std::span<const Input> inputs, Role role) const;
  const Tokenizer& tokenizer() const;
  const Info& info() const;
  // The bytes of working memory kept for later calls; release_memory() frees them.
  int64_t kept_memory() const;
  void release_memory() const;

 private:
  struct Impl;
  friend struct Internals;  // lets the project's own tools see the stages in between
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// The directory of a model: `name` itself if it is one, or that of ORG/NAME or ORG/NAME@REVISION
// (a branch, a tag or a commit; default: main) in Hugging Face's cache: HF_HUB_CACHE, or hub in
// HF_HOME, or ~/.cache/huggingface/hub. Nothing is downloaded. Throws if there is neither.
BERT_INFER_API std::string find_model(const std::string& name);
// The directory of the demo model that comes with the library: share/bert-infer/demo in a folder
// above the library, or above the program that it is linked into. Throws if there is none.
BERT_INFER_API std::string demo_model();
BERT_INFER_API std::string version();  // of the library, "1.2.3"

}  // namespace bert
