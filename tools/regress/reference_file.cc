// SPDX-License-Identifier: Apache-2.0
#include "tools/regress/reference_file.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/console/counted.h"

namespace bert::tools {

using models::DType;
using models::StoredTensor;

std::optional<int> stage_order(const std::string& name, int layers) {
  if (name == "embeddings") return -1;
  if (name == "pooler") return layers;
  if (name == "logits") return layers + 1;
  if (name == "next_sentence") return layers + 2;
  if (name == "embedding") return layers + 3;
  if (name == "sparse") return layers + 4;
  if (name == "vectors") return layers + 5;
  for (int i = 0; i < layers; ++i) {
    if (name == fmt::format("layer.{}", i)) return i;
  }
  return std::nullopt;
}

int max_length_of_reference(const std::string& path) {
  const models::WeightFile file = models::read_safetensors(path);
  const auto stored = file.metadata().find("max_length");
  if (stored == file.metadata().end()) return 0;
  const std::string& text = stored->second;
  const char* const end = text.data() + text.size();
  int length = 0;
  const auto [next, error] = std::from_chars(text.data(), end, length);
  if (error == std::errc() && next == end && length > 0) return length;
  throw std::runtime_error(fmt::format(
      "{}: __metadata__ max_length is '{}', expected a positive whole number", path, text));
}

ReferenceFile::ReferenceFile(const std::string& path, const bert::Model& model)
    : path_(path), model_(model), file_(models::read_safetensors(path)) {
  read_texts();
  read_ids();
  find_stages();
}

void ReferenceFile::fail(const std::string& reason) const {
  throw std::runtime_error(fmt::format("{}: {}", path_, reason));
}

void ReferenceFile::read_texts() {
  const auto inputs = file_.metadata().find("inputs");
  if (inputs == file_.metadata().end()) return;
  const auto bad = [&](const std::string& what) {
    fail("__metadata__ inputs " + what + ", expected a JSON array of [first] or [first, second]");
  };
  const auto texts = nlohmann::json::parse(inputs->second, nullptr, false);
  if (!texts.is_array() || texts.empty()) bad("is not an array or is empty");
  for (const auto& text : texts) {
    const bool pair = text.is_array() && text.size() == 2 && text[1].is_string();
    if (!text.is_array() || text.empty() || !text[0].is_string() || (text.size() > 1 && !pair)) {
      bad(fmt::format("has something else at {}", encodings_.size()));
    }
    bert::Input input = {text[0].get<std::string>()};
    if (pair) input.second = text[1].get<std::string>();
    try {
      encodings_.push_back(model_.tokenizer().encode(input));
    } catch (const bert::Error& error) {
      fail(fmt::format("__metadata__ inputs, at {}: {}", encodings_.size(), error.what()));
    }
    texts_.push_back(std::move(input));
  }
}

const StoredTensor& ReferenceFile::integers(const char* name) const {
  const StoredTensor* tensor = file_.find(name);
  if (tensor == nullptr) fail(fmt::format("has no {}, expected ids, type_ids and starts", name));
  const bool integral = tensor->dtype == DType::i64 || tensor->dtype == DType::i32 ||
                        tensor->dtype == DType::i16 || tensor->dtype == DType::u8;
  if (!integral || tensor->shape.size() != 1) {
    fail(fmt::format("{} is {} [{}], expected integers [T], or [N + 1] for starts", name,
                     models::dtype_name(tensor->dtype), fmt::join(tensor->shape, ", ")));
  }
  return *tensor;
}

void ReferenceFile::read_ids() {
  const bool texts = !encodings_.empty();
  if (!file_.find("ids") && !file_.find("type_ids") && !file_.find("starts")) {
    if (!texts) fail("has neither ids nor __metadata__ inputs");
    if (file_.find("unattended")) fail("has unattended, but no ids that it could be of");
    return;
  }
  const StoredTensor &ids = integers("ids"), &types = integers("type_ids"),
                     &starts = integers("starts");
  const int64_t inputs = starts.elements() - 1;
  if (types.elements() != ids.elements()) {
    fail(fmt::format("type_ids has {}, but ids has {}", counted(types.elements(), "element"),
                     ids.elements()));
  }
  if (inputs < 1 || starts.at(0) != 0 || starts.at(inputs) != static_cast<double>(ids.elements())) {
    fail(fmt::format("starts does not run from 0 to {}, the number of ids", ids.elements()));
  }
  if (texts && inputs != std::ssize(encodings_)) {
    fail(fmt::format("has {}, but starts has {}", counted(std::ssize(encodings_), "text"),
                     counted(inputs, "input")));
  }
  // All of them before any is used: one that lies beyond the ids comes before one that is smaller.
  for (int64_t n = 0; n < inputs; ++n) {
    if (!(starts.at(n) < starts.at(n + 1)))
      fail(fmt::format("starts does not increase after element {}", n));
  }
  std::vector<bert::Encoding> given(static_cast<size_t>(inputs));
  for (int64_t n = 0; n < inputs; ++n) {
    for (auto t = static_cast<int64_t>(starts.at(n)); t < static_cast<int64_t>(starts.at(n + 1));
         ++t) {
      given[n].ids.push_back(id(ids, t));
      given[n].type_ids.push_back(id(types, t));
    }
  }
  if (file_.find("unattended")) {
    const StoredTensor& unattended = integers("unattended");
    if (unattended.elements() != inputs) {
      fail(fmt::format("unattended has {}, expected {}, one per input",
                       counted(unattended.elements(), "element"), inputs));
    }
    for (int64_t n = 0; n < inputs; ++n) given[n].unattended = id(unattended, n);
  }
  if (texts) compare_ids(given);
  encodings_ = std::move(given);
}

int32_t ReferenceFile::id(const StoredTensor& tensor, int64_t i) const {
  const double value = tensor.at(i);
  if (value < 0 || value > std::numeric_limits<int32_t>::max()) {
    fail(
        fmt::format("{}[{}] is {}, expected an integer from 0 to 2^31 - 1", tensor.name, i, value));
  }
  return static_cast<int32_t>(value);
}

void ReferenceFile::compare_ids(const std::vector<bert::Encoding>& expected) {
  for (size_t n = 0; n < expected.size(); ++n) {
    const bert::Encoding &found = encodings_[n], &wanted = expected[n];
    ids_compared_ += std::ssize(wanted.ids);
    if (found.ids == wanted.ids && found.type_ids == wanted.type_ids) continue;
    ++texts_differing_;
    if (!ids_difference_.empty()) continue;
    size_t t = 0;
    const size_t common = std::min(found.ids.size(), wanted.ids.size());
    while (t < common && found.ids[t] == wanted.ids[t] && found.type_ids[t] == wanted.type_ids[t])
      ++t;
    ids_difference_ = fmt::format("ids differ first, at input {}", n);
    ids_difference_ +=
        t == common
            ? fmt::format(": found {}, expected {}", counted(std::ssize(found.ids), "token"),
                          wanted.ids.size())
            : fmt::format(", token {}: found id {} of type {}, expected {} of type {}", t,
                          found.ids[t], found.type_ids[t], wanted.ids[t], wanted.type_ids[t]);
  }
}

void ReferenceFile::find_stages() {
  for (const bert::Encoding& encoding : encodings_) {
    starts_.push_back(starts_.back() + std::ssize(encoding.ids));
  }
  for (const StoredTensor& tensor : file_.tensors()) {
    const std::string& name = tensor.name;
    if (name == "ids" || name == "type_ids" || name == "starts" || name == "unattended") continue;
    const auto order = stage_order(name, model_.info().layers);
    if (!order) {
      fail(fmt::format(
          "contains {}, expected ids, type_ids, starts, embeddings, layer.0 to layer.{}, "
          "pooler, logits, next_sentence, embedding, sparse or vectors",
          name, model_.info().layers - 1));
    }
    if (tensor.dtype != DType::f32 && tensor.dtype != DType::f64) {
      fail(fmt::format("{} is {}, expected F32 or F64", name, models::dtype_name(tensor.dtype)));
    }
    const bool hidden_states = *order < model_.info().layers;
    const bool by_token =
        hidden_states || name == "vectors" || (name == "logits" && model_.info().has_token_logits);
    const int64_t rows = by_token ? starts_.back() : std::ssize(encodings_);
    if (tensor.shape.size() != 2 || tensor.shape[0] != rows) {
      fail(fmt::format("{} is [{}], expected [{}, columns], one row per {}", name,
                       fmt::join(tensor.shape, ", "), rows, by_token ? "token" : "input"));
    }
    stages_.push_back({*order, &tensor, hidden_states, by_token});
  }
  std::ranges::sort(stages_, {}, &ReferenceStage::order);
  if (stages_.empty() && ids_compared_ == 0)
    fail("has nothing to compare, expected at least one stage");
}

}  // namespace bert::tools
