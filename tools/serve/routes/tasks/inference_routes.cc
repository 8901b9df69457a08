// SPDX-License-Identifier: Apache-2.0
//
// The Open Inference Protocol, version 2, as KServe's clients speak it.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tools/console/numbers.h"
#include "tools/serve/routes/route.h"
#include "tools/serve/served/model_work.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

using nlohmann::ordered_json;

constexpr Field kInferFields[] = {
    {"inputs", FieldType::array,
     "One tensor: \"text\" of BYTES, [N] texts or [N, 2] pairs, or \"input_ids\" of INT64, [N, S].",
     true},
    {"outputs", FieldType::array, "Which outputs to return, by \"name\". Without it, all."},
    {"id", FieldType::text, "Is repeated in the answer."},
    {"model_name", FieldType::text, "The path's model, as KServe's client sends it."},
    {"parameters", FieldType::object, "{\"truncate\": false} refuses texts that are too long."},
};

constexpr Field kTensorFields[] = {
    {"name", FieldType::text, "", true},     {"shape", FieldType::array, "", true},
    {"datatype", FieldType::text, "", true}, {"data", FieldType::array, "", true},
    {"parameters", FieldType::object, ""},
};

constexpr Field kOutputFields[] = {
    {"name", FieldType::text, "", true},
    {"parameters", FieldType::object, ""},
};

// What Triton's and MLServer's clients add by themselves. Refusing it would refuse the clients; an
// answer always has its numbers in its JSON.
constexpr const char* kIgnored = "Is ignored.";
constexpr Field kInferParameters[] = {kTruncateFields[0],
                                      {"binary_data_output", FieldType::any, kIgnored},
                                      {"content_type", FieldType::any, kIgnored},
                                      {"priority", FieldType::any, kIgnored},
                                      {"timeout", FieldType::any, kIgnored}};
constexpr Field kTensorParameters[] = {{"content_type", FieldType::any, ""}};
constexpr Field kOutputParameters[] = {{"content_type", FieldType::any, ""},
                                       {"binary_data", FieldType::any, ""}};

constexpr int64_t kMost = int64_t{1} << 31;

// The outputs of a model, all of FP32 and [N, columns]. SPLADE and ColBERT models have none.
struct Outputs {
  bool is_classifier;
  int64_t columns;
  std::vector<std::string> names;
};

Outputs outputs_of(const ServedModel& model) {
  if (model.is_for(Ability::classify)) {
    return {true, std::ssize(model.info.labels), {"logits", "probabilities"}};
  }
  if (!model.can(Ability::embed)) return {false, 0, {}};
  return {false, model.info.embedding, {"embedding"}};
}

std::vector<int64_t> shape_in(const JsonObject& tensor) {
  std::vector<int64_t> shape;
  for (const json& size : *tensor.find("shape")) {
    if (!size.is_number_integer() || size.get<int64_t>() < 1 || size.get<int64_t>() > kMost) {
      tensor.fail("shape", fmt::format("holds {}, expected whole numbers from 1 to {}",
                                       tokenizer::printable(size.dump(), 60), kMost));
    }
    shape.push_back(size.get<int64_t>());
  }
  if (shape.empty() || shape.size() > 2) {
    tensor.fail("shape", fmt::format("has {} dimensions, expected 1 or 2", shape.size()));
  }
  if (shape.size() == 1) shape.push_back(1);
  return shape;
}

// The data in row-major order: flat, or nested by the shape. Rows of other lengths would be cut
// anew, and texts meet in pairs that nobody sent.
std::vector<const json*> data_in(const JsonObject& tensor, const std::vector<int64_t>& shape) {
  const json& data = *tensor.find("data");
  const bool is_nested = !data.empty() && data[0].is_array();
  std::vector<const json*> out;
  for (const json& row : data) {
    if (row.is_array() != is_nested) tensor.fail("data", "is neither flat nor an array of arrays");
    if (!is_nested) {
      out.push_back(&row);
      continue;
    }
    if (std::ssize(row) != shape[1]) {
      tensor.fail("data", fmt::format("has a row of {} elements, expected {} by its shape",
                                      row.size(), shape[1]));
    }
    for (const json& value : row) out.push_back(&value);
  }
  if (std::ssize(out) != shape[0] * shape[1]) {
    tensor.fail("data", fmt::format("holds {} elements, expected {} by its shape", out.size(),
                                    shape[0] * shape[1]));
  }
  return out;
}

