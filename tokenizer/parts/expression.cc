// SPDX-License-Identifier: Apache-2.0
//
// Regular expressions by Oniguruma, as Hugging Face's tokenizers have them: its default syntax,
// Ruby's, without options, on UTF-8.
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/parts/onig_library.h"
#include "tokenizer/parts/pattern.h"
#include "tokenizer/unicode/text_tables.h"

namespace bert::tokenizer {

namespace {

constexpr size_t kMaxExpression = 1 << 16;  // bytes
constexpr const char* kLetterProperty = "BertInferLetter";
constexpr const char* kNumberProperty = "BertInferNumber";

std::string onig_message(int code, const OnigErrorInfo* info = nullptr) {
  std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> text{};
  const int length = onig().message(text.data(), code, info);
  return {reinterpret_cast<const char*>(text.data()), static_cast<size_t>(length)};
}

// Tells Oniguruma, which is as old as the system, which characters are letters and numbers in
// Hugging Face's. The name must outlive the process, and so must the ranges.
void define_property(const char* name, uint8_t flag, std::vector<OnigCodePoint>& ranges) {
  ranges = {0};
  for (OnigCodePoint c = 0; c < 0x110000; ++c) {
    const bool is_scalar = c < 0xd800 || c >= 0xe000;
    if (!is_scalar || !(unicode::text_flags(c) & flag)) continue;
    if (ranges.size() > 1 && ranges.back() + 1 == c) {
      ranges.back() = c;
    } else {
      ranges.insert(ranges.end(), {c, c});
    }
  }
  ranges[0] = static_cast<OnigCodePoint>((ranges.size() - 1) / 2);
  if (const int code = onig().define_property(name, ranges.data()); code < 0) {
    throw std::runtime_error(onig_message(code));
  }
}

void initialize_onig() {
  static std::vector<OnigCodePoint> letters, numbers;
  static const bool done = [] {
    OnigEncoding encodings[] = {onig().utf8};
    if (const int code = onig().initialize(encodings, 1))
      throw std::runtime_error(onig_message(code));
    define_property(kLetterProperty, unicode::kLetter, letters);
    define_property(kNumberProperty, unicode::kNumber, numbers);
    return true;
  }();
  static_cast<void>(done);
}

// With \p{L} and \p{N} in terms of those.
std::string with_our_properties(std::string_view expression) {
  std::string out;
  for (size_t at = 0; at < expression.size();) {
    const std::string_view rest = expression.substr(at);
    size_t length = rest[0] == '\\' ? std::min<size_t>(2, rest.size()) : 1;
    const bool is_negative = rest.starts_with("\\P{") || rest.starts_with("\\p{^");
    for (const auto& [name, ours] :
         {std::pair{"L", kLetterProperty}, std::pair{"N", kNumberProperty}}) {
      for (const char* form : {"\\p{{{}}}", "\\P{{{}}}", "\\p{{^{}}}"}) {
        const std::string whole = fmt::format(fmt::runtime(form), name);
        if (!rest.starts_with(whole)) continue;
        out += fmt::format("\\{}{{{}}}", is_negative ? 'P' : 'p', ours);
        length = whole.size();
        at += length;
        length = 0;
        break;
      }
      if (length == 0) break;
    }
    if (length == 0) continue;
    out += rest.substr(0, length);
    at += length;
  }
  return out;
}

class ExpressionPattern : public Pattern {
 public:
  explicit ExpressionPattern(const std::string& expression) {
    static std::mutex mutex;  // onig_new is not for several threads at a time
    const std::lock_guard lock(mutex);
    initialize_onig();
    const std::string own = with_our_properties(expression);
    const auto* const begin = reinterpret_cast<const OnigUChar*>(own.data());
    OnigErrorInfo info{};
    regex_t* compiled = nullptr;
    const int code = onig().make(&compiled, begin, begin + own.size(), ONIG_OPTION_NONE,
                                 onig().utf8, onig().syntax, &info);
    if (code != ONIG_NORMAL) throw std::runtime_error(onig_message(code, &info));
    regex_.reset(compiled);
  }

  void find(std::string_view text, std::vector<Match>& out) const override {
    Search search(regex_.get(), text);
    find_each(
        text,
        [&](size_t from, size_t& begin, size_t& end) { return search.next(from, begin, end); },
        out);
  }

