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

// In an array that repeats some tasks of an earlier one, the count is that of the repeated tasks:
// what does not look like a whole array is refused.
Shard shard_of_slurm() {
  const int64_t id = from_environment("SLURM_ARRAY_TASK_ID");
  const int64_t count = from_environment("SLURM_ARRAY_TASK_COUNT");
  const int64_t first = from_environment("SLURM_ARRAY_TASK_MIN");
  const int64_t last = from_environment("SLURM_ARRAY_TASK_MAX");
  if ((first == 0 || first == 1) && last - first + 1 == count && id >= first && id <= last) {
    return {.index = id - first, .count = count};
  }
  throw UsageError(
      fmt::format("--shard slurm: the job array has {} tasks from {} to {}, of which this is {}, "
                  "expected all numbers from 0 or 1 on; to repeat some of N tasks that are "
                  "numbered from 0, write --shard slurm/N",
                  count, first, last, id));
}

// Of so many tasks, numbered from 0, of which any may be repeated in an array of their own.
Shard task_of_slurm(int64_t count) {
  const int64_t id = from_environment("SLURM_ARRAY_TASK_ID");
  if (id >= 0 && id < count) return {.index = id, .count = count};
  throw UsageError(
      fmt::format("--shard slurm/{}: SLURM_ARRAY_TASK_ID is {}, expected a number from 0 to {}",
                  count, id, count - 1));
}

}  // namespace

Shard parse_shard(const std::string& text) {
  if (text == "slurm") return shard_of_slurm();
  const std::string_view all = text;
  const size_t slash = all.find('/');
  if (slash != std::string_view::npos) {
    const auto index = number_of(all.substr(0, slash)), count = number_of(all.substr(slash + 1));
    if (all.substr(0, slash) == "slurm" && count && *count > 0) return task_of_slurm(*count);
    if (index && count && *index >= 0 && *index < *count) {
      return {.index = *index, .count = *count};
    }
  }
  throw UsageError(fmt::format(
      "--shard {}: expected I/N with I from 0 to N - 1, such as 0/4 to 3/4, or slurm, or slurm/N",
      text));
}

}  // namespace bert::tools
