// SPDX-License-Identifier: Apache-2.0
//
// Weights of 16 bits give the bits that the same numbers give as f32: every stage of every golden.
#include <bit>
#include <map>

#include <gtest/gtest.h>

#include "engine/table.h"
#include "models/directory/inspection.h"
#include "tests/models/copied_model.h"

namespace bert {
namespace {

using engine::FloatType;
using nlohmann::json;

// Cut off to the type's width.
uint16_t narrowed(FloatType type, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (type == FloatType::bf16) return static_cast<uint16_t>(bits >> 16);
  const uint32_t sign = bits >> 16 & 0x8000;
  const int exponent = static_cast<int>(bits >> 23 & 255) - 112;
  if (exponent <= 0 || exponent > 30) return static_cast<uint16_t>(sign);
  return static_cast<uint16_t>(sign | static_cast<uint32_t>(exponent) << 10 | (bits >> 13 & 1023));
}

struct Parts {
  json header;
  std::string bytes;
};

Parts parts_of(const std::string& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  return {json::parse(file.substr(8, length)), file.substr(8 + length)};
}

// The file with its floats cut off, stored as F32 or in the type itself.
std::string rewritten(const std::string& file, FloatType type, bool is_narrow) {
  const Parts parts = parts_of(file);
  json header;
  std::string bytes;
  for (const auto& [name, tensor] : parts.header.items()) {
    if (name == "__metadata__") continue;
    const size_t begin = tensor.at("data_offsets")[0], end = tensor.at("data_offsets")[1];
    const models::StoredTensor stored{
        name, *models::dtype_named(tensor.at("dtype").get<std::string>()), tensor.at("shape"),
        std::as_bytes(std::span(parts.bytes)).subspan(begin, end - begin)};
    std::string dtype = tensor.at("dtype"), data = parts.bytes.substr(begin, end - begin);
    if (models::is_float(stored.dtype)) {
      std::vector<float> values(static_cast<size_t>(stored.elements()));
      stored.copy_to(values.data());
      std::vector<uint16_t> narrow;
      for (const float value : values) narrow.push_back(narrowed(type, value));
      const std::span<const std::byte> halves = std::as_bytes(std::span(narrow));
      engine::widen(type, halves.data(), std::ssize(narrow), values.data());
      const auto written = is_narrow ? halves : std::as_bytes(std::span(values));
      data.assign(reinterpret_cast<const char*>(written.data()), written.size());
      dtype = !is_narrow ? "F32" : type == FloatType::f16 ? "F16" : "BF16";
    }
    header[name] = {{"dtype", dtype},
                    {"shape", tensor.at("shape")},
                    {"data_offsets", {bytes.size(), bytes.size() + data.size()}}};
    bytes += data;
  }
  const std::string text = header.dump();
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + text + bytes;
}

using Stages = std::map<std::string, std::vector<float>, std::less<>>;

Stages stages_of(const test::CopiedModel& copy, const Encoding& input) {
  Options options;
  options.threads = 2;
  options.precision = Precision::f32;
  const Model model = Model::load(copy.path(), options);
  Stages stages;
  models::run_traced(
      model, input,
      [&](std::string_view stage, const float* values, int64_t rows, int64_t columns) {
        stages.emplace(stage, std::vector<float>(values, values + rows * columns));
      });
  return stages;
}

TEST(NarrowWeights, GiveTheSameBitsAsFloats) {
  int models = 0;
  for (const std::string& name : test::golden_names()) {
    const test::CopiedModel copy(name);
    if (!std::filesystem::exists(copy.path("model.safetensors"))) continue;
    const auto reference = models::read_safetensors(test::golden(name) + ".safetensors");
    const Encoding input = test::reference_inputs(reference).back();
    const std::string file = copy.read("model.safetensors");
    for (const FloatType type : {FloatType::bf16, FloatType::f16}) {
      SCOPED_TRACE(name + (type == FloatType::f16 ? " in F16" : " in BF16"));
      copy.write("model.safetensors", rewritten(file, type, false));
      const Stages expected = stages_of(copy, input);
      copy.write("model.safetensors", rewritten(file, type, true));
      const Stages got = stages_of(copy, input);
      ASSERT_EQ(got.size(), expected.size());
      for (const auto& [stage, values] : expected) {
        EXPECT_TRUE(test::same_bits(got.at(stage), values)) << stage;
      }
    }
    ++models;
  }
  EXPECT_GE(models, 80);
}

// The table of word embeddings is that of the file that was loaded, whatever takes its name.
TEST(NarrowWeights, TheFileMayBeReplacedWhileItIsInUse) {
  const test::CopiedModel copy("bf16");
  const Model model = Model::load(copy.path());
  const Output before = model.embed({&test::kInput, 1});
  const std::string zeros(copy.read("model.safetensors").size(), '\0');
  copy.write("other.safetensors", zeros);
  std::filesystem::rename(copy.path("other.safetensors"), copy.path("model.safetensors"));
  EXPECT_TRUE(test::same_bits(model.embed({&test::kInput, 1}).values, before.values));
}

}  // namespace
}  // namespace bert
