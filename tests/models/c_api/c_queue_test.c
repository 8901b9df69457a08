// SPDX-License-Identifier: Apache-2.0
//
// Queues from C99: c_queue_test FIXTURES. Answers are the bits of the functions that wait; requests
// end by being cancelled, by their deadline, by the queue's limits and its end; and they may be
// freed at any time.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bert_queue_c.h"
#include "checks.h"

#define COUNT 40

static bert_queue* make_queue(const bert_model* model) {
  bert_queue* queue;
  SUCCEEDS(bert_queue_create(model, NULL, 0, &queue));
  return queue;
}

static int64_t statistic(const bert_queue* queue, const char* name) {
  int64_t number;
  SUCCEEDS(bert_queue_statistic(queue, name, &number));
  return number;
}

static bert_request* submit(bert_queue* queue, const char* task, const bert_input* inputs,
                            size_t count) {
  bert_request* request;
  SUCCEEDS(bert_queue_submit(queue, task, inputs, count, NULL, 0, NULL, &request));
  return request;
}

static void test_logits_and_states(void) {
  const bert_input inputs[] = {pair_of("A man.", "A dog."), pair_of("Two dogs run.", NULL)};
  const bert_option given[] = {{"layers", "0,-1"}, {"deadline_ms", "9223372036854775807"}};
  const int32_t wanted[] = {0, -1};
  bert_model* model = load("plain");
  bert_queue* queue = make_queue(model);
  bert_request *run = submit(queue, "run", inputs, 2), *embed = submit(queue, "embed", inputs, 2);
  bert_request* hidden;
  bert_result *found, *expected;
  const bert_matrix *a, *b;
  const bert_hidden *x, *y;
  int64_t done, of;
  int32_t is_done;
  SUCCEEDS(bert_queue_submit(queue, "hidden", inputs, 2, given, 2, NULL, &hidden));
  SUCCEEDS(bert_request_matrix(run, &found, &a));
  SUCCEEDS(bert_model_run(model, inputs, 2, &expected, &b));
  CHECK(same(a, b));
  free_both(found, expected);
  REFUSES(bert_request_matrix(run, &found, &a), "has been handed out already");
  CHECK(found == NULL && a == NULL);
  SUCCEEDS(bert_model_embed(model, inputs, 2, &expected, &b));
  bert_model_free(model);  // the queue has the weights
  REFUSES(bert_request_matrices(embed, &found, &a), "the request is for embed");
  SUCCEEDS(bert_request_matrix(embed, &found, &a));
  CHECK(same(a, b));
  free_both(found, expected);
  SUCCEEDS(bert_request_wait(hidden, -1, &is_done));
  CHECK(is_done);
  SUCCEEDS(bert_request_progress(hidden, &done, &of));
  CHECK(done == 2 && of == 2);
  SUCCEEDS(bert_request_hidden(hidden, &found, &x));
  CHECK(x[1].layer_count == 2 && same(&x[1].layers[1], &x[1].states));
  model = load("plain");
  SUCCEEDS(bert_model_hidden(model, inputs, 2, wanted, 2, &expected, &y));
  CHECK(same(&x[0].layers[0], &y[0].layers[0]) && same(&x[0].states, &y[0].states));
  CHECK(statistic(queue, "answered") == 3 && statistic(queue, "batch_inputs") == 6);
  CHECK(statistic(queue, "batches") <= 3);
  CHECK(statistic(queue, "batch_tokens") == (int64_t)(3 * (x[0].states.rows + x[1].states.rows)));
  free_both(found, expected);
  bert_request_free(run);
  bert_request_free(embed);
  bert_request_free(hidden);
  bert_queue_free(queue);
  bert_model_free(model);
}

