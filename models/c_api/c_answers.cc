// SPDX-License-Identifier: Apache-2.0
//
// The model's functions.
#include <cstdint>

#include "models/c_api/boundary/c_arguments.h"
#include "models/c_api/boundary/c_views.h"
#include "models/c_api/c_model.h"

namespace bert::c_api {
namespace {

const Model& loaded(const bert_model* model) { return required(model, "model").model; }

// The functions that take texts as well as encodings.
template <typename Given>
bert_status run(const bert_model* model, const Given* inputs, size_t count, bert_result** result,
                const bert_matrix** logits) {
  return answer(result, logits, [&](bert_result& owner) {
    return keep_matrix(owner, loaded(model).run(read_inputs(inputs, count)));
  });
}

template <typename Given>
bert_status run_tokens(const bert_model* model, const Given* inputs, size_t count,
                       bert_result** result, const bert_matrix** logits) {
  return answer(result, logits, [&](bert_result& owner) {
    return keep_matrices(owner, loaded(model).run_tokens(read_inputs(inputs, count)));
  });
}

template <typename Given>
bert_status embed(const bert_model* model, const Given* inputs, size_t count, bert_result** result,
                  const bert_matrix** embeddings) {
  return answer(result, embeddings, [&](bert_result& owner) {
    return keep_matrix(owner, loaded(model).embed(read_inputs(inputs, count)));
  });
}

template <typename Given>
bert_status hidden(const bert_model* model, const Given* inputs, size_t count,
                   const int32_t* layers, size_t layer_count, bert_result** result,
                   const bert_hidden** states) {
  return answer(result, states, [&](bert_result& owner) {
    return keep_hidden(
        owner, loaded(model).hidden(read_inputs(inputs, count), read_layers(layers, layer_count)));
  });
}

template <typename Given>
bert_status attention(const bert_model* model, const Given* inputs, size_t count,
                      const int32_t* layers, size_t layer_count, bert_result** result,
                      const bert_attention** attention) {
  return answer(result, attention, [&](bert_result& owner) {
    return keep_attention(owner, loaded(model).attention(read_inputs(inputs, count),
                                                         read_layers(layers, layer_count)));
  });
}

template <typename Given>
bert_status fill_mask(const bert_model* model, const Given* inputs, size_t count, int32_t k,
                      bert_result** result, const bert_blanks** blanks) {
  return answer(result, blanks, [&](bert_result& owner) {
    return keep_blanks(owner, loaded(model).fill_mask(read_inputs(inputs, count), k));
  });
}

}  // namespace
}  // namespace bert::c_api

namespace c_api = bert::c_api;

bert_status bert_model_run(const bert_model* model, const bert_input* inputs, size_t count,
                           bert_result** result, const bert_matrix** logits) {
  return c_api::run(model, inputs, count, result, logits);
}
bert_status bert_model_run_encodings(const bert_model* model, const bert_encoding* encodings,
                                     size_t count, bert_result** result,
                                     const bert_matrix** logits) {
  return c_api::run(model, encodings, count, result, logits);
}

bert_status bert_model_run_tokens(const bert_model* model, const bert_input* inputs, size_t count,
                                  bert_result** result, const bert_matrix** logits) {
  return c_api::run_tokens(model, inputs, count, result, logits);
}
bert_status bert_model_run_tokens_encodings(const bert_model* model, const bert_encoding* encodings,
                                            size_t count, bert_result** result,
                                            const bert_matrix** logits) {
  return c_api::run_tokens(model, encodings, count, result, logits);
}

bert_status bert_model_embed(const bert_model* model, const bert_input* inputs, size_t count,
                             bert_result** result, const bert_matrix** embeddings) {
  return c_api::embed(model, inputs, count, result, embeddings);
}
bert_status bert_model_embed_encodings(const bert_model* model, const bert_encoding* encodings,
                                       size_t count, bert_result** result,
                                       const bert_matrix** embeddings) {
  return c_api::embed(model, encodings, count, result, embeddings);
}

