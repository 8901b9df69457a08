// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "tools/console/signals/stop.h"
#include "tools/infer/inputs/formats/csv_records.h"
#include "tools/infer/inputs/formats/line_parser.h"
#include "tools/infer/inputs/task_inputs.h"
#include "tools/infer/options/infer_options.h"

namespace bert::tools {

// Reads lines and makes inputs of them in a thread of its own, at most `capacity` tokens ahead of
// take(): a slow pipe gets each answer at once, a fast one is computed in large windows, and memory
// does not depend on the input's length.
class WindowReader {
 public:
  // Does not own fd. Reads until the input ends or the stop is requested; its destructor requests
  // the stop. first: the lines before that index, and those of other shards, are left out.
  WindowReader(int fd, std::string name, const Stop& stop, const InputMaker& maker,
               const InferOptions& options, int64_t first, int64_t capacity);
  ~WindowReader();
  WindowReader(const WindowReader&) = delete;
  WindowReader& operator=(const WindowReader&) = delete;

  // Everything that is ready, waiting for at least one line; empty at the end. A bad line, unless
  // they are skipped, and any error of the reader are thrown once all inputs before have been
  // taken.
  Window take();
  bool idle() const;  // nothing is ready now

 private:
  class Collector;

  void read(int fd, const std::string& name);
  void read_lines(int fd, const std::string& name, Collector& collector);
  bool takes(int64_t index) const { return index >= first_ && options_.shard.takes(index); }
  void read_line(const Record& record, int64_t index, const LineParser& parser,
                 Collector& collector);
  bool put(Window window);  // false once stopped

  const int64_t first_, capacity_;
  const Stop& stop_;
  const InputMaker& maker_;
  const InferOptions& options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Window ready_;
  bool ended_ = false, stopped_ = false;
  std::exception_ptr error_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace bert::tools
