// SPDX-License-Identifier: Apache-2.0
//
// bert_queue.h in C: requests to a model that do not wait for their answers, gathered into batches.
// For servers and for programs with many threads. Without requests for choose and multi_vector, of
// encodings, or in the background.
//
//   bert_queue* queue;
//   bert_request* request;
//   const bert_option deadline = {"deadline_ms", "50"};
//   if (bert_queue_create(model, NULL, 0, &queue)) puts(bert_error_message());
//   if (bert_queue_submit(queue, "embed", inputs, count, &deadline, 1, NULL, &request)) ...
//   bert_status status = bert_request_matrix(request, &result, &embeddings);  // waits
//   if (status == BERT_DEADLINE) ...
//   bert_request_free(request);
//   bert_queue_free(queue);
//
// The rules of bert_infer_c.h for errors, ownership and compatibility hold here too.
//
// Threads: any number may use a queue and a request at once, but each is freed once, when no other
// thread uses it. A queue keeps its model's weights: the model may be freed before. Requests that
// are not freed may outlive their queue. In a forked child, a request that was pending at the fork
// never gets an answer, and may only be freed.
#pragma once

#include "bert_infer_c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bert_queue bert_queue;      // of requests to one model
typedef struct bert_request bert_request;  // can be waited for and cancelled

// options: [option_count], or NULL if that is 0: max_requests and max_tokens, the most that may
// wait; one request may have more tokens. One beyond is answered with BERT_FULL. 0: no limit.
BERT_INFER_API bert_status bert_queue_create(const bert_model* model, const bert_option* options,
                                             size_t option_count, bert_queue** queue);
// Ends requests that wait with BERT_CLOSED, and returns when those that were being computed have
// been answered and no callback runs any more. Not from a callback. Does nothing with NULL.
BERT_INFER_API void bert_queue_free(bert_queue* queue);

// A number by its name: what waits now and what is being computed (waiting_requests,
// waiting_tokens, computing_requests, computing_tokens), and since the queue was made, batches that
// were begun, what was in them, and requests with an answer and with an error (batches,
// batch_inputs, batch_tokens, answered, failed).
BERT_INFER_API bert_status bert_queue_statistic(const bert_queue* queue, const char* name,
                                                int64_t* number);

// Functions that the queue calls, from one of its threads; each may be NULL. They should be quick,
// may submit, but must not wait for an answer.
typedef struct bert_callbacks {
  // With 0 when the first of the inputs begin to be computed, and after each batch with the number
  // that are done; never twice at a time, and never after `done`.
  void (*progress)(void* context, int64_t done, int64_t inputs);
  // Once, when the request has its answer or its error. It may free the request.
  void (*done)(void* context, bert_request* request);
  void* context;
} bert_callbacks;

// Asks for what the function bert_model_TASK gives. task: run, run_tokens, embed, sparse, hidden,
// fill_mask, tag or answer. inputs: [count], tokenised before this returns. callbacks: or NULL;
// copied. Options:
//   deadline_ms    ends the request so many milliseconds from now
//   k              fill_mask: how many tokens for each mask token (5)
//   layers         hidden: the layers whose states to return beside the last, "0,-1" (none)
// and for tag and answer those of bert_model_tag and bert_model_answer.
// What is wrong with the call itself is returned; what is wrong with an input, or the model, is the
// request's answer.
BERT_INFER_API bert_status bert_queue_submit(bert_queue* queue, const char* task,
                                             const bert_input* inputs, size_t count,
                                             const bert_option* options, size_t option_count,
                                             const bert_callbacks* callbacks,
                                             bert_request** request);

// Ends the request with BERT_CANCELLED, unless it has an answer already: what of it waits is not
// computed, what is being computed is dropped.
BERT_INFER_API bert_status bert_request_cancel(bert_request* request);
// How many of the inputs are done, and of how many.
BERT_INFER_API bert_status bert_request_progress(const bert_request* request, int64_t* done,
                                                 int64_t* inputs);
// Waits until the request has its answer or its error, but at most timeout_ms milliseconds (-1: any
// time). is_done: 1 if it has, otherwise 0.
BERT_INFER_API bert_status bert_request_wait(const bert_request* request, int64_t timeout_ms,
                                             int32_t* is_done);
// Cancels the request if it has no answer, and returns when none of its callbacks runs. Of all
// callbacks, only the request's own `done` may call it, where it returns at once. Results stay.
// Does nothing with NULL.
BERT_INFER_API void bert_request_free(bert_request* request);

// The answer of a request for the task that is named, as the function bert_model_TASK returns it;
// they wait for it. It is handed out once. If the request ended with an error, that is returned:
// BERT_CANCELLED, BERT_DEADLINE, BERT_CLOSED, BERT_FULL, or BERT_ERROR.
BERT_INFER_API bert_status bert_request_matrix(bert_request* request, bert_result** result,
                                               const bert_matrix** matrix);  // run, embed
BERT_INFER_API bert_status bert_request_matrices(bert_request* request, bert_result** result,
                                                 const bert_matrix** matrices);  // run_tokens
BERT_INFER_API bert_status bert_request_sparse(bert_request* request, bert_result** result,
                                               const bert_sparse_vector** vectors);
BERT_INFER_API bert_status bert_request_hidden(bert_request* request, bert_result** result,
                                               const bert_hidden** hidden);
BERT_INFER_API bert_status bert_request_fill_mask(bert_request* request, bert_result** result,
                                                  const bert_blanks** blanks);
BERT_INFER_API bert_status bert_request_tag(bert_request* request, bert_result** result,
                                            const bert_tags** tags);
BERT_INFER_API bert_status bert_request_answer(bert_request* request, bert_result** result,
                                               const bert_answer** answers);

#ifdef __cplusplus
}
#endif