bert_status bert_model_hidden(const bert_model* model, const bert_input* inputs, size_t count,
                              const int32_t* layers, size_t layer_count, bert_result** result,
                              const bert_hidden** hidden) {
  return c_api::hidden(model, inputs, count, layers, layer_count, result, hidden);
}
bert_status bert_model_hidden_encodings(const bert_model* model, const bert_encoding* encodings,
                                        size_t count, const int32_t* layers, size_t layer_count,
                                        bert_result** result, const bert_hidden** hidden) {
  return c_api::hidden(model, encodings, count, layers, layer_count, result, hidden);
}

bert_status bert_model_attention(const bert_model* model, const bert_input* inputs, size_t count,
                                 const int32_t* layers, size_t layer_count, bert_result** result,
                                 const bert_attention** attention) {
  return c_api::attention(model, inputs, count, layers, layer_count, result, attention);
}
bert_status bert_model_attention_encodings(const bert_model* model, const bert_encoding* encodings,
                                           size_t count, const int32_t* layers, size_t layer_count,
                                           bert_result** result, const bert_attention** attention) {
  return c_api::attention(model, encodings, count, layers, layer_count, result, attention);
}

bert_status bert_model_fill_mask(const bert_model* model, const bert_input* inputs, size_t count,
                                 int32_t k, bert_result** result, const bert_blanks** blanks) {
  return c_api::fill_mask(model, inputs, count, k, result, blanks);
}
bert_status bert_model_fill_mask_encodings(const bert_model* model, const bert_encoding* encodings,
                                           size_t count, int32_t k, bert_result** result,
                                           const bert_blanks** blanks) {
  return c_api::fill_mask(model, encodings, count, k, result, blanks);
}

bert_status bert_model_sparse(const bert_model* model, const bert_input* inputs, size_t count,
                              bert_result** result, const bert_sparse_vector** vectors) {
  return c_api::answer(result, vectors, [&](bert_result& owner) {
    return c_api::keep_sparse(owner,
                              c_api::loaded(model).sparse(c_api::read_inputs(inputs, count)));
  });
}

bert_status bert_model_multi_vector(const bert_model* model, const bert_input* inputs, size_t count,
                                    int32_t role, bert_result** result,
                                    const bert_matrix** vectors) {
  return c_api::answer(result, vectors, [&](bert_result& owner) {
    const bert::Role read = c_api::read_role(role);
    return c_api::keep_matrices(
        owner, c_api::loaded(model).multi_vector(c_api::read_inputs(inputs, count), read));
  });
}

bert_status bert_model_tag(const bert_model* model, const bert_input* inputs, size_t count,
                           const bert_option* options, size_t option_count, bert_result** result,
                           const bert_tags** tags) {
  return c_api::answer(result, tags, [&](bert_result& owner) {
    const bert::TagOptions read = c_api::read_tag_options(options, option_count);
    return c_api::keep_tags(owner,
                            c_api::loaded(model).tag(c_api::read_inputs(inputs, count), read));
  });
}

bert_status bert_model_answer(const bert_model* model, const bert_input* inputs, size_t count,
                              const bert_option* options, size_t option_count, bert_result** result,
                              const bert_answer** answers) {
  return c_api::answer(result, answers, [&](bert_result& owner) {
    const bert::AnswerOptions read = c_api::read_answer_options(options, option_count);
    return c_api::keep_answers(
        owner, c_api::loaded(model).answer(c_api::read_inputs(inputs, count), read));
  });
}

bert_status bert_model_choose(const bert_model* model, const bert_choices* inputs, size_t count,
                              bert_result** result, const bert_choice** choices) {
  return c_api::answer(result, choices, [&](bert_result& owner) {
    return c_api::keep_choices(owner,
                               c_api::loaded(model).choose(c_api::read_inputs(inputs, count)));
  });
}

bert_status bert_model_tokenize(const bert_model* model, const bert_input* inputs, size_t count,
                                bert_result** result, const bert_encoding** encodings) {
  return c_api::answer(result, encodings, [&](bert_result& owner) {
    return c_api::keep_encodings(owner,
                                 c_api::loaded(model).tokenize(c_api::read_inputs(inputs, count)));
  });
}
