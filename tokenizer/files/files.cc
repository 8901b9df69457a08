// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/files/files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
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

}  // namespace

bool is_there(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) refuse(path, std::strerror(errno));
  return false;
}

// A FIFO would block open() until somebody writes to it, were it not for O_NONBLOCK.
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
}

RegularFile::~RegularFile() { close(descriptor_); }

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
    if (got <= 0) refuse(path, got < 0 ? std::strerror(errno) : "it became shorter meanwhile");
    at += static_cast<size_t>(got);
  }
  refuse_pointer(content, path);
  return content;
}

namespace {

using nlohmann::json;

// Reads {"token": id, ...} in its usual form, with ids in plain digits. It stops at anything else,
// and leaves the object to the general parser.
class VocabularyScanner {
 public:
  VocabularyScanner(std::string_view text, size_t at) : text_(text), at_(at) {}

  // False if the object is not of that form; otherwise position() is then after its end.
  bool scan(std::vector<std::pair<std::string, int32_t>>& entries) {
    if (!take('{')) return false;
    do {
      int32_t id = 0;
      std::string token;
      if (!take_string(token) || !take(':') || !take_number(id)) return false;
      entries.emplace_back(std::move(token), id);
    } while (take(','));
    return take('}');
  }
  size_t position() const { return at_; }

 private:
  bool take(char wanted) {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) && text_[at_] != '\0') ++at_;
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool take_string(std::string& out) {
    if (!take('"')) return false;
    const size_t begin = at_;
    bool escapes = false;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (static_cast<uint8_t>(text_[at_]) < 0x20) return false;
      if (text_[at_] != '\\') continue;
      escapes = true;
      if (++at_ == text_.size()) return false;
    }
    if (at_ == text_.size()) return false;
    const std::string_view content = text_.substr(begin, at_++ - begin);
    if (utf8::first_invalid(content) != std::string_view::npos) return false;
    if (!escapes) return out = content, true;
    const json value = json::parse(fmt::format("\"{}\"", content), nullptr, false);
    return value.is_string() && (out = value.get<std::string>(), true);
  }

  bool take_number(int32_t& out) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), out);
    if (error != std::errc() || out < 0 || *begin == '-') return false;
    if (end - begin > 1 && *begin == '0') return false;
    at_ += static_cast<size_t>(end - begin);
    return at_ < text_.size() && (text_[at_] == ',' || text_[at_] == '}' || text_[at_] == ' ' ||
                                  text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t');
  }

  std::string_view text_;
  size_t at_;
};

json parse_text(std::string_view text, const std::string& name) {
  const auto fail = [&](size_t byte) {
    throw UnreadableFile(fmt::format("{}: not valid JSON at byte {}", name, byte));
  };
  // The parser would take it for the end.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) fail(nul + 1);
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    fail(error.byte);
  } catch (const json::exception& error) {  // what() is "[id] reason"
    const std::string_view what = error.what();
    throw UnreadableFile(
        fmt::format("{}: not valid JSON: {}", name, what.substr(what.find("] ") + 2)));
  }
  return {};
}

// Reads valid JSON for keys that an object has twice. The parser's own callback would see them too,
// but with it, an object of n objects takes n^2.
class DuplicateKeys final : public nlohmann::json_sax<json> {
 public:
  explicit DuplicateKeys(const std::string& name) : name_(name) {}

  bool start_object(size_t) override { return keys_.emplace_back(), true; }
  bool end_object() override { return keys_.pop_back(), true; }
  bool key(string_t& key) override {
    if (keys_.back().insert(key).second) return true;
    throw std::runtime_error(fmt::format("{}: {} is given twice", name_, json(key).dump()));
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
  const std::string& name_;
  std::vector<std::set<std::string>> keys_;  // of the open objects
};

}  // namespace

json parse_tokenizer_json(const std::string& path,
                          std::vector<std::pair<std::string, int32_t>>& vocabulary) {
  const std::string text = read_file(path);
  const std::string_view key = "\"vocab\"";
  const size_t begin = text.find(key);
  const size_t colon = text.find_first_not_of(" \t\r\n", begin + key.size());
  const bool has_no_nul = text.find('\0') == std::string::npos;
  if (has_no_nul && begin != std::string::npos && colon < text.size() && text[colon] == ':') {
    VocabularyScanner scanner(text, colon + 1);
    if (scanner.scan(vocabulary)) {
      // If this was model.vocab, null now stands there in the document.
      std::string rest = text.substr(0, colon + 1) + "null" + text.substr(scanner.position());
      json document = json::parse(rest, nullptr, false);
      const auto place = json::json_pointer("/model/vocab");
      if (document.is_object() && document.contains(place) && document[place].is_null()) {
        document[place] = json::object();
        return document;
      }
    }
    vocabulary.clear();
  }
  return parse_text(text, path);  // the last id of a duplicate token counts
}

json parse_json_text(std::string_view text, const std::string& name) {
  json document = parse_text(text, name);
  DuplicateKeys duplicates(name);
  json::sax_parse(text, &duplicates);
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
