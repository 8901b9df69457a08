// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/random_model.h"

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "tools/console/command_line.h"
#include "tools/console/signals/stop.h"

namespace bert::tools {
namespace {

constexpr int kVocabulary = 30522, kPositions = 512, kTypes = 2, kLabels = 3;

struct Sizes {
  int layers, hidden, heads, intermediate;
};

Sizes parse_sizes(const std::string& shape) {
  static const std::map<std::string, Sizes> kNamed = {{"tiny", {2, 128, 2, 512}},
                                                      {"mini", {4, 256, 4, 1024}},
                                                      {"small", {4, 512, 8, 2048}},
                                                      {"base", {12, 768, 12, 3072}},
                                                      {"large", {24, 1024, 16, 4096}}};
  if (const auto found = kNamed.find(shape); found != kNamed.end()) return found->second;
  int numbers[4] = {};
  const char* at = shape.data();
  const char* end = at + shape.size();
  for (int& number : numbers) {
    const auto [next, error] = std::from_chars(at, end, number);
    const bool last = &number == numbers + 3;
    if (error != std::errc() || number < 1 || number > 65536 || (next == end) != last ||
        (!last && *next != ',')) {
      throw UsageError(fmt::format(
          "--shape is '{}', expected base, large, small, mini, tiny or L,H,A,I", shape));
    }
    at = next + (last ? 0 : 1);
  }
  if (numbers[1] % numbers[2] != 0) {
    throw UsageError(fmt::format("--shape is '{}': {} heads do not divide the hidden size {}",
                                 shape, numbers[2], numbers[1]));
  }
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

struct Shape {
  std::string name;
  std::vector<int64_t> sizes;
};

// Named as in a Hugging Face checkpoint.
std::vector<Shape> tensors(const Sizes& s) {
  std::vector<Shape> all;
  const auto dense = [&](const std::string& name, int64_t columns, int64_t width) {
    all.push_back({name + ".weight", {columns, width}});
    all.push_back({name + ".bias", {columns}});
  };
  const auto norm = [&](const std::string& name) {
    all.push_back({name + ".LayerNorm.weight", {s.hidden}});
    all.push_back({name + ".LayerNorm.bias", {s.hidden}});
  };
  all.push_back({"bert.embeddings.word_embeddings.weight", {kVocabulary, s.hidden}});
  all.push_back({"bert.embeddings.position_embeddings.weight", {kPositions, s.hidden}});
  all.push_back({"bert.embeddings.token_type_embeddings.weight", {kTypes, s.hidden}});
  norm("bert.embeddings");
  for (int i = 0; i < s.layers; ++i) {
    const std::string layer = fmt::format("bert.encoder.layer.{}.", i);
    for (const char* name : {"query", "key", "value"}) {
      dense(layer + "attention.self." + name, s.hidden, s.hidden);
    }
    dense(layer + "attention.output.dense", s.hidden, s.hidden);
    norm(layer + "attention.output");
    dense(layer + "intermediate.dense", s.intermediate, s.hidden);
    dense(layer + "output.dense", s.hidden, s.intermediate);
    norm(layer + "output");
  }
  dense("bert.pooler.dense", s.hidden, s.hidden);
  dense("classifier", kLabels, s.hidden);
  return all;
}

// Distributed roughly like a trained model's weights: around 0, or around 1 for the gain of a norm,
// with a standard deviation of 0.02.
template <typename File>
void write_weights(const File& file, const std::vector<Shape>& shapes) {
  nlohmann::ordered_json header;
  int64_t at = 0;
  const auto elements = [](const Shape& shape) {
    int64_t product = 1;
    for (const int64_t size : shape.sizes) product *= size;
    return product;
  };
  for (const Shape& shape : shapes) {
    const int64_t end = at + elements(shape) * static_cast<int64_t>(sizeof(float));
    header[shape.name] = {{"dtype", "F32"}, {"shape", shape.sizes}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.append(-text.size() % 8, ' ');
  const uint64_t length = text.size();
  file.append({reinterpret_cast<const char*>(&length), sizeof(length)});
  file.append(text);
  uint32_t state = 1;  // of the generator of Numerical Recipes, good enough for timing
  std::vector<float> values;
  for (const Shape& shape : shapes) {
    const bool gain = shape.name.ends_with("LayerNorm.weight");
    values.resize(static_cast<size_t>(elements(shape)));
    for (float& value : values) {
      state = state * 1664525u + 1013904223u;
      const float uniform = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
      value = (gain ? 1.0f : 0.0f) + uniform * 0.035f;
    }
    file.append({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }
}

[[noreturn]] void fail() {
  throw std::runtime_error(
      fmt::format("the random model cannot be written (set TMPDIR to use another place): {}",
                  std::strerror(errno)));
}

}  // namespace

// A file without a name, of which nothing is left if the program is killed.
class RandomModel::NamelessFile {
 public:
  explicit NamelessFile(const std::string& folder) {
    std::string pattern = folder + "/bert-bench-XXXXXX";
    fd_ = mkstemp(pattern.data());
    if (fd_ < 0) fail();
    unlink(pattern.c_str());
  }
  ~NamelessFile() { close(fd_); }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }
  void append(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) fail();
      if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
    }
  }

 private:
  int fd_;
};

// The directory of links, which has a name. A thread waits for a signal, so that one that ends the
// process does so as soon as without this, but without leaving the directory behind.
class RandomModel::Links {
 public:
  explicit Links(const std::string& folder) : directory_(folder + "/bert-bench-XXXXXX") {
    if (!mkdtemp(directory_.data())) fail();
    waits_ = std::thread([this] {
      pollfd stop{stop_.fd(), POLLIN, 0};
      while (poll(&stop, 1, -1) < 0 && errno == EINTR) {
      }
      remove_and_end();
    });
  }
  ~Links() {
    stop_.request();
    waits_.join();
    remove_and_end();  // by a signal that came after the request
  }
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  const std::string& directory() const { return directory_; }

 private:
  void remove_and_end() const {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
    if (stop_.signal() != 0) stop_.end_process();
  }

  const Stop stop_;
  std::string directory_;
  std::thread waits_;
};

RandomModel::RandomModel(const std::string& shape) {
  const Sizes sizes = parse_sizes(shape);
  const char* const temporary = std::getenv("TMPDIR");
  const std::string folder = temporary ? temporary : "/tmp";
  const nlohmann::json config = {{"architectures", {"BertForSequenceClassification"}},
                                 {"model_type", "bert"},
                                 {"vocab_size", kVocabulary},
                                 {"hidden_size", sizes.hidden},
                                 {"num_hidden_layers", sizes.layers},
                                 {"num_attention_heads", sizes.heads},
                                 {"intermediate_size", sizes.intermediate},
                                 {"hidden_act", "gelu"},
                                 {"max_position_embeddings", kPositions},
                                 {"type_vocab_size", kTypes},
                                 {"layer_norm_eps", 1e-12},
                                 {"num_labels", kLabels}};
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 5; i < kVocabulary; ++i) vocabulary += fmt::format("w{}\n", i);
  const auto add = [&](const char* name) -> const NamelessFile& {
    return *files_.emplace_back(name, std::make_unique<NamelessFile>(folder)).second;
  };
  add("config.json").append(config.dump());
  add("vocab.txt").append(vocabulary);
  add("tokenizer_config.json").append(R"({"do_lower_case": true})");
  write_weights(add("model.safetensors"), tensors(sizes));
  links_ = std::make_unique<Links>(folder);
  for (const auto& [name, file] : files_) {
    const std::string link = fmt::format("{}/{}", links_->directory(), name);
    if (symlink(file->path().c_str(), link.c_str()) != 0) fail();
  }
}

RandomModel::~RandomModel() = default;
const std::string& RandomModel::directory() const { return links_->directory(); }

}  // namespace bert::tools
