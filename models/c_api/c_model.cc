// SPDX-License-Identifier: Apache-2.0
//
// Loading, what models say of themselves, and errors.
#include "models/c_api/c_model.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/bert_queue.h"
#include "models/c_api/boundary/c_arguments.h"
#include "models/tasks/task_names.h"

namespace bert::c_api {
namespace {

// An Error's text is shorter. No std::string, so that it needs neither memory nor a destructor.
thread_local char message[2048];

void set_message(const char* text) noexcept {
  const size_t size = std::min(std::strlen(text), sizeof message - 1);
  std::memcpy(message, text, size);
  message[size] = 0;
}

bert_status status_of(Unanswered::Reason reason) {
  switch (reason) {
    case Unanswered::Reason::cancelled:
      return BERT_CANCELLED;
    case Unanswered::Reason::deadline:
      return BERT_DEADLINE;
    case Unanswered::Reason::closed:
      return BERT_CLOSED;
    case Unanswered::Reason::full:
      return BERT_FULL;
  }
  return BERT_ERROR;
}

std::map<std::string_view, int64_t> numbers(const Info& info) {
  return {{"layers", info.layers},         {"hidden", info.hidden},
          {"heads", info.heads},           {"intermediate", info.intermediate},
          {"vocabulary", info.vocabulary}, {"max_length", info.max_length},
          {"embedding", info.embedding},   {"workers", info.workers},
          {"threads", info.threads},       {"kept_memory", info.kept_memory},
          {"has_logits", info.has_logits}, {"has_token_logits", info.has_token_logits},
          {"has_pooler", info.has_pooler}, {"has_chat_template", info.has_chat_template},
          {"has_sparse", info.has_sparse}, {"token_vector", info.token_vector}};
}

std::vector<bert_text> views_of(const std::vector<std::string>& texts) {
  std::vector<bert_text> views;
  for (const std::string& text : texts) views.push_back(view(text));
  return views;
}

}  // namespace

bert_status failure() noexcept {
  try {
    throw;
  } catch (const InvalidArgument& error) {
    set_message(error.what());
    return BERT_INVALID_ARGUMENT;
  } catch (const Unanswered& error) {
    set_message(error.what());
    return status_of(error.reason());
  } catch (const std::bad_alloc&) {
    set_message("out of memory");
  } catch (const std::exception& error) {
    set_message(error.what());
  } catch (...) {
    set_message("an unknown exception");
  }
  return BERT_ERROR;
}

}  // namespace bert::c_api

namespace c_api = bert::c_api;

bert_model::bert_model(const bert::Model& loaded)
    : model(loaded),
      task(bert::models::name_of(loaded.info().task)),
      scores(bert::models::name_of(loaded.info().scores)) {
  const bert::Info& info = model.info();
  texts = {{"architecture", {c_api::view(info.architecture)}},
           {"family", {c_api::view(info.family)}},
           {"task", {c_api::view(task)}},
           {"tokenizer", {c_api::view(info.tokenizer)}},
           {"scores", {c_api::view(scores)}},
           {"pooling", {c_api::view(info.pooling)}},
           {"similarity", {c_api::view(info.similarity)}},
           {"precision", {c_api::view(info.precision)}},
           {"backend", {c_api::view(info.backend)}},
           {"labels", c_api::views_of(info.labels)},
           {"files", c_api::views_of(info.files)},
           {"notes", c_api::views_of(info.notes)}};
}

const char* bert_error_message(void) { return c_api::message; }

const char* bert_version(void) { return BERT_INFER_VERSION; }

bert_status bert_demo_model(const char** directory) {
  if (directory != nullptr) *directory = nullptr;
  return c_api::call([&] {
    // If it throws, it is tried again.
    static const auto& found = *new const std::string(bert::demo_model());
    c_api::required(directory, "directory") = found.c_str();
  });
}

bert_status bert_model_load(const char* name, const bert_option* options, size_t option_count,
                            bert_model** model) {
  if (model != nullptr) *model = nullptr;
  return c_api::call([&] {
    c_api::required(model, "model");
    const char* directory = &c_api::required(name, "name");
    const bert::Options read = c_api::read_load_options(options, option_count);
    *model = new bert_model(bert::Model::load(directory, read));
  });
}

void bert_model_free(bert_model* model) { delete model; }

void bert_result_free(bert_result* result) { delete result; }

bert_status bert_model_info_number(const bert_model* model, const char* name, int64_t* number) {
  if (number != nullptr) *number = 0;
  return c_api::call([&] {
    const auto numbers = c_api::numbers(c_api::required(model, "model").model.info());
    c_api::required(number, "number") =
        c_api::find_by_name(numbers, name, "the model's description");
  });
}

bert_status bert_model_info_texts(const bert_model* model, const char* name,
                                  const bert_text** texts, size_t* count) {
  if (texts != nullptr) *texts = nullptr;
  if (count != nullptr) *count = 0;
  return c_api::call([&] {
    c_api::required(texts, "texts");
    c_api::required(count, "count");
    const auto& found =
        c_api::find_by_name(c_api::required(model, "model").texts, name, "the model's description");
    *texts = found.data();
    *count = found.size();
  });
}

bert_status bert_model_token(const bert_model* model, int32_t id, bert_text* token) {
  if (token != nullptr) *token = {};
  return c_api::call([&] {
    c_api::required(token, "token") =
        c_api::view(c_api::required(model, "model").model.tokenizer().token(id));
  });
}

bert_status bert_model_best_label(const bert_model* model, const float* logits, size_t count,
                                  bert_label* label) {
  if (label != nullptr) *label = {};
  return c_api::call([&] {
    const bert::Info& info = c_api::required(model, "model").model.info();
    const bert::Label best = bert::best_label(c_api::read_floats(logits, count, "logits"), info);
    c_api::required(label, "label") = {c_api::view(info.labels[best.index]), best.index,
                                       best.probability};
  });
}

bert_status bert_model_probabilities(const bert_model* model, const float* logits, size_t count,
                                     float* probabilities) {
  return c_api::call([&] {
    const bert::Info& info = c_api::required(model, "model").model.info();
    const auto read = c_api::read_floats(logits, count, "logits");
    if (count > 0) c_api::required(probabilities, "probabilities");
    std::ranges::copy(bert::probabilities(read, info), probabilities);
  });
}

bert_status bert_similarity(const float* a, const float* b, size_t size, float* similarity) {
  if (similarity != nullptr) *similarity = 0;
  return c_api::call([&] {
    c_api::required(similarity, "similarity") =
        bert::similarity(c_api::read_floats(a, size, "a"), c_api::read_floats(b, size, "b"));
  });
}
