// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tokenizer/unicode/utf8.h"
#include "tools/infer/answers/numbers.h"
#include "tools/serve/routes/route.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

constexpr std::string_view kModels = "/models/", kInferenceModels = "/v2/models/";
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
  FoundRoute found = find_exactly(method, path);
  if (found.route != nullptr || !found.allow.empty() || models == nullptr) return found;
  for (const std::string_view root : {kModels, kInferenceModels}) {
    if (!path.starts_with(root)) continue;
    const auto [model, rest] = models->in_path(path.substr(root.size()));
    if (model == nullptr)
      models->named(path.substr(root.size(), path.find('/', root.size()) - root.size()));
    const std::string at = root == kModels ? std::string(rest.empty() ? "/" : rest)
                                           : fmt::format("{}{}{}", root, kPlaceholder, rest);
    found = find_exactly(method, at);
    found.named = model;
  }
  return found;
}

const ServedModel& Call::model(Ability ability) const {
  if (named != nullptr) return state.models.named(named->name, ability);
  if (!body.is_null()) {
    if (const auto name = object().text("model")) return state.models.named(*name, ability);
  }
  return state.models.first(ability);
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

std::vector<bert::Encoding> encode(const ServedModel& model, const std::vector<bert::Input>& inputs,
                                   const EncodeOptions& options, Work& work) {
  std::vector<bert::Encoding> encodings;
  encodings.reserve(inputs.size());
  for (const bert::Input& input : inputs) {
    encodings.push_back(model.reader.encode(input, options));
    work.tokens += std::ssize(encodings.back().ids);
    work.characters +=
        static_cast<int64_t>(tokenizer::utf8::count_scalars(input.first) +
                             (input.second ? tokenizer::utf8::count_scalars(*input.second) : 0));
  }
  work.inputs += std::ssize(inputs);
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
