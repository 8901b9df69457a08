// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/parts/expressions/properties.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/parts/expressions/category_table.h"
#include "tokenizer/parts/expressions/onig_library.h"

namespace bert::tokenizer {
namespace {

// [[:punct:]]: the groups p and s.
constexpr Category kPosixPunctuation = {"punct", {}};

bool is_in(std::string_view code, const Category& wanted) {
  if (wanted.code == kPosixPunctuation.code) return code[0] == 'p' || code[0] == 's';
  return code.starts_with(wanted.code);
}

// The scalars of a category or of a group, as Oniguruma wants them: how many ranges, then each.
std::vector<OnigCodePoint> ranges_of(const Category& wanted) {
  const std::span<const uint32_t> runs = category_runs();
  std::vector<OnigCodePoint> ranges = {0};
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!is_in(kCategories[runs[i] % 32].code, wanted)) continue;
    const OnigCodePoint begin = runs[i] / 32;
    const OnigCodePoint last = (i + 1 < runs.size() ? runs[i + 1] / 32 : 0x110000) - 1;
    if (ranges.size() > 1 && ranges.back() + 1 == begin) {
      ranges.back() = last;
    } else {
      ranges.insert(ranges.end(), {begin, last});
    }
  }
  ranges[0] = static_cast<OnigCodePoint>(ranges.size() / 2);
  return ranges;
}

// The name of our property for a category, which is defined when it is first needed because
// Oniguruma has room for 20. Names and ranges must live as long as the process.
const std::string& our_property(const Category& category) {
  static auto& defined = *new std::map<std::string, std::vector<OnigCodePoint>>;
  const auto [entry, is_new] = defined.try_emplace(fmt::format("BertInfer{}", category.code));
  if (is_new) {
    entry->second = ranges_of(category);
    if (onig().define_property(entry->first.c_str(), entry->second.data()) < 0) {
      defined.erase(entry);
      throw std::runtime_error(fmt::format(
          "no room for \\p{{{}}} beside the categories of other expressions", category.code));
    }
  }
  return entry->first;
}

const Category* find_category(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const auto is_named = [&](const Category& one) { return plain == one.code || plain == one.name; };
  const auto* const group = std::ranges::find_if(kCategoryGroups, is_named);
  if (group != kCategoryGroups.end()) return group;
  const auto* const category = std::ranges::find_if(kCategories, is_named);
  return category != kCategories.end() ? category : nullptr;
}

// What an expression has in one place: a category, or nothing that we replace.
struct FoundCategory {
  const Category* category = nullptr;
  size_t size = 0;  // bytes
  bool is_negated = false;
};

FoundCategory find_property(std::string_view expression) {
  const bool is_negated = expression.starts_with("\\P{");
  if (!is_negated && !expression.starts_with("\\p{")) return {};
  const size_t end = expression.find('}');
  if (end == std::string_view::npos) return {};
  const bool has_caret = expression[3] == '^';
  const size_t begin = has_caret ? 4 : 3;
  return {find_category(expression.substr(begin, end - begin)), end + 1, is_negated != has_caret};
}

FoundCategory find_posix_class(std::string_view expression) {
  constexpr std::string_view kClass = "[:punct:]", kNegated = "[:^punct:]";
  if (expression.starts_with(kClass)) return {&kPosixPunctuation, kClass.size(), false};
  if (expression.starts_with(kNegated)) return {&kPosixPunctuation, kNegated.size(), true};
  return {};
}

}  // namespace

std::string with_our_properties(std::string_view expression) {
  std::string out;
  int depth = 0;  // of brackets, in which alone [:punct:] is a class
  while (!expression.empty()) {
    FoundCategory found = find_property(expression);
    if (!found.category && depth > 0) found = find_posix_class(expression);
    if (found.category) {
      const char sign = found.is_negated ? 'P' : 'p';
      out += fmt::format("\\{}{{{}}}", sign, our_property(*found.category));
      expression.remove_prefix(found.size);
      continue;
    }
    // An escape stays whole: the second backslash of \\p{L} begins no property. So does [] or [^],
    // where the second bracket closes nothing.
    size_t size = expression[0] == '\\' ? 2 : 1;
    if (expression[0] == '[') {
      ++depth;
      size = expression.starts_with("[^") ? 2 : 1;
      if (expression.substr(size).starts_with(']')) ++size;
    } else if (expression[0] == ']' && depth > 0) {
      --depth;
    }
    const std::string_view kept = expression.substr(0, size);
    out += kept;
    expression.remove_prefix(kept.size());
  }
  return out;
}

}  // namespace bert::tokenizer
