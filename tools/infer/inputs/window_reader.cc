// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/inputs/window_reader.h"

#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tools/console/input_lines.h"

namespace bert::tools {

// Texts that wait to be tokenized together, and the lines that they come from.
class WindowReader::PendingTexts {
 public:
  PendingTexts(const std::string& name, const InputMaker& maker) : name_(name), maker_(maker) {}

  void add(bert::Input text, int64_t line) {
    bytes_ += std::ssize(text.first) + (text.second ? std::ssize(*text.second) : 0);
    texts_.push_back(std::move(text));
    lines_.push_back(line);
  }
  int64_t bytes() const { return bytes_; }

  // Moves them to the window. If one is bad, only those before it are, and its error is thrown.
  void move_to(Window& window) {
    try {
      maker_.add_texts(texts_, lines_, window);
    } catch (const std::exception&) {
      add_one_by_one(window);
    }
    texts_.clear();
    lines_.clear();
    bytes_ = 0;
  }

 private:
  void add_one_by_one(Window& window) {
    for (size_t i = 0; i < texts_.size(); ++i) {
      try {
        maker_.add_texts({&texts_[i], 1}, {&lines_[i], 1}, window);
      } catch (const std::exception& error) {
        throw std::runtime_error(line_error(name_, lines_[i], reason_alone(error.what())));
      }
    }
  }

  const std::string& name_;
  const InputMaker& maker_;
  std::vector<bert::Input> texts_;
  std::vector<int64_t> lines_;
  int64_t bytes_ = 0;
};

WindowReader::WindowReader(int fd, std::string name, const Stop& stop, const InputMaker& maker,
                           int64_t capacity)
    : capacity_(capacity),
      stop_(stop),
      maker_(maker),
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
  Window window;
  try {
    read_lines(fd, name, window);
  } catch (...) {
    error = std::current_exception();
  }
  put(std::move(window));
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    error_ = error;
  }
  changed_.notify_all();
}

// Leaves the last inputs in the window.
void WindowReader::read_lines(int fd, const std::string& name, Window& window) {
  LineReader lines(fd, name, stop_.fd());
  PendingTexts texts(name, maker_);
  while (const auto line = lines.next()) {
    LineInput input;
    try {
      input = maker_.parse(*line);
    } catch (const std::exception& reason) {
      texts.move_to(window);
      throw std::runtime_error(line_error(name, lines.number(), reason.what()));
    }
    auto* const text = std::get_if<bert::Input>(&input);
    if (text) texts.add(std::move(*text), lines.number());
    // Handing inputs over one by one would cost more than tokenizing them, but none may wait here
    // until somebody writes the next.
    const bool last_ready = !lines.ready();
    if (!text || last_ready || texts.bytes() >= capacity_) texts.move_to(window);
    if (!text) InputMaker::add_parsed(std::move(input), lines.number(), window);
    if ((window.tokens >= capacity_ / 4 || last_ready) && !put(std::exchange(window, {}))) return;
  }
  texts.move_to(window);
}

bool WindowReader::put(Window window) {
  std::unique_lock lock(mutex_);
  // One input alone may exceed the capacity.
  changed_.wait(lock, [&] {
    return stopped_ || ready_.lines.empty() || ready_.tokens + window.tokens <= capacity_;
  });
  if (ready_.lines.empty()) {
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
  changed_.wait(lock, [&] { return ended_ || !ready_.lines.empty(); });
  if (ready_.lines.empty() && error_) std::rethrow_exception(error_);
  Window window = std::exchange(ready_, {});
  lock.unlock();
  changed_.notify_all();
  return window;
}

bool WindowReader::idle() const {
  const std::lock_guard lock(mutex_);
  return ready_.lines.empty();
}

}  // namespace bert::tools
