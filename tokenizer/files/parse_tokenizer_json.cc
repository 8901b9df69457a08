// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "tokenizer/files/files.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

using nlohmann::json;

// Reads the long lists of a tokenizer.json in their usual forms. Stops at anything else, and leaves
// the list to the general parser.
class ListScanner {
 public:
  ListScanner(std::string_view text, size_t at) : text_(text), at_(at) {}

  // Both return false if the list has another form; otherwise position() is then past its end.
  // {"token": id, ...}, with ids in plain digits
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
  // [["left", "right"], ...] or ["left right", ...]
  bool scan(std::vector<std::pair<std::string, std::string>>& merges) {
    if (!take('[')) return false;
    std::string left, right;
    do {
      if (take('[')) {
        if (!take_string(left) || !take(',') || !take_string(right) || !take(']')) return false;
        merges.emplace_back(std::move(left), std::move(right));
        continue;
      }
      if (!take_string(left) || left.starts_with("#version")) return false;
      const size_t space = left.find(' ');
      if (space == std::string::npos || left.find(' ', space + 1) != std::string::npos)
        return false;
      merges.emplace_back(left.substr(0, space), left.substr(space + 1));
    } while (take(','));
    return take(']');
  }
  size_t position() const { return at_; }

 private:
  bool take(char wanted) {
    const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
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
    return true;
  }

  std::string_view text_;
  size_t at_;
};

// Where the value of the first member of this name is in the text, outside `other`, if it has its
// usual form; otherwise empty. Fills the list with its elements.
struct Range {
  size_t begin = 0, end = 0;
};
template <typename List>
Range scan_member(std::string_view name, std::string_view text, Range other, List& list) {
  const std::string key = fmt::format("\"{}\"", name);
  size_t begin = text.find(key);
  if (begin >= other.begin && begin < other.end) begin = text.find(key, other.end);
  if (begin == std::string_view::npos) return {};
  const size_t colon = text.find_first_not_of(" \t\r\n", begin + key.size());
  if (colon == std::string_view::npos || text[colon] != ':') return {};
  ListScanner scanner(text, colon + 1);
  if (scanner.scan(list)) return {colon + 1, scanner.position()};
  list.clear();
  return {};
}

// The text with null instead of the two values.
std::string without(std::string_view text, Range first, Range second) {
  if (second.begin < first.begin) std::swap(first, second);
  std::string rest;
  size_t at = 0;
  for (const Range& range : {first, second}) {
    if (range.end == 0) continue;
    rest.append(text.substr(at, range.begin - at)).append("null");
    at = range.end;
  }
  return rest.append(text.substr(at));
}

}  // namespace

json parse_tokenizer_json(const std::string& path, ScannedLists& lists) {
  const std::string text = read_file(path);
  const bool has_nul = text.find('\0') != std::string::npos;
  const Range vocabulary = has_nul ? Range() : scan_member("vocab", text, {}, lists.vocabulary);
  if (vocabulary.end > 0) {
    const Range merges = scan_member("merges", text, vocabulary, lists.merges);
    // If these were the model's, the document now has null in their places.
    json document = json::parse(without(text, vocabulary, merges), nullptr, false);
    const auto set = [&](const char* place, const json& value) {
      const json::json_pointer at(place);
      if (!document.is_object() || !document.contains(at) || !document[at].is_null()) return false;
      document[at] = value;
      return true;
    };
    if (set("/model/vocab", json::object()) &&
        (merges.end == 0 || set("/model/merges", json::array()))) {
      return document;
    }
  }
  lists = {};
  return parse_any_json_text(text, path);  // the last id of a duplicate token counts
}

}  // namespace bert::tokenizer
