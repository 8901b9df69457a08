// SPDX-License-Identifier: Apache-2.0
//
// The model's functions. Each answer is kept as the C++ API returns it, beside arrays of structs
// that point into it.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "models/c_api/c_arguments.h"
#include "models/c_api/c_model.h"

namespace bert::c_api {
namespace {

using c_api::view;

// The array of one view for each value, kept by the owner.
template <typename Values, typename View>
auto keep_views(bert_result& owner, const Values& values, const View& view_of) {
  std::vector<decltype(view_of(*values.begin()))> views;
  views.reserve(values.size());
  for (const auto& value : values) views.push_back(view_of(value));
  return owner.keep(std::move(views)).data();
}

bert_matrix view(const Output& matrix) {
  return {matrix.values.data(), static_cast<size_t>(matrix.rows),
          static_cast<size_t>(matrix.columns)};
}

bert_offset view(const Offset& offset) { return {offset.begin, offset.end}; }

bert_span view(const Span& span) {
  return {view(span.string), view(span.label), view(span.offset), span.text, span.probability};
}

bert_fill view(const Blank::Fill& fill) { return {view(fill.token), fill.id, fill.probability}; }

template <typename Value>
auto keep_array(bert_result& owner, const std::vector<Value>& values) {
  return keep_views(owner, values, [](const Value& value) { return view(value); });
}

const bert_matrix* keep_matrix(bert_result& owner, Output matrix) {
  return &owner.keep(view(owner.keep(std::move(matrix))));
}

const bert_matrix* keep_matrices(bert_result& owner, std::vector<Output> matrices) {
  return keep_array(owner, owner.keep(std::move(matrices)));
}

const bert_hidden* keep_hidden(bert_result& owner, std::vector<Hidden> answers) {
  return keep_views(owner, owner.keep(std::move(answers)), [&](const Hidden& answer) {
    return bert_hidden{view(answer.states), answer.pooler.empty() ? nullptr : answer.pooler.data(),
                       keep_array(owner, answer.layers), answer.layers.size()};
  });
}

const bert_blanks* keep_blanks(bert_result& owner, std::vector<std::vector<Blank>> answers) {
  const auto view_blank = [&](const Blank& blank) {
    return bert_blank{keep_array(owner, blank.fills), blank.fills.size(), blank.token};
  };
  return keep_views(owner, owner.keep(std::move(answers)), [&](const std::vector<Blank>& blanks) {
    return bert_blanks{keep_views(owner, blanks, view_blank), blanks.size()};
  });
}

const bert_tags* keep_tags(bert_result& owner, std::vector<Tags> answers) {
  return keep_views(owner, owner.keep(std::move(answers)), [&](const Tags& tags) {
    return bert_tags{keep_array(owner, tags.words),
                     tags.words.size(),
                     keep_array(owner, tags.entities),
                     tags.entities.size(),
                     tags.windows,
                     tags.tokens,
                     tags.truncated};
  });
}

const bert_answer* keep_answers(bert_result& owner, std::vector<Answer> answers) {
  return keep_views(owner, owner.keep(std::move(answers)), [](const Answer& answer) {
    return bert_answer{view(answer.string), view(answer.offset), answer.score,
                       answer.no_answer,    answer.windows,      answer.tokens};
  });
}

const bert_choice* keep_choices(bert_result& owner, std::vector<Choice> answers) {
  return keep_views(owner, owner.keep(std::move(answers)), [](const Choice& choice) {
    return bert_choice{choice.logits.data(), choice.probabilities.data(),
                       choice.logits.size(), choice.index,
                       choice.tokens,        choice.truncated};
  });
}

const bert_encoding* keep_encodings(bert_result& owner, std::vector<Encoding> encodings) {
  return keep_views(owner, owner.keep(std::move(encodings)), [&](const Encoding& encoding) {
    return bert_encoding{encoding.ids.data(),
                         encoding.type_ids.data(),
                         keep_array(owner, encoding.offsets),
                         encoding.ids.size(),
                         {encoding.first.begin, encoding.first.end},
                         {encoding.second.begin, encoding.second.end},
                         encoding.truncated,
                         encoding.unattended};
  });
}

const bert_sparse_vector* keep_sparse(bert_result& owner, std::vector<SparseVector> answers) {
  return keep_views(owner, owner.keep(std::move(answers)), [](const SparseVector& vector) {
    return bert_sparse_vector{vector.ids.data(), vector.weights.data(), vector.ids.size()};
  });
}

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
