// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/calls/for_batches.h"
#include "models/model_impl.h"
#include "models/tasks/extraction/named_windows.h"
#include "models/tasks/extraction/spans.h"

namespace bert {
namespace {

using engine::ConstTensor;
using models::NamedLabels;
using models::NamedText;
using models::NamedWindow;

float sigmoid(float logit) { return 1 / (1 + std::exp(-logit)); }

// Words [first, last] of a window or a text that may be an entity. Far from 0, only logits tell
// which of two is the more probable.
struct Candidate {
  size_t first, last, label;
  float logit;
};

// The entities that are kept, each more probable than those that follow it. Those of one text never
// cross each other, which takes no more to find out than a look at each word of the next one.
class Kept {
 public:
  Kept(size_t words, const TagOptions& options)
      : options_(options), covered_(words), last_of_(words), first_of_(words, words) {}

  // Unless those before exclude it.
  void add(const Candidate& candidate) {
    const auto& [first, last, label, logit] = candidate;
    const bool is_there = places_.contains({first, last});
    if (is_there ? !options_.multi_label : overlaps(first, last)) return;
    // Of windows that overlap, the second may find the same again.
    if (!labelled_.insert({first, last, label}).second) return;
    places_.insert({first, last});
    for (size_t i = first; i <= last; ++i) covered_[i] = true;
    last_of_[first] = std::max(last_of_[first], last);
    first_of_[last] = std::min(first_of_[last], first);
    kept_.push_back(candidate);
  }

  std::vector<Candidate> in_order() && {
    std::ranges::stable_sort(kept_, {}, &Candidate::first);
    return std::move(kept_);
  }

 private:
  // Whether the words overlap others that are kept, or, if these may be nested, cross them.
  bool overlaps(size_t first, size_t last) const {
    for (size_t i = first; i <= last; ++i) {
      const bool begins = i > first && last_of_[i] > last;  // inside, and ends after it
      const bool ends = i < last && first_of_[i] < first;   // inside, and began before it
      if (options_.nested ? begins || ends : covered_[i]) return true;
    }
    return false;
  }

  const TagOptions& options_;
  std::vector<bool> covered_;               // by word
  std::vector<size_t> last_of_, first_of_;  // of those that begin or end with a word: the farthest
  std::set<std::pair<size_t, size_t>> places_;
  std::set<std::tuple<size_t, size_t, size_t>> labelled_;
  std::vector<Candidate> kept_;
};

// The most probable ones that do not exclude each other, in the order of the text.
std::vector<Candidate> best_of(std::vector<Candidate> all, size_t words,
                               const TagOptions& options) {
  std::ranges::stable_sort(all, std::greater(), &Candidate::logit);
  Kept kept(words, options);
  for (const Candidate& candidate : all) kept.add(candidate);
  return std::move(kept).in_order();
}

// What a window's logits, as SpanScores gives them, say of its spans.
void add_spans(size_t words, ConstTensor logits, int64_t widest, float threshold,
               std::vector<Candidate>& to) {
  int64_t row = 0;
  for (size_t i = 0; i < words; ++i) {
    for (size_t j = i; j < std::min(words, i + static_cast<size_t>(widest)); ++j, ++row) {
      for (int64_t label = 0; label < logits.columns; ++label) {
        const float logit = logits.row(row)[label];
        if (!(sigmoid(logit) > threshold)) continue;
        to.push_back({i, j, static_cast<size_t>(label), logit});
      }
    }
  }
}

// The same as TokenScores gives them: a span is as probable as the least probable of its beginning,
// its end and its words' being inside.
void add_runs(size_t words, ConstTensor logits, float threshold, std::vector<Candidate>& to) {
  const size_t labels = logits.rows / words;
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
        to.push_back({i, j, label, std::min(least, end)});
      }
    }
  }
}

// A window's entities, or a logit of it that is not finite.
struct Found {
  std::vector<Candidate> entities;
  float bad = 0;
};

Found decode(const models::SpanSettings& settings, size_t words, ConstTensor logits,
             const TagOptions& options) {
  const std::span<const float> all(logits.data, static_cast<size_t>(logits.size()));
  const auto bad = std::ranges::find_if(all, [](float x) { return !std::isfinite(x); });
  if (bad != all.end()) return {{}, *bad};
  std::vector<Candidate> candidates;
  if (settings.by_word) {
    add_runs(words, logits, options.threshold, candidates);
  } else {
    add_spans(words, logits, settings.widest, options.threshold, candidates);
  }
  return {best_of(std::move(candidates), words, options)};
}

std::vector<Found> find(const Internals::Impl& model, const NamedLabels& labels,
                        std::span<const NamedWindow* const> windows, std::span<const size_t> inputs,
                        const TagOptions& options) {
  std::vector<Encoding> encodings;
  for (const NamedWindow* window : windows) encodings.push_back(window->encoding);
  std::vector<Found> found(windows.size());
  const auto decode_all = [&](const models::Batch& batch, const auto& order, engine::Tensor x,
                              engine::Team& team, models::Workspace&) {
    const auto take = [&](int64_t i, ConstTensor logits) {
      const size_t words = windows[order[i]]->beginning.size();
      found[order[i]] = decode(*model.config.spans, words, logits, options);
    };
    model.entity_head->run(team, x, models::tokens_of(windows, order, labels, batch), take);
  };
  const Internals::Impl::InputOf input_of = [&](size_t window) { return inputs[window]; };
  model.for_batches(encodings, engine::Reads::all, decode_all, input_of);
  return found;
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
  std::vector<std::string> labels;  // each once, as in the GLiNER library
  for (const std::string& label : options.labels) {
    if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
  }
  if (labels.empty()) {
    throw Error("labels is empty, expected some to look for: a GLiNER has none of its own");
  }
  if (!(options.threshold >= 0 && options.threshold <= 1)) {
    throw Error(fmt::format("threshold is {}, expected a number from 0 to 1", options.threshold));
  }
  const NamedLabels prompt(text_encoder(), *config.spans, labels);
  const std::vector<NamedText> named = read_all(*this, prompt, inputs, options.stride);
  std::vector<const NamedWindow*> windows;
  std::vector<size_t> input_of;  // by window
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const NamedWindow& window : named[i].windows) {
      windows.push_back(&window);
      input_of.push_back(i);
    }
  }
  const std::vector<Found> found = find(*this, prompt, windows, input_of, options);
  std::vector<Tags> output;
  size_t window = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<Candidate> entities;
    for (const NamedWindow& of_text : named[i].windows) {
      const Found& in_window = found[window++];
      check_answer(i, {&in_window.bad, 1});
      for (const auto& [first, last, label, logit] : in_window.entities) {
        entities.push_back({of_text.first + first, of_text.first + last, label, logit});
      }
    }
    if (named[i].windows.size() > 1) {
      entities = best_of(std::move(entities), named[i].words.size(), options);
    }
    output.push_back(tags_of(named[i], inputs[i].first, labels, entities));
  }
  return output;
}

}  // namespace bert
