// SPDX-License-Identifier: Apache-2.0
#include "models/config/texts/jinja_scanner.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace bert::models {
namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";

bool is_name(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

// Jinja ends lines with \n, and drops the last line's.
std::string normalise_lines(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    const bool is_pair = source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n';
    if (!is_pair) out += source[i] == '\r' ? '\n' : source[i];
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace

JinjaScanner::JinjaScanner(std::string_view source, std::string file)
    : source_(normalise_lines(source)), file_(std::move(file)) {}

void JinjaScanner::fail(const std::string& problem) const {
  const auto end = source_.begin() + static_cast<ptrdiff_t>(at_);
  const auto line = std::ranges::count(source_.begin(), end, '\n') + 1;
  throw std::runtime_error(fmt::format("{}: line {}: {}", file_, line, problem));
}

void JinjaScanner::fail_here(const char* expected) const {
  const size_t begin = std::min(source_.find_first_not_of(kSpace, at_), source_.size());
  const std::string_view rest = std::string_view(source_).substr(begin);
  const std::string_view found = rest.substr(0, std::min<size_t>(rest.find('\n'), 40));
  fail(fmt::format("found '{}', expected {}", found, expected));
}

size_t JinjaScanner::find_tag() const {
  size_t tag = source_.find('{', at_);
  while (tag != std::string::npos) {
    const char next = at(tag + 1);
    if (next == '{' || next == '%' || next == '#') break;
    tag = source_.find('{', tag + 1);
  }
  return tag;
}

// A tag with a minus strips all white space before it; without a plus, a statement or a comment
// strips its indentation.
JinjaScanner::Text JinjaScanner::next_text() {
  const size_t tag = find_tag();
  std::string_view text = std::string_view(source_).substr(at_, tag - at_);
  if (tag == std::string::npos) {
    at_ = source_.size();
    return {text, '\0'};
  }
  const char kind = source_[tag + 1], sign = at(tag + 2);
  if (sign == '-') {
    text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  } else if (kind != '{' && sign != '+') {
    const size_t line = text.rfind('\n') + 1;
    const bool is_indented = text.find_first_not_of(" \t", line) == std::string_view::npos;
    if (is_indented && (line > 0 || at_line_start_)) text = text.substr(0, line);
  }
  at_ = tag + (sign == '-' || sign == '+' ? 3 : 2);
  if (kind == '#') skip_comment();
  return {text, kind};
}

// After a tag with a minus all white space goes; after a statement or a comment without a plus, the
// line's end.
void JinjaScanner::finish_tag(char sign, bool is_expression) {
  const size_t from = at_;
  if (sign == '-') {
    at_ = std::min(source_.find_first_not_of(kSpace, at_), source_.size());
  } else if (sign != '+' && !is_expression && at(at_) == '\n') {
    ++at_;
  }
  at_line_start_ = at_ > from && source_[at_ - 1] == '\n';
}

void JinjaScanner::end_tag(std::string_view end) {
  const char sign = peek();
  if (sign == '-' || sign == '+') ++at_;
  if (!std::string_view(source_).substr(at_).starts_with(end)) fail_here(end.data());
  at_ += end.size();
  finish_tag(sign, end == "}}");
}

void JinjaScanner::skip_comment() {
  const size_t end = source_.find("#}", at_);
  if (end == std::string::npos) fail("a comment does not end");
  const char sign = end > at_ ? source_[end - 1] : '#';
  at_ = end + 2;
  finish_tag(sign, false);
}

char JinjaScanner::peek() {
  at_ = std::min(source_.find_first_not_of(kSpace, at_), source_.size());
  return at(at_);
}
char JinjaScanner::after_next() const { return at(at_ + 1); }

void JinjaScanner::take(char expected) {
  const char c[] = {expected, '\0'};
  if (peek() != expected) fail_here(c);
  ++at_;
}

bool JinjaScanner::next_is(std::string_view word) {
  peek();
  const bool is_word = std::string_view(source_).substr(at_).starts_with(word) &&
                       !is_name(at(at_ + word.size()), false);
  if (is_word) at_ += word.size();
  return is_word;
}

std::string JinjaScanner::name() {
  peek();
  const size_t begin = at_;
  while (is_name(at(at_), at_ == begin)) ++at_;
  if (at_ == begin) fail_here("a name");
  return source_.substr(begin, at_ - begin);
}

std::string JinjaScanner::string() {
  const char quote = peek();
  if (quote != '"' && quote != '\'') fail_here("a string");
  std::string out;
  for (++at_; at_ < source_.size() && source_[at_] != quote; ++at_) {
    out += source_[at_] == '\\' ? escape() : source_[at_];
  }
  if (at_ >= source_.size()) fail("a string does not end");
  ++at_;
  return out;
}

char JinjaScanner::escape() {
  constexpr std::string_view kCodes = "ntr\\\"'", kMeanings = "\n\t\r\\\"'";
  const size_t code = kCodes.find(at(++at_));
  if (code == std::string_view::npos) fail("unknown escape in a string, expected \\n, \\t or \\\\");
  return kMeanings[code];
}

}  // namespace bert::models
