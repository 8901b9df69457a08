// SPDX-License-Identifier: Apache-2.0
#include "tools/report/environment.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include "engine/dense/product.h"
#include "engine/kernels/pick_kernels.h"
#include "models/directory/inspection.h"
#include "tools/console/progress_bar.h"
#include "tools/report/sha256.h"

namespace bert::tools {
namespace {

using nlohmann::ordered_json;

// As the kernel names it; not every architecture's does.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string system_name() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

std::string name_in(const std::string& directory, const std::string& file) {
  const std::filesystem::path path(file), folder(directory);
  std::string name = path.lexically_normal().lexically_relative(folder.lexically_normal());
  return name.empty() || name.starts_with("..") ? file : name;
}

}  // namespace

ordered_json describe_environment() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return {{"processor", processor_name()},
          {"instruction_set", engine::best_kernels().name},
          {"system", system_name()},
          {"bert_infer", bert::version()},
          {"onednn", engine::onednn_version()},
          {"created", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))}};
}

ordered_json describe_environment(const bert::Model& model) {
  ordered_json all = describe_environment();
  const bert::Info& info = model.info();
  all["architecture"] = info.architecture;
  const std::string adapter = models::adapter_of(model);
  if (!adapter.empty()) all["adapter"] = adapter;
  all["precision"] = info.precision;
  all["backend"] = info.backend;
  all["product"] = models::product_of(model);
  all["workers"] = info.workers;
  all["threads"] = info.threads;
  return all;
}

ordered_json describe_files(const std::string& directory, const bert::Info& info) {
  uintmax_t total = 0;
  for (const std::string& file : info.files) total += std::filesystem::file_size(file);
  constexpr double kMegabyte = 1e6;
  ProgressBar bar("hashing", static_cast<double>(total) / kMegabyte, "MB");
  ordered_json files = ordered_json::array();
  for (const std::string& file : info.files) {
    const std::string sum =
        sha256_of(file, [&](size_t bytes) { bar.add(static_cast<double>(bytes) / kMegabyte); });
    files.push_back({{"name", name_in(directory, file)},
                     {"bytes", std::filesystem::file_size(file)},
                     {"sha256", sum}});
  }
  return files;
}

ordered_json rounded_number(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

std::string read_whole(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw std::runtime_error(path + ": is a directory, expected a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace bert::tools
