// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/inputs/window_reader.h"

#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "models/calls/guarded.h"
#include "tools/console/counted.h"
#include "tools/console/lines/input_lines.h"

namespace bert::tools {

namespace {

void read_header(const Record& record, const std::string& name, LineParser& parser) {
  try {
    if (!record.reason.empty()) throw std::runtime_error(record.reason);
    parser.read_header(record.text);
  } catch (const std::exception& reason) {  // no line could be read without it
    throw std::runtime_error(line_error(name, record.number, reason.what()));
  }
}

std::string text_of(const LineInput& input) {
  const auto* const text = std::get_if<bert::Input>(&input);
  if (!text) return "";
  return text->second ? text->first + " \u2016 " + *text->second : text->first;
}

}  // namespace

// What is waiting to be handed over: texts that are tokenized together, and the lines that they
// come from.
class WindowReader::Collector {
 public:
  Collector(const std::string& name, const InputMaker& maker, bool skips)
      : name_(name), maker_(maker), skips_(skips) {}

  void add(LineInput input, Source source) {
    if (auto* const text = std::get_if<bert::Input>(&input)) {
      bytes_ += std::ssize(text->first) + (text->second ? std::ssize(*text->second) : 0);
      texts_.push_back(std::move(*text));
      sources_.push_back(std::move(source));
    } else {
      flush();
      InputMaker::add_parsed(std::move(input), std::move(source), window_);
    }
  }

  // Of a line that is not an input. Throws the reason if such a line ends the run.
  void refuse(Source source, std::string_view reason) {
    flush();
    if (!skips_) fail(source, reason);
    window_.refused.push_back({window_.sources.size(), std::move(source), std::string(reason)});
    ++window_.tokens;  // so that a window of these ends too
  }

  [[noreturn]] void fail(const Source& source, std::string_view reason) const {
    throw std::runtime_error(line_error(name_, source.line, reason));
  }

  // Tokenizes the texts. If one is bad and ends the run, only those before it are, and its error is
  // thrown.
  void flush() {
    if (texts_.empty()) return;
    try {
      maker_.add_texts(texts_, sources_, window_);
    } catch (const models::OutOfMemory&) {
      throw;  // which is no mistake of a line's
    } catch (const std::exception&) {
      add_one_by_one();
    }
    texts_.clear();
    sources_.clear();
    bytes_ = 0;
  }

  int64_t bytes() const { return bytes_; }  // of the texts that are not tokenized
  int64_t tokens() const { return window_.tokens; }
  Window take() { return std::exchange(window_, {}); }

 private:
  void add_one_by_one() {
    std::vector<bert::Input> texts = std::exchange(texts_, {});
    std::vector<Source> sources = std::exchange(sources_, {});
    for (size_t i = 0; i < texts.size(); ++i) {
      try {
        maker_.add_texts({&texts[i], 1}, {&sources[i], 1}, window_);
      } catch (const models::OutOfMemory&) {
        throw;
      } catch (const std::exception& error) {
        refuse(std::move(sources[i]), reason_alone(error.what()));
      }
    }
  }

  const std::string& name_;
  const InputMaker& maker_;
  const bool skips_;
  std::vector<bert::Input> texts_;
  std::vector<Source> sources_;
  int64_t bytes_ = 0;
  Window window_;
};

WindowReader::WindowReader(int fd, std::string name, const Stop& stop, const InputMaker& maker,
                           const InferOptions& options, int64_t first, int64_t capacity)
    : first_(first),
      capacity_(capacity),
      stop_(stop),
      maker_(maker),
      options_(options),
      thread_([this, fd, name = std::move(name)] { read(fd, name); }) {}

WindowReader::~WindowReader() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  stop_.request();
  thread_.join();
}