static void test_other_tasks(void) {
  const bert_input masks = pair_of("A [MASK] plays.", NULL),
                   text = pair_of("A man plays chess.", NULL);
  const bert_input question = pair_of("Who plays?", "A man plays the guitar.");
  const bert_option k = {"k", "3"}, none = {"aggregation", "none"}, two = {"answer_tokens", "2"};
  bert_model *mlm = load("bert-mlm"), *tokens = load("bert-tokens"), *qa = load("bert-qa"),
             *splade = load("splade");
  bert_queue *of_mlm = make_queue(mlm), *of_tokens = make_queue(tokens), *of_qa = make_queue(qa),
             *of_splade = make_queue(splade);
  bert_model* const models[] = {mlm, tokens, qa, splade};
  bert_queue* const queues[] = {of_mlm, of_tokens, of_qa, of_splade};
  bert_request *fill, *tag, *answer, *sparse, *rows;
  bert_result *found, *expected;
  const bert_blanks *blanks, *wanted_blanks;
  const bert_tags *tags, *wanted_tags;
  const bert_answer *answers, *wanted_answers;
  const bert_sparse_vector *vectors, *wanted_vectors;
  const bert_matrix *matrices, *wanted_matrices;
  SUCCEEDS(bert_queue_submit(of_mlm, "fill_mask", &masks, 1, &k, 1, NULL, &fill));
  SUCCEEDS(bert_queue_submit(of_tokens, "tag", &text, 1, &none, 1, NULL, &tag));
  SUCCEEDS(bert_queue_submit(of_qa, "answer", &question, 1, &two, 1, NULL, &answer));
  sparse = submit(of_splade, "sparse", &text, 1);
  rows = submit(of_tokens, "run_tokens", &text, 1);
  bert_request* const requests[] = {fill, tag, answer, sparse, rows};

  SUCCEEDS(bert_request_fill_mask(fill, &found, &blanks));
  SUCCEEDS(bert_model_fill_mask(mlm, &masks, 1, 3, &expected, &wanted_blanks));
  CHECK(blanks->blank_count == 1 && blanks->blanks->fill_count == 3);
  CHECK(blanks->blanks->fills[0].id == wanted_blanks->blanks->fills[0].id);
  free_both(found, expected);
  SUCCEEDS(bert_request_tag(tag, &found, &tags));
  SUCCEEDS(bert_model_tag(tokens, &text, 1, &none, 1, &expected, &wanted_tags));
  CHECK(tags->word_count == wanted_tags->word_count);
  CHECK(tags->words[0].probability == wanted_tags->words[0].probability);
  free_both(found, expected);
  SUCCEEDS(bert_request_answer(answer, &found, &answers));
  SUCCEEDS(bert_model_answer(qa, &question, 1, &two, 1, &expected, &wanted_answers));
  CHECK(answers->score == wanted_answers->score);
  free_both(found, expected);
  SUCCEEDS(bert_request_sparse(sparse, &found, &vectors));
  SUCCEEDS(bert_model_sparse(splade, &text, 1, &expected, &wanted_vectors));
  CHECK(vectors->size == wanted_vectors->size && vectors->weights[0] == wanted_vectors->weights[0]);
  free_both(found, expected);
  SUCCEEDS(bert_request_matrices(rows, &found, &matrices));
  SUCCEEDS(bert_model_run_tokens(tokens, &text, 1, &expected, &wanted_matrices));
  CHECK(same(matrices, wanted_matrices));
  free_both(found, expected);

  for (int i = 0; i < 4; ++i) {
    bert_queue_free(queues[i]);
    bert_model_free(models[i]);
  }
  for (int i = 0; i < 5; ++i) bert_request_free(requests[i]);  // they may outlive their queue
}

