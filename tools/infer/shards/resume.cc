// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/shards/resume.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "tools/console/counted.h"
#include "tools/infer/answers/answer_writer.h"
#include "tools/infer/shards/indexed_lines.h"

namespace bert::tools {
namespace {

// Throws unless the rows in the file are of so many columns.
void check_columns(const std::string& path, int64_t columns) {
  std::string header(static_cast<size_t>(kNpyHeader), '\0');
  std::ifstream(path, std::ios::binary).read(header.data(), kNpyHeader);
  const bool is_blank = header.find_first_not_of(' ') == std::string::npos;  // killed before any
  const std::string shape = fmt::format(", {}), }}", columns);
  if (is_blank || header.find(shape) != std::string::npos) return;
  throw std::runtime_error(
      fmt::format("{}: its rows are not of {}, as those of this command are; remove the file to "
                  "start from the beginning",
                  path, counted(columns, "number")));
}

// Rows do not say which lines they answer: they are the first lines of the shard.
int64_t after_rows(const Shard& shard, int64_t row_bytes, OutputFile& output) {
  if (output.size() >= kNpyHeader) {
    check_columns(output.partial(), row_bytes / static_cast<int64_t>(sizeof(float)));
  }
  const int64_t rows = std::max<int64_t>(0, output.size() - kNpyHeader) / row_bytes;
  output.truncate(rows > 0 ? kNpyHeader + rows * row_bytes : 0);
  return rows > 0 ? shard.index + rows * shard.count : 0;
}

int64_t after_lines(const InferOptions& options, OutputFile& output) {
  const LastAnswer last = find_last_answer(output.partial(), options.output_format);
  output.truncate(last.end);
  if (!last.index) return 0;
  if (options.shard.takes(*last.index)) return *last.index + options.shard.count;
  throw std::runtime_error(
      fmt::format("{}: its last answer has the index {}, which does not belong to --shard {}/{}",
                  output.partial(), *last.index, options.shard.index, options.shard.count));
}

}  // namespace

bool is_done(const InferOptions& options) {
  std::error_code error;
  if (!options.resumes || !std::filesystem::is_regular_file(options.output, error)) return false;
  if (!options.quiet) spdlog::info("{} is whole already", options.output);
  return true;
}

int64_t find_first_line(const InferOptions& options, Task task, const bert::Info& info,
                        OutputFile& output) {
  if (output.size() == 0) return 0;
  const int64_t line = options.output_format == OutputFormat::npy
                           ? after_rows(options.shard, npy_row_bytes(task, info), output)
                           : after_lines(options, output);
  spdlog::info("{} goes on from line index {}", output.partial(), line);
  return line;
}

}  // namespace bert::tools
