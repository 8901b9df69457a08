// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/inputs/formats/json_line.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tokenizer/unicode/printable.h"
#include "tools/console/counted.h"
#include "tools/infer/inputs/kept_values.h"

namespace bert::tools {
namespace {

// Abbreviates what a user wrote, which may be megabytes, at a character boundary.
std::string shown(std::string_view text, size_t end = 60) {
  if (text.size() <= end) return std::string(text);
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

// The reason may quote a key with a zero byte, at which what() would end.
[[noreturn]] void fail(const std::string& reason) {
  throw std::runtime_error(tokenizer::printable(reason));
}

// Takes the parser's events rather than a document, so that a line cannot cost more memory than its
// own length, and duplicate keys are noticed.
class JsonInput final : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonInput(bool chooses, const OtherKeys& others) : chooses_(chooses), others_(others) {}

  bool null() override {
    if (kept_.open()) return kept_.scalar("null"), true;
    if (key_ == "second" && !in_array_) return true;
    wrong("null");
  }
  bool boolean(bool value) override {
    const char* const name = value ? "true" : "false";
    if (kept_.open()) return kept_.scalar(name), true;
    wrong(name);
  }
  bool number_integer(int64_t value) override {
    if (value == 0 && kept_.open()) return kept_.scalar("-0"), true;  // 0 itself is unsigned
    return number(value);
  }
  bool number_unsigned(uint64_t value) override {
    if (kept_.open()) return kept_.scalar(fmt::format("{}", value)), true;
    if (value > std::numeric_limits<int32_t>::max()) wrong(fmt::format("{}", value));
    return number(static_cast<int64_t>(value));
  }
  bool number_float(double, const std::string& text) override {
    if (kept_.open()) return kept_.scalar(text), true;
    wrong(shown(text));
  }
  bool binary(nlohmann::json::binary_t&) override { wrong("binary data"); }
  bool string(std::string& value) override {
    if (kept_.open()) return kept_.string(value), true;
    if (in_array_ && chooses_) return choices_->push_back(std::move(value)), true;
    if (key_ != "first" && key_ != "second") wrong("a string");
    text(key_ == "first").emplace(std::move(value));
    return true;
  }
  bool start_object(size_t) override {
    if (kept_.open()) return kept_.begin_nested('{'), true;
    if (started_) wrong("an object");
    return started_ = true;
  }
  bool end_object() override {
    if (kept_.open()) kept_.end_nested('}');
    return true;
  }
  bool start_array(size_t) override {
    if (kept_.open()) return kept_.begin_nested('['), true;
    const bool is_text = key_.empty() || key_ == "first" || key_ == "second";
    if (in_array_ || is_text) wrong("an array");
    chooses_ ? void(choices_.emplace()) : void(numbers().emplace());
    return in_array_ = true;
  }
  bool end_array() override {
    if (kept_.open()) return kept_.end_nested(']'), true;
    in_array_ = false;
    return true;
  }
  bool key(std::string& name) override {
    if (kept_.open()) return kept_.key(name), true;
    const bool is_text = name == "first" || (name == "second" && !chooses_);
    const bool is_array = chooses_ ? name == "choices" : name == "ids" || name == "type_ids";
    const bool is_named = std::ranges::find(others_.keep, name) != others_.keep.end();
    const bool is_other = is_named || (others_.are_ignored && !is_text && !is_array);
    if (!is_text && !is_array && !is_other) {
      fail(fmt::format("unknown key \"{}\", expected {} (--keep passes others through)",
                       shown(name),
                       chooses_ ? "first or choices" : "first, second, ids or type_ids"));
    }
    key_ = std::move(name);
    if (!seen_.insert(key_).second) fail(fmt::format("\"{}\" is given twice", key_));
    if (is_other) kept_.begin(key_);
    return true;
  }
  bool parse_error(size_t position, const std::string& last,
                   const nlohmann::json::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) too_large(last);
    // what() reads "[id] parse error at line 1, column 7: reason; last read: ...", or "[id]
    // reason".
    std::string_view what = error.what();
    what.remove_prefix(what.find("] ") + 2);
    if (what.starts_with("parse error at")) what.remove_prefix(what.find(": ") + 2);
    what = what.substr(0, what.find("; last read"));
    fail(fmt::format("not JSON at byte {}: {}", std::max<size_t>(position, 1) - 1,
                     shown(what, 160)));
  }

