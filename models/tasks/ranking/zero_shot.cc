// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/model_impl.h"
#include "models/tasks/logits.h"
#include "models/tasks/on_this_thread.h"
#include "models/tasks/ranking/bert_ranking.h"
#include "models/tasks/ranking/entailment.h"

namespace bert {
namespace models {

std::optional<int> find_entailment(const Info& info) {
  if (info.head_task != Task::classify || info.labels.size() < 2) return std::nullopt;
  for (int i = 0; i < static_cast<int>(std::ssize(info.labels)); ++i) {
    std::string label = info.labels[i];
    std::ranges::transform(label, label.begin(), [](unsigned char c) { return std::tolower(c); });
    if (label.starts_with("entail")) return i;
  }
  return std::nullopt;
}

std::string hypothesis(const std::string& form, const std::string& label) {
  const size_t place = form.find("{}");
  // In Python's templates, other braces have a meaning of their own.
  if (place == std::string::npos || form.find_first_of("{}") < place ||
      form.find_first_of("{}", place + 2) != std::string::npos) {
    throw Error(fmt::format(
        "the hypothesis is '{}', expected {{}} once, for the label, and no other braces", form));
  }
  return form.substr(0, place) + label + form.substr(place + 2);
}

std::vector<Encoding> encode_here(const Model& model, std::span<const std::string> texts,
                                  std::span<const std::string> labels, const std::string& form) {
  return guarded([&] {
    return Internals::impl(model).encode_hypotheses(texts, labels, form, on_this_thread);
  });
}

std::vector<float> entailment_scores(const Output& logits, int64_t first, int64_t count,
                                     int entailment, bool each) {
  // Contradiction is the first label or, if that is entailment, the last.
  const int64_t contradiction = entailment == 0 ? logits.columns - 1 : 0;
  std::vector<float> scores;
  for (int64_t i = first; i < first + count; ++i) {
    const double yes = logits.row(i)[entailment], no = logits.row(i)[contradiction];
    scores.push_back(static_cast<float>(each ? 1 / (1 + std::exp(no - yes)) : yes));
  }
  return each || scores.empty() ? scores : softmax(scores);
}

}  // namespace models

namespace {

// Drops tokens of the first text only, like Hugging Face's truncation "only_first", on the side
// that the tokenizer's files name, and their memory; of a text for which there is no room, all.
void fit_first(Encoding& encoding, int most, bool from_left) {
  const auto excess = std::min(static_cast<int32_t>(std::ssize(encoding.ids)) - most,
                               encoding.first.end - encoding.first.begin);
  if (excess <= 0) return;
  const int32_t begin = from_left ? encoding.first.begin : encoding.first.end - excess;
  const auto erase = [&](auto& values) {
    values.erase(values.begin() + begin, values.begin() + begin + excess);
    values.shrink_to_fit();
  };
  erase(encoding.ids);
  erase(encoding.type_ids);
  erase(encoding.offsets);
  encoding.first.end -= excess;
  encoding.second.begin -= excess;
  encoding.second.end -= excess;
  encoding.truncated = true;
}

void check_fits(const Encoding& encoding, int most) {
  if (std::ssize(encoding.ids) <= most) return;
  throw Error(fmt::format("a hypothesis of {} tokens leaves no room for the text in an input of {}",
                          encoding.second.end - encoding.second.begin, most));
}

// Throws an error that names the text, label or hypothesis that cannot be encoded, not a pair.
void blame(const tokenizer::TextEncoder& encoder, std::span<const std::string> texts,
           std::span<const std::string> labels, const std::string& form) {
  const auto check = [&](const std::string& what, const std::string& text) {
    try {
      encoder.encode(text, std::nullopt, 0);
    } catch (const std::exception& error) {
      throw Error(fmt::format("{}: {}", what, error.what()));
    }
  };
  const auto try_each = [&](const char* what, std::span<const std::string> each) {
    for (size_t i = 0; i < each.size(); ++i) check(fmt::format("{} {}", what, i), each[i]);
  };
  check("the hypothesis", form);
  try_each("label", labels);
  try_each("input", texts);
}

}  // namespace

std::vector<Encoding> Model::Impl::encode_hypotheses(std::span<const std::string> texts,
                                                     std::span<const std::string> labels,
                                                     const std::string& form,
                                                     const models::ForEach& for_each) const {
  std::vector<std::string> hypotheses;
  for (const std::string& label : labels) hypotheses.push_back(models::hypothesis(form, label));
  std::vector<models::Texts> pairs;
  for (const std::string& text : texts) {
    for (const std::string& follows : hypotheses) pairs.push_back({text, follows});
  }
  const tokenizer::TextEncoder& to_ids = tokenizer.impl_->text_encoder;
  const auto fit = [&](Encoding& each) {  // at once: a long text has one for each label
    fit_first(each, info.max_length, to_ids.truncates_left());
  };
  try {
    std::vector<Encoding> encodings = models::encode_batch(to_ids, pairs, 0, for_each, fit);
    for (const Encoding& each : encodings) check_fits(each, info.max_length);
    return encodings;
  } catch (const std::exception&) {
    blame(to_ids, texts, labels, form);
    throw;
  }
}

std::vector<ZeroShot> zero_shot(const Model& model, std::span<const std::string> texts,
                                std::span<const std::string> labels,
                                const ZeroShotOptions& options) {
  return models::guarded([&] {
    const Internals::Impl& impl = Internals::impl(model);
    const std::optional<int> entailment = models::find_entailment(impl.info);
    if (!entailment) {
      throw Error(fmt::format(
          "{}: id2label: found {} in {}, expected several labels of which one begins with "
          "\"entail\", for zero-shot classification",
          impl.config.path,
          impl.info.labels.empty() ? "none" : fmt::format("{}", fmt::join(impl.info.labels, ", ")),
          impl.info.architecture));
    }
    if (labels.empty()) throw Error("there are no labels, expected at least one");
    const auto count = std::ssize(labels);
    const std::vector<Encoding> encodings =
        impl.encode_hypotheses(texts, labels, options.hypothesis, impl.on_workers());
    const Output logits = impl.run(encodings, [&](size_t pair) { return pair / labels.size(); });
    std::vector<ZeroShot> output(texts.size());
    for (int64_t i = 0; i < std::ssize(output); ++i) {
      ZeroShot& found = output[i];
      found.probabilities = models::entailment_scores(logits, i * count, count, *entailment,
                                                      options.multi_label || count == 1);
      found.best = top_k(found.probabilities, count);
      for (int64_t pair = i * count; pair < (i + 1) * count; ++pair) {
        found.tokens += static_cast<int32_t>(encodings[pair].ids.size());
        found.truncated |= encodings[pair].truncated;
      }
    }
    return output;
  });
}

}  // namespace bert
