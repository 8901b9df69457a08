// SPDX-License-Identifier: Apache-2.0
//
// The C API from C99: c_api_test FIXTURES. Mistakes of the caller's are errors, not crashes;
// answers have the documented shapes and outlive their model; messages belong to threads. That
// answers are bert-infer's bits, tests/install/c_test.py checks.
#include <limits.h>
#include <pthread.h>

#include "checks.h"

static void load_refused(const char* name, const char* value, const char* part) {
  bert_option option;
  bert_model* model = (bert_model*)&option;
  option.name = name;
  option.value = value;
  REFUSES(bert_model_load("nowhere", &option, 1, &model), part);
  CHECK(model == NULL);
}

static void test_loading(void) {
  const bert_option twice[] = {{"threads", "1"}, {"threads", "1"}};
  bert_model* model = NULL;
  CHECK(strcmp(bert_error_message(), "") == 0);
  REFUSES(bert_model_load(NULL, NULL, 0, &model), "name is NULL");
  REFUSES(bert_model_load("nowhere", NULL, 0, NULL), "model is NULL");
  REFUSES(bert_model_load("nowhere", NULL, 1, &model), "options is NULL");
  REFUSES(bert_model_load("nowhere", twice, 2, &model), "option threads is given twice");
  FAILS(bert_model_load("nowhere", NULL, 0, &model), "nowhere");
  load_refused(NULL, "1", "options[0].name is NULL");
  load_refused("threads", NULL, "options[0].value is NULL");
  load_refused("Threads", "1",
               "unknown option 'Threads', expected one of precision, backend, workers");
  load_refused("threads", "", "option threads is '', expected a whole number from 0 to 1024");
  load_refused("threads", "1 ", "option threads is '1 '");
  load_refused("threads", "-1", "option threads is '-1'");
  load_refused("threads", "1025",
               "option threads is '1025', expected a whole number from 0 to 1024");
  load_refused("workers", "1025", "option workers is '1025'");
  load_refused("batch_tokens", "99999999999", "option batch_tokens is '99999999999'");
  load_refused("batch_tokens", "0", "option batch_tokens is '0', expected a whole number from 1");
  load_refused("max_length", "-1", "option max_length is '-1', expected a whole number from 0");
  load_refused("kept_memory", "-2", "option kept_memory is '-2', expected a whole number from -1");
  load_refused("precision", "f16", "expected one of auto, f32, bf16, int8");
  load_refused("backend", "gpu", "expected one of auto, onednn, panels");
  bert_model_free(NULL);
  bert_result_free(NULL);
  CHECK(strchr(bert_version(), '.') != NULL);
  REFUSES(bert_demo_model(NULL), "directory is NULL");
}

static void test_descriptions(const bert_model* model) {
  int64_t number = 7;
  size_t count = 7;
  const bert_text* texts = NULL;
  bert_text token;
  SUCCEEDS(bert_model_info_number(model, "threads", &number));
  CHECK(number == 2);
  SUCCEEDS(bert_model_info_texts(model, "precision", &texts, &count));
  CHECK(count == 1 && texts->size == 3 && strcmp(texts->data, "f32") == 0);
  SUCCEEDS(bert_model_info_texts(model, "labels", &texts, &count));
  CHECK(count == 3 && strcmp(texts[2].data, "LABEL_2") == 0);
  REFUSES(bert_model_info_number(model, "labels", &number), "has no 'labels', expected one of emb");
  CHECK(number == 0);
  REFUSES(bert_model_info_texts(model, "layers", &texts, &count), "has no 'layers'");
  CHECK(texts == NULL && count == 0);
  REFUSES(bert_model_info_number(NULL, "layers", &number), "model is NULL");
  REFUSES(bert_model_info_number(model, NULL, &number), "name is NULL");
  REFUSES(bert_model_info_number(model, "layers", NULL), "number is NULL");
  REFUSES(bert_model_info_texts(NULL, "labels", &texts, &count), "model is NULL");
  REFUSES(bert_model_info_texts(model, "labels", NULL, &count), "texts is NULL");
  REFUSES(bert_model_info_texts(model, "labels", &texts, NULL), "count is NULL");
  SUCCEEDS(bert_model_token(model, 0, &token));
  CHECK(token.size == strlen(token.data) && token.size > 0);
  CHECK(bert_model_token(model, INT_MAX, &token) == BERT_ERROR && token.data == NULL);
  CHECK(bert_model_token(model, -1, &token) == BERT_ERROR);
  REFUSES(bert_model_token(model, 0, NULL), "token is NULL");
}

