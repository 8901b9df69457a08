// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/routes/spell_error.h"

#include "tools/console/json_text.h"

namespace bert::tools::serve {
namespace {

using nlohmann::ordered_json;

struct Spelling {
  const char* name;  // in the metrics
  const char* tei_type;
  int status;
  const char* openai_type;
  const char* openai_code;  // or null
  int openai_status;
};

constexpr const char* kInvalid = "invalid_request_error";
constexpr const char* kServer = "server_error";

Spelling spelling_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::syntax:
      return {"validation", "Validation", 400, kInvalid, nullptr, 400};
    case Refusal::empty:
      return {"validation", "Empty", 400, kInvalid, nullptr, 400};
    case Refusal::validation:
      return {"validation", "Validation", 422, kInvalid, nullptr, 400};
    case Refusal::unauthorized:
      return {"unauthorized", "Unauthorized", 401, kInvalid, "invalid_api_key", 401};
    case Refusal::no_route:
      return {"not_found", "NotFound", 404, kInvalid, "unknown_url", 404};
    case Refusal::no_model:
      return {"not_found", "NotFound", 404, kInvalid, "model_not_found", 404};
    case Refusal::method:
      return {"not_found", "NotFound", 405, kInvalid, nullptr, 405};
    case Refusal::too_large:
      return {"payload", "Validation", 413, kInvalid, nullptr, 413};
    case Refusal::backend:
      return {"model_type", "Backend", 424, kInvalid, nullptr, 424};
    case Refusal::overloaded:
      return {"overloaded", "Overloaded", 429, "rate_limit_error", "rate_limit_exceeded", 429};
    case Refusal::loading:
    case Refusal::stopping:
      return {"unhealthy", "Unhealthy", 503, kServer, nullptr, 503};
    case Refusal::deadline:
      return {"deadline", "Overloaded", 504, kServer, nullptr, 504};
    case Refusal::cancelled:
      return {"cancelled", "Overloaded", 499, kServer, nullptr, 499};
    case Refusal::transport:
      return {"transport", "Validation", 400, kInvalid, nullptr, 400};
    case Refusal::internal:
      break;
  }
  return {"internal", "Backend", 500, kServer, nullptr, 500};
}

ordered_json body_of(Dialect dialect, const Spelling& spelling, const RequestError& error) {
  switch (dialect) {
    case Dialect::openai: {
      ordered_json inner = {{"message", error.what()},
                            {"type", spelling.openai_type},
                            {"param", nullptr},
                            {"code", nullptr}};
      if (!error.field.empty()) inner["param"] = error.field;
      if (spelling.openai_code != nullptr) inner["code"] = spelling.openai_code;
      return {{"error", inner}};
    }
    case Dialect::cohere:
      return {{"message", error.what()}};
    case Dialect::jina:
      return {{"detail", error.what()}};
    case Dialect::inference:
      return {{"error", error.what()}};
    case Dialect::tei:
      break;
  }
  return {{"error", error.what()}, {"error_type", spelling.tei_type}};
}

}  // namespace

const char* name_of(Refusal refusal) { return spelling_of(refusal).name; }

HttpResponse spell_error(Dialect dialect, const RequestError& error) {
  const Spelling spelling = spelling_of(error.why);
  HttpResponse response;
  response.status = dialect == Dialect::openai ? spelling.openai_status : spelling.status;
  if (error.status != 0) response.status = error.status;
  append_json(response.body, body_of(dialect, spelling, error));
  if (error.why == Refusal::overloaded || error.why == Refusal::loading ||
      error.why == Refusal::stopping) {
    response.headers.emplace_back("Retry-After", "1");
  }
  // OpenAI's clients would ask twice more, and add to the load.
  if (error.why == Refusal::deadline) {
    response.headers.emplace_back("x-should-retry", "false");
  }
  if (error.why == Refusal::unauthorized) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  return response;
}

}  // namespace bert::tools::serve
