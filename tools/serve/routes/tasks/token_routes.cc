// SPDX-License-Identifier: Apache-2.0
//
// Text to tokens and back, as text-embeddings-inference spells them.
#include <fmt/format.h>

#include "tools/console/numbers.h"
#include "tools/serve/routes/route.h"

namespace bert::tools::serve {
namespace {

constexpr Field kTokenizeFields[] = {
    {"inputs", FieldType::some_text, "A text, or an array of them.", true},
    {"add_special_tokens", FieldType::flag, "Whether [CLS] and its like are among them.", false,
     "true"},
    {"prompt_name", FieldType::text, "Of the prompt to put before the inputs."},
    kModelField,
};

constexpr Field kDecodeFields[] = {
    {"ids", FieldType::ids, "The ids of a text, or an array of them.", true},
    {"skip_special_tokens", FieldType::flag, "", false, "true"},
    kModelField,
};

void append_token(std::string& line, const TextToken& token) {
  line += fmt::format("{{\"id\": {}, \"text\": ", token.id);
  append_quoted(line, token.text);
  if (token.special) {
    line += ", \"special\": true, \"start\": null, \"stop\": null}";
  } else {
    line +=
        fmt::format(", \"special\": false, \"start\": {}, \"stop\": {}}}", token.begin, token.end);
  }
}

Outcome tokenize(const Call& call) {
  const JsonObject object = call.object();
  const ServedModel& model = call.model(Ability::any);
  bool is_batch = false;
  const std::vector<std::string> texts = object.some_text("inputs", is_batch);
  call.check_batch(texts.size(), "inputs");
  const bool with_special = object.flag("add_special_tokens", true);
  const EncodeOptions options = {.prompt = object.text("prompt_name")};
  HttpResponse response;
  append_array(response.body, std::span(texts), [&](std::string& line, const std::string& text) {
    call.check_wanted();
    const std::vector<TextToken> tokens = model.reader.tokens(text, options, with_special);
    append_array(line, std::span(tokens), append_token);
  });
  return response;
}

Outcome decode(const Call& call) {
  const JsonObject object = call.object();
  const ServedModel& model = call.model(Ability::any);
  const std::vector<std::vector<int64_t>> all = object.ids("ids");
  call.check_batch(all.size(), "ids");
  const bool skips_special = object.flag("skip_special_tokens", true);
  HttpResponse response;
  append_array(response.body, std::span(all),
               [&](std::string& line, const std::vector<int64_t>& ids) {
                 call.check_wanted();
                 append_quoted(line, model.reader.decode(ids, skips_special, "ids"));
               });
  return response;
}

}  // namespace

std::span<const Route> token_routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "/tokenize", Dialect::tei, tokenize,
       "The tokens of texts, with their places in bytes of the text", kTokenizeFields,
       R"({"inputs": "A man plays."})"},
      {"POST", "/decode", Dialect::tei, decode, "The texts of token ids", kDecodeFields,
       R"({"ids": [5, 6, 7]})"},
  };
  return kRoutes;
}

}  // namespace bert::tools::serve
