// SPDX-License-Identifier: Apache-2.0
//
// Models downloaded by huggingface_hub, in its cache's layout: models--ORG--NAME/refs/main names a
// commit, and snapshots/COMMIT is the model's directory.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "models/model_impl.h"

namespace bert {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

bool is_of_variable(char c) {
  return (static_cast<unsigned char>(c) < 0x80 && std::isalnum(static_cast<unsigned char>(c))) ||
         c == '_';
}

// "~/hf", "$HOME/hf" and "${HOME}/hf", as Python's expanduser() and expandvars() read them: files
// that set the environment without a shell often say so. What is not set stays as it is.
std::string expanded(std::string folder) {
  if (folder == "~" || folder.starts_with("~/")) folder.replace(0, 1, environment("HOME"));
  std::string out;
  for (size_t at = 0; at < folder.size();) {
    const bool braces = folder.compare(at, 2, "${") == 0;
    const size_t begin = at + (braces ? 2 : 1);
    size_t end = begin;
    while (end < folder.size() && (braces ? folder[end] != '}' : is_of_variable(folder[end])))
      ++end;
    const bool is_whole = end > begin && (!braces || end < folder.size());
    const std::string name = folder.substr(std::min(begin, folder.size()), end - begin);
    if (folder[at] == '$' && is_whole && std::getenv(name.c_str())) {
      out += environment(name.c_str());
      at = end + (braces ? 1 : 0);
    } else {
      out += folder[at++];
    }
  }
  return out;
}

// Like huggingface_hub's constants.py: the first that is set.
fs::path cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const std::string folder = environment(name); !folder.empty()) return expanded(folder);
  }
  if (const std::string home = environment("HF_HOME"); !home.empty()) {
    return fs::path(expanded(home)) / "hub";
  }
  std::string caches = environment("XDG_CACHE_HOME");
  if (caches.empty()) caches = environment("HOME") + "/.cache";
  return fs::path(expanded(caches)) / "huggingface" / "hub";
}

bool is_part_of_name(std::string_view part) {
  return !part.empty() && part.front() != '.' && part.front() != '-' &&
         part.find("--") == std::string_view::npos &&
         std::ranges::all_of(part, [](unsigned char c) {
           return (c < 0x80 && std::isalnum(c) != 0) || c == '-' || c == '_' || c == '.';
         });
}

struct HubName {
  std::string folder;  // "models--ORG--NAME"; empty if this is not a name on the hub
  std::string revision;
};
HubName parse_hub_name(std::string_view name) {
  HubName hub = {.folder = "models", .revision = "main"};
  if (const size_t at = name.find('@'); at != std::string_view::npos) {
    hub.revision = name.substr(at + 1);
    name = name.substr(0, at);
    if (hub.revision.empty() || hub.revision.find("..") != std::string::npos) return {};
  }
  const size_t slash = name.find('/');
  if (slash != std::string_view::npos && !is_part_of_name(name.substr(0, slash))) return {};
  if (!is_part_of_name(name.substr(slash == std::string_view::npos ? 0 : slash + 1))) return {};
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    hub.folder += fmt::format("--{}", name.substr(begin, end - begin));
    begin = end + 1;
  }
  return hub;
}

// The snapshot of a revision, which is a branch, a tag, or the commit itself.
fs::path snapshot_of(const fs::path& repository, const std::string& revision) {
  std::string commit;
  if (!(std::ifstream(repository / "refs" / revision) >> commit)) commit = revision;
  if (commit.find('/') != std::string::npos || commit.starts_with('.')) return {};
  return repository / "snapshots" / commit;
}

}  // namespace

std::string find_model(const std::string& name) {
  if (name.find('\0') != std::string::npos) {
    throw Error(
        fmt::format("the model's name '{}' has a NUL, expected a directory or ORG/NAME", name));
  }
  std::error_code error;
  if (fs::is_directory(name, error)) return name;
  if (error && error != std::errc::no_such_file_or_directory &&
      error != std::errc::not_a_directory) {
    throw Error(fmt::format("{}: cannot be read: {}", name, error.message()));
  }
  const HubName hub = parse_hub_name(name);
  std::string cached;
  if (!hub.folder.empty()) {
    const fs::path cache = cache_folder(), repository = cache / hub.folder;
    const fs::path snapshot = snapshot_of(repository, hub.revision);
    if (!snapshot.empty() && fs::is_directory(snapshot, error)) return snapshot;
    if (fs::is_directory(repository, error)) {
      throw Error(fmt::format("{}: {} has no snapshot of the revision {}", name,
                              repository.string(), hub.revision));
    }
    cached = " or a model in " + cache.string();
  }
  throw Error(fmt::format("{}: not a directory (expected a Hugging Face model directory{})",
                          name.empty() ? "''" : name, cached));
}

}  // namespace bert
