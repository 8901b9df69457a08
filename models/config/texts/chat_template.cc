// SPDX-License-Identifier: Apache-2.0
#include "models/config/texts/chat_template.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "models/config/texts/jinja_scanner.h"

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
  std::string unset = {};                          // the name of a variable that was not set
};

class Renderer : private JinjaScanner {
 public:
  Renderer(std::string_view source, const std::string& file, const ChatSettings& settings)
      : JinjaScanner(source, file) {
    contents_ = {{"query", {{Part::query, ""}}}, {"document", {{Part::document, ""}}}};
    if (!settings.prompt.empty()) contents_["system"] = {{Part::text, settings.prompt}};
    const std::string flag = settings.adds_generation_prompt ? "True" : "";
    variables_["add_generation_prompt"] = {.text = Pieces{{Part::text, flag}}};
  }

  Pieces run() {
    for (;;) {
      const auto [text, tag] = next_text();
      print({{Part::text, std::string(text)}});
      if (tag == '\0') break;
      if (tag == '{') {
        print(text_of(expression()));
        end_tag("}}");
      } else if (tag == '%') {
        statement();
        end_tag("%}");
      }
    }
    if (!branches_.empty()) fail("an if does not end");
    return std::move(out_);
  }

 private:
  // Whether all of the ifs that it is in hold.
  bool is_taken() const { return std::ranges::count(branches_, false) == 0; }

  void print(const Pieces& pieces) {
    if (!is_taken()) return;
    check_size(printed_ += size_of(pieces));
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

  void statement() {
    if (next_is("set")) {
      const std::string variable = name();
      take('=');
      const Value value = expression();
      if (is_taken()) variables_[variable] = value;
    } else if (next_is("if")) {
      branches_.push_back(condition());
      if (branches_.size() > 99) fail("too many ifs in each other");
    } else if (!branches_.empty() && next_is("else")) {
      branches_.back() = !branches_.back();
    } else if (!branches_.empty() && next_is("endif")) {
      branches_.pop_back();
    } else {
      fail_here("set, if, else or endif");
    }
  }

  // [not] VALUE, or VALUE is [not] defined.
  bool condition() {
    bool holds = !next_is("not");
    const Value value = expression();
    if (next_is("is")) {
      check_known(value);
      holds = holds != next_is("not");
      if (name() != "defined") fail_here("'is defined' or 'is not defined' at most");
      return is_defined(value) == holds;
    }
    const Pieces pieces = text_of(value);
    if (std::ranges::count(pieces, Part::text, &Piece::part) != std::ssize(pieces)) {
      fail("found a condition on the texts, expected the same text around all pairs");
    }
    const bool is_true =
        std::ranges::any_of(pieces, [](const Piece& p) { return !p.text.empty(); });
    return is_true == holds;
  }

  bool is_defined(const Value& value) const {
    using enum Value::Kind;
    if (value.kind == message) return contents_.contains(*value.role);
    return value.kind != text || value.text.has_value();  // lists may be empty
  }

  // In bytes, and at least one for each piece: a text that is joined with itself doubles.
  static size_t size_of(const Pieces& pieces) {
    size_t size = 0;
    for (const Piece& piece : pieces) size += 1 + piece.text.size();
    return size;
  }

  void check_size(size_t size) const {
    constexpr size_t kMost = size_t{1} << 20;  // far above any published template's text
    if (size > kMost) fail(fmt::format("the text has more than {} bytes", kMost));
  }

  Value expression() {
    Value value = filtered();
    while (is_joiner()) {
      take(peek());
      Pieces joined = text_of(value);
      const Pieces more = text_of(filtered());
      joined.insert(joined.end(), more.begin(), more.end());
      check_size(size_of(joined));
      value = {.text = std::move(joined)};
    }
    return value;
  }
  // The plus of "+%}" ends an expression.
  bool is_joiner() {
    const char c = peek();
    return c == '~' || (c == '+' && after_next() != '%' && after_next() != '}');
  }

  Value filtered() {
    Value value = content(primary());
    while (peek() == '|') {
      take('|');
      value = filter(value);
    }
    return value;
  }

  Value primary() {
    const char c = peek();
    if (c == '"' || c == '\'') return {.text = Pieces{{Part::text, string()}}};
    if (c == '(') {
      if (++depth_ > 99) fail("too many parentheses");
      take('(');
      Value value = expression();
      take(')');
      --depth_;
      return value;
    }
    const std::string word = name();
    if (word == "messages") return {.kind = Value::Kind::messages};
    const auto found = variables_.find(word);
    return found == variables_.end() ? Value{.unset = word} : found->second;
  }

  // .content or ["content"] of a message. Where nothing is rendered, there may be none.
  Value content(Value value) {
    const char c = peek();
    if (c != '.' && c != '[') return value;
    const bool is_unset = !value.unset.empty() && !is_taken();
    if (value.kind != Value::Kind::message && !is_unset) fail_here("a filter");
    take(c);
    const std::string field = c == '.' ? name() : string();
    if (c == '[') take(']');
    if (field != "content") fail(fmt::format("found '{}' of a message, expected content", field));
    if (!is_taken()) return {};
    const auto found = contents_.find(*value.role);
    if (found == contents_.end()) fail(fmt::format("no message has the role '{}'", *value.role));
    return {.text = found->second};
  }

  Value filter(const Value& value) {
    using enum Value::Kind;
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
      check_known(value);
      const std::vector<std::string> given = arguments("");
      if (given.size() == 1) {
        return {.text = value.text.value_or(Pieces{{Part::text, given.front()}})};
      }
    }
    fail(
        fmt::format("found the filter '{}', expected messages | selectattr(\"role\", \"eq\", "
                    "\"query\") | map(attribute=\"content\") | first | default(\"...\")",
                    filter));
  }

  // ("...", "...") or (keyword="...").
  std::vector<std::string> arguments(std::string_view keyword) {
    std::vector<std::string> given;
    take('(');
    if (!keyword.empty()) {
      if (name() != keyword) return given;
      take('=');
    }
    given.push_back(string());
    while (peek() == ',') {
      take(',');
      given.push_back(string());
    }
    take(')');
    return given;
  }

  // transformers sets some names, such as bos_token and tools, and Jinja others; what is set by
  // nobody may have a default.
  void check_known(const Value& value) const {
    constexpr std::string_view kSetByOthers[] = {"tools", "documents", "range", "dict",
                                                 "namespace"};
    if (value.unset.ends_with("_token") || value.unset.ends_with("_tokens") ||
        std::ranges::find(kSetByOthers, value.unset) != std::end(kSetByOthers)) {
      fail(fmt::format("'{}' is not known, expected messages or a name that was set", value.unset));
    }
  }

  Pieces text_of(const Value& value) const {
    if (value.kind != Value::Kind::text) fail("found messages, expected their text");
    if (!value.unset.empty() && is_taken()) {
      fail(fmt::format("'{}' is not set, expected messages or a name that was", value.unset));
    }
    return value.text.value_or(Pieces());
  }

  size_t printed_ = 0;
  int depth_ = 0;                           // of parentheses
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
