// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/shards/indexed_lines.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace bert::tools {
namespace {

// The last two line breaks of a file, or what is before them: [begin, end) is the last whole line.
struct Range {
  int64_t begin = 0, end = 0;
};
Range find_last_line(std::ifstream& file) {
  constexpr int64_t kStep = int64_t{1} << 20;
  file.seekg(0, std::ios::end);
  std::string block;
  std::optional<int64_t> end;
  for (int64_t before = file.tellg(); before > 0;) {
    const int64_t from = std::max<int64_t>(0, before - kStep);
    block.resize(static_cast<size_t>(before - from));
    file.seekg(from);
    file.read(block.data(), before - from);
    for (size_t at = block.rfind('\n'); at != std::string::npos; at = block.rfind('\n', at - 1)) {
      const int64_t after = from + static_cast<int64_t>(at) + 1;
      if (end) return {after, *end};
      end = after;
      if (at == 0) break;
    }
    before = from;
  }
  return {0, end.value_or(0)};
}

}  // namespace

std::optional<int64_t> index_of(std::string_view line, OutputFormat format) {
  constexpr std::string_view kKey = "{\"index\": ";
  if (format == OutputFormat::jsonl) {
    if (!line.starts_with(kKey)) return std::nullopt;
    line.remove_prefix(kKey.size());
  }
  int64_t index = 0;
  const char* const end = line.data() + line.size();
  const auto [next, error] = std::from_chars(line.data(), end, index);
  const char after = format == OutputFormat::jsonl ? ',' : '\t';
  if (error != std::errc() || next == end || *next != after || index < 0) return std::nullopt;
  return index;
}

LastAnswer find_last_answer(const std::string& path, OutputFormat format) {
  std::ifstream file(path, std::ios::binary);
  const Range range = find_last_line(file);
  std::string line(static_cast<size_t>(range.end - range.begin), '\0');
  file.seekg(range.begin);
  file.read(line.data(), std::ssize(line));
  if (!file) throw std::runtime_error(path + ": cannot be read");
  LastAnswer last = {.end = range.end, .index = index_of(line, format)};
  const bool is_header = format == OutputFormat::tsv && line.starts_with("index\t");
  if (last.index || line.empty() || (is_header && range.begin == 0)) return last;
  throw std::runtime_error(
      fmt::format("{}: its last line is not an answer of bert-infer's; remove the file to start "
                  "from the beginning",
                  path));
}

}  // namespace bert::tools