  LineInput take() {
    if (chooses_) return take_choices();
    return take_sequence();
  }
  std::string take_kept() { return kept_.take(); }

 private:
  bert::Choices take_choices() {
    if (!first_) fail("\"first\" is not given");
    if (!choices_) fail("\"choices\" is not given");
    return {std::move(*first_), std::move(*choices_)};
  }

  LineInput take_sequence() {
    if (first_.has_value() == ids_.has_value()) {
      fail(first_ ? "both \"first\" and \"ids\" are given, expected one of them"
                  : "neither \"first\" nor \"ids\" is given");
    }
    if (first_) {
      if (type_ids_) fail("\"type_ids\" goes with \"ids\", not with text");
      return bert::Input{std::move(*first_), std::move(second_)};
    }
    if (second_) fail("\"second\" goes with \"first\", not with \"ids\"");
    if (ids_->empty()) fail("\"ids\" is empty, expected at least one id");
    if (!type_ids_) type_ids_.emplace(ids_->size(), 0);
    if (type_ids_->size() != ids_->size()) {
      fail(fmt::format("\"type_ids\" holds {}, expected {} as in \"ids\"",
                       counted(std::ssize(*type_ids_), "number"), ids_->size()));
    }
    bert::Encoding encoding;
    encoding.ids = std::move(*ids_);
    encoding.type_ids = std::move(*type_ids_);
    return encoding;
  }

  std::optional<std::string>& text(bool first) { return first ? first_ : second_; }
  std::optional<std::vector<int32_t>>& numbers() { return key_ == "ids" ? ids_ : type_ids_; }

  bool number(int64_t value) {
    if (kept_.open()) return kept_.scalar(fmt::format("{}", value)), true;
    if (!in_array_ || chooses_ || value < 0) wrong(fmt::format("{}", value));
    numbers()->push_back(static_cast<int32_t>(value));
    return true;
  }

  // It is JSON, but at a number that no double can hold the parser ends.
  [[noreturn]] void too_large(const std::string& number) const {
    if (!kept_.open()) wrong(shown(number));
    fail(fmt::format("\"{}\" holds {}, expected numbers from {} to {}", key_, shown(number),
                     std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()));
  }

  [[noreturn]] void wrong(std::string_view found) const {
    if (key_.empty()) fail(fmt::format("found {}, expected a JSON object", found));
    if (key_ == "first" || key_ == "second") {
      fail(fmt::format("\"{}\" is {}, expected a string", key_, found));
    }
    if (!in_array_) {
      fail(fmt::format("\"{}\" is {}, expected an array of {}", key_, found,
                       chooses_ ? "strings" : "integers"));
    }
    if (chooses_) fail(fmt::format("\"{}\" holds {}, expected strings", key_, found));
    fail(fmt::format("\"{}\" holds {}, expected integers from 0 to {}", key_, found,
                     std::numeric_limits<int32_t>::max()));
  }

  const bool chooses_;
  const OtherKeys others_;
  KeptValues kept_;
  std::set<std::string> seen_;  // keys
  bool started_ = false, in_array_ = false;
  std::string key_;  // whose value comes next
  std::optional<std::string> first_, second_;
  std::optional<std::vector<int32_t>> ids_, type_ids_;
  std::optional<std::vector<std::string>> choices_;
};

}  // namespace

LineInput parse_json_line(std::string_view line, bool chooses, const OtherKeys& others,
                          std::string& kept) {
  // The parser would take a zero byte for the end.
  const size_t nul = line.find('\0');
  if (nul != std::string_view::npos) fail(fmt::format("not JSON at byte {}: the byte is 0", nul));
  JsonInput input(chooses, others);
  nlohmann::json::sax_parse(line.begin(), line.end(), &input);
  kept = input.take_kept();
  return input.take();
}

}  // namespace bert::tools
