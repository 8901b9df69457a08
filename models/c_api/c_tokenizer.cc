// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers, of models and alone.
#include <cstdint>
#include <string>

#include "models/c_api/boundary/c_arguments.h"
#include "models/c_api/boundary/c_views.h"
#include "models/c_api/c_model.h"

namespace c_api = bert::c_api;

struct bert_tokenizer {
  bert::Tokenizer tokenizer;
};

bert_status bert_tokenizer_load(const char* name, int32_t max_length, bert_tokenizer** tokenizer) {
  if (tokenizer != nullptr) *tokenizer = nullptr;
  return c_api::call([&] {
    c_api::required(tokenizer, "tokenizer");
    const char* directory = &c_api::required(name, "name");
    if (max_length < 0) {
      throw c_api::InvalidArgument(
          fmt::format("max_length is {}, expected at least 0", max_length));
    }
    *tokenizer = new bert_tokenizer{bert::Tokenizer::load(directory, max_length)};
  });
}

bert_status bert_model_tokenizer(const bert_model* model, bert_tokenizer** tokenizer) {
  if (tokenizer != nullptr) *tokenizer = nullptr;
  return c_api::call([&] {
    c_api::required(tokenizer, "tokenizer");
    *tokenizer = new bert_tokenizer{c_api::required(model, "model").model.tokenizer()};
  });
}

void bert_tokenizer_free(bert_tokenizer* tokenizer) { delete tokenizer; }

bert_status bert_tokenizer_encode(const bert_tokenizer* tokenizer, const bert_input* inputs,
                                  size_t count, bert_result** result,
                                  const bert_encoding** encodings) {
  return c_api::answer(result, encodings, [&](bert_result& owner) {
    const bert::Tokenizer& encoder = c_api::required(tokenizer, "tokenizer").tokenizer;
    return c_api::keep_encodings(owner, encoder.encode(c_api::read_inputs(inputs, count)));
  });
}

bert_status bert_tokenizer_decode(const bert_tokenizer* tokenizer, const int32_t* ids, size_t count,
                                  int32_t skips_special, bert_result** result,
                                  const bert_text** text) {
  return c_api::answer(result, text, [&](bert_result& owner) {
    const bert::Tokenizer& decoder = c_api::required(tokenizer, "tokenizer").tokenizer;
    const std::string& decoded =
        owner.keep(decoder.decode(c_api::read_ids(ids, count), skips_special != 0));
    return &owner.keep(c_api::view(decoded));
  });
}

bert_status bert_tokenizer_token(const bert_tokenizer* tokenizer, int32_t id, bert_text* token) {
  if (token != nullptr) *token = {};
  return c_api::call([&] {
    c_api::required(token, "token") =
        c_api::view(c_api::required(tokenizer, "tokenizer").tokenizer.token(id));
  });
}
