// SPDX-License-Identifier: Apache-2.0
//
// bert-infer in C (C99), for programs and languages that cannot call bert_infer.h. It has the same
// models and options, and gives bit-for-bit the same answers. It leaves out bert_ranking.h
// (zero-shot labels, relevance, corpora), max_sim, tokenizing for a role, and sparse and
// multi_vector of encodings.
//
//   bert_model* model;
//   if (bert_model_load("path/to/model", NULL, 0, &model)) puts(bert_error_message());
//   const bert_input pair = {{"A man plays.", 12}, {"Somebody plays.", 15}};
//   bert_result* result;
//   const bert_matrix* logits;
//   if (!bert_model_run(model, &pair, 1, &result, &logits)) printf("%f\n", logits->values[0]);
//   bert_result_free(result);
//   bert_model_free(model);
//
// Letters in shapes: N inputs (the argument `count`), S tokens of one input (special tokens
// included), H hidden size (that of the last state, if it is projected), L layers, C labels.
//
// Errors: a function that fails returns another bert_status than BERT_OK and sets its output
// arguments to NULL or zeros, and bert_error_message() says why. NULL where an argument is needed
// is an error too, unless a comment says what it stands for.
//
// Ownership: texts and arrays that are passed in are read before the function returns and belong to
// the caller. Answers are arrays in a bert_result, and valid until bert_result_free(). Texts, names
// and arrays of a model are valid until bert_model_free(). What a const pointer leads to must not
// be changed.
//
// Threads: a model may be used by any number of threads at once, as may a result; each is freed
// once, when no other thread uses it. Results do not need their model any more.
//
// Compatibility: within one SONAME, functions and option names are only added, and no struct
// changes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BERT_INFER_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bert_status {  // whether a call succeeded
  BERT_OK = 0,
  // A mistake in the call itself: NULL, a size beyond memory, an unknown name, a value that an
  // option cannot have.
  BERT_INVALID_ARGUMENT = 1,
  // Anything that bert_infer.h throws an Error for: a model's files, a text that is not UTF-8, an
  // id or a layer that the model does not have, a missing head, no memory.
  BERT_ERROR = 2,
  // Of a request to a queue (bert_queue_c.h): why it ended without an answer.
  BERT_CANCELLED = 3,
  BERT_DEADLINE = 4,
  BERT_CLOSED = 5,
  BERT_FULL = 6
} bert_status;

// What was wrong in the last call of this thread that failed, in one sentence in UTF-8; "" if none
// has. It stays the same until another call of this thread fails.
BERT_INFER_API const char* bert_error_message(void);

// The library's version, "1.2.3".
BERT_INFER_API const char* bert_version(void);

// The directory of the demo model that comes with the library. The string is never freed.
BERT_INFER_API bert_status bert_demo_model(const char** directory);

// `size` bytes of UTF-8. Those that the library returns are followed by a 0, which is not counted.
typedef struct bert_text {
  const char* data;
  size_t size;
} bert_text;

// A text, or a pair of texts: second.data is NULL for a single text (and not for an empty one).
typedef struct bert_input {
  bert_text first;
  bert_text second;
} bert_input;

// An option by its name, both as strings that end with a 0.
typedef struct bert_option {
  const char* name;
  const char* value;
} bert_option;

// A row-major matrix.
typedef struct bert_matrix {
  const float* values;  // [rows, columns]
  size_t rows;
  size_t columns;
} bert_matrix;

// Where a token or word stands in its text: [begin, end) in Unicode scalar values, not bytes.
typedef struct bert_offset {
  int32_t begin;
  int32_t end;
} bert_offset;

// The tokens [begin, end) of an encoding.
typedef struct bert_token_range {
  int32_t begin;
  int32_t end;
} bert_token_range;

// One input as the model reads it: [CLS] first [SEP], or [CLS] first [SEP] second [SEP].
typedef struct bert_encoding {
  const int32_t* ids;          // [size]
  const int32_t* type_ids;     // [size] segments: 0 first, 1 second. As an argument, NULL: all 0
  const bert_offset* offsets;  // [size], {0, 0} for special tokens. As an argument, not read
  size_t size;                 // S
  bert_token_range first;      // the tokens of each text, without special tokens. As an argument,
  bert_token_range second;     // not read
  int32_t truncated;           // whether tokens were dropped to keep to max_length
  int32_t unattended;          // number of trailing tokens that none attends to: bert_encoding.h
} bert_encoding;

typedef struct bert_model bert_model;    // a loaded model; immutable
typedef struct bert_result bert_result;  // owns the arrays of an answer