std::vector<bert::Encoding> read_texts(const Call& call, const ServedModel& model,
                                       const JsonObject& tensor, const std::vector<int64_t>& shape,
                                       const std::vector<const json*>& data,
                                       const EncodeOptions& options, Work& work) {
  if (shape[1] > 2) tensor.fail("shape", "has more than 2 columns, expected texts or pairs");
  call.check_batch(static_cast<size_t>(shape[0]), "inputs.data");
  std::vector<bert::Input> inputs;
  for (const json* const value : data) {
    if (!value->is_string())
      tensor.fail("data", fmt::format("holds {}, expected strings", type_of(*value)));
    const bool is_second = shape[1] == 2 && !inputs.empty() && !inputs.back().second;
    if (is_second) {
      inputs.back().second = value->get<std::string>();
    } else {
      inputs.push_back({value->get<std::string>()});
    }
  }
  return encode(call, model, inputs, options, work);
}

std::vector<bert::Encoding> read_ids(const Call& call, const ServedModel& model,
                                     const JsonObject& tensor, const std::vector<int64_t>& shape,
                                     const std::vector<const json*>& data, Work& work) {
  call.check_batch(static_cast<size_t>(shape[0]), "inputs.data");
  std::vector<bert::Encoding> encodings;
  std::vector<int64_t> row;
  for (const json* const value : data) {
    if (!value->is_number_integer()) {
      tensor.fail("data", fmt::format("holds {}, expected whole numbers", type_of(*value)));
    }
    row.push_back(value->get<int64_t>());
    if (std::ssize(row) < shape[1]) continue;
    encodings.push_back(model.reader.encode_ids(row, "inputs.data"));
    row.clear();
  }
  work.inputs = shape[0];
  work.tokens = work.characters = shape[0] * shape[1];
  return encodings;
}

std::vector<bert::Encoding> read_tensor(const Call& call, const ServedModel& model,
                                        const JsonObject& object, Work& work) {
  const json& inputs = *object.find("inputs");
  if (!inputs.is_array() || inputs.size() != 1) {
    object.fail("inputs", "must be an array of one tensor, named text or input_ids");
  }
  const JsonObject tensor(inputs[0], kTensorFields, "inputs[0].");
  for (const char* const name : {"shape", "data"}) {
    if (!tensor.find(name)->is_array()) tensor.fail(name, "is no array");
  }
  const std::string name = *tensor.text("name"), type = *tensor.text("datatype");
  const std::vector<int64_t> shape = shape_in(tensor);
  const std::vector<const json*> data = data_in(tensor, shape);
  tensor.object("parameters", kTensorParameters);
  const bool is_text = name == "text";
  if (!is_text && name != "input_ids") {
    tensor.fail("name", fmt::format("is '{}', expected text or input_ids", name));
  }
  if (type != (is_text ? "BYTES" : "INT64")) {
    tensor.fail("datatype", fmt::format("is {}, expected {}", type, is_text ? "BYTES" : "INT64"));
  }
  const EncodeOptions options = encode_options(call, object.object("parameters", kInferParameters));
  return is_text ? read_texts(call, model, tensor, shape, data, options, work)
                 : read_ids(call, model, tensor, shape, data, work);
}

std::vector<std::string> wanted_outputs(const JsonObject& object, const Outputs& outputs) {
  const json* const wanted = object.find("outputs");
  if (wanted == nullptr) return outputs.names;
  if (!wanted->is_array()) object.fail("outputs", "is no array");
  std::vector<std::string> names;
  for (const json& each : *wanted) {
    const JsonObject output(each, kOutputFields, "outputs.");
    output.object("parameters", kOutputParameters);
    const std::string name = *output.text("name");
    if (std::ranges::find(outputs.names, name) == outputs.names.end()) {
      output.fail("name",
                  fmt::format("is '{}', expected {}", name, fmt::join(outputs.names, " or ")));
    }
    if (std::ranges::find(names, name) != names.end()) {
      output.fail("name", fmt::format("is '{}' twice", name));
    }
    names.push_back(name);
  }
  return names;
}

