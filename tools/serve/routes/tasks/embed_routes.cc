// SPDX-License-Identifier: Apache-2.0
//
// Embeddings: text-embeddings-inference's routes and OpenAI's.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "models/directory/inspection.h"
#include "tools/console/numbers.h"
#include "tools/console/vector_math.h"
#include "tools/serve/routes/route.h"
#include "tools/serve/routes/tasks/base64.h"
#include "tools/serve/served/model_work.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

constexpr Field kEmbedFields[] = {
    {"inputs", FieldType::inputs, "A text, its token ids, or a batch of these.", true},
    {"normalize", FieldType::flag, "Whether embeddings are scaled to length 1.", false, "true"},
    {"dimensions", FieldType::count, "Only the first so many numbers, before they are scaled."},
    {"prompt_name", FieldType::text,
     "Of the prompt to put before the inputs, a key in config_sentence_transformers.json."},
    kTruncateFields[0],
    kTruncateFields[1],
    {"encoding_format", FieldType::text, "float"},
    kModelField,
};

constexpr Field kEmbedAllFields[] = {
    kEmbedFields[0], kEmbedFields[3], kTruncateFields[0], kTruncateFields[1], kModelField,
};

constexpr Field kSimilarityFields[] = {
    {"inputs", FieldType::object, "{\"source_sentence\": text, \"sentences\": [text, ...]}", true},
    {"parameters", FieldType::object, "{\"truncate\", \"truncation_direction\", \"prompt_name\"}"},
    {"options", FieldType::object, "Is ignored."},
    kModelField,
};

constexpr Field kSentences[] = {
    {"source_sentence", FieldType::text, "", true},
    {"sentences", FieldType::texts, "", true},
};

constexpr Field kSimilarityTask[] = {
    kSimilarityFields[0], kEmbedFields[3], kTruncateFields[0], kTruncateFields[1], kModelField,
};

constexpr Field kOpenAiFields[] = {
    {"input", FieldType::inputs, "A text, its token ids, or a batch of these.", true},
    kModelField,
    {"encoding_format", FieldType::text,
     "float or base64, of little-endian 32-bit floating-point numbers.", false, "\"float\""},
    {"dimensions", FieldType::count, "Only the first so many numbers, scaled to length 1."},
    {"user", FieldType::any, "Is ignored."},
};

// How a row becomes the embedding that was asked for.
struct Shape {
  int64_t columns;
  bool normalizes;
  std::vector<float> of(std::span<const float> row) const {
    std::vector<float> values(row.begin(), row.begin() + columns);
    if (normalizes) normalize(std::span(values));
    return values;
  }
};

Shape shape_of(const ServedModel& model, const JsonObject& object, bool normalizes) {
  const int64_t size = model.info.embedding;
  const int64_t columns = object.whole("dimensions", 1, size).value_or(size);
  // Scaled twice, an embedding would not have quite the bits that the model gives it.
  const bool is_normalised = columns == size && bert::models::normalizes(model.model);
  return {columns, normalizes && !is_normalised};
}

std::vector<bert::Encoding> encode_inputs(const Call& call, const ServedModel& model,
                                          const JsonObject& object, const char* name, Work& work) {
  std::vector<bert::Encoding> encodings;
  const std::vector<TextOrIds> inputs = object.inputs(name, work.is_batch);
  call.check_batch(inputs.size(), name);
  const EncodeOptions options = encode_options(call, object);
  for (const TextOrIds& input : inputs) {
    if (const auto* const ids = std::get_if<std::vector<int64_t>>(&input)) {
      if (options.prompt) object.fail("prompt_name", "cannot be given with token ids");
      encodings.push_back(model.reader.encode_ids(*ids, name));
      ++work.inputs;
      work.tokens += std::ssize(*ids);
      work.characters += std::ssize(*ids);
    } else {
      encodings.push_back(encode(call, model, {std::get<std::string>(input)}, options, work));
    }
  }
  return encodings;
}

void append_floats(std::string& line, std::span<const float> values) {
  line.reserve(line.size() + values.size() * 14);
  append_array(line, values, append_finite);
}

Outcome embed(const Call& call) { return embed_work(call, call.model(Ability::embed)); }

Outcome embed_all(const Call& call) {
  const JsonObject object = call.object();
  const ServedModel& model = call.model(Ability::embed);
  Work work;
  auto encodings = encode_inputs(call, model, object, "inputs", work);
  work.numbers = work.tokens * model.info.hidden;
  set_ask<std::vector<bert::Hidden>>(
      work,
      [&model, encodings = std::move(encodings)](auto options, auto done) mutable {
        model.queue.hidden(std::move(encodings), {}, std::move(options), std::move(done));
      },
      [](const std::vector<bert::Hidden>& all) {
        Spelled out;
        append_array(out.body, std::span(all), [](std::string& line, const bert::Hidden& hidden) {
          line += '[';
          for (int64_t i = 0; i < hidden.states.rows; ++i) {
            if (i > 0) line += ", ";
            append_floats(line, hidden.states.row(i));
          }
          line += ']';
        });
        return out;
      });
  return work;
}

Outcome embed_sparse(const Call& call) { return sparse_work(call, call.model(Ability::sparse)); }

Outcome similarity(const Call& call) { return similarity_work(call, call.model(Ability::embed)); }

struct OpenAiAnswer {
  std::string model;
  Shape shape;
  bool base64;
  int64_t tokens;

