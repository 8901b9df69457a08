// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/unicode_tables.h"
#include "tokenizer/utf8.h"

namespace bert::tokenizer {

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string read_file(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  std::string content(error ? 0 : size, '\0');
  std::ifstream in(path, std::ios::binary);
  errno = 0;
  if (error || !in.read(content.data(), static_cast<std::streamsize>(content.size()))) {
    const std::string reason = error ? error.message() : std::strerror(errno);
    throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, reason));
  }
  return content;
}

nlohmann::json parse_json(const std::string& path) {
  const std::string text = read_file(path);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(fmt::format("{}: not valid JSON: {}", path, error.what()));
  }
}

std::vector<std::string> read_vocabulary_lines(const std::string& path) {
  const std::string text = read_file(path);
  if (text.starts_with("\xef\xbb\xbf")) {
    throw std::runtime_error(fmt::format(
        "{}: line 1 begins with a byte-order mark, which would be part of its token", path));
  }
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (const size_t invalid = utf8::first_invalid(line); invalid != std::string_view::npos) {
      throw std::runtime_error(fmt::format("{}: line {} is not valid UTF-8 at its byte {}", path,
                                           lines.size() + 1, invalid));
    }
    while (!line.empty()) {
      size_t last = line.size() - 1;
      while (utf8::is_continuation(line[last])) --last;
      if (!(unicode::property(utf8::decode_before(line, line.size())).flags & unicode::kSpace))
        break;
      line = line.substr(0, last);
    }
    lines.emplace_back(line);
  }
  return lines;
}

}  // namespace bert::tokenizer