// Loads a model directory, or ORG/NAME or ORG/NAME@REVISION from Hugging Face's cache on this
// machine. options: [option_count], or NULL if that is 0. Their names and values:
//   precision     auto, f32, bf16 or int8
//   backend       auto, onednn or panels
//   workers       batches that are computed at the same time, at most 1024; 0: see bert_infer.h
//   threads       threads of each, at most 1024 in all; 0: see bert_infer.h
//   batch_tokens  the most tokens in a batch (4096)
//   kept_memory   the most bytes of memory to keep between calls (-1: 256 MB for each worker)
//   max_length    tokens to which inputs are truncated; 0: what the model's files say
//   prompt        the name of one in config_sentence_transformers.json; "": the default one
//   adapter       a LoRA adapter to add: the name of one of the model's own, or a folder of PEFT's
BERT_INFER_API bert_status bert_model_load(const char* name, const bert_option* options,
                                           size_t option_count, bert_model** model);
// Does nothing with NULL.
BERT_INFER_API void bert_model_free(bert_model* model);
// Frees a result and all of its arrays. Does nothing with NULL.
BERT_INFER_API void bert_result_free(bert_result* result);

// A number that describes the model, by name: layers, hidden (H), heads, intermediate, vocabulary,
// max_length (in tokens), embedding and token_vector (the size of bert_model_embed's and of
// bert_model_multi_vector's vectors), workers, threads (of each worker), kept_memory (the limit, in
// bytes); and 1 or 0 for has_logits, has_token_logits, has_pooler, has_sparse,
// has_chat_template.
BERT_INFER_API bert_status bert_model_info_number(const bert_model* model, const char* name,
                                                  int64_t* number);
// A text or a list of texts that describe the model, by name. One text: architecture, family, task
// (embed, classify, choose, fill-mask, tag, answer, detect, sparse or multi-vector), tokenizer,
// scores (softmax, sigmoid or raw), pooling, similarity (cosine, dot, euclidean, manhattan, maxsim
// or meanmaxsim), precision, backend. Lists, which may be empty: labels (C), files, notes.
BERT_INFER_API bert_status bert_model_info_texts(const bert_model* model, const char* name,
                                                 const bert_text** texts, size_t* count);
// The token with an id, as the vocabulary spells it ("##ing").
BERT_INFER_API bert_status bert_model_token(const bert_model* model, int32_t id, bert_text* token);

// Raw logits of each input, [N, C], for classification, next sentence prediction or multiple
// choice. inputs: [count], or NULL if that is 0, as in all functions below.
BERT_INFER_API bert_status bert_model_run(const bert_model* model, const bert_input* inputs,
                                          size_t count, bert_result** result,
                                          const bert_matrix** logits);
// Raw logits of each token, [N] of [S, C], for token classification, question answering (start and
// end), masked language models (the vocabulary) or ELECTRA's pre-training.
BERT_INFER_API bert_status bert_model_run_tokens(const bert_model* model, const bert_input* inputs,
                                                 size_t count, bert_result** result,
                                                 const bert_matrix** logits);
// One vector for each input, [N, embedding], pooled as the model's files say.
BERT_INFER_API bert_status bert_model_embed(const bert_model* model, const bert_input* inputs,
                                            size_t count, bert_result** result,
                                            const bert_matrix** embeddings);

// The tokens of the vocabulary that an input has a weight for, by ascending id.
typedef struct bert_sparse_vector {
  const int32_t* ids;    // [size]
  const float* weights;  // [size]
  size_t size;
} bert_sparse_vector;

// Weights of the vocabulary, [N], of SPLADE models and BGE-M3.
BERT_INFER_API bert_status bert_model_sparse(const bert_model* model, const bert_input* inputs,
                                             size_t count, bert_result** result,
                                             const bert_sparse_vector** vectors);

// Whether texts are queries or documents.
typedef enum bert_role { BERT_QUERY = 0, BERT_DOCUMENT = 1 } bert_role;

// Vectors of the tokens, [N] of [tokens, token_vector], of ColBERT models and BGE-M3.
// role: a bert_role.
BERT_INFER_API bert_status bert_model_multi_vector(const bert_model* model,
                                                   const bert_input* inputs, size_t count,
                                                   int32_t role, bert_result** result,
                                                   const bert_matrix** vectors);

typedef struct bert_hidden {  // the encoder's output for one input
  bert_matrix states;         // [S, H] last hidden state
  const float* pooler;        // [H] pooler output, or NULL if the model has no pooler
  const bert_matrix* layers;  // [layer_count] of [S, H], in the order asked for
  size_t layer_count;
} bert_hidden;

