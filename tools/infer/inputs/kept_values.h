// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/console/json_text.h"

namespace bert::tools {

// Copies the values of some keys of a line while it is parsed, as members of a JSON object:
// numbers, which must be within the range of a double, as they are spelled, and all in the spacing
// of the answers.
class KeptValues {
 public:
  bool open() const { return open_; }  // a value is being copied
  std::string take() { return std::move(text_); }

  void begin(std::string_view key) {
    if (!text_.empty()) text_ += ", ";
    append_quoted(text_, key);
    text_ += ": ";
    open_ = true;
    begins_ = true;
  }
  void scalar(std::string_view json) {
    separate();
    text_ += json;
    open_ = depth_ > 0;
  }
  void string(std::string_view value) {
    separate();
    append_quoted(text_, value);
    open_ = depth_ > 0;
  }
  void key(std::string_view name) {
    separate();
    append_quoted(text_, name);
    text_ += ": ";
    begins_ = true;
  }
  void begin_nested(char bracket) {
    separate();
    text_ += bracket;
    ++depth_;
    begins_ = true;
  }
  void end_nested(char bracket) {
    text_ += bracket;
    begins_ = false;
    open_ = --depth_ > 0;
  }

 private:
  void separate() {
    if (!begins_) text_ += ", ";
    begins_ = false;
  }

  std::string text_;
  int64_t depth_ = 0;
  bool open_ = false;
  bool begins_ = true;  // the next value needs no comma before it
};

}  // namespace bert::tools
