// SPDX-License-Identifier: Apache-2.0
#include "models/config/texts/chat_template.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace bert::models {
namespace {

using Piece = ChatTemplate::Piece;
using Part = ChatTemplate::Part;
using Pieces = std::vector<Piece>;

// The value of an expression: text, or what leads to a message's content.
struct Value {
  enum class Kind { text, messages, message, contents } kind = Kind::text;
  std::optional<Pieces> text = std::nullopt;       // of Kind::text; nothing: undefined
  std::optional<std::string> role = std::nullopt;  // of the messages, if they were selected by it
};

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

class Renderer {
 public:
  Renderer(std::string_view source, const std::string& file, const ChatSettings& settings)
      : source_(normalise_lines(source)), file_(file) {
    contents_ = {{"query", {{Part::query, ""}}}, {"document", {{Part::document, ""}}}};
    if (!settings.prompt.empty()) contents_["system"] = {{Part::text, settings.prompt}};
    const std::string flag = settings.adds_generation_prompt ? "True" : "";
    variables_["add_generation_prompt"] = {.text = Pieces{{Part::text, flag}}};
  }

  Pieces run() {
    while (at_ < source_.size()) {
      const size_t tag = next_tag();
      print_text(tag);
      if (tag == std::string::npos) break;
      at_ = tag + 2;
      const char kind = source_[tag + 1];
      if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) ++at_;
      if (kind == '#') {
        skip_comment();
      } else if (kind == '{') {
        print(text_of(expression()));
        end_tag("}}");
      } else {
        statement();
        end_tag("%}");
      }
    }
    if (!branches_.empty()) fail("an if does not end");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    const auto line =
        std::ranges::count(source_.begin(), source_.begin() + static_cast<ptrdiff_t>(at_), '\n');
    throw std::runtime_error(fmt::format("{}: line {}: {}", file_, line + 1, problem));
  }
  [[noreturn]] void fail_here(const char* expected) const {
    const size_t begin = std::min(source_.find_first_not_of(kSpace, at_), source_.size());
    const std::string_view rest = std::string_view(source_).substr(begin);
    const std::string found(rest.substr(0, std::min<size_t>(rest.find('\n'), 40)));
    fail(fmt::format("found '{}', expected {}", found, expected));
  }

  size_t next_tag() const {
    size_t tag = source_.find('{', at_);
    while (tag != std::string::npos) {
      const char next = tag + 1 < source_.size() ? source_[tag + 1] : ' ';
      if (next == '{' || next == '%' || next == '#') break;
      tag = source_.find('{', tag + 1);
    }
    return tag;
  }

  // The text before a tag, without the white space that the tag strips: all of it with a minus, and
  // before statements and comments the indentation, which transformers sets Jinja to strip.
  void print_text(size_t tag) {
    std::string_view text = std::string_view(source_).substr(at_, tag - at_);
    const char sign = tag != std::string::npos && tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    if (sign == '-') {
      text = text.substr(0, text.find_last_not_of(kSpace) + 1);
    } else if (tag != std::string::npos && source_[tag + 1] != '{' && sign != '+') {
      const size_t line = text.rfind('\n') + 1;
      const bool is_indented = text.find_first_not_of(" \t", line) == std::string_view::npos;
      if (is_indented && (line > 0 || at_line_start_)) text = text.substr(0, line);
    }
    print({{Part::text, std::string(text)}});
  }

  // Whether all of the ifs that it is in hold.
  bool is_taken() const { return std::ranges::count(branches_, false) == 0; }

  void print(const Pieces& pieces) {
    if (!is_taken()) return;
    for (const Piece& piece : pieces) {
      const bool joins =
          piece.part == Part::text && !out_.empty() && out_.back().part == piece.part;
      if (joins) {
        out_.back().text += piece.text;
      } else if (piece.part != Part::text || !piece.text.empty()) {
        out_.push_back(piece);
      }
    }
  }

  // After a tag, a minus strips all white space; otherwise the line's end goes with a statement or
  // a comment, which transformers sets Jinja to do.
  void finish_tag(bool strips, bool keeps, bool is_expression) {
    const size_t from = at_;
    if (strips) {
      at_ = std::min(source_.find_first_not_of(kSpace, at_), source_.size());
    } else if (!keeps && !is_expression && at_ < source_.size() && source_[at_] == '\n') {
      ++at_;
    }
    at_line_start_ = at_ > from && source_[at_ - 1] == '\n';
  }