struct InferAnswer {
  const ServedModel& model;
  std::string id;
  std::vector<std::string> outputs;

  Spelled operator()(const bert::Output& rows) const {
    Spelled out;
    out.body = "{\"model_name\": ";
    append_quoted(out.body, model.name);
    out.body += ", \"id\": ";
    append_quoted(out.body, id);
    out.body += ", \"outputs\": ";
    append_array(out.body, std::span(outputs), [&](std::string& line, const std::string& name) {
      line += fmt::format(
          "{{\"name\": \"{}\", \"datatype\": \"FP32\", \"shape\": [{}, {}], \"data\": ", name,
          rows.rows, rows.columns);
      append_array(line, std::span<const float>(values_of(rows, name)), append_finite);
      line += '}';
    });
    out.body += '}';
    return out;
  }

  std::vector<float> values_of(const bert::Output& rows, const std::string& name) const {
    std::vector<float> values;
    for (int64_t i = 0; i < rows.rows; ++i) {
      const std::vector<float> row = scores_of(rows.row(i), model.info, name != "probabilities");
      values.insert(values.end(), row.begin(), row.end());
    }
    return values;
  }
};

Outcome infer(const Call& call) {
  const JsonObject object = call.object();
  const bool classifies = call.named->is_for(Ability::classify);
  const ServedModel& model = call.model(classifies ? Ability::classify : Ability::embed);
  if (const auto name = object.text("model_name"); name && *name != model.name) {
    object.fail("model_name", fmt::format("is '{}', but the path names {}", *name, model.name));
  }
  const Outputs outputs = outputs_of(model);
  Work work;
  work.is_batch = true;
  auto encodings = read_tensor(call, model, object, work);
  InferAnswer answer = {model, object.text("id").value_or(call.request.id),
                        wanted_outputs(object, outputs)};
  if (outputs.is_classifier) {
    work.numbers = work.inputs * outputs.columns * std::ssize(answer.outputs);
    return logits_work(model, std::move(encodings), std::move(work), std::move(answer));
  }
  return embedding_work(model, std::move(encodings), std::move(work), std::move(answer));
}

HttpResponse json_response(const ordered_json& value) {
  HttpResponse response;
  append_json(response.body, value);
  return response;
}

Outcome server_metadata(const Call&) {
  return json_response({{"name", "bert-serve"},
                        {"version", bert::version()},
                        {"extensions", ordered_json::array()}});
}

Outcome live(const Call&) { return json_response({{"live", true}}); }

Outcome model_ready(const Call& call) {
  return json_response({{"name", call.named->name}, {"ready", true}});
}

Outcome model_metadata(const Call& call) {
  const Outputs outputs = outputs_of(*call.named);
  ordered_json described = ordered_json::array();
  for (const std::string& name : outputs.names) {
    described.push_back({{"name", name}, {"datatype", "FP32"}, {"shape", {-1, outputs.columns}}});
  }
  return json_response({{"name", call.named->name},
                        {"versions", ordered_json::array()},
                        {"platform", "bert-infer"},
                        {"inputs",
                         {{{"name", "text"}, {"datatype", "BYTES"}, {"shape", {-1}}},
                          {{"name", "input_ids"}, {"datatype", "INT64"}, {"shape", {-1, -1}}}}},
                        {"outputs", described}});
}

}  // namespace

std::span<const Route> inference_routes() {
  static constexpr Route kRoutes[] = {
      {"GET",
       "/v2",
       Dialect::inference,
       server_metadata,
       "Open Inference Protocol: the server",
       {},
       {},
       true},
      {"GET", "/v2/health/live", Dialect::inference, live, "Whether the server runs", {}, {}, true},
      {"GET", "/v2/models/{model}", Dialect::inference, model_metadata,
       "A model's inputs and outputs"},
      {"GET", "/v2/models/{model}/ready", Dialect::inference, model_ready,
       "Whether a model is ready"},
      {"POST", "/v2/models/{model}/infer", Dialect::inference, infer,
       "A classifier's logits and probabilities, or another model's embeddings", kInferFields,
       R"({"inputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["A man plays."]}]})"},
  };
  return kRoutes;
}

}  // namespace bert::tools::serve