static void test_mistakes(void) {
  const bert_input good = pair_of("A man.", NULL), bad = pair_of("\xff", NULL);
  const bert_option below[] = {{"max_requests", "-1"}, {"max_tokens", "-1"}};
  const bert_option unknown = {"k", "3"}, layers[] = {{"layers", "0,x"}, {"layers", "0;1"}};
  static const char* const wrong[][3] = {{"run", "deadline_ms", "number from 0"},
                                         {"tag", "stride", "number from 0"},
                                         {"answer", "stride", "number from 0"},
                                         {"answer", "answer_tokens", "number from 1"},
                                         {"fill_mask", "k", "number from 1"}};
  bert_model* model = load("plain");
  bert_queue* queue = (bert_queue*)&model;
  bert_request* request = (bert_request*)&model;
  bert_result* result;
  const bert_matrix* matrix;
  const bert_blanks* blanks;
  int64_t number = 7, of = 7;
  int32_t is_done = 7;
  REFUSES(bert_queue_create(NULL, NULL, 0, &queue), "model is NULL");
  CHECK(queue == NULL);
  REFUSES(bert_queue_create(model, NULL, 0, NULL), "queue is NULL");
  REFUSES(bert_queue_create(model, &unknown, 1, &queue),
          "expected one of max_requests, max_tokens");
  for (int i = 0; i < 2; ++i) {
    REFUSES(bert_queue_create(model, &below[i], 1, &queue), "expected a whole number from 0");
  }
  queue = make_queue(model);
  REFUSES(bert_queue_submit(NULL, "run", &good, 1, NULL, 0, NULL, &request), "queue is NULL");
  CHECK(request == NULL);
  REFUSES(bert_queue_submit(queue, NULL, &good, 1, NULL, 0, NULL, &request), "task is NULL");
  REFUSES(bert_queue_submit(queue, "walk", &good, 1, NULL, 0, NULL, &request),
          "unknown task 'walk', expected one of run, run_tokens, embed, sparse, hidden");
  REFUSES(bert_queue_submit(queue, "run", NULL, 1, NULL, 0, NULL, &request), "inputs is NULL");
  REFUSES(bert_queue_submit(queue, "run", &good, 1, NULL, 0, NULL, NULL), "request is NULL");
  REFUSES(bert_queue_submit(queue, "run", &good, 1, &unknown, 1, NULL, &request),
          "unknown option 'k', expected one of deadline_ms");
  for (int i = 0; i < 5; ++i) {
    const bert_option option = {wrong[i][1], "-2"};
    REFUSES(bert_queue_submit(queue, wrong[i][0], &good, 1, &option, 1, NULL, &request),
            wrong[i][2]);
  }
  REFUSES(bert_queue_submit(queue, "hidden", &good, 1, &layers[0], 1, NULL, &request),
          "option layers is '0,x', expected whole numbers");
  REFUSES(bert_queue_submit(queue, "hidden", &good, 1, &layers[1], 1, NULL, &request), "is '0;1'");
  // What is wrong with an input or the model is the request's answer.
  request = submit(queue, "run", &bad, 1);
  FAILS(bert_request_matrix(request, &result, &matrix), "UTF-8");
  FAILS(bert_request_matrix(request, &result, &matrix), "UTF-8");
  bert_request_free(request);
  request = submit(queue, "fill_mask", &good, 1);
  FAILS(bert_request_fill_mask(request, &result, &blanks), "no head for fill-mask");
  REFUSES(bert_request_fill_mask(request, NULL, &blanks), "result is NULL");
  REFUSES(bert_request_wait(request, 0, NULL), "is_done is NULL");
  REFUSES(bert_request_progress(request, NULL, &number), "done is NULL");
  CHECK(number == 0);
  bert_request_free(request);
  REFUSES(bert_request_matrix(NULL, &result, &matrix), "request is NULL");
  REFUSES(bert_request_cancel(NULL), "request is NULL");
  REFUSES(bert_request_wait(NULL, 0, &is_done), "request is NULL");
  CHECK(is_done == 0);
  REFUSES(bert_request_progress(NULL, &number, &of), "request is NULL");
  CHECK(number == 0 && of == 0);
  REFUSES(bert_queue_statistic(NULL, "failed", &number), "queue is NULL");
  REFUSES(bert_queue_statistic(queue, "failures", &number),
          "has no 'failures', expected one of an");
  CHECK(statistic(queue, "failed") == 2);
  request = submit(queue, "run", NULL, 0);
  SUCCEEDS(bert_request_matrix(request, &result, &matrix));
  CHECK(matrix->rows == 0);
  bert_result_free(result);
  bert_request_free(request);
  bert_request_free(NULL);
  bert_queue_free(NULL);
  bert_queue_free(queue);
  bert_model_free(model);
}

