// SPDX-License-Identifier: Apache-2.0
#include "tools/console/signals/stop.h"

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
// When a terminal closes, both the kernel and the shell send SIGHUP, and `timeout` sends SIGTERM to
// the child and to its process group: signals this close together are one request.
constexpr int64_t kOneRequestMs = 300;

// The handler touches nothing else.
std::atomic<int> requested_by = 0, event = -1;
std::atomic<int64_t> requested_at = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

// The first process of a container is not ended by a signal without a handler: it ends with the
// status that a shell gives such an end. Elsewhere, in a handler, the signal comes once it returns.
void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  if (getpid() == 1) _exit(128 + signal);
  raise(signal);
}

void on_signal(int signal) {
  const int error = errno;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t at = int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
  if (requested_by == 0) {
    requested_at = at;
    requested_by = signal;
    const uint64_t one = 1;
    if (write(event, &one, sizeof one) < 0) errno = error;  // then it is readable already
  } else if (at - requested_at >= kOneRequestMs) {
    end_by(signal);
  }
}

// Replaces one handler by another where it is set.
void replace_handlers(void (*before)(int), void (*after)(int)) {
  for (const int signal : kSignals) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != before) continue;
    action = {};
    action.sa_handler = after;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

int make_eventfd() {
  const int fd = eventfd(0, EFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::system_category(), "cannot create an eventfd");
  return fd;
}

}  // namespace

Stop::Stop() : fd_(make_eventfd()) {
  requested_by = 0;
  event = fd_;
  replace_handlers(SIG_DFL, on_signal);
}

Stop::~Stop() {
  replace_handlers(on_signal, SIG_DFL);
  event = -1;
  close(fd_);
}

void Stop::request() const { eventfd_write(fd_, 1); }

int Stop::signal() const { return requested_by; }

void Stop::end_process() const {
  end_by(requested_by);
  _exit(128 + requested_by);  // where the signal is blocked
}

EndBySignal::EndBySignal() : stops_(event >= 0) {
  if (!stops_) return;
  replace_handlers(on_signal, end_by);
  if (requested_by != 0) end_by(requested_by);
}

EndBySignal::~EndBySignal() {
  if (stops_) replace_handlers(end_by, on_signal);
}

}  // namespace bert::tools
