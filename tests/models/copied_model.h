// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/models/goldens.h"

namespace bert::test {

// A copy of a golden model whose files a test may change. Removed with the object.
class CopiedModel {
 public:
  explicit CopiedModel(const std::string& name) {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::path(testing::TempDir()) /
                 ("bert-infer-" + std::string(info->test_suite_name()) + "-" + info->name() + "-" +
                  std::to_string(std::random_device()()));
    std::filesystem::copy(golden(name), directory_, std::filesystem::copy_options::recursive);
  }
  CopiedModel(const CopiedModel&) = delete;
  CopiedModel& operator=(const CopiedModel&) = delete;
  ~CopiedModel() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  std::string path() const { return directory_.string(); }
  std::string path(const std::string& file) const { return (directory_ / file).string(); }
  std::string read(const std::string& file) const {
    std::ifstream stream(directory_ / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& file, const std::string& content) const {
    std::filesystem::create_directories((directory_ / file).parent_path());
    std::ofstream(directory_ / file, std::ios::binary) << content;
  }
  void write_json(const std::string& file, const nlohmann::json& content) const {
    write(file, content.dump(1));
  }
  // Sets the fields of `changes` in an existing JSON file; null removes a field.
  void change(const std::string& file, const nlohmann::json& changes) const {
    auto content = nlohmann::json::parse(read(file));
    content.merge_patch(changes);
    write_json(file, content);
  }
  struct F32 {
    const char* name;
    std::vector<int64_t> shape;
    std::span<const float> values;
  };
  void write_tensors(const std::string& file, std::span<const F32> tensors) const {
    nlohmann::json header;
    std::string bytes;
    for (const auto& [name, shape, values] : tensors) {
      const size_t begin = bytes.size(), end = begin + values.size_bytes();
      header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
      bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    }
    const std::string text = header.dump();
    const uint64_t length = text.size();
    write(file, std::string(reinterpret_cast<const char*>(&length), 8) + text + bytes);
  }
  // Edits an F32 tensor of model.safetensors in place, or one of F16 or BF16 as uint16_t.
  template <typename Element = float>
  void change_tensor(
      const std::string& name,
      const std::function<void(std::type_identity_t<Element>* values, size_t count)>& edit) const {
    std::string content = read("model.safetensors");
    uint64_t header = 0;
    std::memcpy(&header, content.data(), 8);
    const auto tensor = nlohmann::json::parse(content.substr(8, header)).at(name);
    ASSERT_EQ(tensor.at("dtype") == "F32", sizeof(Element) == 4) << tensor.at("dtype");
    const size_t begin = tensor.at("data_offsets")[0], end = tensor.at("data_offsets")[1];
    std::vector<Element> values((end - begin) / sizeof(Element));
    std::memcpy(values.data(), content.data() + 8 + header + begin, end - begin);
    edit(values.data(), values.size());
    std::memcpy(content.data() + 8 + header + begin, values.data(), end - begin);
    write("model.safetensors", content);
  }

 private:
  std::filesystem::path directory_;
};

inline std::string load_error(const CopiedModel& copy, const std::string& prompt = "") {
  Options options;
  options.prompt = prompt;
  return error_of([&] { Model::load(copy.path(), options); });
}

inline Model load_golden(const std::string& name, int threads = 1,
                         Precision precision = Precision::automatic, int max_length = 0) {
  Options options;
  options.threads = threads;
  options.workers = 1;
  options.precision = precision;
  options.max_length = max_length;
  return Model::load(golden(name), options);
}

// In double, with the maximum subtracted.
inline std::vector<double> softmax(std::span<const float> logits) {
  double max = -INFINITY, sum = 0;
  for (const float logit : logits) max = std::max<double>(max, logit);
  std::vector<double> result;
  for (const float logit : logits) sum += result.emplace_back(std::exp(logit - max));
  for (double& value : result) value /= sum;
  return result;
}

}  // namespace bert::test
