// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/bert_infer.h"
#include "models/directory/inspection.h"
#include "models/weights/json_file.h"
#include "models/weights/safetensors.h"

namespace bert::test {

// The message of the bert::Error that body throws. Any other exception fails the test.
inline std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

// A random model from tests/golden/make_goldens.py; its stages in float64 are in NAME.safetensors.
inline std::string golden(const std::string& name) { return std::string(FIXTURE_DIR) + "/" + name; }

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The backends that can multiply in a precision on this machine.
inline std::vector<Backend> backends_of(Precision precision) {
  std::vector<Backend> backends = {Backend::panels};
  Options options;
  options.precision = precision;
  options.backend = Backend::onednn;
  const std::string error = error_of([&] { Model::load(golden("plain"), options); });
  if (error == "no error") backends.push_back(Backend::onednn);
  return backends;
}
inline const char* name_of(Backend backend) {
  return backend == Backend::panels ? "panels" : "onednn";
}

// The stages of one input, by name, which the golden tests compare with float64.
inline std::map<std::string, Output> traced(const Model& model, const Encoding& input) {
  std::map<std::string, Output> stages;
  models::run_traced(
      model, input,
      [&](std::string_view stage, const float* values, int64_t rows, int64_t columns) {
        Output& output = stages[std::string(stage)] = Output(rows, columns);
        std::copy_n(values, rows * columns, output.values.begin());
      });
  return stages;
}

// A pair that every golden model accepts.
inline const Encoding kInput = {{2, 17, 33, 4, 90, 3}, {0, 0, 0, 0, 1, 1}, {}, false};

inline std::vector<std::string> golden_names() {
  const models::JsonFile index(golden("index.json"));
  std::vector<std::string> names;
  for (const auto& model : index.root().at("models")) {
    names.push_back(model.at("name").get<std::string>());
  }
  return names;
}

inline std::vector<Encoding> reference_inputs(const models::WeightFile& reference) {
  const auto &starts = *reference.find("starts"), &ids = *reference.find("ids"),
             &types = *reference.find("type_ids");
  const auto* unattended = reference.find("unattended");
  std::vector<Encoding> encodings;
  for (int64_t i = 0; i + 1 < starts.elements(); ++i) {
    Encoding& encoding = encodings.emplace_back();
    if (unattended) encoding.unattended = static_cast<int32_t>(unattended->at(i));
    for (auto t = static_cast<int64_t>(starts.at(i)); t < static_cast<int64_t>(starts.at(i + 1));
         ++t) {
      encoding.ids.push_back(static_cast<int32_t>(ids.at(t)));
      encoding.type_ids.push_back(static_cast<int32_t>(types.at(t)));
    }
  }
  return encodings;
}

inline Encoding random_encoding(int length, int vocabulary, std::mt19937& generator) {
  Encoding encoding;
  for (int i = 0; i < length; ++i) {
    encoding.ids.push_back(std::uniform_int_distribution<int>(0, vocabulary - 1)(generator));
    encoding.type_ids.push_back(2 * i > length ? 1 : 0);
  }
  return encoding;
}

}  // namespace bert::test
