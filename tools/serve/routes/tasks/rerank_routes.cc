// SPDX-License-Identifier: Apache-2.0
//
// Documents by how well they answer a query, as text-embeddings-inference, Cohere and Jina spell
// it.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "tools/console/numbers.h"
#include "tools/serve/routes/tasks/classify_routes.h"
#include "tools/serve/served/model_work.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

constexpr Field kRerankFields[] = {
    {"query", FieldType::text, "What the texts should answer.", true},
    {"texts", FieldType::texts, "", true},
    kRawScoresField,
    {"return_text", FieldType::flag, "Whether the answer repeats the texts.", false, "false"},
    kTruncateFields[0],
    kTruncateFields[1],
    kModelField,
};

constexpr Field kCohereFields[] = {
    kModelField,
    {"query", FieldType::text, "What the documents should answer.", true},
    {"documents", FieldType::documents, "Strings, or objects with a string \"text\".", true},
    {"top_n", FieldType::count, "How many of the best to return. Without it, all."},
    {"max_tokens_per_doc", FieldType::count,
     "How many tokens of a document are read, if the model's limit allows as many."},
    {"priority", FieldType::any, "Is ignored."},
};

constexpr Field kJinaFields[] = {
    kModelField,
    {"query", FieldType::text, "What the documents should answer.", true},
    {"documents", FieldType::documents, "Strings, or objects with a string \"text\".", true},
    {"top_n", FieldType::count, "How many of the best to return. Without it, all."},
    {"return_documents", FieldType::flag, "Whether the answer repeats the documents.", false,
     "true"},
    {"truncation", FieldType::flag, "Whether documents that are too long are cut."},
    {"max_chunks_per_doc", FieldType::any, "Is ignored: a document is one chunk."},
};

struct Ranked {
  int64_t index;
  float score;
};

// Best first, of equals the first one.
std::vector<Ranked> ranked(const bert::Output& logits, const bert::Info& info, bool raw) {
  std::vector<Ranked> ranks;
  for (int64_t i = 0; i < logits.rows; ++i) {
    ranks.push_back({i, scores_of(logits.row(i), info, raw)[0]});
    if (std::isnan(ranks.back().score)) throw NonFinite(ranks.back().score);
  }
  std::ranges::stable_sort(ranks, std::greater<>(), &Ranked::score);
  return ranks;
}

std::vector<bert::Encoding> encode_documents(const Call& call, const ServedModel& model,
                                             const std::string& query,
                                             const std::vector<std::string>& documents,
                                             const char* field, const EncodeOptions& options,
                                             Work& work) {
  if (documents.empty()) {
    throw RequestError(Refusal::empty, fmt::format("`{}` cannot be empty", field), field);
  }
  call.check_batch(documents.size(), field);
  // Bytes of the query for all documents, as it is tokenised for each.
  constexpr size_t kMostRepeated = size_t{1} << 26;
  if (query.size() > kMostRepeated / documents.size()) {
    refuse_field("query",
                 fmt::format("has {} bytes, which are read for each of {} documents: "
                             "expected at most {}",
                             query.size(), documents.size(), kMostRepeated / documents.size()));
  }
  work.is_batch = true;
  std::vector<bert::Encoding> encodings;
  bert::Input pair = {query, ""};  // for all, as a query may be long
  for (const std::string& document : documents) {
    pair.second = document;
    encodings.push_back(encode(call, model, pair, options, work));
  }
  return encodings;
}

Outcome rerank(const Call& call) { return rerank_work(call, call.model(Ability::rerank)); }

// Cohere's and Jina's answers differ in what surrounds the results.
struct RerankAnswer {
  const ServedModel& model;
  std::string id;
  size_t top;
  bool is_cohere;
  std::vector<std::string> documents;  // to repeat, as JSON, or none
  int64_t tokens;

