// SPDX-License-Identifier: Apache-2.0
//
// Against recorded results of Hugging Face's tokenizers 0.23.2, which
// ../shared/conformance/README.md describes.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tokenizer/text_encoder.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;

class Conformance : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::filesystem::exists(SHARED_DIR "/conformance")) return;
    const char* const required = std::getenv("BERT_INFER_REQUIRE_SHARED");
    if (required && std::string(required) == "1") {
      FAIL() << "BERT_INFER_REQUIRE_SHARED is set, but " SHARED_DIR " is missing";
    }
    GTEST_SKIP() << "skipped: " SHARED_DIR " is missing";
  }

  static std::string directory() { return std::string(SHARED_DIR "/vocab/") + GetParam(); }
  static std::string recorded(const std::string& kind) {
    return std::string(SHARED_DIR "/conformance/") + kind + "." + GetParam();
  }
};

class Cases : public Conformance {};
class Pairs : public Conformance {};
class Scalars : public Conformance {};

// Compares with every line of a recorded file; returns the number of lines.
int compare_lines(const TextEncoder& tokenizer, const std::string& path) {
  std::ifstream in(path);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const json expected = json::parse(line);
    const auto first = expected.at("first").get<std::string>();
    std::optional<std::string> second;
    if (expected.contains("second")) second = expected["second"].get<std::string>();
    const Encoding got = tokenizer.encode(first, second, expected.value("max_length", 0));
    std::vector<std::vector<int32_t>> offsets;
    for (const Offset& offset : got.offsets) offsets.push_back({offset.begin, offset.end});
    std::vector<std::string> tokens;
    for (const int32_t id : got.ids) tokens.push_back(tokenizer.token(id));
    EXPECT_EQ(got.ids, expected["ids"].get<std::vector<int32_t>>()) << line;
    EXPECT_EQ(got.type_ids, expected["type_ids"].get<std::vector<int32_t>>()) << line;
    EXPECT_EQ(tokens, expected["tokens"].get<std::vector<std::string>>()) << line;
    EXPECT_EQ(json(offsets), expected["offsets"]) << line;
  }
  return lines;
}

TEST_P(Cases, AreEqual) {
  EXPECT_EQ(compare_lines(TextEncoder::load(directory()), recorded("cases") + ".jsonl"), 170);
}
INSTANTIATE_TEST_SUITE_P(Recorded, Cases,
                         testing::Values("bert-base-uncased", "bert-base-cased",
                                         "bert-base-chinese", "bert-base-multilingual-cased"));

TEST_P(Pairs, AreEqual) {
  EXPECT_EQ(compare_lines(TextEncoder::load(directory()), recorded("pairs") + ".jsonl"), 450);
}
INSTANTIATE_TEST_SUITE_P(Recorded, Pairs, testing::Values("bert-base-uncased"));

// A line is a scalar c in hexadecimal and the ids of the text `a`c`b c`c without special tokens.
TEST_P(Scalars, AreEqual) {
  const TextEncoder tokenizer = TextEncoder::load(directory());
  const std::string command = "xz -dc '" + recorded("scalars") + ".tsv.xz'";
  const std::unique_ptr<FILE, int (*)(FILE*)> in(popen(command.c_str(), "r"), pclose);
  ASSERT_TRUE(in);
  int lines = 0, different = 0;
  for (char line[4096]; std::fgets(line, sizeof line, in.get()); ++lines) {
    char* rest = nullptr;
    const auto c = static_cast<char32_t>(std::strtoul(line, &rest, 16));
    char scalar[4];
    const std::string s(scalar, utf8::encode(c, scalar));
    const Encoding got = tokenizer.encode(fmt::format("a{0}b c{0}", s), std::nullopt, 0);
    std::string ids;
    for (size_t i = 1; i + 1 < got.ids.size(); ++i) {
      if (i > 1) ids += ' ';
      ids += std::to_string(got.ids[i]);
    }
    if (rest + 1 == ids + "\n") continue;
    if (++different < 10) ADD_FAILURE() << "expected " << line << "got " << ids;
  }
  EXPECT_EQ(lines, 0x110000 - 0x800) << "is the xz program installed?";
  EXPECT_EQ(different, 0);
}
INSTANTIATE_TEST_SUITE_P(Recorded, Scalars,
                         testing::Values("bert-base-uncased", "bert-base-cased"));

TEST_F(Conformance, QuickBrownFox) {
  const TextEncoder tokenizer = TextEncoder::load(SHARED_DIR "/vocab/bert-base-uncased");
  const Encoding got =
      tokenizer.encode("The quick brown fox jumps over the lazy dog", std::nullopt, 0);
  EXPECT_EQ(got.ids, (std::vector<int32_t>{101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971,
                                           3899, 102}));
}

}  // namespace
}  // namespace bert::tokenizer
