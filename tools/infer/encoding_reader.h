// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "models/bert_infer.h"
#include "tools/console/stop.h"

namespace bert::tools {

// Consecutive inputs of a file.
struct Window {
  std::vector<bert::Encoding> encodings;
  std::vector<int64_t> lines;  // where each came from, from 1
  int64_t tokens = 0;

  void add(bert::Encoding encoding, int64_t line);
};

// Reads lines and has them encoded in a thread of its own, ahead of whoever takes them by at most
// `capacity` tokens: so a slow pipe gets each answer at once, a fast one is computed in large
// windows, and memory does not depend on the input's length.
class EncodingReader {
 public:
  // Both run in the reader's thread; what `parse` throws, and `encode` of one input, is a bad line.
  using Parse = std::function<std::variant<bert::Input, bert::Encoding>(std::string_view line)>;
  using Encode = std::function<std::vector<bert::Encoding>(std::span<const bert::Input> inputs)>;

  // Does not own fd. Reads until the stop or the input's end, and at its own end asks for the stop.
  EncodingReader(int fd, std::string name, const Stop& stop, Parse parse, Encode encode,
                 int64_t capacity);
  ~EncodingReader();
  EncodingReader(const EncodingReader&) = delete;
  EncodingReader& operator=(const EncodingReader&) = delete;

  // All that is ready, waiting for at least one input; nothing at the end. An error of the reader
  // is thrown after all before it has been taken.
  Window take();
  bool idle() const;  // nothing is ready now

 private:
  class Texts;  // that wait to be encoded together

  void read(int fd, const std::string& name, const Parse& parse, const Encode& encode);
  bool put(Window batch);  // false once stopped

  const int64_t capacity_;
  const Stop& stop_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Window ready_;
  bool ended_ = false, stopped_ = false;
  std::exception_ptr error_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace bert::tools