  Spelled operator()(const bert::Output& rows) const {
    Spelled out;
    out.body = "{\"object\": \"list\", \"data\": [";
    for (int64_t i = 0; i < rows.rows; ++i) {
      out.body += fmt::format(
          "{}{{\"object\": \"embedding\", \"index\": {}, \"embedding\": ", i > 0 ? ", " : "", i);
      const std::vector<float> values = shape.of(rows.row(i));
      if (base64) {
        out.body += '"' + base64_of(values) + '"';
      } else {
        append_floats(out.body, values);
      }
      out.body += '}';
    }
    out.body += "], \"model\": ";
    append_quoted(out.body, model);
    out.body +=
        fmt::format(", \"usage\": {{\"prompt_tokens\": {0}, \"total_tokens\": {0}}}}}", tokens);
    return out;
  }
};

Outcome openai_embeddings(const Call& call) {
  const JsonObject object = call.object();
  const ServedModel& model = call.model(Ability::embed);
  const std::string format = object.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64") {
    object.fail("encoding_format", fmt::format("is '{}', expected float or base64", format));
  }
  Work work;
  auto encodings = encode_inputs(call, model, object, "input", work);
  OpenAiAnswer answer = {model.name, shape_of(model, object, true), format == "base64",
                         work.tokens};
  return embedding_work(model, std::move(encodings), std::move(work), std::move(answer));
}

constexpr std::string_view kOpenAiExample =
    R"({"input": ["A man plays.", "A dog barks."], "encoding_format": "float"})";

}  // namespace

std::span<const Route> embed_routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "/v1/embeddings", Dialect::openai, openai_embeddings, "Embeddings of texts",
       kOpenAiFields, kOpenAiExample},
      {"POST", "/embeddings", Dialect::openai, openai_embeddings, "The same as /v1/embeddings",
       kOpenAiFields, kOpenAiExample},
      {"POST", "/embed", Dialect::tei, embed, "Embeddings of texts", kEmbedFields,
       R"({"inputs": ["A man plays.", "A dog barks."]})"},
      {"POST", "/embed_all", Dialect::tei, embed_all, "The last hidden state of every token",
       kEmbedAllFields, R"({"inputs": "A man plays."})"},
      {"POST", "/embed_sparse", Dialect::tei, embed_sparse,
       "The weights of tokens, of a SPLADE model or BGE-M3", kEmbedAllFields,
       R"({"inputs": "A man plays."})"},
      {"POST", "/similarity", Dialect::tei, similarity, "Cosine similarities of a text with others",
       kSimilarityFields,
       R"({"inputs": {"source_sentence": "A man plays.", "sentences": ["A boy plays.", "It rains."]}})"},
  };
  return kRoutes;
}

Work embed_work(const Call& call, const ServedModel& model) {
  const JsonObject object = call.task(kEmbedFields);
  if (object.text("encoding_format").value_or("float") != "float") {
    object.fail("encoding_format", "is not float; /v1/embeddings has base64, too");
  }
  Work work;
  const Shape shape = shape_of(model, object, object.flag("normalize", true));
  auto encodings = encode_inputs(call, model, object, "inputs", work);
  return embedding_work(model, std::move(encodings), std::move(work),
                        [shape](const bert::Output& rows) {
                          Spelled out;
                          out.body = "[";
                          for (int64_t i = 0; i < rows.rows; ++i) {
                            if (i > 0) out.body += ", ";
                            append_floats(out.body, shape.of(rows.row(i)));
                          }
                          out.body += ']';
                          return out;
                        });
}

Work sparse_work(const Call& call, const ServedModel& model) {
  const JsonObject object = call.task(kEmbedAllFields);
  Work work;
  auto encodings = encode_inputs(call, model, object, "inputs", work);
  set_ask<std::vector<bert::SparseVector>>(
      work,
      [&model, encodings = std::move(encodings)](auto options, auto done) mutable {
        model.queue.sparse(std::move(encodings), std::move(options), std::move(done));
      },
      [](const std::vector<bert::SparseVector>& all) {
        Spelled out;
        append_array(out.body, std::span(all), [](std::string& line, const auto& vector) {
          line += '[';
          for (size_t i = 0; i < vector.ids.size(); ++i) {
            line += fmt::format("{}{{\"index\": {}, \"value\": ", i > 0 ? ", " : "", vector.ids[i]);
            append_finite(line, vector.weights[i]);
            line += '}';
          }
          line += ']';
        });
        return out;
      });
  return work;
}

Work similarity_work(const Call& call, const ServedModel& model) {
  const JsonObject object = call.task(kSimilarityTask);
  const JsonObject inputs = object.object("inputs", kSentences);
  std::vector<bert::Input> texts = {{*inputs.text("source_sentence")}};
  for (std::string& text : inputs.texts("sentences")) texts.push_back({std::move(text)});
  if (texts.size() == 1) throw RequestError(Refusal::empty, "`inputs.sentences` cannot be empty");
  call.check_batch(texts.size(), "inputs.sentences");
  Work work;
  work.is_batch = true;
  auto encodings = encode(call, model, texts, encode_options(call, object), work);
  work = embedding_work(model, std::move(encodings), std::move(work), [](const bert::Output& rows) {
    std::vector<float> cosines;
    for (int64_t i = 1; i < rows.rows; ++i)
      cosines.push_back(bert::similarity(rows.row(0), rows.row(i)));
    Spelled out;
    append_floats(out.body, cosines);
    return out;
  });
  work.numbers = work.inputs;
  return work;
}

}  // namespace bert::tools::serve
