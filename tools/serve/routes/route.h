// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "tools/serve/http/http_message.h"
#include "tools/serve/http/http_server.h"
#include "tools/serve/metrics.h"
#include "tools/serve/routes/json_object.h"
#include "tools/serve/served/served_models.h"
#include "tools/serve/served/work.h"
#include "tools/serve/turns.h"

namespace bert::tools::serve {

// Whose clients a route is for: how errors are spelt, and with which status.
enum class Dialect { tei, openai, cohere, jina, inference };

struct ServeLimits {
  int concurrent = 512;      // requests that are being answered
  int batch_tokens = 16384;  // that are computed at a time
  int client_batch = 2048;   // inputs of a request
  size_t body_bytes = 8'000'000;
  size_t answer_bytes = 512'000'000;
  bool auto_truncate = true;
  int seconds = 60;  // for a request
};

// What routes see of the server.
struct ServeState {
  Turns turns;          // outlives the models, whose queues call it
  ServedModels models;  // complete once `ready`
  ServeLimits limits;
  Metrics metrics;
  std::atomic<bool> ready = false, draining = false;
  std::shared_ptr<Places> answering = std::make_shared<Places>();
  std::function<HttpStatistics()> http;
};

// A request on its way through a route.
struct Call {
  const HttpRequest& request;
  const json& body;  // null for routes without fields
  const ServeState& state;
  const ServedModel* named;  // by the path, or null
  std::span<const Field> fields;

  JsonObject object() const { return {body, fields}; }
  // The body of a route that may have a task's fields in "parameters".
  JsonObject task(std::span<const Field> of) const;
  // The model that the path or the body's "model" names, or else the first that can.
  const ServedModel& model(Ability ability) const;
  // Throws if a batch is empty or too large.
  void check_batch(size_t inputs, const char* field) const;
  // Throws if nobody waits for the answer any more.
  void check_wanted() const;
};

using Outcome = std::variant<HttpResponse, Work>;

struct Route {
  std::string_view method, path;  // "{model}" in the path stands for the name of a model
  Dialect dialect;
  Outcome (*run)(const Call& call);  // throws RequestError
  std::string_view summary;
  std::span<const Field> fields = {};
  std::string_view example = {};  // of a body
  bool is_public = false;         // answered without a key, and while models are loaded
  bool makes_pairs = false;       // of one text and each of others, as many as a body may have
  std::span<const Field> parameters = {};  // what "parameters" may have
};

std::span<const Route> all_routes();
// Unescaped, and without slashes at its end. Throws RequestError.
std::string plain_path(const std::string& path);
// Of a path as it was sent, whether or not there is such a route or model.
Dialect dialect_of(std::string_view path);

struct FoundRoute {
  const Route* route = nullptr;  // null: there is none, or none for the method
  const ServedModel* named = nullptr;
  std::string allow = {};  // the methods of the path's routes
};
// models: null while they are loaded, when paths with names are not found yet. Throws RequestError
// for a model that is not there.
FoundRoute find_route(std::string_view method, std::string_view path, const ServedModels* models);

// The parts of the table, each from the file of its name.
std::span<const Route> embed_routes();
std::span<const Route> classify_routes();
std::span<const Route> multi_vector_routes();
std::span<const Route> rerank_routes();
std::span<const Route> token_routes();
std::span<const Route> pipeline_routes();
std::span<const Route> inference_routes();
std::span<const Route> attention_routes();
std::span<const Route> about_routes();

// What several routes have in common.

// "model", which every route of a client with several models has.
inline constexpr Field kModelField = {
    "model", FieldType::text, "A name of /v1/models. Without it, the first that can answer."};
inline constexpr Field kTruncateFields[] = {
    {"truncate", FieldType::flag, "Whether inputs that are too long are cut, or else refused."},
    {"truncation_direction", FieldType::text, "Where they are cut: left or right."},
};
EncodeOptions encode_options(const Call& call, const JsonObject& object);

// Texts to encodings, in `work` what it took.
bert::Encoding encode(const Call& call, const ServedModel& model, const bert::Input& input,
                      const EncodeOptions& options, Work& work);
std::vector<bert::Encoding> encode(const Call& call, const ServedModel& model,
                                   const std::vector<bert::Input>& inputs,
                                   const EncodeOptions& options, Work& work);
// The scores of each row, as the model's head means them, or raw.
std::vector<float> scores_of(std::span<const float> logits, const bert::Info& info, bool raw);
void append_label(std::string& line, const std::string& label, float score);

// Used by POST / as well, with the model chosen.
Work embed_work(const Call& call, const ServedModel& model);
Work sparse_work(const Call& call, const ServedModel& model);
Work similarity_work(const Call& call, const ServedModel& model);
Work rerank_work(const Call& call, const ServedModel& model);

}  // namespace bert::tools::serve
