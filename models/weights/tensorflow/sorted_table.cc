// SPDX-License-Identifier: Apache-2.0
#include "models/weights/tensorflow/sorted_table.h"

#include <cstdint>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "models/weights/stored_tensor.h"
#include "models/weights/tensorflow/crc32c.h"
#include "tokenizer/sentencepiece/wire_reader.h"

namespace bert::models {
namespace {

using tokenizer::WireReader;

constexpr uint64_t kTableMagic = 0xdb4775248b80fb57;
constexpr size_t kFooterSize = 48, kTrailerSize = 5;
// A key is stored as what it adds to a prefix of the previous key, so without limits a small file
// could expand into many long keys.
constexpr size_t kMaxIndexKeySize = 1024, kMaxIndexKeys = 1 << 17;

struct Handle {
  uint64_t offset = 0, size = 0;
};

class TableReader {
 public:
  using Entry = std::function<void(std::string_view, std::string_view)>;

  TableReader(std::span<const std::byte> bytes, const std::string& path)
      : bytes_(bytes), path_(path) {}

  void read(const Entry& entry) {
    if (bytes_.size() < kFooterSize) {
      fail(fmt::format("a checkpoint's index has at least {} bytes, found {}", kFooterSize,
                       bytes_.size()));
    }
    WireReader footer(text(bytes_.size() - kFooterSize, kFooterSize), in_footer_);
    if (WireReader(text(bytes_.size() - 8, 8), in_footer_).fixed(8) != kTableMagic) {
      fail("the file does not end as a checkpoint's index does (is it complete?)");
    }
    read_handle(footer);  // the index of filters, which TensorFlow does not write
    uint64_t end = 0;
    std::optional<std::string> last;
    const auto data = [&](std::string_view key, std::string_view value) {
      if (last && key <= *last) fail("the index's keys are not sorted");
      last = key;
      if (++entries_ > kMaxIndexKeys)
        fail(fmt::format("the index has over {} keys", kMaxIndexKeys));
      entry(key, value);
    };
    for_entries(read_handle(footer), [&](std::string_view, std::string_view value) {
      WireReader reader(value, in_block_);
      const Handle handle = read_handle(reader);
      if (handle.offset < end) fail("the index's blocks are not in order");
      for_entries(handle, data);
      end = handle.offset + handle.size;
    });
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error(path_ + ": " + reason);
  }

  std::string_view text(size_t at, size_t size) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, size};
  }

  static Handle read_handle(WireReader& reader) {
    Handle handle;
    handle.offset = reader.varint();
    handle.size = reader.varint();
    return handle;
  }

  // A block's entries. In the block, they are followed by the offsets of the entries whose keys are
  // stored whole (restarts) and the number of those. After the block, not counted in its size, come
  // the kind of compression and the checksum of both.
  std::string_view block(const Handle& handle) const {
    const uint64_t limit = bytes_.size() - kFooterSize;
    if (handle.offset > limit || handle.size > limit - handle.offset ||
        limit - handle.offset - handle.size < kTrailerSize || handle.size < 4) {
      fail(fmt::format("a block of {} bytes at {} does not fit the index", handle.size,
                       handle.offset));
    }
    WireReader trailer(text(handle.offset + handle.size, kTrailerSize), in_block_);
    const uint64_t kind = trailer.fixed(1);
    const auto expected = unmasked_crc32c(static_cast<uint32_t>(trailer.fixed(4)));
    const uint32_t found = crc32c(bytes_.subspan(handle.offset, handle.size + 1));
    if (kVerifiesChecksums && found != expected) {
      fail(fmt::format("the block at {} has checksum {:08x}, expected {:08x}: it is damaged",
                       handle.offset, found, expected));
    }
    if (kind != 0) {
      fail(fmt::format("the block at {} is compressed ({}), which is not supported", handle.offset,
                       kind == 1 ? "snappy" : fmt::format("kind {}", kind)));
    }
    const std::string_view whole = text(handle.offset, handle.size);
    const uint64_t restarts = WireReader(whole.substr(whole.size() - 4), in_block_).fixed(4);
    if (restarts > whole.size() / 4 - 1) fail("a block has more restarts than fit in it");
    return whole.substr(0, whole.size() - 4 * (restarts + 1));
  }

  void for_entries(const Handle& handle, const Entry& entry) const {
    WireReader reader(block(handle), in_block_);
    std::string key;
    while (!reader.empty()) {
      const uint64_t shared = reader.varint(), added = reader.varint(), size = reader.varint();
      if (shared > key.size() || added > kMaxIndexKeySize - shared) {
        fail(fmt::format("invalid key of {} bytes after {} of the previous key's {}", added, shared,
                         key.size()));
      }
      key.resize(shared);
      key += reader.take(added);
      entry(key, reader.take(size));
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  const std::string in_footer_ = path_ + ": the index's footer";
  const std::string in_block_ = path_ + ": a block of the index";
  size_t entries_ = 0;
};

}  // namespace

void read_sorted_table(std::span<const std::byte> bytes, const std::string& path,
                       const std::function<void(std::string_view, std::string_view)>& entry) {
  TableReader(bytes, path).read(entry);
}

}  // namespace bert::models
