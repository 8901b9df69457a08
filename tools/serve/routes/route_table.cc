// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tokenizer/unicode/utf8.h"
#include "tools/console/numbers.h"
#include "tools/serve/routes/route.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

constexpr std::string_view kModels = "/models/", kInferenceModels = "/v2/models/",
                           kOpenaiModels = "/v1/models/";
constexpr std::string_view kPlaceholder = "{model}";

FoundRoute find_exactly(std::string_view method, std::string_view path) {
  FoundRoute found;
  for (const Route& route : all_routes()) {
    if (route.path != path) continue;
    if (!found.allow.empty()) found.allow += ", ";
    found.allow += route.method;
    if (route.method == method || (method == "HEAD" && route.method == "GET")) found.route = &route;
  }
  return found;
}

}  // namespace

std::string plain_path(const std::string& path) {
  std::string out;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = static_cast<char>(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      out += path[i];
      continue;
    }
    if (i + 2 >= path.size() || digit(path[i + 1]) < 0 || digit(path[i + 2]) < 0) {
      throw RequestError(Refusal::no_route, "the path has a % that escapes nothing");
    }
    out += static_cast<char>(digit(path[i + 1]) << 4 | digit(path[i + 2]));
    i += 2;
  }
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

Dialect dialect_of(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (path.starts_with(kInferenceModels)) return Dialect::inference;
  const Route* best = nullptr;
  for (const Route& route : all_routes()) {
    const bool fits =
        path == route.path || (path.starts_with(kModels) && path.ends_with(route.path));
    if (fits && (best == nullptr || route.path.size() > best->path.size())) best = &route;
  }
  if (best != nullptr) return best->dialect;
  return path.find("/v1/") != std::string_view::npos ? Dialect::openai : Dialect::tei;
}

std::span<const Route> all_routes() {
  static const std::vector<Route> all = [] {
    std::vector<Route> routes;
    for (const auto room : {embed_routes(), multi_vector_routes(), classify_routes(),
                            rerank_routes(), pipeline_routes(), token_routes(), attention_routes(),
                            inference_routes(), about_routes()}) {
      routes.insert(routes.end(), room.begin(), room.end());
    }
    return routes;
  }();
  return all;
}

FoundRoute find_route(std::string_view method, std::string_view path, const ServedModels* models) {
  // Only a model's name stands for the table's placeholder.
  if (path.find(kPlaceholder) != std::string_view::npos) return {};
  FoundRoute found = find_exactly(method, path);
  if (found.route != nullptr || !found.allow.empty() || models == nullptr) return found;
  for (const std::string_view root : {kModels, kInferenceModels, kOpenaiModels}) {
    if (!path.starts_with(root)) continue;
    const auto [model, rest] = models->in_path(path.substr(root.size()));
    if (model == nullptr)
      models->named(path.substr(root.size(), path.find('/', root.size()) - root.size()));
    const bool is_plain = root == kModels && !rest.empty();
    const std::string at =
        is_plain ? std::string(rest) : fmt::format("{}{}{}", root, kPlaceholder, rest);
    found = find_exactly(method, at);
    found.named = model;
  }
  return found;
}

const ServedModel& Call::model(Ability ability) const {
  const auto name = body.is_null() ? std::nullopt : object().text("model");
  if (named == nullptr) {
    return name ? state.models.named(*name, ability) : state.models.first(ability);
  }
  if (name && *name != named->name) {
    refuse_field("model", fmt::format("is '{}', but the path names {}", *name, named->name));
  }
  return state.models.named(named->name, ability);
}

JsonObject Call::task(std::span<const Field> of) const {
  object();  // which refuses what the route does not have
  return JsonObject::of_task(body, of);
}

void Call::check_batch(size_t inputs, const char* field) const {
  if (inputs == 0) {
    throw RequestError(Refusal::empty, fmt::format("`{}` cannot be empty", field), field);
  }
  if (inputs > static_cast<size_t>(state.limits.client_batch)) {
    throw RequestError(Refusal::validation,
                       fmt::format("batch size {} > maximum allowed batch size {}", inputs,
                                   state.limits.client_batch),
                       field);
  }
}

void Call::check_wanted() const {
  if (request.gone.stop_requested()) {
    throw RequestError(Refusal::cancelled, "the client has hung up");
  }
  if (Clock::now() > request.came + std::chrono::seconds(state.limits.seconds)) {
    throw RequestError(Refusal::deadline,
                       "the deadline of the request passed before all inputs were tokenized");
  }
}

EncodeOptions encode_options(const Call& call, const JsonObject& object) {
  EncodeOptions options;
  options.truncates = object.flag("truncate", call.state.limits.auto_truncate);
  options.prompt = object.text("prompt_name");
  if (const auto side = object.text("truncation_direction")) {
    if (*side == "left" || *side == "Left") {
      options.cut = Side::left;
    } else if (*side == "right" || *side == "Right") {
      options.cut = Side::right;
    } else {
      object.fail("truncation_direction", fmt::format("is '{}', expected left or right", *side));
    }
  }
  return options;
}

bert::Encoding encode(const Call& call, const ServedModel& model, const bert::Input& input,
                      const EncodeOptions& options, Work& work) {
  call.check_wanted();
  const auto encoded = [&] {
    try {
      return model.reader.encode(input, options);
    } catch (const RequestError& error) {
      if (!error.field.empty()) throw;
      throw RequestError(error.why, fmt::format("input {}: {}", work.inputs, error.what()));
    }
  };
  bert::Encoding encoding = encoded();
  ++work.inputs;
  work.tokens += std::ssize(encoding.ids);
  work.characters +=
      static_cast<int64_t>(tokenizer::utf8::count_scalars(input.first) +
                           (input.second ? tokenizer::utf8::count_scalars(*input.second) : 0));
  return encoding;
}

std::vector<bert::Encoding> encode(const Call& call, const ServedModel& model,
                                   const std::vector<bert::Input>& inputs,
                                   const EncodeOptions& options, Work& work) {
  std::vector<bert::Encoding> encodings;
  encodings.reserve(inputs.size());
  for (const bert::Input& input : inputs) {
    encodings.push_back(encode(call, model, input, options, work));
  }
  return encodings;
}

std::vector<float> scores_of(std::span<const float> logits, const bert::Info& info, bool raw) {
  if (raw) return {logits.begin(), logits.end()};
  return bert::probabilities(logits, info);
}

void append_label(std::string& line, const std::string& label, float score) {
  line += "{\"score\": ";
  append_finite(line, score);
  line += ", \"label\": ";
  append_quoted(line, label);
  line += '}';
}

}  // namespace bert::tools::serve
