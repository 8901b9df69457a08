// SPDX-License-Identifier: Apache-2.0
#include "tools/encoding_reader.h"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "tools/input_lines.h"

namespace bert::tools {
namespace {

int make_eventfd() {
  const int fd = eventfd(0, EFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::system_category(), "cannot create an eventfd");
  return fd;
}

}  // namespace

void Window::add(bert::Encoding encoding, int64_t line) {
  tokens += std::max<int64_t>(1, static_cast<int64_t>(encoding.ids.size()));
  encodings.push_back(std::move(encoding));
  lines.push_back(line);
}

EncodingReader::EncodingReader(int fd, std::string name, Encode encode, int64_t capacity)
    : capacity_(capacity),
      stop_fd_(make_eventfd()),
      thread_([this, fd, name = std::move(name), encode = std::move(encode)] {
        read(fd, name, encode);
      }) {}

EncodingReader::~EncodingReader() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  eventfd_write(stop_fd_, 1);
  thread_.join();
  close(stop_fd_);
}

void EncodingReader::read(int fd, const std::string& name, const Encode& encode) {
  std::exception_ptr error;
  Window batch;
  try {
    LineReader lines(fd, name, stop_fd_);
    while (const auto line = lines.next()) {
      try {
        batch.add(encode(*line), lines.number());
      } catch (const std::exception& reason) {
        throw std::runtime_error(line_error(name, lines.number(), reason.what()));
      }
      // Handing lines over one by one would cost more than encoding them; but none may wait here
      // while the next is not even written.
      if ((batch.tokens >= capacity_ / 4 || !lines.ready()) && !put(std::exchange(batch, {})))
        break;
    }
  } catch (...) {
    error = std::current_exception();
  }
  put(std::move(batch));
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    error_ = error;
  }
  changed_.notify_all();
}

bool EncodingReader::put(Window batch) {
  std::unique_lock lock(mutex_);
  // One input alone may be larger than the capacity.
  changed_.wait(lock, [&] {
    return stopped_ || ready_.lines.empty() || ready_.tokens + batch.tokens <= capacity_;
  });
  if (ready_.lines.empty()) {
    ready_ = std::move(batch);
  } else {
    for (size_t i = 0; i < batch.lines.size(); ++i) {
      ready_.add(std::move(batch.encodings[i]), batch.lines[i]);
    }
  }
  const bool stopped = stopped_;
  lock.unlock();
  changed_.notify_all();
  return !stopped;
}

Window EncodingReader::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || !ready_.lines.empty(); });
  if (ready_.lines.empty() && error_) std::rethrow_exception(error_);
  Window window = std::exchange(ready_, {});
  lock.unlock();
  changed_.notify_all();
  return window;
}

bool EncodingReader::idle() const {
  const std::lock_guard lock(mutex_);
  return ready_.lines.empty();
}

}  // namespace bert::tools