static void test_labels(const bert_model* model) {
  const float logits[] = {0.5f, 2, -1};
  float probabilities[3], cosine = 7;
  bert_label label;
  SUCCEEDS(bert_model_best_label(model, logits, 3, &label));
  CHECK(label.index == 1 && strcmp(label.name.data, "LABEL_1") == 0);
  SUCCEEDS(bert_model_probabilities(model, logits, 3, probabilities));
  CHECK(label.probability == probabilities[1]);
  FAILS(bert_model_best_label(model, logits, 2, &label), "2 logits, but the model has 3 labels");
  CHECK(label.name.data == NULL);
  REFUSES(bert_model_best_label(model, NULL, 3, &label), "logits is NULL");
  REFUSES(bert_model_best_label(model, logits, 3, NULL), "label is NULL");
  REFUSES(bert_model_best_label(NULL, logits, 3, &label), "model is NULL");
  REFUSES(bert_model_probabilities(model, logits, 3, NULL), "probabilities is NULL");
  REFUSES(bert_model_probabilities(NULL, logits, 3, probabilities), "model is NULL");
  CHECK(probabilities[1] > 0);  // the caller's array is as it was
  SUCCEEDS(bert_similarity(logits, logits, 3, &cosine));
  CHECK(cosine > 0.99999f && cosine < 1.00001f);
  REFUSES(bert_similarity(logits, logits, SIZE_MAX, &cosine), "do not fit into memory");
  CHECK(cosine == 0);
  REFUSES(bert_similarity(logits, NULL, 3, &cosine), "b is NULL");
}

static void test_tag_options(const bert_model* model) {
  const bert_input good = pair_of("A man plays.", NULL);
  const bert_option nested = {"nested", "yes"}, threshold = {"threshold", "1.5"};
  bert_result* result;
  const bert_tags* tags;
  REFUSES(bert_model_tag(model, &good, 1, &nested, 1, &result, &tags), "expected 0 or 1");
  REFUSES(bert_model_tag(model, &good, 1, &threshold, 1, &result, &tags), "a probability from 0");
}

