// SPDX-License-Identifier: Apache-2.0
#include "tools/stop.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

namespace bert::tools {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
// All that the handler may touch.
std::atomic<int> asked_by = 0, event = -1;
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  const int error = errno;
  asked_by = signal;
  const uint64_t one = 1;
  if (write(event, &one, sizeof one) < 0) errno = error;  // it is readable already
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
    action.sa_flags = SA_RESETHAND | SA_RESTART;
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