  Spelled operator()(const bert::Output& logits) const {
    std::vector<Ranked> ranks = ranked(logits, model.ranking_info, false);
    if (ranks.size() > top) ranks.resize(top);
    Spelled out;
    out.body = "{\"id\": ";
    append_quoted(out.body, id);
    if (!is_cohere) {
      out.body += ", \"model\": ";
      append_quoted(out.body, model.name);
      out.body += fmt::format(", \"usage\": {{\"total_tokens\": {}}}", tokens);
    }
    out.body += ", \"results\": ";
    append_array(out.body, std::span<const Ranked>(ranks),
                 [&](std::string& line, const Ranked& rank) {
                   line += fmt::format("{{\"index\": {}, \"relevance_score\": ", rank.index);
                   append_finite(line, rank.score);
                   if (!documents.empty()) {
                     line += ", \"document\": " + documents[rank.index];
                   }
                   line += '}';
                 });
    if (is_cohere) {
      out.body +=
          ", \"meta\": {\"api_version\": {\"version\": \"2\"}, \"billed_units\": "
          "{\"search_units\": 1}}";
    }
    out.body += '}';
    return out;
  }
};

// Objects with all that they have, and texts as objects.
std::vector<std::string> repeated(const JsonObject& object) {
  std::vector<std::string> documents;
  for (const json& document : *object.find("documents")) {
    documents.push_back(document.is_object() ? document.dump() : json({{"text", document}}).dump());
  }
  return documents;
}

Outcome rerank_documents(const Call& call, bool is_cohere) {
  const JsonObject object = call.object();
  const ServedModel& model = call.model(Ability::rerank);
  std::vector<std::string> documents = object.documents("documents");
  const bool usual = call.state.limits.auto_truncate;
  EncodeOptions options = {.truncates = is_cohere ? usual : object.flag("truncation", usual)};
  if (is_cohere) options.second = object.whole("max_tokens_per_doc", 1, 1 << 20);
  Work work;
  auto encodings =
      encode_documents(call, model, *object.text("query"), documents, "documents", options, work);
  const auto all = static_cast<int64_t>(documents.size());
  const auto top = static_cast<size_t>(object.whole("top_n", 1, 1 << 20).value_or(all));
  documents.clear();
  if (!is_cohere && object.flag("return_documents", true)) documents = repeated(object);
  RerankAnswer answer = {model, call.request.id, top, is_cohere, std::move(documents), work.tokens};
  return logits_work(model, std::move(encodings), std::move(work), std::move(answer));
}

Outcome cohere_rerank(const Call& call) { return rerank_documents(call, true); }
Outcome jina_rerank(const Call& call) { return rerank_documents(call, false); }

constexpr std::string_view kDocumentsExample =
    R"({"query": "Who plays?", "documents": ["A man plays.", "It rains."], "top_n": 1})";

}  // namespace

std::span<const Route> rerank_routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "/rerank", Dialect::tei, rerank, "Texts by how well they answer a query, best first",
       kRerankFields, R"({"query": "Who plays?", "texts": ["A man plays.", "It rains."]})", false,
       true},
      {"POST", "/v2/rerank", Dialect::cohere, cohere_rerank, "The same for Cohere's clients",
       kCohereFields, kDocumentsExample, false, true},
      {"POST", "/v1/rerank", Dialect::jina, jina_rerank, "The same for Jina's clients", kJinaFields,
       kDocumentsExample, false, true},
  };
  return kRoutes;
}

Work rerank_work(const Call& call, const ServedModel& model) {
  const JsonObject object = call.task(kRerankFields);
  std::vector<std::string> texts = object.texts("texts");
  Work work;
  auto encodings = encode_documents(call, model, *object.text("query"), texts, "texts",
                                    encode_options(call, object), work);
  const bool raw = object.flag("raw_scores", false);
  if (!object.flag("return_text", false)) texts.clear();
  return logits_work(model, std::move(encodings), std::move(work),
                     [&model, raw, texts = std::move(texts)](const bert::Output& logits) {
                       const std::vector<Ranked> ranks = ranked(logits, model.ranking_info, raw);
                       Spelled out;
                       append_array(out.body, std::span<const Ranked>(ranks),
                                    [&](std::string& line, const Ranked& rank) {
                                      line += fmt::format("{{\"index\": {}, ", rank.index);
                                      if (!texts.empty()) {
                                        line += "\"text\": ";
                                        append_quoted(line, texts[rank.index]);
                                        line += ", ";
                                      }
                                      line += "\"score\": ";
                                      append_finite(line, rank.score);
                                      line += '}';
                                    });
                       return out;
                     });
}

}  // namespace bert::tools::serve
