// SPDX-License-Identifier: Apache-2.0
//
// What the server says of itself.
#include <ctime>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "models/tasks/task_names.h"
#include "tools/console/json_text.h"
#include "tools/serve/page/page.h"
#include "tools/serve/routes/openapi.h"
#include "tools/serve/routes/route.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

using nlohmann::ordered_json;

HttpResponse described(const ordered_json& value) {
  HttpResponse response;
  append_json(response.body, value);
  return response;
}

void require_ready(const Call& call) {
  if (call.state.draining)
    throw RequestError(Refusal::stopping, "unhealthy: the server is stopping");
  if (!call.state.ready) throw RequestError(Refusal::loading, "unhealthy: models are being loaded");
}

Outcome health(const Call& call) {
  require_ready(call);
  return HttpResponse{.type = ""};
}

Outcome health_ready(const Call& call) {
  require_ready(call);
  return described({{"ready", true}});
}

const char* dtype_of(const std::string& precision) {
  if (precision == "bf16") return "bfloat16";
  return precision == "int8" ? "int8" : "float32";
}

ordered_json model_type(const ServedModel& model) {
  const std::string kind = model.kind();
  if (model.info.task == bert::Task::multi_vector) return {{kind, ordered_json::object()}};
  if (model.info.task == bert::Task::sparse) return {{kind, {{"pooling", "splade"}}}};
  if (kind == "embedding") {  // "cls, normalised" is "cls" there
    const std::string& pooling = model.info.pooling;
    return {{kind, {{"pooling", pooling.substr(0, pooling.find_first_of(", "))}}}};
  }
  ordered_json id2label = ordered_json::object(), label2id = ordered_json::object();
  for (size_t i = 0; i < model.info.labels.size(); ++i) {
    id2label[std::to_string(i)] = model.info.labels[i];
    label2id[model.info.labels[i]] = i;
  }
  return {{kind, {{"id2label", id2label}, {"label2id", label2id}}}};
}

Outcome info(const Call& call) {
  const ServedModel& model = call.model(Ability::any);
  const ServeLimits& limits = call.state.limits;
  ordered_json names = ordered_json::array();
  for (const auto& each : call.state.models.all()) names.push_back(each->name);
  ordered_json about = {{"model_id", model.name},
                        {"model_sha", nullptr},
                        {"model_dtype", dtype_of(model.info.precision)},
                        {"served_model_name", model.name},
                        {"model_type", model_type(model)},
                        {"max_concurrent_requests", limits.concurrent},
                        {"max_input_length", model.info.max_length},
                        {"max_batch_tokens", limits.batch_tokens},
                        {"tokenization_workers", 1},
                        {"max_batch_requests", nullptr},
                        {"max_client_batch_size", limits.client_batch},
                        {"auto_truncate", limits.auto_truncate},
                        {"version", bert::version()},
                        {"sha", nullptr},
                        {"docker_label", nullptr},
                        {"architecture", model.info.architecture},
                        {"task", model.task()},
                        {"scores", models::name_of(model.info.scores)},
                        {"models", names}};
  const bert::Tokenizer& tokenizer = model.model.tokenizer();
  if (model.info.head_task == bert::Task::fill_mask && tokenizer.mask_id() >= 0) {
    about["mask_token"] = tokenizer.token(tokenizer.mask_id());
  }
  return described(about);
}

ordered_json model_entry(const ServedModel& model) {
  return {{"id", model.name}, {"object", "model"}, {"created", 0}, {"owned_by", "bert-serve"}};
}

Outcome list_models(const Call& call) {
  ordered_json data = ordered_json::array();
  for (const auto& model : call.state.models.all()) data.push_back(model_entry(*model));
  return described({{"object", "list"}, {"data", data}});
}

Outcome one_model(const Call& call) { return described(model_entry(*call.named)); }

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

