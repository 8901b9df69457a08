// SPDX-License-Identifier: Apache-2.0
#include "models/c_api/boundary/c_views.h"

#include <cstdint>
#include <utility>
#include <vector>

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

bert_answer_span view(const AnswerSpan& span) {
  return {view(span.string), view(span.offset), span.score};
}

bert_fill view(const Blank::Fill& fill) { return {view(fill.token), fill.id, fill.probability}; }

template <typename Value>
auto keep_array(bert_result& owner, const std::vector<Value>& values) {
  return keep_views(owner, values, [](const Value& value) { return view(value); });
}

}  // namespace

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

const bert_attention* keep_attention(bert_result& owner, std::vector<Attention> answers) {
  return keep_views(owner, owner.keep(std::move(answers)), [&](const Attention& answer) {
    return bert_attention{keep_array(owner, answer.layers), answer.layers.size()};
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
  return keep_views(owner, owner.keep(std::move(answers)), [&](const Answer& answer) {
    return bert_answer{view(answer.string),
                       view(answer.offset),
                       answer.score,
                       answer.no_answer,
                       answer.windows,
                       answer.tokens,
                       keep_array(owner, answer.others),
                       answer.others.size()};
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

}  // namespace bert::c_api
