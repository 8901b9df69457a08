// SPDX-License-Identifier: Apache-2.0
#include "tools/console/stop.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

namespace bert::tools {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
// A shell whose terminal closes sends SIGHUP beside the kernel's, and `timeout` SIGTERM to the
// child and to its group: what comes again so soon is the same request.
constexpr int64_t kOneRequestMs = 300;

// All that the handler may touch.
std::atomic<int> asked_by = 0, event = -1;
std::atomic<int64_t> asked_at = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

void on_signal(int signal) {
  const int error = errno;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t at = int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
  if (asked_by == 0) {
    asked_at = at;
    asked_by = signal;
    const uint64_t one = 1;
    if (write(event, &one, sizeof one) < 0) errno = error;  // it is readable already
  } else if (at - asked_at >= kOneRequestMs) {
    std::signal(signal, SIG_DFL);
    raise(signal);  // held back until this returns
  }
}

int make_eventfd() {
  const int fd = eventfd(0, EFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::system_category(), "cannot create an eventfd");
  return fd;
}

}  // namespace

Stop::Stop() : fd_(make_eventfd()) {
  asked_by = 0;
  event = fd_;
  for (const int signal : kSignals) {
    struct sigaction before {
    }, action{};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

Stop::~Stop() {
  for (const int signal : kSignals) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == on_signal) {
      std::signal(signal, SIG_DFL);
    }
  }
  event = -1;
  close(fd_);
}

void Stop::ask() const { eventfd_write(fd_, 1); }

int Stop::signal() const { return asked_by; }

void Stop::end_process() const {
  std::signal(asked_by, SIG_DFL);
  raise(asked_by);
}

}  // namespace bert::tools
