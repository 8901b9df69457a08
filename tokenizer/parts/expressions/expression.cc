// SPDX-License-Identifier: Apache-2.0
//
// Regular expressions by Oniguruma, as Hugging Face's tokenizers use it: with its default syntax,
// Ruby's, without options, on UTF-8.
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/parts/expressions/onig_library.h"
#include "tokenizer/parts/expressions/pattern.h"
#include "tokenizer/parts/expressions/properties.h"

namespace bert::tokenizer {

namespace {

constexpr size_t kMaxExpression = 1 << 16;  // bytes

std::string onig_message(int code, const OnigErrorInfo* info = nullptr) {
  std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> text{};
  const int length = onig().message(text.data(), code, info);
  return {reinterpret_cast<const char*>(text.data()), static_cast<size_t>(length)};
}

void initialize_onig() {
  static const bool done = [] {
    OnigEncoding encodings[] = {onig().utf8};
    if (const int code = onig().initialize(encodings, 1))
      throw std::runtime_error(onig_message(code));
    return true;
  }();
  static_cast<void>(done);
}

// Whether matches depend on where a search begins or resumes: with \G, or option L, for the longest
// match.
bool depends_on_search(std::string_view expression) {
  if (expression.find("\\G") != std::string_view::npos) return true;
  for (size_t at = 0; (at = expression.find("(?", at)) != std::string_view::npos;) {
    at += 2;
    const size_t end = expression.find_first_not_of("-aimxyCDILPSW", at);
    if (expression.substr(at, end - at).find('L') != std::string_view::npos) return true;
  }
  return false;
}

class ExpressionPattern : public Pattern {
 public:
  explicit ExpressionPattern(const std::string& expression)
      : by_position_(!depends_on_search(expression)) {
    static std::mutex mutex;  // onig_new is not thread-safe
    const std::lock_guard lock(mutex);
    initialize_onig();
    const std::string own = with_our_properties(expression);
    const auto* const begin = reinterpret_cast<const OnigUChar*>(own.data());
    OnigErrorInfo info{};
    regex_t* compiled = nullptr;
    const int code = onig().make(&compiled, begin, begin + own.size(), ONIG_OPTION_NONE,
                                 onig().utf8, onig().syntax, &info);
    if (code != ONIG_NORMAL) {
      throw std::runtime_error("not a valid Oniguruma expression: " + onig_message(code, &info));
    }
    regex_.reset(compiled);
  }

  void find(std::string_view text, std::vector<Match>& out) const override {
    Search search(regex_.get(), text, by_position_);
    find_each(
        text,
        [&](size_t from, size_t& begin, size_t& end) { return search.next(from, begin, end); },
        out);
  }

 private:
  // Searches one text. Oniguruma backtracks; its retries are limited, and so are memory and the
  // thread's time, in proportion to the text's length. It does not look at a clock, so it is asked
  // to do about a second's work at a time.
  class Search {
   public:
    Search(regex_t* regex, std::string_view text, bool by_position)
        : regex_(regex),
          text_(text),
          by_position_(by_position),
          region_(onig().make_region()),
          limits_(onig().make_limits()),
          retries_(kRetries + kRetriesPerByte * text.size()),
          step_(std::clamp<size_t>(kStep / (text.size() + 1), 4, kStep)),
          free_(std::min<size_t>(step_, 256)) {
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
    static constexpr size_t kRetries = 10'000'000, kRetriesPerByte = 64;
    // A retry may go through the whole text before it fails: about this many characters a second.
    static constexpr size_t kStep = 300'000'000;
    static constexpr double kSeconds = 1, kSecondsPerByte = 4e-6;

    static bool is_limit(int code) {
      return code == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER ||
             code == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
    }
    [[noreturn]] static void refuse(const std::string& reason) {
      throw std::runtime_error(fmt::format(
          "a regular expression of the tokenizer takes too long on this text ({})", reason));
    }
    // Where the first match at `from` or later begins, or ONIG_MISMATCH. A search that meets its
    // limit does not say where it stopped, so then each place is tried by itself.
    int search_limited(size_t from) {
      const auto search_from = [&](size_t limit) { return search(from, limit); };
      if (!by_position_) return with_more(search_from);
      const int found = search(from, free_);
      check_time();
      if (!is_limit(found)) return checked(found);
      for (size_t at = from;; utf8::decode(text_.data(), at)) {
        const int length = with_more([&](size_t limit) { return match(at, limit); });
        if (length != ONIG_MISMATCH) return static_cast<int>(at);
        if (at == text_.size()) return ONIG_MISMATCH;
      }
    }
    // The result of run(limit) with enough retries. How many a run used is not known, only that it
    // was less than the limit. A place where no match begins takes at least one.
    template <class Run>
    int with_more(Run&& run) {
      for (size_t limit = free_;; limit += std::clamp(step_, limit / 4, 3 * limit)) {
        if (limit > free_) {
          if (limit > retries_) refuse(onig_message(ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER));
          retries_ -= limit;
        }
        const int found = run(limit);
        check_time();
        if (!is_limit(found)) return checked(found);
      }
    }
    static int checked(int found) {
      if (found < 0 && found != ONIG_MISMATCH) refuse(onig_message(found));
      return found;
    }
    const OnigUChar* at(size_t byte) const {
      return reinterpret_cast<const OnigUChar*>(text_.data()) + byte;
    }
    OnigMatchParam* limited(size_t limit) {
      onig().limit_match(limits_.get(), limit);
      onig().limit_search(limits_.get(), limit);
      return limits_.get();
    }
    int search(size_t from, size_t limit) {
      const OnigUChar* const end = at(text_.size());
      return onig().search(regex_, at(0), end, at(from), end, region_.get(), ONIG_OPTION_NONE,
                           limited(limit));
    }
    int match(size_t from, size_t limit) {
      return onig().match(regex_, at(0), at(text_.size()), at(from), region_.get(),
                          ONIG_OPTION_NONE, limited(limit));
    }
    // Processor time, as a busy machine is not the text's fault.
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
    bool by_position_;
    std::unique_ptr<OnigRegion, Free> region_;
    std::unique_ptr<OnigMatchParam, Free> limits_;
    size_t retries_;      // retries left
    size_t step_, free_;  // retries: how many more at a time, and how many are free
    Clock::time_point looked_ = Clock::now();
    double begun_ = 0;  // 0: has not taken long so far
  };

  struct Free {
    void operator()(regex_t* regex) const { onig().free(regex); }
  };
  std::unique_ptr<regex_t, Free> regex_;
  bool by_position_;  // matches do not depend on where a search begins
};

// Whether an expression matches itself, character by character.
bool is_literal(std::string_view expression) {
  return expression.find_first_of("\\.[]{}()*+?^$|") == std::string_view::npos;
}

}  // namespace

std::unique_ptr<const Pattern> make_expression_pattern(const std::string& expression) {
  if (expression == kByteLevelExpression) return make_byte_level_pattern();
  if (is_literal(expression)) return make_literal_pattern(expression);
  if (expression.size() > kMaxExpression) {
    throw std::runtime_error(fmt::format("the expression has {} bytes, expected at most {}",
                                         expression.size(), kMaxExpression));
  }
  return std::make_unique<ExpressionPattern>(expression);
}

}  // namespace bert::tokenizer
