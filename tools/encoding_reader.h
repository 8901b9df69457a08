// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "models/bert_infer.h"

namespace bert::tools {

// Consecutive inputs of a file.
struct Window {
  std::vector<bert::Encoding> encodings;
  std::vector<int64_t> lines;  // where each came from, from 1
  int64_t tokens = 0;

  void add(bert::Encoding encoding, int64_t line);
};

// Reads and encodes lines in a thread of its own, ahead of whoever takes them by at most `capacity`
// tokens: so a slow pipe gets each answer at once, a fast one is computed in large windows, and
// memory does not depend on the input's length.
class EncodingReader {
 public:
  using Encode = std::function<bert::Encoding(std::string_view line)>;

  // Does not own fd. `encode` runs in the reader's thread; what it throws is a bad line.
  EncodingReader(int fd, std::string name, Encode encode, int64_t capacity);
  ~EncodingReader();
  EncodingReader(const EncodingReader&) = delete;
  EncodingReader& operator=(const EncodingReader&) = delete;

  // All that is ready, waiting for at least one input; nothing at the end. An error of the reader
  // is thrown after all before it has been taken.
  Window take();
  bool idle() const;  // nothing is ready now

 private:
  void read(int fd, const std::string& name, const Encode& encode);
  bool put(Window batch);  // false once stopped

  const int64_t capacity_;
  const int stop_fd_;  // an eventfd: readable once the reader has to stop
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Window ready_;
  bool ended_ = false, stopped_ = false;
  std::exception_ptr error_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace bert::tools
