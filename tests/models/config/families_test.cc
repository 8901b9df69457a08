// SPDX-License-Identifier: Apache-2.0
//
// The table of families and heads in docs/models.md is that of the source.
#include "models/config/families/families.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bert::models {
namespace {

using Cells = std::vector<std::string>;

// The cells of a line "| a | b |" without the white space and the backquotes around them.
Cells cells_of(const std::string& line) {
  Cells cells;
  for (size_t begin = 1; begin < line.size();) {
    const size_t end = line.find('|', begin);
    if (end == std::string::npos) break;
    const size_t first = line.find_first_not_of(" `", begin),
                 last = line.find_last_not_of(" `", end - 1);
    cells.push_back(first < end ? line.substr(first, last + 1 - first) : "");
    begin = end + 1;
  }
  return cells;
}

// The table whose first line begins with `start`, which comes first; without the line below it.
std::vector<Cells> read_table(const std::string& path, const std::string& start) {
  std::ifstream file(path);
  std::vector<Cells> rows;
  for (std::string line; std::getline(file, line);) {
    if (rows.empty() && !line.starts_with(start)) continue;
    if (!line.starts_with('|')) break;
    if (!line.starts_with("|-")) rows.push_back(cells_of(line));
  }
  return rows;
}

std::string name_in_docs(const Family& family) {
  return std::string(family.model_type) +
         (family.needs_code ? std::string("` with `") + family.code : "");
}

bool has_head(const Family& family, const std::string& suffix) {
  return suffix == "Model" || std::ranges::any_of(family.heads, [&](const HeadRow& head) {
           return head.suffix == suffix;
         });
}

TEST(Families, TheTableInTheDocsIsThatOfTheSource) {
  const std::vector<Cells> table = read_table(DOCS_DIR "/models.md", "| `model_type` |");
  ASSERT_FALSE(table.empty());
  const Cells& head = table.front();
  std::map<std::string, Cells> expected;  // where rows share a name, what all of them have
  for (const Family& family : families()) {
    Cells& cells = expected.try_emplace(name_in_docs(family), head.size(), "yes").first->second;
    cells[0] = name_in_docs(family);
    for (size_t i = 1; i < head.size(); ++i) {
      if (!has_head(family, head[i])) cells[i] = "–";
    }
    for (const HeadRow& row : family.heads) EXPECT_THAT(head, testing::Contains(row.suffix));
  }
  std::vector<Cells> rows;
  for (auto& [name, cells] : expected) rows.push_back(cells);
  EXPECT_THAT(std::vector<Cells>(table.begin() + 1, table.end()),
              testing::UnorderedElementsAreArray(rows));
}

}  // namespace
}  // namespace bert::models
