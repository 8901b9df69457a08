// SPDX-License-Identifier: Apache-2.0
//
// The general category of each Unicode scalar as the Oniguruma in Hugging Face's tokenizers 0.23.2
// knows it. The installed one may be older, and then knows no scalar that was assigned since.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace bert::tokenizer {

// What \p{...} calls a category: its code, and its name as Oniguruma compares names, without case,
// spaces, hyphens and underscores.
struct Category {
  std::string_view code, name;
};
constexpr std::array<Category, 30> kCategories = {{
    {"lu", "uppercaseletter"},    {"ll", "lowercaseletter"},  {"lt", "titlecaseletter"},
    {"lm", "modifierletter"},     {"lo", "otherletter"},      {"mn", "nonspacingmark"},
    {"mc", "spacingmark"},        {"me", "enclosingmark"},    {"nd", "decimalnumber"},
    {"nl", "letternumber"},       {"no", "othernumber"},      {"pc", "connectorpunctuation"},
    {"pd", "dashpunctuation"},    {"ps", "openpunctuation"},  {"pe", "closepunctuation"},
    {"pi", "initialpunctuation"}, {"pf", "finalpunctuation"}, {"po", "otherpunctuation"},
    {"sm", "mathsymbol"},         {"sc", "currencysymbol"},   {"sk", "modifiersymbol"},
    {"so", "othersymbol"},        {"zs", "spaceseparator"},   {"zl", "lineseparator"},
    {"zp", "paragraphseparator"}, {"cc", "control"},          {"cf", "format"},
    {"cs", "surrogate"},          {"co", "privateuse"},       {"cn", "unassigned"},
}};
// Groups of all categories whose codes begin with the same letter.
constexpr std::array<Category, 7> kCategoryGroups = {{
    {"l", "letter"},
    {"m", "mark"},
    {"n", "number"},
    {"p", "punctuation"},
    {"s", "symbol"},
    {"z", "separator"},
    {"c", "other"},
}};

// Runs of scalars of one category, in order: the first scalar times 32, plus the category's index.
std::span<const uint32_t> category_runs();

}  // namespace bert::tokenizer
