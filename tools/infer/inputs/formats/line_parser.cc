// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/inputs/formats/line_parser.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "tokenizer/unicode/printable.h"
#include "tokenizer/unicode/utf8.h"
#include "tools/console/counted.h"
#include "tools/infer/inputs/formats/csv_records.h"
#include "tools/infer/inputs/formats/json_line.h"
#include "tools/infer/inputs/kept_values.h"

namespace bert::tools {
namespace {

// The reason may quote a column with a zero byte, at which what() would end.
[[noreturn]] void refuse_line(const std::string& reason) {
  throw std::runtime_error(tokenizer::printable(reason));
}

// Of a column that is kept: what is not a character would come back as another.
void check_utf8(const std::string& column, std::string_view field) {
  const size_t at = tokenizer::utf8::first_invalid(field);
  if (at == std::string_view::npos) return;
  refuse_line(fmt::format("the column \"{}\" is not valid UTF-8 at byte {}", column, at));
}

std::vector<std::string> tsv_fields(std::string_view line) {
  std::vector<std::string> fields;
  for (size_t begin = 0;;) {
    const size_t tab = line.find('\t', begin);
    fields.emplace_back(line.substr(begin, tab - begin));
    if (tab == std::string_view::npos) return fields;
    begin = tab + 1;
  }
}

LineInput parse_tsv(std::string_view line, bool chooses) {
  std::vector<std::string> fields = tsv_fields(line);
  std::string first = std::move(fields.front());
  if (chooses) return bert::Choices{std::move(first), {fields.begin() + 1, fields.end()}};
  if (fields.size() > 2) {
    refuse_line("more than two tab-separated fields, expected first or first<TAB>second");
  }
  bert::Input input = {std::move(first)};
  if (fields.size() == 2) input.second = std::move(fields[1]);
  return input;
}

}  // namespace

LineParser::LineParser(const InferOptions& options, InputKind kind)
    : options_(options), chooses_(kind == InputKind::choices) {}

bool LineParser::is_blank(std::string_view line) const {
  const bool is_json = options_.input_format == InputFormat::jsonl;
  return line.find_first_not_of(is_json ? " \t\r" : "\r") == std::string_view::npos;
}

void LineParser::read_header(std::string_view line) {
  std::vector<std::string> columns = csv_fields(line);
  for (const std::string& name : columns) {
    const bool repeats = chooses_ && name == "choice";
    if (!repeats && std::ranges::count(columns, name) > 1) {
      refuse_line(fmt::format("the header names the column \"{}\" twice", name));
    }
    if (name == "first" || name == (chooses_ ? "choice" : "second")) continue;
    if (options_.reads_corpus) continue;
    if (std::ranges::find(options_.keep, name) != options_.keep.end()) continue;
    refuse_line(
        fmt::format("the header names a column \"{}\", expected first or {} (--keep passes others "
                    "through)",
                    name, chooses_ ? "choice" : "second"));
  }
  if (std::ranges::find(columns, "first") == columns.end()) {
    refuse_line("the header names no column \"first\"");
  }
  for (const std::string& key : options_.keep) {
    if (options_.reads_corpus || std::ranges::find(columns, key) != columns.end()) continue;
    refuse_line(fmt::format("the header names no column \"{}\", which --keep asks for", key));
  }
  columns_ = std::move(columns);
}

LineInput LineParser::parse_csv(std::string_view line, std::string& kept) const {
  std::vector<std::string> fields = csv_fields(line);
  if (fields.size() != columns_.size()) {
    refuse_line(fmt::format("{}, expected {} as in the header",
                            counted(std::ssize(fields), "field"), columns_.size()));
  }
  bert::Input input;
  bert::Choices choices;
  KeptValues values;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (columns_[i] == "first") {
      input.first = std::move(fields[i]);
    } else if (columns_[i] == "second" && !chooses_) {
      input.second = std::move(fields[i]);
    } else if (columns_[i] == "choice" && chooses_) {
      choices.choices.push_back(std::move(fields[i]));
    } else {
      if (!options_.reads_corpus) check_utf8(columns_[i], fields[i]);
      values.begin(columns_[i]);
      values.string(fields[i]);
    }
  }
  kept = values.take();
  if (!chooses_) return input;
  choices.first = std::move(input.first);
  return choices;
}

LineInput LineParser::parse(std::string_view line, std::string& kept) const {
  if (is_blank(line)) refuse_line("the line is empty");
  if (options_.input_format == InputFormat::jsonl) {
    return parse_json_line(line, chooses_, {options_.keep, options_.reads_corpus}, kept);
  }
  if (options_.input_format == InputFormat::csv) return parse_csv(line, kept);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (options_.input_format == InputFormat::tsv) return parse_tsv(line, chooses_);
  if (chooses_) return bert::Choices{std::string(line), {}};
  return bert::Input{std::string(line)};
}

}  // namespace bert::tools
