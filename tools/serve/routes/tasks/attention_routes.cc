// SPDX-License-Identifier: Apache-2.0
//
// What the page for people shows of a text: its tokens, their segments and what each attends to.
#include <utility>

#include <fmt/format.h>

#include "tools/console/numbers.h"
#include "tools/serve/routes/route.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

// The answer has heads * tokens² numbers, megabytes of them from here on.
constexpr int64_t kMostTokens = 128;

constexpr Field kAttentionFields[] = {
    {"inputs", FieldType::pairs, "A text, or a pair as an array of two.", true},
    {"layer", FieldType::whole, "From 0 on.", false, "0"},
    kTruncateFields[0],
    kTruncateFields[1],
    kModelField,
};

void append_tokens(std::string& line, const bert::Encoding& encoding,
                   const bert::Tokenizer& tokenizer) {
  line += '[';
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    if (i > 0) line += ", ";
    line += fmt::format("{{\"id\": {}, \"text\": ", encoding.ids[i]);
    append_quoted(line, tokenizer.token(encoding.ids[i]));
    line += fmt::format(", \"segment\": {}}}", encoding.type_ids[i]);
  }
  line += ']';
}

// [A][S][S]
void append_heads(std::string& line, const bert::Output& heads, int64_t tokens) {
  line += '[';
  for (int64_t row = 0; row < heads.rows; ++row) {
    if (row > 0) line += ", ";
    if (row % tokens == 0) line += '[';
    append_array(line, heads.row(row), append_finite);
    if (row % tokens == tokens - 1) line += ']';
  }
  line += ']';
}

Spelled attention_of(const ServedModel& model, const bert::Encoding& encoding, int layer) {
  const std::vector<bert::Encoding> one = {encoding};
  const int layers[] = {layer};
  const std::vector<bert::Attention> answer = model.model.attention(one, layers);
  Spelled out;
  out.body = fmt::format("{{\"layer\": {}, \"layers\": {}, \"heads\": {}, \"tokens\": ", layer,
                         model.info.layers, model.info.heads);
  append_tokens(out.body, encoding, model.model.tokenizer());
  out.body += ", \"attention\": ";
  append_heads(out.body, answer[0].layers[0], std::ssize(encoding.ids));
  out.body += '}';
  return out;
}

Outcome attention(const Call& call) {
  const JsonObject object = call.object();
  const ServedModel& model = call.model(Ability::any);
  Work work;
  bool is_batch = false;
  const std::vector<bert::Input> inputs = object.pairs("inputs", is_batch);
  if (is_batch) object.fail("inputs", "is a batch, expected a text or a pair");
  const auto layer = static_cast<int>(object.whole("layer", 0, model.info.layers - 1).value_or(0));
  auto encodings = encode(call, model, inputs, encode_options(call, object), work);
  if (work.tokens > kMostTokens) {
    object.fail("inputs",
                fmt::format("has {} tokens, expected at most {}", work.tokens, kMostTokens));
  }
  // Not by the model's queue, which has no attention probabilities.
  work.is_long = work.is_computed_late = true;
  work.ask = [&model, encoding = std::move(encodings[0]), layer](
                 const bert::RequestOptions& options, const Work::Deliver& deliver) {
    deliver([&model, encoding, layer, gone = options.stop, end = options.deadline] {
      if (gone.stop_requested()) throw RequestError(Refusal::cancelled, "the client has hung up");
      if (end && Clock::now() > *end) {
        throw RequestError(Refusal::deadline, "the deadline of the request passed");
      }
      return attention_of(model, encoding, layer);
    });
  };
  return work;
}

}  // namespace

std::span<const Route> attention_routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "/attention", Dialect::tei, attention,
       "The tokens of a text or pair, their segments, and what each attends to in a layer's heads",
       kAttentionFields, R"({"inputs": ["A man plays.", "It rains."], "layer": 0})"},
  };
  return kRoutes;
}

}  // namespace bert::tools::serve
