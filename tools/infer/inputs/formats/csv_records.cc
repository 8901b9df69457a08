// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/inputs/formats/csv_records.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace bert::tools {
namespace {

// Whether a line ends within quotes. is_open: whether it begins so.
bool ends_in_quotes(std::string_view line, bool is_open) {
  bool begins = !is_open;  // a field
  for (const char c : line) {
    // In a quoted field, "" closes and opens again.
    if (c == '"' && (is_open || begins)) {
      is_open = !is_open;
      begins = !is_open;
    } else {
      begins = !is_open && c == ',';
    }
  }
  return is_open;
}

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
  try {
    auto line = lines_.next();
    if (!line) return std::nullopt;
    record.number = lines_.number();
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // as spreadsheets write it
    if (is_csv_ && record.number == 1 && line->starts_with(kByteOrderMark)) {
      line->remove_prefix(kByteOrderMark.size());
    }
    record.text = *line;
  } catch (const LongLine& error) {
    record.number = lines_.number();
    record.reason = error.what();
    return record;
  }
  if (!is_csv_ || !ends_in_quotes(record.text, false)) return record;
  record_ = record.text;
  record.reason = add_lines();
  record.text = record_;
  return record;
}

std::string RecordReader::add_lines() {
  const std::string too_long = fmt::format("the record is longer than {} bytes", kMaxLineBytes);
  try {
    for (bool is_open = true; is_open;) {
      const auto line = lines_.next();
      if (!line) return "a quote is not closed";
      if (record_.size() + line->size() >= kMaxLineBytes) return too_long;
      is_open = ends_in_quotes(*line, true);
      record_ += '\n';
      record_ += *line;
    }
  } catch (const LongLine&) {
    return too_long;
  }
  return "";
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