void WindowReader::read(int fd, const std::string& name) {
  std::exception_ptr error;
  Collector collector(name, maker_, options_.skips_errors);
  try {
    read_lines(fd, name, collector);
  } catch (...) {
    error = std::current_exception();
  }
  try {
    put(collector.take());
  } catch (...) {  // there is no memory for the inputs before the error, or before the end
    error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    error_ = error;
  }
  changed_.notify_all();
}

// Leaves the last inputs in the collector, also where it throws.
void WindowReader::read_lines(int fd, const std::string& name, Collector& collector) {
  LineReader lines(fd, name, stop_.fd());
  LineParser parser(options_, maker_.kind());
  RecordReader records(lines, options_.input_format == InputFormat::csv);
  int64_t index = 0;
  int64_t blank_lines = 0;  // just before this one: at the end of the input they do not matter
  try {
    while (const auto record = records.next()) {
      const int64_t number = record->number;
      if (number == 1 && record->text == "version https://git-lfs.github.com/spec/v1") {
        throw std::runtime_error(name + ": is a Git LFS pointer, not the file");
      }
      if (record->reason.empty() && parser.is_blank(record->text)) {
        ++blank_lines;
      } else if (parser.wants_header()) {
        if (blank_lines > 0) {
          throw std::runtime_error(line_error(name, 1, "the line is empty, expected a header"));
        }
        read_header(*record, name, parser);
      } else {
        for (; blank_lines > 0; --blank_lines, ++index) {
          if (!takes(index)) continue;
          collector.refuse({.line = number - blank_lines, .index = index}, "the line is empty");
          if (collector.tokens() >= capacity_ / 4 && !put(collector.take())) return;
        }
        if (takes(index)) read_line(*record, index, parser, collector);
        ++index;
      }
      // Handing inputs over one by one would cost more than tokenizing them, but none may wait here
      // until somebody writes the next.
      const bool last_ready = !records.ready();
      if (last_ready || collector.bytes() >= capacity_) collector.flush();
      const bool is_much = collector.tokens() >= capacity_ / 4;
      if ((is_much || last_ready) && !put(collector.take())) return;
    }
  } catch (...) {
    collector.flush();  // a bad text before this line comes first
    throw;
  }
  collector.flush();
  if (first_ - options_.shard.count < index || stop_.signal() != 0) return;
  throw std::runtime_error(fmt::format("{}: has {}, but --resume has found answers to more", name,
                                       counted(index, "input")));
}

void WindowReader::read_line(const Record& record, int64_t index, const LineParser& parser,
                             Collector& collector) {
  Source source = {.line = record.number, .index = index};
  if (!record.reason.empty()) return collector.refuse(std::move(source), record.reason);
  LineInput input;
  try {
    input = parser.parse(record.text, source.kept);
    maker_.check(input);
  } catch (const std::bad_alloc&) {
    collector.fail(source, "out of memory");  // which is no mistake of the line's
  } catch (const std::exception& reason) {
    return collector.refuse(std::move(source), reason.what());
  }
  if (options_.output_format == OutputFormat::projector) source.text = text_of(input);
  collector.add(std::move(input), std::move(source));
}

bool WindowReader::put(Window window) {
  std::unique_lock lock(mutex_);
  // One input alone may exceed the capacity.
  changed_.wait(lock, [&] {
    return stopped_ || ready_.empty() || ready_.tokens + window.tokens <= capacity_;
  });
  if (ready_.empty()) {
    ready_ = std::move(window);
  } else {
    ready_.append(std::move(window));
  }
  const bool stopped = stopped_;
  lock.unlock();
  changed_.notify_all();
  return !stopped;
}

Window WindowReader::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || !ready_.empty(); });
  if (ready_.empty() && error_) std::rethrow_exception(error_);
  Window window = std::exchange(ready_, {});
  lock.unlock();
  changed_.notify_all();
  return window;
}

bool WindowReader::idle() const {
  const std::lock_guard lock(mutex_);
  return ready_.empty();
}

}  // namespace bert::tools
