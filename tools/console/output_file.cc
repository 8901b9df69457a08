// SPDX-License-Identifier: Apache-2.0
#include "tools/console/output_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/console/signals/stop.h"

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

// Whether its name says that a file is an earlier run's result, which a model is not read from.
bool is_result(const std::string& name) {
  if (name.find("model") != std::string::npos) return false;  // model-00001-of-00002.safetensors
  return std::ranges::any_of(
      std::initializer_list<const char*>{".jsonl", ".tsv", ".npy", ".safetensors", ".html", ".xml"},
      [&](const char* ending) { return name.ends_with(ending); });
}

}  // namespace

std::string end_of_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(path, error)); ++i) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target;
}

void refuse_file_of(const std::string& folder, const std::string& path, const char* owner) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return;
  for (auto at = fs::recursive_directory_iterator(folder, ignored);
       at != fs::recursive_directory_iterator(); at.increment(ignored)) {
    if (at.depth() > 0) at.disable_recursion_pending();  // 2_Dense/model.safetensors
    if (is_result(at->path().filename()) || !fs::equivalent(at->path(), path, ignored)) continue;
    throw OutputError(
        fmt::format("{}: is a file of the {}; choose another name for the output", path, owner));
  }
}

void refuse_files_read(const std::vector<std::string>& read, const std::string& path) {
  if (path == "-") return;
  std::error_code ignored;
  for (const std::string& written : {path, path + ".partial"}) {
    if (!fs::is_regular_file(written, ignored)) continue;
    for (const std::string& name : read) {
      if (name == "-" || !fs::equivalent(name, written, ignored)) continue;
      throw OutputError(written + ": is both the input and the output");
    }
  }
}

OutputFile::OutputFile(const std::string& path, int input_fd, bool resumes) : OutputFile() {
  name_ = path == "-" ? "standard output" : path;
  struct stat status {};
  const bool exists = path != "-" && stat(path.c_str(), &status) == 0;
  if (path != "-" && (!exists || S_ISREG(status.st_mode))) {
    open_partial(path, input_fd, resumes);
    return;
  }
  if (path == "-") {
    fd_ = STDOUT_FILENO;
  } else {
    const EndBySignal while_it_waits;  // for a pipe's reader
    fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  }
  if (fd_ < 0) fail("cannot be opened for writing");
  // Answers read back as inputs would never end.
  if (input_fd < 0 || !same_file(fd_, input_fd)) return;
  throw OutputError(name_ + ": is both the input and the output");
}

void OutputFile::open_partial(const std::string& path, int input_fd, bool resumes) {
  // A file that may not be written stays as it is, though its folder would let it be replaced.
  std::error_code ignored;
  target_ = fs::is_symlink(path, ignored) ? end_of_links(path) : path;
  const int before = open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  if (before < 0 && errno != ENOENT) fail("cannot be opened for writing");
  struct stat status {};
  const bool replaces = before >= 0 && fstat(before, &status) == 0;
  const bool clash = replaces && input_fd >= 0 && same_file(before, input_fd);
  if (before >= 0) ::close(before);
  if (clash) throw OutputError(name_ + ": is both the input and the output");
  partial_ = target_ + ".partial";
  struct stat found {};  // a pipe in its place would let open() wait for a reader
  if (lstat(partial_.c_str(), &found) == 0 && S_ISFIFO(found.st_mode)) {
    throw OutputError(partial_ + ": is a pipe, expected a regular file or none");
  }
  fd_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    const int reason = errno;
    if (fs::exists(fs::symlink_status(partial_, ignored))) name_ = partial_;  // it is in the way
    errno = reason;
    fail("cannot be opened for writing");
  }
  if (input_fd >= 0 && same_file(fd_, input_fd)) {
    throw OutputError(partial_ + ": is both the input and the output");
  }
  // Not all file systems have locks.
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw OutputError(partial_ + ": another process is writing it");
  }
  // By now it may be whole, or gone: what was opened has another name then, or none.
  const int there = open(partial_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  const bool stayed = there >= 0 && same_file(there, fd_);
  if (there >= 0) ::close(there);
  if (!stayed) throw OutputError(partial_ + ": another process has just finished it");
  if (!resumes && ftruncate(fd_, 0) != 0) fail("cannot be truncated");
  size_ = lseek(fd_, 0, SEEK_END);
  resumed_ = size_ > 0;
  begun_ = !resumed_;
  if (replaces && fchmod(fd_, status.st_mode & 07777) != 0) {
    fail("cannot be given the permissions of the file before");
  }
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  if (begun_) discard();
  if (fd_ > STDERR_FILENO) ::close(fd_);
}

void OutputFile::append(std::string_view bytes) {
  buffer_.append(bytes);
  if (!partial_.empty()) ends_.push_back(size_ + std::ssize(buffer_));
  if (buffer_.size() >= kBufferBytes) flush();
}

void OutputFile::flush() {
  write(buffer_);
  size_ += std::ssize(buffer_);
  buffer_.clear();
  calls_ += std::ssize(ends_);
  ends_.clear();
}

void OutputFile::patch(int64_t offset, std::string_view bytes) {
  const off_t at = lseek(fd_, 0, SEEK_CUR);
  if (at < 0) fail("cannot seek, as this format requires");
  struct stat status {};
  const bool is_file = fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);  // not /dev/null
  if (is_file && (at != size_ || (fcntl(fd_, F_GETFL) & O_APPEND) != 0)) {
    throw OutputError(name_ + ": would be added to, but this format needs a file of its own");
  }
  flush();
  if (lseek(fd_, offset, SEEK_SET) < 0) fail("cannot seek, as this format requires");
  write(bytes);
  if (lseek(fd_, 0, SEEK_END) < 0) fail("cannot seek, as this format requires");
}

void OutputFile::sync() {
  flush();
  if (partial_.empty() || fdatasync(fd_) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) fail("cannot be written");  // not all file systems do it
}

void OutputFile::close() {
  sync();
  begun_ = false;  // whole, it stays even if it cannot get its name
  // Before it is closed, as nobody else may have the lock, and write into what is whole, until the
  // file has its name.
  if (!partial_.empty() && rename(partial_.c_str(), target_.c_str()) != 0) {
    fail("cannot be replaced");
  }
  if (::close(std::exchange(fd_, -1)) != 0) fail("cannot be closed");
}

std::string OutputFile::keep_partial() {
  if (fd_ < 0) return "";  // it has its name
  flush();
  if (::close(std::exchange(fd_, -1)) != 0) fail("cannot be closed");
  return partial_;
}

void OutputFile::discard() {
  if (fd_ >= 0 && !partial_.empty()) unlink(partial_.c_str());
}

int64_t OutputFile::cut() {
  buffer_.clear();
  const int64_t written = lseek(fd_, 0, SEEK_END);
  if (partial_.empty() || written < 0) fail("cannot be truncated");
  for (const int64_t end : ends_) {
    if (end > written) break;
    size_ = end;
    ++calls_;
  }
  ends_.clear();
  truncate(size_);
  return calls_;
}

void OutputFile::flush_again() {
  if (ftruncate(fd_, size_) != 0 || lseek(fd_, 0, SEEK_END) < 0) fail("cannot be truncated");
  flush();
}

void OutputFile::truncate(int64_t size) {
  buffer_.clear();
  ends_.clear();
  size_ = size;
  if (ftruncate(fd_, size) != 0 || lseek(fd_, 0, SEEK_END) < 0) fail("cannot be truncated");
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
