// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/new_directory.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace bert::tools {

namespace fs = std::filesystem;

namespace {

constexpr const char* kNotEmpty = "exists and is not an empty directory";

}  // namespace

NewDirectory::NewDirectory(const std::string& name)
    : name_(name), target_(fs::weakly_canonical(fs::absolute(name))) {
  if (!target_.has_filename()) target_ = target_.parent_path();  // "NEW/"
  was_there_ = fs::exists(target_);
  if (was_there_ && (!fs::is_directory(target_) || !fs::is_empty(target_))) fail(kNotEmpty);
}

const fs::path& NewDirectory::begin() {
  const fs::path place = was_there_ ? target_ : target_.parent_path();
  const std::string name = fmt::format(".{}.{}.partial", target_.filename().string(), getpid());
  std::error_code error;
  fs::create_directories(place, error);
  if (!error && !fs::create_directory(place / name, error) && !error) {
    error = std::make_error_code(std::errc::file_exists);
  }
  if (error) fail(fmt::format("{} cannot be created: {}", name, error.message()));
  return begun_ = place / name;
}

void NewDirectory::finish() {
  std::error_code error;
  if (was_there_) {
    move_entries(error);
  } else {
    fs::rename(begun_, target_, error);  // which an empty directory does not hinder
  }
  if (error == std::errc::directory_not_empty || error == std::errc::file_exists ||
      error == std::errc::not_a_directory) {
    fail(kNotEmpty);
  }
  if (error) fail("cannot be created: " + error.message());
}

// The weights last: nothing passes for a model before it is one.
void NewDirectory::move_entries(std::error_code& error) const {
  const fs::directory_iterator all(target_);
  if (std::ranges::count_if(all, [](const auto&) { return true; }) > 1) return fail(kNotEmpty);
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(begun_)) paths.push_back(entry.path());
  std::partition(paths.begin(), paths.end(),
                 [](const fs::path& path) { return path.filename() != kWeights; });
  for (const fs::path& path : paths) {
    if (!error) fs::rename(path, target_ / path.filename(), error);
  }
}

void NewDirectory::remove() {
  std::error_code ignored;
  if (!begun_.empty()) fs::remove_all(begun_, ignored);
}

void NewDirectory::fail(const std::string& reason) const {
  throw std::runtime_error(fmt::format("{}: {}", name_, reason));
}

}  // namespace bert::tools
