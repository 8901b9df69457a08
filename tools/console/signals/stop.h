// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bert::tools {

// A request to stop before the input ends, made by the program itself or by SIGINT, SIGTERM or
// SIGHUP (unless they are ignored), so that the answers so far and a file's header can still be
// written. Another signal 0.3 seconds or more after the first ends the process as usual. Only one
// object of this class may exist at a time.
class Stop {
 public:
  Stop();
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  void request() const;
  int fd() const { return fd_; }  // becomes readable with the request
  int signal() const;             // the signal that made the request, or 0
  // Ends the process by that signal, so that the parent process sees it.
  [[noreturn]] void end_process() const;

 private:
  const int fd_;
};

// While it lives, these signals end the process at once, one that came before included: for a wait
// that nothing else ends, before there is anything to keep.
class EndBySignal {
 public:
  EndBySignal();
  ~EndBySignal();
  EndBySignal(const EndBySignal&) = delete;
  EndBySignal& operator=(const EndBySignal&) = delete;

 private:
  const bool stops_;  // there is a Stop
};

}  // namespace bert::tools