// Every function with the same mistakes.
static void test_mistakes(const bert_model* model) {
  const bert_input good = pair_of("A man plays.", NULL);
  bert_input bad = good;
  bert_result* result = (bert_result*)&bad;
  const bert_matrix* matrix = (const bert_matrix*)&bad;
  const bert_sparse_vector* sparse;
  const bert_hidden* hidden;
  const bert_blanks* blanks;
  const bert_tags* tags;
  const bert_answer* answers;
  const bert_choice* choices;
  const bert_encoding* encodings;
  bert_encoding ids = {NULL, NULL, NULL, 3, {0, 0}, {0, 0}, 0, 0};
  bert_choices question = {{"A", 1}, NULL, 1};
  const bert_option option = {"stride", "x"}, unknown = {"layers", "1"};
  const int32_t far[] = {1000};

  REFUSES(bert_model_run(NULL, &good, 1, &result, &matrix), "model is NULL");
  CHECK(result == NULL && matrix == NULL);
  REFUSES(bert_model_run(model, NULL, 1, &result, &matrix), "inputs is NULL");
  REFUSES(bert_model_run(model, &good, 1, NULL, &matrix), "result is NULL");
  REFUSES(bert_model_run(model, &good, 1, &result, NULL), "the pointer for the answers is NULL");
  REFUSES(bert_model_run(model, &good, SIZE_MAX, &result, &matrix), "do not fit into memory");
  bad.first.data = NULL;
  REFUSES(bert_model_run(model, &bad, 1, &result, &matrix), "inputs[0].first.data is NULL");
  bad.first = text_of("A");
  bad.first.size = SIZE_MAX;
  REFUSES(bert_model_run(model, &bad, 1, &result, &matrix), "inputs[0].first.size is");
  bad = good;
  bad.second.size = 1;
  REFUSES(bert_model_run(model, &bad, 1, &result, &matrix), "inputs[0].second.data is NULL");
  bad = pair_of("\xff", NULL);
  FAILS(bert_model_run(model, &bad, 1, &result, &matrix), "UTF-8");

  REFUSES(bert_model_run_tokens(NULL, &good, 1, &result, &matrix), "model is NULL");
  REFUSES(bert_model_embed(NULL, &good, 1, &result, &matrix), "model is NULL");
  REFUSES(bert_model_sparse(NULL, &good, 1, &result, &sparse), "model is NULL");
  FAILS(bert_model_sparse(model, &good, 1, &result, &sparse), "sparse");
  REFUSES(bert_model_multi_vector(NULL, &good, 1, BERT_QUERY, &result, &matrix), "model is NULL");
  REFUSES(bert_model_multi_vector(model, &good, 1, 7, &result, &matrix), "unknown role 7");
  REFUSES(bert_model_hidden(NULL, &good, 1, NULL, 0, &result, &hidden), "model is NULL");
  REFUSES(bert_model_hidden(model, &good, 1, NULL, 1, &result, &hidden), "layers is NULL");
  FAILS(bert_model_hidden(model, &good, 1, far, 1, &result, &hidden), "1000");
  REFUSES(bert_model_fill_mask(NULL, &good, 1, 5, &result, &blanks), "model is NULL");
  FAILS(bert_model_fill_mask(model, &good, 1, 5, &result, &blanks), "no head for fill-mask");
  REFUSES(bert_model_tag(NULL, &good, 1, NULL, 0, &result, &tags), "model is NULL");
  REFUSES(bert_model_tag(model, &good, 1, &option, 1, &result, &tags), "option stride is 'x'");
  REFUSES(bert_model_tag(model, &good, 1, &unknown, 1, &result, &tags), "unknown option 'layers'");
  REFUSES(bert_model_answer(NULL, &good, 1, NULL, 0, &result, &answers), "model is NULL");
  REFUSES(bert_model_answer(model, &good, 1, &unknown, 1, &result, &answers), "unknown option");
  REFUSES(bert_model_choose(NULL, &question, 0, &result, &choices), "model is NULL");
  REFUSES(bert_model_choose(model, &question, 1, &result, &choices), "inputs[0].choices is NULL");
  REFUSES(bert_model_tokenize(NULL, &good, 1, &result, &encodings), "model is NULL");
  REFUSES(bert_model_tokenize(model, NULL, 1, &result, &encodings), "inputs is NULL");
  REFUSES(bert_model_run_encodings(model, NULL, 1, &result, &matrix), "encodings is NULL");
  REFUSES(bert_model_run_encodings(model, &ids, 1, &result, &matrix), "encodings[0].ids is NULL");
  ids.ids = far;
  ids.size = 1;
  FAILS(bert_model_run_encodings(model, &ids, 1, &result, &matrix), "1000");
  ids.size = SIZE_MAX;
  REFUSES(bert_model_embed_encodings(model, &ids, 1, &result, &matrix), "do not fit into memory");
}

static void test_no_inputs(const bert_model* model) {
  bert_result* result;
  const bert_matrix* matrix;
  const bert_encoding* encodings;
  SUCCEEDS(bert_model_run(model, NULL, 0, &result, &matrix));
  CHECK(matrix->rows == 0);
  bert_result_free(result);
  SUCCEEDS(bert_model_tokenize(model, NULL, 0, &result, &encodings));
  bert_result_free(result);
}

