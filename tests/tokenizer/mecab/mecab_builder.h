// SPDX-License-Identifier: Apache-2.0
//
// Compiles small dictionaries of MeCab for tests, as mecab-dict-index would.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/tokenizer/test_directory.h"
#include "tokenizer/mecab/mecab_dictionary.h"

namespace bert::tokenizer {

struct TestWord {
  uint16_t left, right;
  int16_t cost;
};
using TestWords = std::map<std::string, std::vector<TestWord>>;

struct TestCategory {
  std::string name;
  uint32_t always, group, length;
};

template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// A Darts double array: a node's children are at its base plus their byte plus 1, its value at its
// base.
class TestDoubleArray {
 public:
  explicit TestDoubleArray(const std::map<std::string, uint32_t>& values) {
    units_.resize(1);
    const int32_t base = place(values);
    units_[0].first = base;
  }
  std::string bytes() const {
    std::string out;
    for (const auto& [base, check] : units_) append(out, base), append(out, check);
    return out;
  }

 private:
  int32_t place(const std::map<std::string, uint32_t>& values) {
    std::map<size_t, std::map<std::string, uint32_t>> children;  // by their distance from the base
    for (const auto& [text, value] : values) {
      if (text.empty()) {
        children[0] = {};
      } else {
        children[static_cast<uint8_t>(text[0]) + size_t{1}][text.substr(1)] = value;
      }
    }
    size_t base = 1;
    const auto is_free = [&] {
      for (const auto& [distance, rest] : children) {
        if (taken_.contains(base + distance)) return false;
      }
      return !bases_.contains(base);
    };
    while (!is_free()) ++base;
    bases_.insert(base);
    for (const auto& [distance, rest] : children) taken_.insert(base + distance);
    for (const auto& [distance, rest] : children) {
      const int32_t next = distance == 0 ? -static_cast<int32_t>(values.at("")) - 1 : place(rest);
      units_.resize(std::max(units_.size(), base + distance + 1));
      units_[base + distance] = {next, static_cast<uint32_t>(base)};
    }
    return static_cast<int32_t>(base);
  }

  std::vector<std::pair<int32_t, uint32_t>> units_;
  std::set<size_t> taken_, bases_;
};

inline std::string word_list(const TestWords& words, uint32_t classes) {
  std::map<std::string, uint32_t> values;
  std::string list;
  uint32_t count = 0;
  for (const auto& [text, readings] : words) {
    values[text] = count << 8 | static_cast<uint32_t>(readings.size());
    for (const auto& [left, right, cost] : readings) {
      append(list, MecabWord{left, right, 0, cost, 0, 0});
      ++count;
    }
  }
  const std::string units = TestDoubleArray(values).bytes();
  char charset[32] = "UTF-8";
  std::string out;
  const size_t size = 40 + sizeof(charset) + units.size() + list.size();
  for (const size_t field :
       {size ^ 0xEF718F77, size_t{102}, size_t{0}, size_t{count}, size_t{classes}, size_t{classes},
        units.size(), list.size(), size_t{0}, size_t{0}}) {
    append(out, static_cast<uint32_t>(field));
  }
  append(out, charset);
  return out + units + list;
}

// kinds: the categories of characters, the first one by default; all others are of category 0.
inline std::string kind_table(const std::vector<TestCategory>& categories,
                              const std::map<char32_t, std::vector<uint32_t>>& kinds) {
  std::string out;
  append(out, static_cast<uint32_t>(categories.size()));
  for (const TestCategory& category : categories) {
    std::string name = category.name;
    name.resize(32);
    out += name;
  }
  for (char32_t c = 0; c < 0xFFFF; ++c) {
    const auto found = kinds.find(c);
    const std::vector<uint32_t> own = found == kinds.end() ? std::vector{0U} : found->second;
    const auto& [name, always, group, length] = categories[own[0]];
    uint32_t bits = own[0] << 18 | length << 26 | group << 30 | always << 31;
    for (const uint32_t kind : own) bits |= 1U << kind;
    append(out, bits);
  }
  return out;
}

inline std::string cost_table(const std::vector<int16_t>& costs, uint16_t classes) {
  std::string out;
  append(out, classes);
  append(out, classes);
  for (const int16_t cost : costs) append(out, cost);
  return out;
}

}  // namespace bert::tokenizer
