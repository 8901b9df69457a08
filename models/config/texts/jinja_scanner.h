// SPDX-License-Identifier: Apache-2.0
//
// The text, tags and words of a Jinja template.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bert::models {

// Reads a template from its beginning to its end. White space around tags is stripped as by Jinja
// with trim_blocks and lstrip_blocks, which transformers sets. Errors are std::runtime_error, as
// "FILE: line N: ...".
class JinjaScanner {
 public:
  JinjaScanner(std::string_view source, std::string file);

  // The text up to the next tag, and what that is: '{' of {{, '%' of {%, '#' of {# or, at the
  // template's end, '\0'. A comment is then passed by; in another tag, words follow.
  struct Text {
    std::string_view text;
    char tag;
  };
  Text next_text();
  void end_tag(std::string_view end);  // "}}" or "%}"

  // Words, after any white space.
  char peek();              // the next character, or '\0'
  char after_next() const;  // and the one after it
  void take(char expected);
  bool next_is(std::string_view word);  // and takes it
  std::string name();
  std::string string();  // in quotes

  [[noreturn]] void fail(const std::string& problem) const;
  [[noreturn]] void fail_here(const char* expected) const;

 private:
  char at(size_t i) const { return i < source_.size() ? source_[i] : '\0'; }
  size_t find_tag() const;
  void skip_comment();
  void finish_tag(char sign, bool is_expression);
  char escape();

  std::string source_, file_;
  size_t at_ = 0;
  bool at_line_start_ = true;
};

}  // namespace bert::models
