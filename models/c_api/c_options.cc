// SPDX-License-Identifier: Apache-2.0
//
// Options by name. Their names and values are those of bert-infer's options.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/c_api/boundary/c_arguments.h"
#include "models/calls/workers.h"
#include "models/tasks/task_names.h"

namespace bert::c_api {
namespace {

struct KnownOption {
  std::string_view name;
  std::function<void(std::string_view value)> set;
};

[[noreturn]] void wrong_value(std::string_view name, std::string_view value,
                              const std::string& expected) {
  throw InvalidArgument(fmt::format("option {} is '{}', expected {}", name, value, expected));
}

template <typename Number>
KnownOption number(std::string_view name, Number& to, Number least,
                   Number most = std::numeric_limits<Number>::max()) {
  return {name, [name, &to, least, most](std::string_view value) {
            const char* end = value.data() + value.size();
            const auto [stop, error] = std::from_chars(value.data(), end, to);
            if (error != std::errc() || stop != end || to < least || to > most) {
              wrong_value(name, value, fmt::format("a whole number from {} to {}", least, most));
            }
          }};
}

template <typename Enum, size_t N>
KnownOption choice(std::string_view name, Enum& to, const models::Named<Enum> (&values)[N]) {
  return {name, [name, &to, &values](std::string_view value) {
            const auto found = std::ranges::find(values, value, &models::Named<Enum>::name);
            if (found == std::end(values)) {
              std::vector<std::string_view> names;
              for (const auto& known : values) names.push_back(known.name);
              wrong_value(name, value, fmt::format("one of {}", fmt::join(names, ", ")));
            }
            to = found->value;
          }};
}

void read_options(const bert_option* options, size_t count, const std::vector<KnownOption>& known) {
  if (count > 0) required(options, "options");
  std::vector<std::string_view> given;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view name = &required(options[i].name, fmt::format("options[{}].name", i));
    const std::string_view value = &required(options[i].value, fmt::format("options[{}].value", i));
    const auto found = std::ranges::find(known, name, &KnownOption::name);
    if (found == known.end()) {
      std::vector<std::string_view> names;
      for (const KnownOption& option : known) names.push_back(option.name);
      throw InvalidArgument(
          fmt::format("unknown option '{}', expected one of {}", name, fmt::join(names, ", ")));
    }
    if (std::ranges::find(given, name) != given.end()) {
      throw InvalidArgument(fmt::format("option {} is given twice", name));
    }
    given.push_back(name);
    found->set(value);
  }
}

}  // namespace

Options read_load_options(const bert_option* options, size_t count) {
  Options read;
  read_options(options, count,
               {choice("precision", read.precision, models::kPrecisions),
                choice("backend", read.backend, models::kBackends),
                number("workers", read.workers, 0, models::kMaxThreads),
                number("threads", read.threads, 0, models::kMaxThreads),
                number("batch_tokens", read.batch_tokens, 1),
                number<int64_t>("kept_memory", read.kept_memory, -1),
                number("max_length", read.max_length, 0),
                {"prompt", [&](std::string_view value) { read.prompt = value; }},
                {"adapter", [&](std::string_view value) { read.adapter = value; }}});
  return read;
}

namespace {

// Reads "person, city".
KnownOption labels(std::vector<std::string>& to) {
  return {"labels", [&to](std::string_view value) {
            for (size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
              end = value.find(',', begin);
              std::string_view label = value.substr(begin, end - begin);
              label.remove_prefix(std::min(label.find_first_not_of(' '), label.size()));
              label.remove_suffix(label.size() - (label.find_last_not_of(' ') + 1));
              if (label.empty()) wrong_value("labels", value, "no empty label");
              if (std::ranges::find(to, label) != to.end()) {
                wrong_value("labels", value, "each label once");
              }
              to.emplace_back(label);
            }
          }};
}

KnownOption probability(std::string_view name, float& to) {
  return {name, [name, &to](std::string_view value) {
            const char* end = value.data() + value.size();
            const auto [stop, error] = std::from_chars(value.data(), end, to);
            if (error != std::errc() || stop != end || !(to >= 0 && to <= 1)) {
              wrong_value(name, value, "a probability from 0 to 1");
            }
          }};
}

KnownOption flag(std::string_view name, bool& to) {
  return {name, [name, &to](std::string_view value) {
            if (value != "0" && value != "1") wrong_value(name, value, "0 or 1");
            to = value == "1";
          }};
}

std::vector<KnownOption> tag_options(TagOptions& read) {
  return {choice("aggregation", read.aggregation, models::kAggregations),
          number("stride", read.stride, 0),
          labels(read.labels),
          probability("threshold", read.threshold),
          flag("nested", read.nested),
          flag("multi_label", read.multi_label)};
}

std::vector<KnownOption> answer_options(AnswerOptions& read) {
  return {number("stride", read.stride, 0), number("answer_tokens", read.most_tokens, 1),
          number("top_k", read.top_k, 1)};
}

// Reads "0,-1".
KnownOption layers(std::vector<int>& to) {
  return {"layers", [&to](std::string_view value) {
            const char *at = value.data(), *end = at + value.size();
            for (bool more = true; more; ++at) {
              const auto [next, error] = std::from_chars(at, end, to.emplace_back());
              if (error != std::errc() || (next != end && *next != ',')) {
                wrong_value("layers", value, "whole numbers separated by commas");
              }
              more = next != end;
              at = next;
            }
          }};
}

}  // namespace

TagOptions read_tag_options(const bert_option* options, size_t count) {
  TagOptions read;
  read_options(options, count, tag_options(read));
  return read;
}

AnswerOptions read_answer_options(const bert_option* options, size_t count) {
  AnswerOptions read;
  read_options(options, count, answer_options(read));
  return read;
}

QueueOptions read_queue_options(const bert_option* options, size_t count) {
  QueueOptions read;
  read_options(options, count,
               {number<int64_t>("max_requests", read.max_requests, 0),
                number<int64_t>("max_tokens", read.max_tokens, 0)});
  return read;
}

SubmitOptions read_submit_options(std::string_view task, const bert_option* options, size_t count) {
  SubmitOptions read;
  std::vector<KnownOption> known;
  if (task == "fill_mask") known = {number("k", read.k, 1)};
  if (task == "tag") known = tag_options(read.tag);
  if (task == "answer") known = answer_options(read.answer);
  if (task == "hidden") known = {layers(read.layers)};
  known.push_back(number<int64_t>("deadline_ms", read.deadline_ms, 0));
  read_options(options, count, known);
  return read;
}

}  // namespace bert::c_api
