// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/inputs/formats/csv_records.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace bert::tools {
namespace {

bool is_closed(std::string_view text, bool closed = true) {
  return (std::ranges::count(text, '"') % 2 == 0) == closed;
}

// The field that begins at text[at] with a quote; moves `at` behind the quote that ends it.
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

std::optional<std::string_view> RecordReader::next() {
  auto line = lines_.next();
  number_ = lines_.number();
  if (!line || !is_csv_ || is_closed(*line)) return line;
  record_ = *line;
  for (bool closed = false; !closed;) {
    line = lines_.next();
    if (!line || record_.size() + line->size() >= kMaxLineBytes) {
      throw std::runtime_error(
          line_error(name_, number_,
                     line ? fmt::format("the record is longer than {} bytes", kMaxLineBytes)
                          : "a quote is not closed"));
    }
    closed = is_closed(*line, false);
    record_ += '\n';
    record_ += *line;
  }
  return record_;
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
