// SPDX-License-Identifier: Apache-2.0
//
// What the C API's tests in C share. They are single files: the functions are static.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bert_infer_c.h"

static void check(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "%d: %s\n(the last message: %s)\n", line, what, bert_error_message());
  exit(1);
}
#define CHECK(condition) check(condition, #condition, __LINE__)
#define SUCCEEDS(call) check((call) == BERT_OK, #call, __LINE__)
// The message must contain `part`.
#define REFUSES(call, part) \
  check((call) == BERT_INVALID_ARGUMENT && strstr(bert_error_message(), part), #call, __LINE__)
#define FAILS(call, part) \
  check((call) == BERT_ERROR && strstr(bert_error_message(), part), #call, __LINE__)

static const char* fixtures;

static bert_text text_of(const char* string) {
  const bert_text text = {string, strlen(string)};
  return text;
}

static bert_input pair_of(const char* first, const char* second) {
  bert_input input = {{NULL, 0}, {NULL, 0}};
  input.first = text_of(first);
  if (second != NULL) input.second = text_of(second);
  return input;
}

static bert_model* load(const char* name) {
  const bert_option options[] = {{"threads", "2"}, {"precision", "f32"}};
  char path[4096];
  bert_model* model = NULL;
  snprintf(path, sizeof path, "%s/%s", fixtures, name);
  SUCCEEDS(bert_model_load(path, options, 2, &model));
  return model;
}

static int same(const bert_matrix* a, const bert_matrix* b) {
  return a->rows == b->rows && a->columns == b->columns &&
         memcmp(a->values, b->values, a->rows * a->columns * sizeof(float)) == 0;
}

static void free_both(bert_result* a, bert_result* b) {
  bert_result_free(a);
  bert_result_free(b);
}
