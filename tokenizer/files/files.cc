// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/files/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

[[noreturn]] void refuse(const std::string& path, std::string_view reason) {
  throw UnreadableFile(fmt::format("{}: cannot be read: {}", path, reason));
}

thread_local std::optional<std::vector<std::string>> files_read;

}  // namespace

bool is_there(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) refuse(path, std::strerror(errno));
  return false;
}

// Without O_NONBLOCK, open() of a FIFO would block until somebody writes to it.
RegularFile::RegularFile(const std::string& path)
    : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) {
    const int error = errno;
    const bool dangles = error == ENOENT && is_there(path);
    refuse(path, dangles ? "a link to a file that does not exist" : std::strerror(error));
  }
  struct stat status {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    refuse(path, "not a regular file");
  }
  size_ = static_cast<size_t>(status.st_size);
  if (files_read && std::ranges::count(*files_read, path) == 0) files_read->push_back(path);
}

RegularFile::~RegularFile() { close(descriptor_); }

FilesRead::FilesRead() { files_read.emplace(); }
FilesRead::~FilesRead() { files_read.reset(); }

std::vector<std::string> FilesRead::so_far() {
  return files_read.value_or(std::vector<std::string>());
}

void refuse_pointer(std::string_view content, const std::string& path) {
  if (!content.starts_with("version https://git-lfs.github.com/spec/")) return;
  throw UnreadableFile(path + ": a Git LFS pointer, not the file (git lfs pull fetches it)");
}

std::string read_file(const std::string& path) {
  const RegularFile file(path);
  std::string content(file.size(), '\0');
  for (size_t at = 0; at < content.size();) {
    const ssize_t got = read(file.descriptor(), content.data() + at, content.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse(path, got < 0 ? std::strerror(errno) : "it shrank while being read");
    at += static_cast<size_t>(got);
  }
  refuse_pointer(content, path);
  return content;
}

namespace {

using nlohmann::json;

// Looks in valid JSON for keys that an object has twice. The parser's own callback would see them
// too, but takes n^2 for an object of n objects.
class DuplicateKeys final : public nlohmann::json_sax<json> {
 public:
  std::optional<std::string> found;

  bool start_object(size_t) override { return keys_.emplace_back(), true; }
  bool end_object() override { return keys_.pop_back(), true; }
  bool key(string_t& key) override {
    if (keys_.back().insert(key).second) return true;
    found = key;
    return false;  // ends the parse
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

 private:
  std::vector<std::set<std::string>> keys_;  // of each open object
};

// "byte 7" in the first line, otherwise "line 2, column 3", in characters.
std::string place_in(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, byte);
  const size_t end = before.rfind('\n');
  if (end == std::string_view::npos) return fmt::format("byte {}", byte);
  const auto characters = std::ranges::count_if(
      before.substr(end + 1), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
  return fmt::format("line {}, column {}", std::ranges::count(before, '\n') + 1, characters + 1);
}

}  // namespace

json parse_any_json_text(std::string_view text, const std::string& name) {
  const auto fail = [&](size_t byte) {
    throw UnreadableFile(fmt::format("{}: not valid JSON at {}", name, place_in(text, byte)));
  };
  // The parser would take a NUL for the end.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) fail(nul);
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    fail(error.byte > 0 ? error.byte - 1 : 0);  // it counts from 1
  } catch (const json::exception& error) {      // what() is "[id] reason"
    const std::string_view what = error.what();
    throw UnreadableFile(
        fmt::format("{}: not valid JSON: {}", name, what.substr(what.find("] ") + 2)));
  }
  return {};
}

std::optional<std::string> duplicate_key(std::string_view text) {
  DuplicateKeys duplicates;
  json::sax_parse(text, &duplicates);
  return duplicates.found;
}

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\';
    }
    if (c == ']' || c == '}') --depth;
    if ((c == '[' || c == '{') && ++depth > 100) return true;
  }
  return false;
}

json parse_json_text(std::string_view text, const std::string& name) {
  json document = parse_any_json_text(text, name);
  if (nests_too_deep(text)) throw std::runtime_error(name + ": nests more than 100 deep");
  if (const auto key = duplicate_key(text)) {
    throw std::runtime_error(fmt::format("{}: {} is given twice", name, json(*key).dump()));
  }
  return document;
}

json parse_json(const std::string& path) { return parse_json_text(read_file(path), path); }

VocabularyLines::VocabularyLines(const std::string& path) : path_(path), text_(read_file(path)) {
  const std::string_view text = text_;
  if (text.starts_with("\xef\xbb\xbf")) {
    throw std::runtime_error(fmt::format(
        "{}: line 1 begins with a byte-order mark, which would be part of its token", path));
  }
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines_.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::string_view VocabularyLines::token(size_t i) const {
  std::string_view token = lines_[i];
  if (const size_t invalid = utf8::first_invalid(token); invalid != std::string_view::npos) {
    throw std::runtime_error(
        fmt::format("{}: line {}: not valid UTF-8 at byte {} of the line", path_, i + 1, invalid));
  }
  while (!token.empty()) {
    size_t last = token.size() - 1;
    while (utf8::is_continuation(token[last])) --last;
    if (!unicode::is_space(utf8::decode_before(token, token.size()))) break;
    token = token.substr(0, last);
  }
  return token;
}

}  // namespace bert::tokenizer
