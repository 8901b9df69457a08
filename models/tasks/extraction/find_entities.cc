// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/calls/for_batches.h"
#include "models/model_impl.h"
#include "models/tasks/extraction/named_windows.h"
#include "models/tasks/extraction/spans.h"

namespace bert {
namespace {

using models::NamedLabels;
using models::NamedText;
using models::NamedWindow;

float sigmoid(float logit) { return 1 / (1 + std::exp(-logit)); }

// Words [first, last] of a text that may be an entity. Far from 0, only logits tell which of two is
// the more probable.
struct Candidate {
  size_t first, last, label;
  float logit;
};

// Whether at most one of the two can be kept.
bool excludes(const Candidate& a, const Candidate& b, const TagOptions& options) {
  if (a.first == b.first && a.last == b.last) return !options.multi_label || a.label == b.label;
  if (a.first > b.last || b.first > a.last) return false;
  const auto lies_in = [](const Candidate& inner, const Candidate& outer) {
    return outer.first <= inner.first && inner.last <= outer.last;
  };
  return !options.nested || !(lies_in(a, b) || lies_in(b, a));
}

// The most probable ones that do not exclude each other, in the order of the text.
std::vector<Candidate> best_of(std::vector<Candidate> all, const TagOptions& options) {
  std::ranges::stable_sort(all, std::greater(), &Candidate::logit);
  std::vector<Candidate> kept;
  for (const Candidate& candidate : all) {
    const auto refuses = [&](const Candidate& other) {
      return excludes(candidate, other, options);
    };
    if (std::ranges::none_of(kept, refuses)) kept.push_back(candidate);
  }
  std::ranges::stable_sort(kept, {}, &Candidate::first);
  return kept;
}

// What a window's logits, as SpanScores gives them, say of its spans.
void add_spans(const NamedWindow& window, const Output& logits, int64_t widest, float threshold,
               std::vector<Candidate>& to) {
  const size_t words = window.beginning.size();
  int64_t row = 0;
  for (size_t i = 0; i < words; ++i) {
    for (size_t j = i; j < std::min(words, i + static_cast<size_t>(widest)); ++j, ++row) {
      for (int64_t label = 0; label < logits.columns; ++label) {
        const float logit = logits.row(row)[label];
        if (!(sigmoid(logit) > threshold)) continue;
        to.push_back({window.first + i, window.first + j, static_cast<size_t>(label), logit});
      }
    }
  }
}

// The same as TokenScores gives them: a span is as probable as the least probable of its beginning,
// its end and its words' being inside.
void add_runs(const NamedWindow& window, const Output& logits, float threshold,
              std::vector<Candidate>& to) {
  const size_t words = window.beginning.size(), labels = logits.rows / words;
  enum { kBegins, kEnds, kInside };
  for (size_t i = 0; i < words; ++i) {
    for (size_t label = 0; label < labels; ++label) {
      const auto at = [&](size_t word) {
        return logits.row(static_cast<int64_t>(word * labels + label));
      };
      float least = at(i)[kBegins];
      if (!(sigmoid(least) > threshold)) continue;
      for (size_t j = i; j < words && sigmoid(at(j)[kInside]) >= threshold; ++j) {
        least = std::min(least, at(j)[kInside]);
        const float end = at(j)[kEnds];
        if (!(sigmoid(end) > threshold)) continue;
        to.push_back({window.first + i, window.first + j, label, std::min(least, end)});
      }
    }
  }
}

void add_candidates(const models::SpanSettings& settings, const NamedWindow& window,
                    const Output& logits, float threshold, std::vector<Candidate>& to) {
  if (settings.by_word) return add_runs(window, logits, threshold, to);
  add_spans(window, logits, settings.widest, threshold, to);
}

// The logits of each window.
std::vector<Output> score(const Internals::Impl& model, const NamedLabels& labels,
                          std::span<const NamedWindow* const> windows) {
  std::vector<Encoding> encodings;
  for (const NamedWindow* window : windows) encodings.push_back(window->encoding);
  std::vector<Output> scores(windows.size());
  model.for_batches(encodings, engine::Reads::all,
                    [&](const models::Batch& batch, const auto& order, engine::Tensor x,
                        engine::Team& team, models::Workspace&) {
                      const auto take = [&](int64_t i, engine::ConstTensor logits) {
                        Output& of_window = scores[order[i]] = Output(logits.rows, logits.columns);
                        std::copy_n(logits.data, logits.size(), of_window.values.data());
                      };
                      model.entity_head->run(
                          team, x, models::tokens_of(windows, order, labels, batch), take);
                    });
  return scores;
}

std::vector<NamedText> read_all(const Internals::Impl& model, const NamedLabels& labels,
                                std::span<const Input> inputs, int stride) {
  std::vector<NamedText> named(inputs.size());
  std::vector<std::string> errors(inputs.size());
  model.on_workers()(inputs.size(), [&](size_t i) {
    try {
      if (inputs[i].second) throw Error("there are two texts, but a GLiNER reads one");
      named[i] = models::read_named(model.text_encoder(), *model.config.spans, labels,
                                    inputs[i].first, model.info.max_length, stride);
    } catch (const std::runtime_error& error) {
      errors[i] = error.what();
    }
  });
  for (size_t i = 0; i < errors.size(); ++i) {
    if (!errors[i].empty()) throw Error(fmt::format("input {}: {}", i, errors[i]));
  }
  return named;
}

Tags tags_of(const NamedText& named, const std::string& text, std::span<const std::string> labels,
             const std::vector<Candidate>& found) {
  const models::ScalarText scalars(text);
  Tags tags;
  tags.windows = static_cast<int>(named.windows.size());
  for (const NamedWindow& window : named.windows) {
    tags.tokens += static_cast<int32_t>(window.encoding.ids.size());
  }
  for (const auto& [first, last, label, logit] : found) {
    const Offset offset = {named.words[first].offset.begin, named.words[last].offset.end};
    tags.entities.push_back({.offset = offset,
                             .string = scalars.cut(offset),
                             .label = labels[label],
                             .probability = sigmoid(logit)});
  }
  return tags;
}

}  // namespace

std::vector<Tags> Model::Impl::find_entities(std::span<const Input> inputs,
                                             const TagOptions& options) const {
  const std::vector<std::string>& labels = options.labels;
  if (labels.empty()) {
    throw Error("a GLiNER has no labels of its own, expected some to look for");
  }
  const NamedLabels prompt(text_encoder(), *config.spans, labels);
  const std::vector<NamedText> named = read_all(*this, prompt, inputs, options.stride);
  std::vector<const NamedWindow*> windows;
  for (const NamedText& text : named) {
    for (const NamedWindow& window : text.windows) windows.push_back(&window);
  }
  const std::vector<Output> scores = score(*this, prompt, windows);
  std::vector<Tags> output;
  size_t window = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<Candidate> candidates;
    for (const NamedWindow& of_text : named[i].windows) {
      check_answer(i, scores[window].values);
      add_candidates(*config.spans, of_text, scores[window++], options.threshold, candidates);
    }
    output.push_back(
        tags_of(named[i], inputs[i].first, labels, best_of(std::move(candidates), options)));
  }
  return output;
}

}  // namespace bert