void append_queues(std::string& text, const ServeState& state) {
  bert::QueueStatistics sum = state.models.statistics();
  sum.waiting_requests += state.turns.waiting_requests();
  sum.waiting_tokens += state.turns.waiting_tokens();
  const auto gauge = [&](const char* name, const char* about, int64_t value) {
    append_metric(text, name, "gauge", about);
    append_value(text, name, "", static_cast<double>(value));
  };
  gauge("te_queue_size", "Requests that wait for computation.", sum.waiting_requests);
  gauge("bert_serve_queue_tokens", "Tokens that wait for computation.", sum.waiting_tokens);
  gauge("bert_serve_computing_requests", "Requests being computed.", sum.computing_requests);
  gauge("bert_serve_computing_tokens", "Tokens being computed.", sum.computing_tokens);
}

Outcome metrics(const Call& call) {
  HttpResponse response = {.type = "text/plain; version=0.0.4; charset=utf-8"};
  std::string& text = response.body;
  call.state.metrics.append(text);
  if (call.state.ready) append_queues(text, call.state);
  const HttpStatistics http = call.state.http();
  const auto value = [&](const char* name, const char* type, const char* about, int64_t number) {
    append_metric(text, name, type, about);
    append_value(text, name, "", static_cast<double>(number));
  };
  value("bert_serve_ready", "gauge", "Whether requests are answered.",
        call.state.ready && !call.state.draining ? 1 : 0);
  value("bert_serve_requests_in_progress", "gauge",
        "Requests for computation that are being answered.", call.state.answering->taken());
  value("bert_serve_connections", "gauge", "Open connections.", http.connections);
  value("bert_serve_connections_total", "counter", "Connections since the start.", http.accepted);
  value("bert_serve_timeouts_total", "counter", "Requests that took too long to arrive.",
        http.timed_out);
  value("bert_serve_unreadable_total", "counter",
        "Requests that were no HTTP or beyond its limits.", http.unreadable);
  value("process_resident_memory_bytes", "gauge", "Memory of the process.", resident_bytes());
  return response;
}

// Nothing is loaded from elsewhere, nor may the page be shown inside another one.
constexpr const char* kPagePolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src "
    "'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Also a probe of health: those who look at the status alone need not know that it is a page.
Outcome front_page(const Call& call) {
  require_ready(call);
  HttpResponse response = {.body = std::string(kPage), .type = "text/html; charset=utf-8"};
  response.headers.emplace_back("Content-Security-Policy", kPagePolicy);
  return response;
}

Outcome openapi(const Call&) {
  HttpResponse response;
  response.body = openapi_document();
  return response;
}

Outcome documentation(const Call&) {
  HttpResponse response = {.type = "text/html; charset=utf-8"};
  response.body = documentation_page();
  response.headers.emplace_back("Content-Security-Policy",
                                "default-src 'none'; style-src 'unsafe-inline'");
  return response;
}

constexpr std::string_view kNoBody = {};

}  // namespace

std::span<const Route> about_routes() {
  static constexpr Route kRoutes[] = {
      {"GET",
       "/",
       Dialect::tei,
       front_page,
       "A page for people; 503 while requests are not answered",
       {},
       kNoBody,
       true},
      {"GET",
       "/health",
       Dialect::tei,
       health,
       "Whether requests are answered: 200, or else 503",
       {},
       kNoBody,
       true},
      {"GET", "/ping", Dialect::tei, health, "The same", {}, kNoBody, true},
      {"GET", "/v2/health/ready", Dialect::inference, health_ready, "The same", {}, kNoBody, true},
      {"GET", "/info", Dialect::tei, info, "The model and the server's limits"},
      {"GET", "/v1/models", Dialect::openai, list_models, "The models' names"},
      {"GET", "/v1/models/{model}", Dialect::openai, one_model, "One model's entry in /v1/models"},
      {"GET",
       "/metrics",
       Dialect::tei,
       metrics,
       "Metrics in Prometheus' text format",
       {},
       kNoBody,
       true},
      {"GET", "/openapi.json", Dialect::tei, openapi, "This description", {}, kNoBody, true},
      {"GET",
       "/docs",
       Dialect::tei,
       documentation,
       "This description as a page",
       {},
       kNoBody,
       true},
  };
  return kRoutes;
}

}  // namespace bert::tools::serve
