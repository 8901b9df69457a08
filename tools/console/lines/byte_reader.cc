// SPDX-License-Identifier: Apache-2.0
#include "tools/console/lines/byte_reader.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

namespace bert::tools {

// A compressed stream: members or frames, one after the other.
class ByteReader::Codec {
 public:
  virtual ~Codec() = default;
  virtual const char* name() const = 0;
  // Decompresses from the beginning of `raw`, which it shortens, to `to`, which has room for `room`
  // bytes; returns how many it wrote. False in is_whole() if the stream must go on. Throws the
  // reason if it is damaged.
  virtual size_t decompress(std::string_view& raw, char* to, size_t room) = 0;
  bool is_whole() const { return is_whole_; }

 protected:
  bool is_whole_ = false;
};

namespace {

constexpr size_t kReadBytes = size_t{1} << 18;
constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd";

class Gzip final : public ByteReader::Codec {
 public:
  Gzip() {
    constexpr int kGzipAlone = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipAlone) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() override { inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  const char* name() const override { return "gzip"; }
  size_t decompress(std::string_view& raw, char* to, size_t room) override {
    if (is_whole_) {
      // Zeros that fill up a block, as on a tape, are no part of what was compressed.
      raw.remove_prefix(std::min(raw.find_first_not_of('\0'), raw.size()));
      if (raw.empty()) return 0;
      inflateReset(&stream_);
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(raw.data()));
    stream_.avail_in = static_cast<uInt>(raw.size());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      throw std::runtime_error(stream_.msg ? stream_.msg : "it is damaged");
    }
    raw.remove_prefix(raw.size() - stream_.avail_in);
    is_whole_ = result == Z_STREAM_END;
    return room - stream_.avail_out;
  }

 private:
  z_stream stream_{};
};

class Zstd final : public ByteReader::Codec {
 public:
  Zstd() : stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (!stream_) throw std::bad_alloc();
  }

  const char* name() const override { return "zstd"; }
  size_t decompress(std::string_view& raw, char* to, size_t room) override {
    ZSTD_inBuffer in = {raw.data(), raw.size(), 0};
    ZSTD_outBuffer out = {to, room, 0};
    const size_t result = ZSTD_decompressStream(stream_.get(), &out, &in);
    if (ZSTD_isError(result) != 0) throw std::runtime_error(ZSTD_getErrorName(result));
    raw.remove_prefix(in.pos);
    is_whole_ = result == 0;
    return out.pos;
  }

 private:
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream_;
};

// A frame of zstd that a decoder skips, as each file of pzstd's begins. There are 16 kinds.
constexpr std::string_view kSkippable = "\x50\x2a\x4d\x18";

std::string without_kind(std::string_view raw) {
  std::string begin(raw.substr(0, kSkippable.size()));
  if (!begin.empty()) begin[0] = static_cast<char>(begin[0] & 0xF0);
  return begin;
}

bool may_become(std::string_view begun, std::string_view magic) {
  return begun.size() < magic.size() && magic.starts_with(begun);
}

}  // namespace

ByteReader::ByteReader(int fd, std::string name, int stop_fd)
    : fd_(fd), stop_fd_(stop_fd), name_(std::move(name)) {}
ByteReader::~ByteReader() = default;

bool ByteReader::read_raw(std::string& to) {
  pollfd wait[] = {{fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  while (poll(wait, 2, -1) < 0) {
    if (errno == EINTR) continue;
    throw std::runtime_error(
        fmt::format("{}: cannot wait for input: {}", name_, std::system_category().message(errno)));
  }
  if (wait[1].revents != 0) return is_stopped_ = true, false;
  const size_t size = to.size();
  to.resize(size + kReadBytes);
  ssize_t got = 0;
  do {
    got = read(fd_, to.data() + size, kReadBytes);
  } while (got < 0 && (errno == EINTR || errno == EAGAIN));
  if (got < 0) {
    throw std::runtime_error(
        fmt::format("{}: cannot be read: {}", name_, std::system_category().message(errno)));
  }
  to.resize(size + static_cast<size_t>(got));
  return got > 0;
}

void ByteReader::recognise() {
  is_recognised_ = true;
  do {
    if (!read_raw(raw_)) break;
  } while (may_become(raw_, kGzip) || may_become(raw_, kZstd) ||
           may_become(without_kind(raw_), kSkippable));
  if (raw_.starts_with(kGzip)) codec_ = std::make_unique<Gzip>();
  const bool is_zstd = raw_.starts_with(kZstd) || without_kind(raw_) == kSkippable;
  if (is_zstd) codec_ = std::make_unique<Zstd>();
}

bool ByteReader::decompress(std::string& to) {
  const size_t size = to.size();
  std::string_view raw = raw_;
  to.resize(size + kReadBytes);
  for (;;) {
    size_t got = 0;
    try {
      if (!raw.empty() || !codec_->is_whole()) got = codec_->decompress(raw, &to[size], kReadBytes);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(
          fmt::format("{}: cannot be decompressed as {}: {}", name_, codec_->name(), error.what()));
    }
    if (got > 0) {
      to.resize(size + got);
      raw_.erase(0, raw_.size() - raw.size());
      return true;
    }
    if (!raw.empty()) continue;
    raw_.clear();
    if (!read_raw(raw_)) break;
    raw = raw_;
  }
  to.resize(size);
  if (is_stopped_ || codec_->is_whole()) return false;
  throw std::runtime_error(
      fmt::format("{}: ends in the middle of what {} compressed", name_, codec_->name()));
}

bool ByteReader::read_more(std::string& to) {
  if (!is_recognised_) recognise();
  if (is_stopped_) return false;
  if (codec_) return decompress(to);
  if (raw_.empty()) return read_raw(to);
  to += std::exchange(raw_, {});
  return true;
}

}  // namespace bert::tools
