// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/shards/shard.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "tools/console/command_line.h"

namespace bert::tools {
namespace {

std::optional<int64_t> number_of(std::string_view text) {
  int64_t value = 0;
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || next != text.data() + text.size()) return std::nullopt;
  return value;
}

int64_t from_environment(const char* name) {
  const char* const text = std::getenv(name);
  if (!text) {
    throw UsageError(fmt::format("--shard slurm: {} is not set, expected a job array", name));
  }
  if (const auto value = number_of(text)) return *value;
  throw UsageError(fmt::format("--shard slurm: {} is {}, expected a number", name, text));
}

// Arrays may begin at any number, but must not leave any out.
Shard shard_of_slurm() {
  const int64_t id = from_environment("SLURM_ARRAY_TASK_ID");
  const int64_t count = from_environment("SLURM_ARRAY_TASK_COUNT");
  const int64_t first = from_environment("SLURM_ARRAY_TASK_MIN");
  const int64_t last = from_environment("SLURM_ARRAY_TASK_MAX");
  if (count >= 1 && last - first + 1 == count && id >= first && id <= last) {
    return {.index = id - first, .count = count};
  }
  throw UsageError(
      fmt::format("--shard slurm: the job array has {} tasks from {} to {}, of which this is {}, "
                  "expected consecutive numbers",
                  count, first, last, id));
}

}  // namespace

Shard parse_shard(const std::string& text) {
  if (text == "slurm") return shard_of_slurm();
  const std::string_view all = text;
  const size_t slash = all.find('/');
  if (slash != std::string_view::npos) {
    const auto index = number_of(all.substr(0, slash)), count = number_of(all.substr(slash + 1));
    if (index && count && *index >= 0 && *index < *count) {
      return {.index = *index, .count = *count};
    }
  }
  throw UsageError(fmt::format(
      "--shard {}: expected I/N with I from 0 to N - 1, such as 0/4 to 3/4, or slurm", text));
}

}  // namespace bert::tools