  void end_tag(std::string_view end) {
    skip_space();
    const char sign = at_ < source_.size() ? source_[at_] : ' ';
    if (sign == '-' || sign == '+') ++at_;
    if (!source_.substr(at_).starts_with(end)) fail_here(end == "}}" ? "}}" : "%}");
    at_ += end.size();
    finish_tag(sign == '-', sign == '+', end == "}}");
  }

  void skip_comment() {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) fail("a comment does not end");
    const char sign = end > at_ ? source_[end - 1] : ' ';
    at_ = end + 2;
    finish_tag(sign == '-', sign == '+', false);
  }

  void statement() {
    const size_t begin = at_;
    const std::string word = name();
    if (word == "set") {
      const std::string variable = name();
      take('=');
      const Value value = expression();
      if (is_taken()) variables_[variable] = value;
    } else if (word == "if") {
      branches_.push_back(condition());
    } else if (word == "else" && !branches_.empty()) {
      branches_.back() = !branches_.back();
    } else if (word == "endif" && !branches_.empty()) {
      branches_.pop_back();
    } else {
      at_ = begin;
      fail_here("set, if, else or endif");
    }
  }

  // [not] VALUE, or VALUE is [not] defined.
  bool condition() {
    bool holds = !next_is("not");
    const Value value = expression();
    if (next_is("is")) {
      holds = holds != next_is("not");
      if (name() != "defined") fail_here("'is defined' or 'is not defined' at most");
      return value.text.has_value() == holds;
    }
    const Pieces pieces = text_of(value);
    if (std::ranges::count(pieces, Part::text, &Piece::part) != std::ssize(pieces)) {
      fail("found a condition on the texts, expected the same text around all pairs");
    }
    const bool is_true =
        std::ranges::any_of(pieces, [](const Piece& p) { return !p.text.empty(); });
    return is_true == holds;
  }
  bool next_is(std::string_view word) {
    skip_space();
    const std::string_view rest = std::string_view(source_).substr(at_);
    const bool ends = rest.size() > word.size() && !is_name(rest[word.size()], false);
    if (!rest.starts_with(word) || !ends) return false;
    at_ += word.size();
    return true;
  }

  Value expression() {
    Value value = filtered();
    for (skip_space(); at_ < source_.size() && is_joiner(); skip_space()) {
      ++at_;
      Pieces joined = text_of(value);
      const Pieces more = text_of(filtered());
      joined.insert(joined.end(), more.begin(), more.end());
      value = {.text = std::move(joined)};
    }
    return value;
  }
  // The minus of "-%}" ends an expression, and so does the plus of "+%}".
  bool is_joiner() const {
    if (source_[at_] == '~') return true;
    const char next = at_ + 1 < source_.size() ? source_[at_ + 1] : ' ';
    return source_[at_] == '+' && next != '%' && next != '}';
  }

  Value filtered() {
    Value value = content(primary());
    for (skip_space(); at_ < source_.size() && source_[at_] == '|'; skip_space()) {
      ++at_;
      value = filter(value);
    }
    return value;
  }

  Value primary() {
    skip_space();
    const char c = at_ < source_.size() ? source_[at_] : ' ';
    if (c == '"' || c == '\'') return {.text = Pieces{{Part::text, string()}}};
    if (c == '(') {
      ++at_;
      Value value = expression();
      take(')');
      return value;
    }
    if (!is_name(c, true)) fail_here("a string or a name");
    const size_t begin = at_;
    const std::string word = name();
    if (word == "messages") return {.kind = Value::Kind::messages};
    const auto found = variables_.find(word);
    if (found != variables_.end()) return found->second;
    at_ = begin;
    fail_here("messages or a name that was set");
  }

  // .content or ["content"] of a message.
  Value content(Value value) {
    skip_space();
    const char c = at_ < source_.size() ? source_[at_] : ' ';
    if (c != '.' && c != '[') return value;
    if (value.kind != Value::Kind::message) fail_here("a filter");
    ++at_;
    skip_space();
    const std::string field = c == '.' ? name() : string();
    if (c == '[') take(']');
    if (field != "content") fail(fmt::format("found '{}' of a message, expected content", field));
    const auto found = contents_.find(*value.role);
    if (found == contents_.end()) fail(fmt::format("no message has the role '{}'", *value.role));
    return {.text = found->second};
  }

  Value filter(const Value& value) {
    using enum Value::Kind;
    const size_t begin = at_;
    const std::string filter = name();
    if (filter == "selectattr" && value.kind == messages && !value.role) {
      const std::vector<std::string> given = arguments("");
      const bool is_equality =
          given.size() == 3 && (given[1] == "eq" || given[1] == "equalto" || given[1] == "==");
      if (is_equality && given[0] == "role") return {.kind = messages, .role = given[2]};
    } else if (filter == "map" && value.kind == messages && value.role) {
      if (arguments("attribute") == std::vector<std::string>{"content"}) {
        return {.kind = contents, .role = value.role};
      }
    } else if (filter == "list" && (value.kind == messages || value.kind == contents)) {
      return value;
    } else if (filter == "first" && value.kind == messages && value.role) {
      return {.kind = message, .role = value.role};
    } else if (filter == "first" && value.kind == contents) {
      const auto found = contents_.find(*value.role);
      return found == contents_.end() ? Value() : Value{.text = found->second};
    } else if (filter == "default" && value.kind == text) {
      const std::vector<std::string> given = arguments("");
      if (given.size() == 1) {
        return {.text = value.text.value_or(Pieces{{Part::text, given.front()}})};
      }
    }
    at_ = begin;
    skip_space();
    fail_here(
        "a filter as in messages | selectattr(\"role\", \"eq\", \"query\") | "
        "map(attribute=\"content\") | first | default(\"...\")");
  }

  // ("...", "...") or (keyword="...").
  std::vector<std::string> arguments(std::string_view keyword) {
    std::vector<std::string> given;
    take('(');
    if (!keyword.empty()) {
      if (name() != keyword) return given;
      take('=');
    }
    for (;;) {
      skip_space();
      given.push_back(string());
      skip_space();
      if (at_ >= source_.size() || source_[at_] != ',') break;
      ++at_;
    }
    take(')');
    return given;
  }

  Pieces text_of(const Value& value) const {
    if (value.kind != Value::Kind::text) fail("found messages, expected their text");
    return value.text.value_or(Pieces());
  }

  void skip_space() { at_ = std::min(source_.find_first_not_of(kSpace, at_), source_.size()); }

  void take(char expected) {
    skip_space();
    const char c[] = {expected, '\0'};
    if (at_ >= source_.size() || source_[at_] != expected) fail_here(c);
    ++at_;
  }

  std::string name() {
    skip_space();
    const size_t begin = at_;
    while (at_ < source_.size() && is_name(source_[at_], at_ == begin)) ++at_;
    if (at_ == begin) fail_here("a name");
    return source_.substr(begin, at_ - begin);
  }

  std::string string() {
    const char quote = at_ < source_.size() ? source_[at_] : ' ';
    if (quote != '"' && quote != '\'') fail_here("a string");
    std::string out;
    for (++at_; at_ < source_.size() && source_[at_] != quote; ++at_) {
      out += source_[at_] == '\\' ? escape() : source_[at_];
    }
    if (at_ >= source_.size()) fail("a string does not end");
    ++at_;
    return out;
  }
  char escape() {
    constexpr std::string_view kCodes = "ntr\\\"'", kMeanings = "\n\t\r\\\"'";
    ++at_;
    const size_t code = at_ < source_.size() ? kCodes.find(source_[at_]) : std::string::npos;
    if (code == std::string::npos) fail("unknown escape in a string, expected \\n, \\t or \\\\");
    return kMeanings[code];
  }

  const std::string source_;
  const std::string& file_;
  size_t at_ = 0;
  bool at_line_start_ = true;
  std::map<std::string, Pieces> contents_;  // by role
  std::map<std::string, Value> variables_;
  std::vector<bool> branches_;  // of the ifs: whether the one that we are in is taken
  Pieces out_;
};

}  // namespace

ChatTemplate render_chat_template(std::string_view source, const std::string& file,
                                  const ChatSettings& settings) {
  ChatTemplate rendered{Renderer(source, file, settings).run()};
  for (const auto& [part, role] : {std::pair(Part::query, "query"), {Part::document, "document"}}) {
    if (std::ranges::find(rendered.pieces, part, &Piece::part) != rendered.pieces.end()) continue;
    throw std::runtime_error(fmt::format(
        "{}: leaves out the message of the role '{}', expected its content", file, role));
  }
  return rendered;
}

}  // namespace bert::models
