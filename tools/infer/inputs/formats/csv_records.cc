// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/inputs/formats/csv_records.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace bert::tools {

// Whether what was read of a record, line by line or piece by piece, ends within quotes.
class Quotes {
 public:
  bool are_open() const { return are_open_; }
  void read(std::string_view text) {
    for (const char c : text) {
      // In a quoted field, "" closes and opens again.
      if (c == '"' && (are_open_ || begins_)) {
        are_open_ = !are_open_;
        begins_ = !are_open_;
      } else {
        begins_ = !are_open_ && c == ',';
      }
    }
  }
  void read_long(LineReader& lines) {
    while (const auto piece = lines.rest_of_long()) read(*piece);
  }

 private:
  bool are_open_ = false, begins_ = true;  // begins_: a field
};

namespace {

// The field that begins at text[at] with a quote; moves `at` past the quote that ends it.
std::string quoted_field(std::string_view text, size_t& at) {
  std::string field;
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') {
      if (++at == text.size() || text[at] != '"') return field;
    }
    field += text[at];
  }
  throw std::runtime_error("a quote is not closed");
}

}  // namespace

std::optional<Record> RecordReader::next() {
  Record record;
  Quotes quotes;
  try {
    auto line = lines_.next();
    if (!line) return std::nullopt;
    record.number = lines_.number();
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of the file, not a text's
    if (record.number == 1 && line->starts_with(kByteOrderMark)) {
      line->remove_prefix(kByteOrderMark.size());
    }
    record.text = *line;
  } catch (const LongLine& error) {
    record.number = lines_.number();
    record.reason = error.what();
    if (is_csv_) quotes.read_long(lines_);
  }
  if (is_csv_) quotes.read(record.text);
  if (!quotes.are_open()) return record;
  record_ = record.text;
  add_lines(quotes, record.reason);
  record.text = record_;
  return record;
}

bool RecordReader::ready() const {
  if (!is_csv_) return lines_.ready();
  Quotes quotes;
  const std::string_view text = lines_.waiting();
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string_view::npos;
       begin = end + 1) {
    quotes.read(text.substr(begin, end - begin));
    if (!quotes.are_open()) return true;
  }
  return false;
}

// Also where it is too long, it is read to its end: the next line there is a record.
void RecordReader::add_lines(Quotes& quotes, std::string& reason) {
  const std::string too_long = fmt::format("the record is longer than {} bytes", kMaxLineBytes);
  while (quotes.are_open()) {
    try {
      const auto line = lines_.next();
      if (!line && reason.empty()) reason = "a quote is not closed";
      if (!line) return;
      quotes.read(*line);
      const bool is_long = record_.size() + line->size() >= kMaxLineBytes;
      if (is_long && reason.empty()) reason = too_long;
      if (!reason.empty()) continue;
      record_ += '\n';
      record_ += *line;
    } catch (const LongLine&) {
      if (reason.empty()) reason = too_long;
      quotes.read_long(lines_);
    }
  }
}

std::vector<std::string> csv_fields(std::string_view record) {
  if (record.ends_with('\r')) record.remove_suffix(1);
  std::vector<std::string> fields;
  for (size_t at = 0;; ++at) {
    if (at < record.size() && record[at] == '"') {
      fields.push_back(quoted_field(record, at));
      if (at < record.size() && record[at] != ',') {
        throw std::runtime_error(
            fmt::format("field {}: something follows the closing quote", fields.size()));
      }
    } else {
      const size_t end = std::min(record.find(',', at), record.size());
      fields.emplace_back(record.substr(at, end - at));
      if (fields.back().find('"') != std::string::npos) {
        throw std::runtime_error(fmt::format(
            "field {}: a quote in a field that does not begin with one", fields.size()));
      }
      at = end;
    }
    if (at >= record.size()) return fields;
  }
}

}  // namespace bert::tools
