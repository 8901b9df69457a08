// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bert::tools {

// An end before the input's, which the program asks for, or SIGINT, SIGTERM or SIGHUP where they
// were not ignored: so what is answered can be written, and a file's head with it. Another signal,
// 0.3 seconds after the first or later, ends the process as ever. There is one of these at a time.
class Stop {
 public:
  Stop();
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  void ask() const;
  int fd() const { return fd_; }  // readable once it was asked for
  int signal() const;             // that asked for it, or 0
  // Ends the process as the signal would have: whoever waits for it sees that.
  void end_process() const;

 private:
  const int fd_;
};

}  // namespace bert::tools
