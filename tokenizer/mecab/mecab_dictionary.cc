// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/mecab/mecab_dictionary.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/mman.h>

#include "tokenizer/files/files.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

constexpr uint32_t kMagic = 0xEF718F77;  // sys.dic and unk.dic begin with it, XOR their size
constexpr uint32_t kVersion = 102;
constexpr size_t kMaxCategories = 18;  // bits of CharacterKind
constexpr size_t kCategoryName = 32;
constexpr size_t kKindCount = 0xFFFF;

struct WordListHeader {
  uint32_t magic, version, type, count, left, right, units, words, features, unused;
  char charset[32];
};

template <class T>
T read_at(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Views of a mapping; the format aligns whatever they hold.
template <class T>
std::span<const T> view(std::string_view bytes, size_t at, size_t count) {
  return {reinterpret_cast<const T*>(bytes.data() + at), count};
}

bool is_utf8(std::string_view charset) {
  std::string name;
  for (const char c : charset.substr(0, charset.find('\0'))) {
    if (c != '-' && c != '_') name += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
  }
  return name == "utf8";
}

}  // namespace

DictionaryFile::DictionaryFile(const std::string& path) : path_(path) {
  const RegularFile file(path);
  if (file.size() == 0) fail("it is empty");
  void* const start = mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (start == MAP_FAILED) fail(std::strerror(errno));
  bytes_ = {static_cast<const char*>(start), file.size()};
}

DictionaryFile::~DictionaryFile() { munmap(const_cast<char*>(bytes_.data()), bytes_.size()); }

void DictionaryFile::fail(std::string_view reason) const {
  throw std::runtime_error(
      fmt::format("{}: cannot be read as a dictionary of MeCab: {}", path_, reason));
}

WordList::WordList(const std::string& path) : file_(path) {
  const std::string_view bytes = file_.bytes();
  if (bytes.size() < sizeof(WordListHeader)) fail("it is cut short");
  const auto header = read_at<WordListHeader>(bytes, 0);
  if ((header.magic ^ kMagic) != bytes.size()) fail("it is cut short, or another file");
  if (header.version != kVersion) {
    fail(fmt::format("its version is {}, not {}", header.version, kVersion));
  }
  if (!is_utf8({header.charset, sizeof(header.charset)})) {
    fail(fmt::format("its character set is \"{:.32}\", not UTF-8", header.charset));
  }
  const size_t words_at = sizeof(header) + header.units;
  if (header.units % sizeof(Unit) != 0 || header.words % sizeof(MecabWord) != 0 ||
      words_at + header.words + header.features != bytes.size()) {
    fail("the sizes of its parts are wrong");
  }
  count_ = header.count;
  left_ = header.left;
  right_ = header.right;
  units_ = view<Unit>(bytes, sizeof(header), header.units / sizeof(Unit));
  words_ = view<MecabWord>(bytes, words_at, header.words / sizeof(MecabWord));
}

std::span<const MecabWord> WordList::words(Unit end) const {
  const auto value = static_cast<uint32_t>(-(int64_t{end.base} + 1));
  const size_t first = value >> 8, count = value & 0xFF;
  if (first + count > words_.size()) fail("a word is outside its list");
  return words_.subspan(first, count);
}

std::span<const MecabWord> WordList::find(std::string_view text) const {
  std::span<const MecabWord> found;
  prefixes(text, [&](size_t length, std::span<const MecabWord> words) {
    if (length == text.size()) found = words;
  });
  return found;
}

MecabDictionary::MecabDictionary(const std::string& directory)
    : words_(directory + "/sys.dic"),
      unknown_(directory + "/unk.dic"),
      kinds_file_(directory + "/char.bin"),
      costs_file_(directory + "/matrix.bin") {
  read_kinds();
  read_costs();
}

// The names of the categories, and the kind of every character up to U+FFFE.
void MecabDictionary::read_kinds() {
  const std::string_view bytes = kinds_file_.bytes();
  if (bytes.size() < 4) kinds_file_.fail("it is cut short");
  const auto count = read_at<uint32_t>(bytes, 0);
  const size_t kinds_at = sizeof(count) + count * kCategoryName;
  if (count > kMaxCategories || bytes.size() != kinds_at + kKindCount * sizeof(CharacterKind)) {
    kinds_file_.fail("its size is wrong");
  }
  kinds_ = view<CharacterKind>(bytes, kinds_at, kKindCount);
  for (size_t i = 0; i < count; ++i) {
    std::string_view name = bytes.substr(sizeof(count) + i * kCategoryName, kCategoryName);
    name = name.substr(0, name.find('\0'));
    unknown_words_.push_back(unknown_.find(name));
    if (unknown_words_.back().empty()) {
      unknown_.fail(fmt::format("it does not have the category \"{}\" of char.bin", name));
    }
    for (const MecabWord& word : unknown_words_.back()) check(word);
  }
  const auto is_known = [&](CharacterKind kind) { return kind.category() < count; };
  if (!std::ranges::all_of(kinds_, is_known)) kinds_file_.fail("it has an unknown category");
  space_ = kind(U' ');
}

void MecabDictionary::read_costs() {
  const std::string_view bytes = costs_file_.bytes();
  const size_t left = words_.left_classes(), right = words_.right_classes();
  if (left == 0 || right == 0 || bytes.size() != 4 + left * right * sizeof(int16_t) ||
      read_at<uint16_t>(bytes, 0) != left || read_at<uint16_t>(bytes, 2) != right) {
    costs_file_.fail("its size is not what sys.dic expects");
  }
  costs_ = view<int16_t>(bytes, 4, left * right);
}

}  // namespace bert::tokenizer
