// SPDX-License-Identifier: Apache-2.0
#include "tools/console/signals/bus_error.h"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace bert::tools {
namespace {

const char* program_name = "";

// What follows may only call what is safe in a signal handler, so it neither allocates nor formats.

// A text of at most so many bytes; what is more is left out.
struct Text {
  char bytes[8192];
  size_t size = 0;

  void put(char c) {
    if (size < sizeof bytes) bytes[size++] = c;
  }
  void add(std::string_view more) {
    for (const char c : more) put(c);
  }
  std::string_view view() const { return {bytes, size}; }
};
Text maps_line, message;

uint64_t take_hexadecimal(std::string_view& text) {
  uint64_t value = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    if (c >= '0' && c <= '9') {
      value = 16 * value + static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = 16 * value + static_cast<uint64_t>(c - 'a') + 10;
    } else {
      break;
    }
  }
  return value;
}

// The file of a line of /proc/self/maps if the address lies in it: "BEGIN-END r--p ... PATH".
std::string_view file_at(uint64_t address, std::string_view text) {
  const uint64_t begin = take_hexadecimal(text);
  text.remove_prefix(std::min<size_t>(1, text.size()));
  const uint64_t end = take_hexadecimal(text);
  const size_t path = text.find('/');
  const bool is_it = begin <= address && address < end && path != std::string_view::npos;
  return is_it ? text.substr(path) : std::string_view();
}

// The file that is mapped at the address, or "".
std::string_view mapped_file(uint64_t address) {
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  static char buffer[4096];
  for (ssize_t got = 0; maps >= 0 && (got = read(maps, buffer, sizeof buffer)) > 0;) {
    for (const char c : std::string_view(buffer, static_cast<size_t>(got))) {
      if (c != '\n') {
        maps_line.put(c);
        continue;
      }
      if (const std::string_view path = file_at(address, maps_line.view()); !path.empty())
        return path;
      maps_line.size = 0;
    }
  }
  return "";
}

void on_bus_error(int signal, siginfo_t* info, void*) {
  if (info->si_code != BUS_ADRERR) {  // another program's kill, or worse than a file
    std::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  const std::string_view path = mapped_file(reinterpret_cast<uint64_t>(info->si_addr));
  message.add(program_name);
  message.add(": ");
  for (const char c : path.empty() ? "a mapped file" : path) {
    message.put(static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c);
  }
  message.add(": cannot be read any more: it was truncated while in use\n");
  if (write(STDERR_FILENO, message.bytes, message.size) < 0) _exit(1);
  _exit(1);
}

}  // namespace

void report_bus_errors(const char* program) {
  program_name = program;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace bert::tools
