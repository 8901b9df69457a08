// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/inputs/vector_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "tokenizer/unicode/printable.h"

namespace bert::tools {
namespace {

// What the header, a Python dict, has under a name; or "nothing".
std::string value_of(const std::string& header, const std::string& name) {
  std::smatch found;
  const std::regex entry("'" + name + R"(': *(\([^)]*\)|[^,}]*))");
  return std::regex_search(header, found, entry) ? found[1].str() : "nothing";
}

}  // namespace

// NumPy's format: magic, version, length of the header (two bytes, or four from version 2 on),
// header, numbers.
VectorFile::VectorFile(const std::string& path) : path_(path), file_(path, std::ios::binary) {
  if (!file_) throw std::system_error(errno, std::generic_category(), path);
  const std::string start = read(8);
  if (!start.starts_with("\x93NUMPY")) fail("the file does not begin as NumPy's do");
  int64_t length = 0;
  for (int shift = 0; const char c : read(start[6] == 1 ? 2 : 4)) {
    length |= static_cast<int64_t>(static_cast<unsigned char>(c)) << shift;
    shift += 8;
  }
  constexpr int64_t kMost = 1024;  // far more than any has
  if (length > kMost)
    fail(fmt::format("the header has {} bytes, expected at most {}", length, kMost));
  read_shape(read(length));
  const auto all = static_cast<int64_t>(std::filesystem::file_size(path));
  const int64_t has = all - static_cast<int64_t>(file_.tellg());
  const int64_t needed = rows_ * columns_ * static_cast<int64_t>(sizeof(float));
  if (has != needed) fail(fmt::format("there are {} bytes of numbers, expected {}", has, needed));
}

void VectorFile::fail(const std::string& reason) const {
  throw std::runtime_error(fmt::format("{}: {}", path_, reason));
}

std::string VectorFile::read(int64_t bytes) {
  std::string text(static_cast<size_t>(bytes), '\0');
  if (!file_.read(text.data(), bytes)) fail("the file ends within its header");
  return text;
}

void VectorFile::read_shape(const std::string& header) {
  const auto expect = [&](const char* name, const std::string& expected) {
    const std::string found = value_of(header, name);
    if (found != expected) {
      fail(fmt::format("{}: found {}, expected {}", name, tokenizer::printable(found), expected));
    }
  };
  expect("descr", "'<f4'");
  expect("fortran_order", "False");
  const std::string shape = value_of(header, "shape");
  std::smatch sizes;
  if (!std::regex_match(shape, sizes, std::regex(R"(\(([0-9]{1,12}), *([0-9]{1,6})\))"))) {
    fail(fmt::format("shape: found {}, expected (rows, columns)", tokenizer::printable(shape)));
  }
  rows_ = std::stoll(sizes[1]);
  columns_ = std::stoll(sizes[2]);
}

bert::Output VectorFile::take(int64_t most) {
  bert::Output rows(std::min(most, rows_ - taken_), columns_);
  const auto bytes = static_cast<std::streamsize>(rows.values.size() * sizeof(float));
  if (!file_.read(reinterpret_cast<char*>(rows.values.data()), bytes)) {
    fail("the file became shorter while it was read");
  }
  const auto wrong = std::ranges::find_if(rows.values, [](float x) { return !std::isfinite(x); });
  if (wrong != rows.values.end()) {
    const int64_t place = wrong - rows.values.begin();
    fail(fmt::format("vector {} has a number that is not finite", taken_ + place / columns_));
  }
  taken_ += rows.rows;
  return rows;
}

}  // namespace bert::tools
