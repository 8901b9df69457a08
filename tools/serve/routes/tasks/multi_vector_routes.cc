// SPDX-License-Identifier: Apache-2.0
//
// Vectors of tokens for late interaction, as Jina's clients ask for them.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/tasks/on_this_thread.h"
#include "tokenizer/unicode/utf8.h"
#include "tools/console/numbers.h"
#include "tools/console/vector_math.h"
#include "tools/serve/routes/route.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

constexpr Field kMultiVectorFields[] = {
    {"input", FieldType::some_text, "A text, or a batch of them.", true},
    {"input_type", FieldType::text, "What the texts are: query or document.", false,
     "\"document\""},
    {"dimensions", FieldType::count, "Only the first so many numbers, scaled to length 1."},
    {"embedding_type", FieldType::text, "float"},
    kModelField,
};

bert::Role role_of(const JsonObject& object) {
  const std::string role = object.text("input_type").value_or("document");
  if (role == "query") return bert::Role::query;
  if (role == "document") return bert::Role::document;
  object.fail("input_type", fmt::format("is '{}', expected query or document", role));
}

std::vector<bert::Encoding> encode_as(const Call& call, const ServedModel& model, bert::Role role,
                                      Work& work) {
  std::vector<bert::Input> inputs;
  for (std::string& text : call.object().some_text("input", work.is_batch)) {
    work.characters += static_cast<int64_t>(tokenizer::utf8::count_scalars(text));
    inputs.push_back({std::move(text)});
  }
  call.check_batch(inputs.size(), "input");
  std::vector<bert::Encoding> encodings = models::encode_here(model.model, inputs, role);
  work.inputs = std::ssize(inputs);
  for (const bert::Encoding& encoding : encodings) {
    if (encoding.truncated && !call.state.limits.auto_truncate) {
      refuse_field("input", fmt::format("holds a text of more than {} tokens, which this server "
                                        "does not cut",
                                        encoding.ids.size()));
    }
    work.tokens += std::ssize(encoding.ids);
  }
  return encodings;
}

struct MultiVectorAnswer {
  std::string model;
  int64_t columns;  // of each vector
  bool is_cut;
  int64_t tokens;

  Spelled operator()(const std::vector<bert::Output>& all) const {
    Spelled out;
    out.body = "{\"object\": \"list\", \"data\": [";
    for (size_t i = 0; i < all.size(); ++i) {
      out.body += fmt::format("{}{{\"object\": \"embeddings\", \"index\": {}, \"embeddings\": [",
                              i > 0 ? ", " : "", i);
      for (int64_t row = 0; row < all[i].rows; ++row) {
        if (row > 0) out.body += ", ";
        append(out.body, all[i].row(row));
      }
      out.body += "]}";
    }
    out.body += "], \"model\": ";
    append_quoted(out.body, model);
    out.body +=
        fmt::format(", \"usage\": {{\"prompt_tokens\": {0}, \"total_tokens\": {0}}}}}", tokens);
    return out;
  }

  void append(std::string& line, std::span<const float> row) const {
    std::vector<float> values(row.begin(), row.begin() + columns);
    if (is_cut) normalize(std::span(values));
    append_array(line, std::span<const float>(values), append_finite);
  }
};

Outcome multi_vector(const Call& call) {
  const JsonObject object = call.object();
  const ServedModel& model = call.model(Ability::multi_vector);
  const std::string type = object.text("embedding_type").value_or("float");
  if (type != "float") object.fail("embedding_type", fmt::format("is '{}', expected float", type));
  const bert::Role role = role_of(object);
  const int64_t size = model.info.token_vector;
  const int64_t columns = object.whole("dimensions", 1, size).value_or(size);
  Work work;
  auto encodings = encode_as(call, model, role, work);
  MultiVectorAnswer answer = {model.name, columns, columns < size, work.tokens};
  work.numbers = work.tokens * columns;
  set_ask<std::vector<bert::Output>>(
      work,
      [&model, role, encodings = std::move(encodings)](auto options, auto done) mutable {
        model.queue.multi_vector(std::move(encodings), role, std::move(options), std::move(done));
      },
      std::move(answer));
  return work;
}

}  // namespace

std::span<const Route> multi_vector_routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "/v1/multi-vector", Dialect::jina, multi_vector,
       "A vector for each token, of a ColBERT model or BGE-M3", kMultiVectorFields,
       R"({"input": ["A man plays.", "A dog barks."], "input_type": "document"})"},
  };
  return kRoutes;
}

}  // namespace bert::tools::serve