 private:
  // Searches one text. Oniguruma goes back and tries again; how often is limited, and so are memory
  // and the thread's time, in proportion to the text's length.
  class Search {
   public:
    Search(regex_t* regex, std::string_view text)
        : regex_(regex),
          text_(text),
          region_(onig().make_region()),
          limits_(onig().make_limits()),
          retries_(kRetries + kRetriesPerByte * text.size()) {
      if (!region_ || !limits_) throw std::bad_alloc();
      onig().initialize_limits(limits_.get());
      const size_t most = std::min<size_t>(kRetries + 8 * text.size(), INT32_MAX);
      onig().limit_stack(limits_.get(), static_cast<unsigned>(most));
    }

    bool next(size_t from, size_t& begin, size_t& end) {
      if (search_limited(from) == ONIG_MISMATCH) return false;
      begin = static_cast<size_t>(region_->beg[0]);
      end = static_cast<size_t>(region_->end[0]);
      return true;
    }

   private:
    using Clock = std::chrono::steady_clock;
    static constexpr size_t kFree = 256, kRetries = 10'000'000, kRetriesPerByte = 64;
    static constexpr double kSeconds = 1, kSecondsPerByte = 4e-6;

    static bool is_limit(int code) {
      return code == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER ||
             code == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
    }
    [[noreturn]] static void refuse(const std::string& reason) {
      throw std::runtime_error(
          fmt::format("an expression of the tokenizer takes too long on this text ({})", reason));
    }
    // Where the first match that begins at `from` or later does, or ONIG_MISMATCH. What a search
    // has used is not known, but that it was less than a limit. Every place that a match does not
    // begin at takes a retry, so the first limits also mean little time.
    int search_limited(size_t from) {
      for (size_t limit = kFree;; limit *= 4) {
        if (limit > kFree) {
          if (limit > retries_) refuse(onig_message(ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER));
          retries_ -= limit;
        }
        const int found = search(from, limit);
        check_time();
        if (is_limit(found)) continue;
        if (found < 0 && found != ONIG_MISMATCH) refuse(onig_message(found));
        return found;
      }
    }
    int search(size_t from, size_t limit) {
      onig().limit_match(limits_.get(), limit);
      onig().limit_search(limits_.get(), limit);
      const auto* const first = reinterpret_cast<const OnigUChar*>(text_.data());
      const auto* const last = first + text_.size();
      return onig().search(regex_, first, last, first + from, last, region_.get(), ONIG_OPTION_NONE,
                           limits_.get());
    }
    // Of the processor, as a busy machine is not the text's fault.
    static double thread_seconds() {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }
    void check_time() {
      const Clock::time_point now = Clock::now();
      if (now - looked_ < std::chrono::milliseconds(20)) return;
      looked_ = now;
      if (begun_ == 0) begun_ = thread_seconds();
      const double most = kSeconds + kSecondsPerByte * static_cast<double>(text_.size());
      if (thread_seconds() - begun_ > most) refuse("time limit");
    }

    struct Free {
      void operator()(OnigRegion* region) const { onig().free_region(region, 1); }
      void operator()(OnigMatchParam* limits) const { onig().free_limits(limits); }
    };
    regex_t* regex_;
    std::string_view text_;
    std::unique_ptr<OnigRegion, Free> region_;
    std::unique_ptr<OnigMatchParam, Free> limits_;
    size_t retries_;
    Clock::time_point looked_ = Clock::now();
    double begun_ = 0;  // 0: it has not taken long so far
  };

  struct Free {
    void operator()(regex_t* regex) const { onig().free(regex); }
  };
  std::unique_ptr<regex_t, Free> regex_;
};

// An expression that stands for itself, character by character.
bool is_literal(std::string_view expression) {
  return expression.find_first_of("\\.[]{}()*+?^$|") == std::string_view::npos;
}

}  // namespace

std::unique_ptr<const Pattern> make_expression_pattern(const std::string& expression) {
  if (expression == kByteLevelExpression) return make_byte_level_pattern();
  if (is_literal(expression)) return make_literal_pattern(expression);
  if (expression.size() > kMaxExpression) {
    throw std::runtime_error(
        fmt::format("it has {} bytes, expected at most {}", expression.size(), kMaxExpression));
  }
  return std::make_unique<ExpressionPattern>(expression);
}

}  // namespace bert::tokenizer