// The answers of ids are those of the texts that they came from, and outlive the model.
static void test_encodings(void) {
  bert_model* model = load("plain");
  const bert_input inputs[] = {pair_of("A man.", "A dog."),
                               pair_of("A man plays the guitar.", NULL)};
  const int32_t layers[] = {0, -1};
  bert_result *tokens, *of_texts, *of_ids, *of_changed, *states;
  const bert_encoding* encodings;
  const bert_matrix *expected, *found, *changed;
  bert_encoding other[2];
  const bert_hidden* hidden;
  SUCCEEDS(bert_model_tokenize(model, inputs, 2, &tokens, &encodings));
  CHECK(encodings[0].second.begin > encodings[0].first.end && encodings[1].second.end == 0);
  CHECK(encodings[0].type_ids[encodings[0].size - 1] == 1 && !encodings[0].truncated);
  CHECK(encodings[0].offsets[1].end > 0);
  SUCCEEDS(bert_model_run(model, inputs, 2, &of_texts, &expected));
  SUCCEEDS(bert_model_run_encodings(model, encodings, 2, &of_ids, &found));
  memcpy(other, encodings, sizeof other);
  other[0].unattended = 1;
  other[1].type_ids = NULL;  // all 0
  SUCCEEDS(bert_model_run_encodings(model, other, 2, &of_changed, &changed));
  SUCCEEDS(bert_model_hidden_encodings(model, encodings, 2, layers, 2, &states, &hidden));
  bert_model_free(model);
  CHECK(expected->rows == 2 && expected->columns == 3 && found->rows == 2 && found->columns == 3);
  CHECK(same(expected, found));
  CHECK(memcmp(expected->values, changed->values, 3 * sizeof(float)) != 0);
  CHECK(memcmp(expected->values + 3, changed->values + 3, 3 * sizeof(float)) == 0);
  for (int i = 0; i < 2; ++i) {
    const bert_matrix* last = &hidden[i].layers[1];
    CHECK(hidden[i].layer_count == 2 && hidden[i].pooler != NULL);
    CHECK(last->rows == encodings[i].size && last->columns == hidden[i].states.columns);
    CHECK(same(last, &hidden[i].states));
  }
  free_both(tokens, of_texts);
  free_both(of_ids, of_changed);
  bert_result_free(states);
}

// The other functions that take encodings.
static void test_encodings_of_tasks(void) {
  const bert_input input = pair_of("A [MASK] plays the guitar.", NULL);
  const char* const names[] = {"st-mean", "bert-tokens", "bert-mlm"};
  for (int i = 0; i < 3; ++i) {
    bert_model* model = load(names[i]);
    bert_result *tokens, *of_text, *of_ids;
    const bert_encoding* encoding;
    const bert_matrix *expected, *found;
    const bert_blanks *blanks, *again;
    SUCCEEDS(bert_model_tokenize(model, &input, 1, &tokens, &encoding));
    if (i == 2) {
      SUCCEEDS(bert_model_fill_mask(model, &input, 1, 3, &of_text, &blanks));
      SUCCEEDS(bert_model_fill_mask_encodings(model, encoding, 1, 3, &of_ids, &again));
      CHECK(again->blank_count == 1 && again->blanks->fill_count == 3);
      CHECK(blanks->blanks->fills[2].id == again->blanks->fills[2].id);
    } else if (i == 1) {
      SUCCEEDS(bert_model_run_tokens(model, &input, 1, &of_text, &expected));
      SUCCEEDS(bert_model_run_tokens_encodings(model, encoding, 1, &of_ids, &found));
      CHECK(found->rows == encoding->size && same(expected, found));
    } else {
      SUCCEEDS(bert_model_embed(model, &input, 1, &of_text, &expected));
      SUCCEEDS(bert_model_embed_encodings(model, encoding, 1, &of_ids, &found));
      CHECK(same(expected, found));
    }
    free_both(of_text, of_ids);
    bert_result_free(tokens);
    bert_model_free(model);
  }
}

