// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/encoding_reader.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tools/console/input_lines.h"

namespace bert::tools {

void Window::add(bert::Encoding encoding, int64_t line) {
  tokens += std::max<int64_t>(1, static_cast<int64_t>(encoding.ids.size()));
  encodings.push_back(std::move(encoding));
  lines.push_back(line);
}

// Texts that wait to be encoded together, and the lines that they came from.
class EncodingReader::Texts {
 public:
  Texts(const std::string& name, const Encode& encode) : name_(name), encode_(encode) {}

  void add(bert::Input text, int64_t line) {
    bytes_ += std::ssize(text.first) + (text.second ? std::ssize(*text.second) : 0);
    texts_.push_back(std::move(text));
    lines_.push_back(line);
  }
  int64_t bytes() const { return bytes_; }

  // Adds their encodings to the batch: where one is bad, those before it.
  void encode_into(Window& batch) {
    std::vector<bert::Encoding> encodings;
    try {
      encodings = encode_(texts_);
    } catch (const std::exception&) {
      encode_one_by_one(batch);
    }
    for (size_t i = 0; i < encodings.size(); ++i) batch.add(std::move(encodings[i]), lines_[i]);
    texts_.clear();
    lines_.clear();
    bytes_ = 0;
  }

 private:
  void encode_one_by_one(Window& batch) const {
    for (size_t i = 0; i < texts_.size(); ++i) {
      try {
        batch.add(std::move(encode_({&texts_[i], 1})[0]), lines_[i]);
      } catch (const std::exception& error) {
        throw std::runtime_error(line_error(name_, lines_[i], reason_alone(error.what())));
      }
    }
  }

  const std::string& name_;
  const Encode& encode_;
  std::vector<bert::Input> texts_;
  std::vector<int64_t> lines_;
  int64_t bytes_ = 0;
};

EncodingReader::EncodingReader(int fd, std::string name, const Stop& stop, Parse parse,
                               Encode encode, int64_t capacity)
    : capacity_(capacity),
      stop_(stop),
      thread_([this, fd, name = std::move(name), parse = std::move(parse),
               encode = std::move(encode)] { read(fd, name, parse, encode); }) {}

EncodingReader::~EncodingReader() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  stop_.ask();
  thread_.join();
}

void EncodingReader::read(int fd, const std::string& name, const Parse& parse,
                          const Encode& encode) {
  std::exception_ptr error;
  Window batch;
  try {
    LineReader lines(fd, name, stop_.fd());
    Texts texts(name, encode);
    while (const auto line = lines.next()) {
      std::variant<bert::Input, bert::Encoding> input;
      try {
        input = parse(*line);
      } catch (const std::exception& reason) {
        texts.encode_into(batch);
        throw std::runtime_error(line_error(name, lines.number(), reason.what()));
      }
      auto* const text = std::get_if<bert::Input>(&input);
      if (text) texts.add(std::move(*text), lines.number());
      // Handing lines over one by one would cost more than encoding them; but none may wait here
      // while the next is not even written. A token is about four bytes.
      const bool waits = !lines.ready();
      if (!text || waits || texts.bytes() >= capacity_) texts.encode_into(batch);
      if (!text) batch.add(std::move(std::get<bert::Encoding>(input)), lines.number());
      if ((batch.tokens >= capacity_ / 4 || waits) && !put(std::exchange(batch, {}))) break;
    }
    texts.encode_into(batch);
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