// Hidden states, [N]. layers: the layers whose states to return beside the last, [layer_count], or
// NULL if that is 0. 0 is the first layer's input, L or -1 the last hidden state.
BERT_INFER_API bert_status bert_model_hidden(const bert_model* model, const bert_input* inputs,
                                             size_t count, const int32_t* layers,
                                             size_t layer_count, bert_result** result,
                                             const bert_hidden** hidden);

// How much the tokens of one input attend to each other. Row a * S + i of a layer is how much token
// i attends to each token in head a; it sums to 1.
typedef struct bert_attention {
  const bert_matrix* layers;  // [layer_count] of [A * S, S], A heads
  size_t layer_count;
} bert_attention;

// Attention probabilities, [N]. layers: as above, but 0 to L - 1 or -L to -1.
BERT_INFER_API bert_status bert_model_attention(const bert_model* model, const bert_input* inputs,
                                                size_t count, const int32_t* layers,
                                                size_t layer_count, bert_result** result,
                                                const bert_attention** attention);

typedef struct bert_fill {  // a token that may stand at a mask token
  bert_text token;
  int32_t id;
  float probability;
} bert_fill;
// A mask token and what may stand there, most probable first.
typedef struct bert_blank {
  const bert_fill* fills;  // [fill_count]
  size_t fill_count;
  int32_t token;  // its index in the encoding
} bert_blank;
typedef struct bert_blanks {  // the mask tokens of one input
  const bert_blank* blanks;   // [blank_count], in the order of the text
  size_t blank_count;
} bert_blanks;

// The k most probable tokens for each mask token of each input, [N].
BERT_INFER_API bert_status bert_model_fill_mask(const bert_model* model, const bert_input* inputs,
                                                size_t count, int32_t k, bert_result** result,
                                                const bert_blanks** blanks);

// A labelled part of a text.
typedef struct bert_span {
  bert_text string;  // the text at the offset
  bert_text label;
  bert_offset offset;
  int32_t text;  // 0 for the first text, 1 for the second
  float probability;
} bert_span;
typedef struct bert_tags {  // the words and entities of one input
  const bert_span* words;   // [word_count], or tokens, as the aggregation says
  size_t word_count;
  const bert_span* entities;  // [entity_count]: neighbouring words of one entity, joined
  size_t entity_count;
  int32_t windows;
  int32_t tokens;     // in all windows
  int32_t truncated;  // whether a pair was; a single text never is
} bert_tags;

// The labelled words and entities of each input, [N]. Options:
//   aggregation  none, simple, first, average or max, as in Hugging Face's pipeline; or auto:
//                first, or for BIOES labels the most probable spans (auto)
//   stride       tokens by which the windows of a long text overlap (128)
// and of a GLiNER, which gives no words:
//   labels       what entities to find, separated by commas: "person,city"
//   threshold    entities have a greater probability (0.5)
//   nested       1: an entity may lie within another (0)
//   multi_label  1: the same words may have several labels (0)
BERT_INFER_API bert_status bert_model_tag(const bert_model* model, const bert_input* inputs,
                                          size_t count, const bert_option* options,
                                          size_t option_count, bert_result** result,
                                          const bert_tags** tags);

typedef struct bert_answer_span {  // a part of a text that answers a question
  bert_text string;                // the text at the offset, in whole words
  bert_offset offset;              // in the second text
  float score;                     // see bert_infer.h
} bert_answer_span;

typedef struct bert_answer {  // the best part, and what it was chosen from
  bert_text string;           // as in bert_answer_span
  bert_offset offset;
  float score;
  float no_answer;  // the score of [CLS], for no answer
  int32_t windows;
  int32_t tokens;                  // in all windows
  const bert_answer_span* others;  // [other_count] the next best, with the option top_k
  size_t other_count;
} bert_answer;

// The part of each second text that answers the first, [N]. Options:
//   stride         tokens by which the windows of a long text overlap (128)
//   answer_tokens  the most tokens of an answer (15)
//   top_k          how many answers to give, at most (1)
BERT_INFER_API bert_status bert_model_answer(const bert_model* model, const bert_input* inputs,
                                             size_t count, const bert_option* options,
                                             size_t option_count, bert_result** result,
                                             const bert_answer** answers);

typedef struct bert_choices {  // a text, and what may go with it
  bert_text first;
  const bert_text* choices;  // [choice_count]
  size_t choice_count;
} bert_choices;
typedef struct bert_choice {   // the candidate that fits best
  const float* logits;         // [choice_count]
  const float* probabilities;  // [choice_count]
  size_t choice_count;
  int32_t index;      // of the best choice
  int32_t tokens;     // in all pairs
  int32_t truncated;  // whether any pair was
} bert_choice;

