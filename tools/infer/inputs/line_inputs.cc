// SPDX-License-Identifier: Apache-2.0
//
// From the lines of a file to inputs, collected in a Window.
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "tools/console/input_lines.h"
#include "tools/infer/inputs/task_inputs.h"
#include "tools/infer/task_table.h"

namespace bert::tools {
namespace {

template <typename T>
void move_to_end(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
}

}  // namespace

void Window::append(Window other) {
  move_to_end(other.encodings, encodings);
  move_to_end(other.texts, texts);
  move_to_end(other.choices, choices);
  move_to_end(other.lines, lines);
  tokens += other.tokens;
}

LineInput InputMaker::parse(std::string_view line) const {
  LineInput input = parse_unchecked(line);
  check(input);
  return input;
}

LineInput InputMaker::parse_unchecked(std::string_view line) const {
  if (kind_ == InputKind::choices) return parse_choices(line, options_.input_format);
  auto parsed = parse_line(line, options_.input_format);
  if (auto* const text = std::get_if<bert::Input>(&parsed)) return std::move(*text);
  return std::get<bert::Encoding>(std::move(parsed));
}

}  // namespace bert::tools
