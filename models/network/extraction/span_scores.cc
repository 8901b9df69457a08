// SPDX-License-Identifier: Apache-2.0
#include "models/network/extraction/span_scores.h"

#include <algorithm>
#include <string>

#include "engine/rows/rows.h"
#include "models/network/build/build_parts.h"
#include "models/network/extraction/input_parts.h"

namespace bert::models {

using engine::Activation;
using engine::ConstTensor;
using engine::Linear;
using engine::Tensor;

namespace {

// name.weight [columns, width] for products with the output's side.
Linear read_transposed(Checkpoint& checkpoint, const std::string& name, int64_t columns,
                       int64_t width, const engine::Product& f32, engine::Team& team) {
  const Weight weight = checkpoint.finite_matrix(name + ".weight", columns, width);
  engine::Buffer turned(columns * width), none(width);
  for (int64_t i = 0; i < columns; ++i) {
    for (int64_t j = 0; j < width; ++j) turned.data()[j * columns + i] = weight.view.row(i)[j];
  }
  const Linear::Part part{{turned.data(), width, columns}, none.data()};
  return {team, {&part, 1}, Activation::none, f32};
}

}  // namespace

Tensor SpanScores::TwoLayers::run(engine::Team& team, ConstTensor x, engine::Buffer& to) const {
  engine::Buffer wide, scratch;
  const Tensor between = wide.tensor(x.rows, hidden.columns());
  hidden.run(team, x, scratch, between);
  const Tensor y = to.tensor(x.rows, output.columns());
  output.run(team, between, scratch, y);
  return y;
}

SpanScores::TwoLayers SpanScores::read_two(Checkpoint& checkpoint, const std::string& name,
                                           int64_t width, Activation last,
                                           const engine::Product& f32, engine::Team& team) {
  const int64_t hidden = kHiddenFactor * width;
  return {read_linear(checkpoint, {{name + ".0"}, hidden, width}, Activation::relu, f32, team),
          read_linear(checkpoint, {{name + ".3"}, width, hidden}, last, f32, team)};
}

SpanScores::SpanScores(Checkpoint& checkpoint, const SpanSettings& settings,
                       const engine::Product& f32, engine::Team& team)
    : width_(settings.width),
      widest_(settings.widest),
      product_(&f32),
      start_(read_two(checkpoint, "span_rep_layer.span_rep_layer.project_start", width_,
                      Activation::relu, f32, team)),
      end_(read_two(checkpoint, "span_rep_layer.span_rep_layer.project_end", width_,
                    Activation::relu, f32, team)),
      label_(read_two(checkpoint, "prompt_rep_layer", width_, Activation::none, f32, team)),
      halves_(read_input_parts(checkpoint, "span_rep_layer.span_rep_layer.out_project.0",
                               kHiddenFactor * width_, width_, 2, f32, team)),
      output_(read_transposed(checkpoint, "span_rep_layer.span_rep_layer.out_project.3", width_,
                              kHiddenFactor * width_, f32, team)),
      output_bias_(checkpoint.vector("span_rep_layer.span_rep_layer.out_project.3.bias", width_)) {}

struct SpanScores::Spans {
  ConstTensor starts, ends;  // [W, 4 D]: what the hidden layer adds up, by word
  ConstTensor labels;        // [C, 4 D]
  const float* bias;         // [C]
};

// A few words' spans at a time, whose hidden layer stays in cache.
void SpanScores::score(engine::Team& team, const Spans& spans, Tensor logits) const {
  constexpr int64_t kWordsAtATime = 16;
  struct Ends {
    int64_t start, end;
  };
  const int64_t words = spans.starts.rows;
  engine::Buffer buffer;
  int64_t span = 0;
  for (int64_t from = 0; from < words; from += kWordsAtATime) {
    std::vector<Ends> block;
    for (int64_t i = from; i < std::min(words, from + kWordsAtATime); ++i) {
      for (int64_t j = i; j < std::min(words, i + widest_); ++j) block.push_back({i, j});
    }
    const Tensor hidden = buffer.tensor(std::ssize(block), spans.starts.columns);
    engine::for_row_blocks(team, hidden.rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float *first = spans.starts.row(block[i].start), *last = spans.ends.row(block[i].end);
        float* const to = hidden.row(i);
        for (int64_t j = 0; j < hidden.columns; ++j) to[j] = std::max(first[j] + last[j], 0.0f);
      }
    });
    engine::multiply_in_place(team, *product_, hidden, spans.labels, spans.bias,
                              {logits.row(span), hidden.rows, logits.columns});
    span += hidden.rows;
  }
}

void SpanScores::run(engine::Team& team, const EntityStates& states, const TakeScores& take) const {
  engine::Buffer between, starts, ends, of_labels, labels, scratch, scores;
  const int64_t hidden = kHiddenFactor * width_;
  const Tensor first = starts.tensor(states.words.rows, hidden);
  const Tensor last = ends.tensor(states.words.rows, hidden);
  halves_[0].run(team, start_.run(team, states.words, between), scratch, first);
  halves_[1].run(team, end_.run(team, states.words, between), scratch, last);
  const Tensor named = label_.run(team, states.labels, of_labels);
  const Tensor outputs = labels.tensor(named.rows, hidden);
  output_.run(team, named, scratch, outputs);
  std::vector<float> bias;
  for (int64_t i = 0; i < named.rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < width_; ++j) sum += named.row(i)[j] * output_bias_.data()[j];
    bias.push_back(static_cast<float>(sum));
  }
  for (int64_t i = 0; i < states.sequences(); ++i) {
    const int64_t word = states.word_starts[i], label = states.label_starts[i];
    const int64_t words = states.words_of(i);
    int64_t spans = 0;
    for (int64_t j = 0; j < words; ++j) spans += std::min(widest_, words - j);
    const Tensor logits = scores.tensor(spans, states.labels_of(i));
    if (spans > 0) {
      const Spans of_words{{first.row(word), words, hidden},
                           {last.row(word), words, hidden},
                           {outputs.row(label), logits.columns, hidden},
                           bias.data() + label};
      score(team, of_words, logits);
    }
    take(i, logits);
  }
}

}  // namespace bert::models