static void fill(bert_input* inputs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    inputs[i] = pair_of("A man plays the guitar in the garden and two dogs run on the beach.",
                        "Some people eat, and a girl plays the piano.");
  }
}

// Of requests that wait behind a large one.
static void test_endings(void) {
  enum { kLarge = 400 };
  static bert_input inputs[kLarge];
  const bert_option now = {"deadline_ms", "0"}, far = {"max_requests", "100000"};
  const bert_option limits[] = {{"max_requests", "3"}, {"max_tokens", "3"}, far};
  bert_model* model = load("plain");
  bert_queue *queue = make_queue(model), *limited;
  bert_request *large, *late, *closed[COUNT], *full[COUNT];
  bert_result* result;
  const bert_matrix* matrix;
  int32_t is_done;
  int ended[8] = {0};
  fill(inputs, kLarge);
  SUCCEEDS(bert_queue_submit(queue, "run", inputs, kLarge, &now, 1, NULL, &late));
  CHECK(bert_request_matrix(late, &result, &matrix) == BERT_DEADLINE && result == NULL);
  large = submit(queue, "run", inputs, kLarge);
  SUCCEEDS(bert_request_wait(large, -1, &is_done));
  CHECK(is_done);
  SUCCEEDS(bert_request_matrix(large, &result, &matrix));
  bert_result_free(result);
  for (int i = 0; i < COUNT; ++i) closed[i] = submit(queue, "run", inputs, kLarge);
  CHECK(statistic(queue, "waiting_tokens") > COUNT &&
        statistic(queue, "waiting_requests") <= COUNT);
  CHECK(statistic(queue, "computing_requests") <= COUNT);
  for (int i = 1; i < COUNT; i += 2) SUCCEEDS(bert_request_cancel(closed[i]));
  SUCCEEDS(bert_request_cancel(closed[COUNT - 1]));  // again
  SUCCEEDS(bert_request_wait(closed[COUNT - 2], 0, &is_done));
  CHECK(!is_done);
  SUCCEEDS(bert_request_wait(closed[0], INT64_MAX, &is_done));
  CHECK(is_done);
  bert_queue_free(queue);
  for (int i = 0; i < COUNT; ++i) {
    const bert_status status = bert_request_matrix(closed[i], &result, &matrix);
    ++ended[status];
    bert_result_free(result);  // NULL if it has none
    bert_request_free(closed[i]);
  }
  CHECK(ended[BERT_CLOSED] > 0 && ended[BERT_CANCELLED] > 0);
  CHECK(ended[BERT_OK] + ended[BERT_CLOSED] + ended[BERT_CANCELLED] == COUNT);
  for (int l = 0; l < 3; ++l) {
    int refused = 0;
    SUCCEEDS(bert_queue_create(model, &limits[l], 1, &limited));
    for (int i = 0; i < COUNT / 2; ++i) full[i] = submit(limited, "run", inputs, kLarge);
    CHECK(l != 1 || statistic(limited, "waiting_requests") <= 1);
    for (int i = 0; i < COUNT / 2; ++i) {
      SUCCEEDS(bert_request_wait(full[i], 0, &is_done));
      if (is_done) {
        if (bert_request_matrix(full[i], &result, &matrix) == BERT_FULL) ++refused;
        bert_result_free(result);  // NULL if it was refused
      }
      bert_request_free(full[i]);  // some of them are being computed
    }
    CHECK((refused > 0) == (l < 2));
    bert_queue_free(limited);
  }
  bert_request_free(large);
  bert_request_free(late);
  bert_model_free(model);
}

typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int64_t last, inputs;
  int began, answers, frees;
} Told;

static void on_progress(void* context, int64_t done, int64_t inputs) {
  Told* told = context;
  pthread_mutex_lock(&told->mutex);
  if (done == 0) told->began = 1;
  CHECK(told->answers == 0 && done >= told->last);
  told->last = done;
  told->inputs = inputs;
  pthread_mutex_unlock(&told->mutex);
}

static void on_done(void* context, bert_request* request) {
  Told* told = context;
  bert_result* result;
  const bert_matrix* matrix;
  SUCCEEDS(bert_request_matrix(request, &result, &matrix));
  CHECK(matrix->rows == COUNT);
  bert_result_free(result);
  if (told->frees) bert_request_free(request);
  pthread_mutex_lock(&told->mutex);
  ++told->answers;
  pthread_cond_signal(&told->changed);
  pthread_mutex_unlock(&told->mutex);
}

static void test_callbacks(void) {
  bert_model* model = load("plain");
  bert_queue* queue = make_queue(model);
  bert_input inputs[COUNT];
  fill(inputs, COUNT);
  int32_t is_done;
  for (int i = 0; i < 4; ++i) {  // the second request is freed in its callback; each may be NULL
    Told told = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, 0, i == 1};
    bert_callbacks callbacks = {i == 2 ? NULL : on_progress, i == 3 ? NULL : on_done, NULL};
    bert_request* request;
    callbacks.context = &told;
    SUCCEEDS(bert_queue_submit(queue, "run", inputs, COUNT, NULL, 0, &callbacks, &request));
    if (i == 3) SUCCEEDS(bert_request_wait(request, -1, &is_done));
    pthread_mutex_lock(&told.mutex);
    while (i < 3 && told.answers == 0) pthread_cond_wait(&told.changed, &told.mutex);
    CHECK(told.answers == (i < 3));
    if (i != 2) CHECK(told.began && told.last == COUNT && told.inputs == COUNT);
    pthread_mutex_unlock(&told.mutex);
    if (i != 1) bert_request_free(request);
  }
  bert_queue_free(queue);  // no callback runs any more
  bert_model_free(model);
}

static void* use_queue(void* queue) {
  const bert_input input = pair_of("A man plays the guitar in the garden.", "A man plays.");
  for (int i = 0; i < 30; ++i) {
    bert_request* request = submit(queue, "run", &input, 1);
    bert_result* result;
    const bert_matrix* logits;
    if (i % 3 == 0) SUCCEEDS(bert_request_cancel(request));
    if (i % 3 == 1) {
      SUCCEEDS(bert_request_matrix(request, &result, &logits));
      CHECK(logits->columns == 3);
      bert_result_free(result);
    }
    bert_request_free(request);
  }
  return NULL;
}

static void test_threads(void) {
  bert_model* model = load("plain");
  bert_queue* queue = make_queue(model);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, use_queue, queue) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(statistic(queue, "answered") + statistic(queue, "failed") == 120);
  bert_queue_free(queue);
  bert_model_free(model);
}

// Nothing in a child can end a request that was pending at the fork, but it can be freed.
static void test_fork(void) {
  enum { kLarge = 400 };
  static bert_input inputs[kLarge];
  bert_model* model = load("plain");
  bert_queue* queue = make_queue(model);
  bert_request* request;
  pid_t child;
  int status;
  fill(inputs, kLarge);
  request = submit(queue, "run", inputs, kLarge);
  child = fork();
  if (child == 0) {
    alarm(20);
    bert_request_free(request);
    bert_queue_free(queue);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  bert_request_free(request);
  bert_queue_free(queue);
  bert_model_free(model);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  fixtures = argv[1];
  test_logits_and_states();
  test_other_tasks();
  test_mistakes();
  test_endings();
  test_callbacks();
  test_threads();
  test_fork();
  puts("passed");
  return 0;
}