// The choice that goes best with each text, [N].
BERT_INFER_API bert_status bert_model_choose(const bert_model* model, const bert_choices* inputs,
                                             size_t count, bert_result** result,
                                             const bert_choice** choices);

// The ids that the functions above would read, [N].
BERT_INFER_API bert_status bert_model_tokenize(const bert_model* model, const bert_input* inputs,
                                               size_t count, bert_result** result,
                                               const bert_encoding** encodings);

// The same as the functions above, for encodings instead of texts.
BERT_INFER_API bert_status bert_model_run_encodings(const bert_model* model,
                                                    const bert_encoding* encodings, size_t count,
                                                    bert_result** result,
                                                    const bert_matrix** logits);
BERT_INFER_API bert_status bert_model_run_tokens_encodings(const bert_model* model,
                                                           const bert_encoding* encodings,
                                                           size_t count, bert_result** result,
                                                           const bert_matrix** logits);
BERT_INFER_API bert_status bert_model_embed_encodings(const bert_model* model,
                                                      const bert_encoding* encodings, size_t count,
                                                      bert_result** result,
                                                      const bert_matrix** embeddings);
BERT_INFER_API bert_status bert_model_hidden_encodings(const bert_model* model,
                                                       const bert_encoding* encodings, size_t count,
                                                       const int32_t* layers, size_t layer_count,
                                                       bert_result** result,
                                                       const bert_hidden** hidden);
BERT_INFER_API bert_status bert_model_attention_encodings(const bert_model* model,
                                                          const bert_encoding* encodings,
                                                          size_t count, const int32_t* layers,
                                                          size_t layer_count, bert_result** result,
                                                          const bert_attention** attention);
BERT_INFER_API bert_status bert_model_fill_mask_encodings(const bert_model* model,
                                                          const bert_encoding* encodings,
                                                          size_t count, int32_t k,
                                                          bert_result** result,
                                                          const bert_blanks** blanks);

// Text to ids and back. Immutable: any number of threads may use one.
typedef struct bert_tokenizer bert_tokenizer;

// Loads the tokenizer of a directory, or of a model in Hugging Face's cache; no weights needed.
// max_length: texts are truncated to so many tokens; 0: what the files say, if anything.
BERT_INFER_API bert_status bert_tokenizer_load(const char* name, int32_t max_length,
                                               bert_tokenizer** tokenizer);
// The model's tokenizer, with its max_length and prompt. It may outlive the model; free it too.
BERT_INFER_API bert_status bert_model_tokenizer(const bert_model* model,
                                                bert_tokenizer** tokenizer);
// Does nothing with NULL.
BERT_INFER_API void bert_tokenizer_free(bert_tokenizer* tokenizer);
// The encodings of the inputs, [N], made on all threads that this process may use.
BERT_INFER_API bert_status bert_tokenizer_encode(const bert_tokenizer* tokenizer,
                                                 const bert_input* inputs, size_t count,
                                                 bert_result** result,
                                                 const bert_encoding** encodings);
// The text of ids, [count], as Hugging Face's fast tokenizers decode them. skips_special: 1 leaves
// out special tokens such as [SEP], 0 does not.
BERT_INFER_API bert_status bert_tokenizer_decode(const bert_tokenizer* tokenizer,
                                                 const int32_t* ids, size_t count,
                                                 int32_t skips_special, bert_result** result,
                                                 const bert_text** text);
// As bert_model_token, valid until bert_tokenizer_free().
BERT_INFER_API bert_status bert_tokenizer_token(const bert_tokenizer* tokenizer, int32_t id,
                                                bert_text* token);

typedef struct bert_label {  // one of those that a head chooses from
  bert_text name;
  int32_t index;
  float probability;  // NaN if the head's scores are raw
} bert_label;

// The label with the greatest of one input's logits, [count] (C), the first if there are several.
BERT_INFER_API bert_status bert_model_best_label(const bert_model* model, const float* logits,
                                                 size_t count, bert_label* label);
// Probabilities of a row of logits, [count], into the caller's array, which a failure leaves as it
// is; the logits themselves if the scores are raw.
BERT_INFER_API bert_status bert_model_probabilities(const bert_model* model, const float* logits,
                                                    size_t count, float* probabilities);
// The cosine of two vectors of `size` numbers, 0 if either is zero.
BERT_INFER_API bert_status bert_similarity(const float* a, const float* b, size_t size,
                                           float* similarity);

#ifdef __cplusplus
}
#endif
