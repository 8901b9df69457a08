// SPDX-License-Identifier: Apache-2.0
#include "tools/console/output_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bert::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{1} << 16;

bool same_file(int a, int b) {
  struct stat x {
  }, y{};
  return fstat(a, &x) == 0 && fstat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

}  // namespace

void refuse_file_of(const std::string& model, const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  for (auto at = fs::recursive_directory_iterator(model, ignored);
       at != fs::recursive_directory_iterator(); at.increment(ignored)) {
    if (at.depth() > 0) at.disable_recursion_pending();  // 2_Dense/model.safetensors
    const std::string name = at->path().filename();
    if (name.find("model") == std::string::npos) continue;
    if (!fs::equivalent(at->path(), path, ignored)) continue;
    throw OutputError(path + ": is a file of the model; choose another name for the output");
  }
}

OutputFile::OutputFile(const std::string& path, int input_fd)
    : name_(path == "-" ? "standard output" : path) {
  fd_ = path == "-" ? STDOUT_FILENO : open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) fail("cannot be opened for writing");
  const bool clash = input_fd >= 0 && same_file(fd_, input_fd);
  // Answers read back as inputs would never end. EINVAL: a pipe or device cannot be truncated.
  if (!clash && (path == "-" || ftruncate(fd_, 0) == 0 || errno == EINVAL)) return;
  const int error = errno;
  if (path != "-") ::close(std::exchange(fd_, -1));
  if (clash) throw OutputError(name_ + ": is both the input and the output");
  errno = error;
  fail("cannot be truncated");
}

OutputFile::~OutputFile() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
}

void OutputFile::append(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() >= kBufferBytes) flush();
}

void OutputFile::flush() {
  write(buffer_);
  buffer_.clear();
}

void OutputFile::patch(int64_t offset, std::string_view bytes) {
  flush();
  if (lseek(fd_, offset, SEEK_SET) < 0) fail("cannot seek, as this format requires");
  write(bytes);
  if (lseek(fd_, 0, SEEK_END) < 0) fail("cannot seek, as this format requires");
}

void OutputFile::close() {
  flush();
  if (::close(std::exchange(fd_, -1)) != 0) fail("cannot be closed");
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      throw ClosedPipe();
    } else if (errno == EAGAIN) {  // another user of the pipe made it non-blocking
      pollfd wait = {fd_, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      fail("cannot be written");
    }
  }
}

void OutputFile::fail(const char* what) const {
  throw OutputError(fmt::format("{}: {}: {}", name_, what, std::system_category().message(errno)));
}

}  // namespace bert::tools