static void test_attention(const bert_model* model) {
  const bert_input input = pair_of("A man plays.", NULL);
  const int32_t layers[] = {0, -1}, far[] = {1000};
  bert_result *result, *tokens, *of_ids;
  const bert_attention *attention, *again;
  const bert_encoding* encoding;
  int64_t heads = 0;
  SUCCEEDS(bert_model_info_number(model, "heads", &heads));
  SUCCEEDS(bert_model_tokenize(model, &input, 1, &tokens, &encoding));
  SUCCEEDS(bert_model_attention(model, &input, 1, layers, 2, &result, &attention));
  SUCCEEDS(bert_model_attention_encodings(model, encoding, 1, layers, 2, &of_ids, &again));
  CHECK(attention->layer_count == 2);
  for (int i = 0; i < 2; ++i) {
    const bert_matrix* layer = &attention->layers[i];
    CHECK(layer->columns == encoding->size && layer->rows == (size_t)heads * layer->columns);
    CHECK(memcmp(layer->values, again->layers[i].values,
                 layer->rows * layer->columns * sizeof(float)) == 0);
    for (size_t row = 0; row < layer->rows; ++row) {
      float sum = 0;
      for (size_t j = 0; j < layer->columns; ++j) sum += layer->values[row * layer->columns + j];
      CHECK(sum > 0.9999f && sum < 1.0001f);
    }
  }
  bert_result_free(result);
  bert_result_free(tokens);
  bert_result_free(of_ids);
  REFUSES(bert_model_attention(NULL, &input, 1, layers, 2, &result, &attention), "model is NULL");
  REFUSES(bert_model_attention(model, &input, 1, NULL, 2, &result, &attention), "layers is NULL");
  FAILS(bert_model_attention(model, &input, 1, far, 1, &result, &attention), "1000");
}

// A tokenizer alone and a model's own, which outlives it.
static void test_tokenizers(void) {
  bert_model* model = load("plain");
  const bert_input input = pair_of("A man plays.", "A dog.");
  char path[4096];
  bert_tokenizer *alone, *own;
  bert_result *result, *expected, *decoded;
  const bert_encoding *found, *wanted;
  const bert_text* text;
  bert_text token;
  snprintf(path, sizeof path, "%s/plain", fixtures);
  SUCCEEDS(bert_tokenizer_load(path, 0, &alone));
  SUCCEEDS(bert_model_tokenizer(model, &own));
  SUCCEEDS(bert_model_tokenize(model, &input, 1, &expected, &wanted));
  bert_model_free(model);
  for (int i = 0; i < 2; ++i) {
    SUCCEEDS(bert_tokenizer_encode(i == 0 ? alone : own, &input, 1, &result, &found));
    CHECK(found->size == wanted->size);
    CHECK(memcmp(found->ids, wanted->ids, wanted->size * sizeof(int32_t)) == 0);
    bert_result_free(result);
  }
  SUCCEEDS(bert_tokenizer_decode(own, wanted->ids, wanted->size, 1, &decoded, &text));
  CHECK(strstr(text->data, "man plays") != NULL && strstr(text->data, "[SEP]") == NULL);
  CHECK(text->size == strlen(text->data));
  bert_result_free(decoded);
  SUCCEEDS(bert_tokenizer_decode(own, wanted->ids, wanted->size, 0, &decoded, &text));
  CHECK(strstr(text->data, "[SEP]") != NULL);
  bert_result_free(decoded);
  SUCCEEDS(bert_tokenizer_decode(own, NULL, 0, 0, &decoded, &text));
  CHECK(text->size == 0);
  bert_result_free(decoded);
  SUCCEEDS(bert_tokenizer_token(own, wanted->ids[0], &token));
  CHECK(strcmp(token.data, "[CLS]") == 0);
  CHECK(bert_tokenizer_token(own, -1, &token) == BERT_ERROR && token.data == NULL);
  CHECK(bert_tokenizer_decode(own, &(int32_t){INT_MAX}, 1, 1, &decoded, &text) == BERT_ERROR);
  bert_result_free(expected);
  bert_tokenizer_free(own);
  bert_tokenizer_free(alone);
  bert_tokenizer_free(NULL);
  SUCCEEDS(bert_tokenizer_load(path, 4, &alone));
  SUCCEEDS(bert_tokenizer_encode(alone, &input, 1, &result, &found));
  CHECK(found->size == 4 && found->truncated);
  bert_result_free(result);
  REFUSES(bert_tokenizer_encode(alone, NULL, 1, &result, &found), "inputs is NULL");
  REFUSES(bert_tokenizer_encode(NULL, &input, 1, &result, &found), "tokenizer is NULL");
  REFUSES(bert_tokenizer_decode(alone, NULL, 1, 1, &decoded, &text), "ids is NULL");
  REFUSES(bert_tokenizer_decode(NULL, NULL, 0, 1, &decoded, &text), "tokenizer is NULL");
  REFUSES(bert_tokenizer_token(NULL, 0, &token), "tokenizer is NULL");
  bert_tokenizer_free(alone);
  REFUSES(bert_tokenizer_load(NULL, 0, &alone), "name is NULL");
  REFUSES(bert_tokenizer_load(path, 0, NULL), "tokenizer is NULL");
  REFUSES(bert_model_tokenizer(NULL, &own), "model is NULL");
  FAILS(bert_tokenizer_load("nowhere", 0, &alone), "nowhere");
  REFUSES(bert_tokenizer_load(path, -1, &alone), "max_length is -1, expected at least 0");
  CHECK(alone == NULL);
}

