/* SPDX-License-Identifier: Apache-2.0 */
#include <bert_infer_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fewest digits that read back to the same float. */
static void print(float value, const char* after) {
  char text[32];
  int digits = 0;
  do {
    snprintf(text, sizeof text, "%.*g", ++digits, value);
  } while (strtof(text, NULL) != value);
  printf("%s%s", text, after);
}

int main(int argc, char** argv) {
  const char* directory;
  bert_model* model;
  bert_result* result;
  const bert_matrix* logits;
  bert_input pair;
  size_t i;
  if (argc != 3) return 2;
  pair.first.data = argv[1];
  pair.first.size = strlen(argv[1]);
  pair.second.data = argv[2];
  pair.second.size = strlen(argv[2]);
  if (bert_demo_model(&directory) || bert_model_load(directory, NULL, 0, &model) ||
      bert_model_run(model, &pair, 1, &result, &logits)) {
    fprintf(stderr, "%s\n", bert_error_message());
    return 1;
  }
  for (i = 0; i < logits->columns; ++i) {
    print(logits->values[i], i + 1 < logits->columns ? " " : "\n");
  }
  bert_result_free(result);
  bert_model_free(model);
  return 0;
}