static void test_masks(void) {
  bert_model* model = load("bert-mlm");
  const bert_input inputs[] = {pair_of("No mask.", NULL), pair_of("A [MASK] plays [MASK].", NULL)};
  bert_result* result;
  const bert_blanks* blanks;
  SUCCEEDS(bert_model_fill_mask(model, inputs, 2, 3, &result, &blanks));
  CHECK(blanks[0].blank_count == 0 && blanks[1].blank_count == 2);
  CHECK(blanks[1].blanks[1].fill_count == 3);
  CHECK(blanks[1].blanks[1].fills[0].probability >= blanks[1].blanks[1].fills[1].probability);
  bert_result_free(result);
  CHECK(bert_model_fill_mask(model, inputs, 2, -1, &result, &blanks) == BERT_ERROR);
  bert_model_free(model);
}

static void* use_in_thread(void* model) {
  const bert_input input = pair_of("A man plays the guitar in the garden.", "A man plays.");
  CHECK(strcmp(bert_error_message(), "") == 0);  // no other thread's
  for (int i = 0; i < 20; ++i) {
    bert_result* result;
    const bert_matrix* logits;
    SUCCEEDS(bert_model_run(model, &input, 1, &result, &logits));
    CHECK(logits->columns == 3);
    bert_result_free(result);
  }
  REFUSES(bert_model_run(model, NULL, 1, NULL, NULL), "result is NULL");
  return NULL;
}

static void test_threads(bert_model* model) {
  pthread_t threads[4];
  REFUSES(bert_model_load(NULL, NULL, 0, NULL), "model is NULL");
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, use_in_thread, model) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(strcmp(bert_error_message(), "model is NULL") == 0);
}

int main(int argc, char** argv) {
  bert_model* model;
  if (argc != 2) return 2;
  fixtures = argv[1];
  test_loading();
  model = load("plain");
  test_descriptions(model);
  test_labels(model);
  test_tag_options(model);
  test_mistakes(model);
  test_no_inputs(model);
  test_encodings();
  test_encodings_of_tasks();
  test_attention(model);
  test_tokenizers();
  test_masks();
  test_threads(model);
  bert_model_free(model);
  puts("passed");
  return 0;
}
