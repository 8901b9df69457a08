// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unigram/charsmap.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/tokenizer/test_directory.h"
#include "tokenizer/unigram/text_normalizer.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;

std::string four(uint32_t value) {
  std::string out;
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xff);
  return out;
}

// Replaces `key` by the replacement that begins at byte `value` of the three.
std::string blob(std::string_view key, uint32_t value) {
  std::vector<uint32_t> units(4096);
  units[0] = 256 << 10;
  uint32_t base = 256;
  for (size_t i = 0; i < key.size(); ++i) {
    const uint32_t place = base ^ static_cast<uint8_t>(key[i]), offset = 512u << i;
    units[place] = offset << 10 | (i + 1 == key.size() ? 256 : 0) | static_cast<uint8_t>(key[i]);
    base = place ^ offset;
  }
  units[base] = 1u << 31 | value;
  std::string out = four(static_cast<uint32_t>(4 * units.size()));
  for (const uint32_t unit : units) out += four(unit);
  return out + std::string("ab\0\u00e9\0c\0", 8);
}

std::string found(const Charsmap& charsmap, std::string_view bytes) {
  std::u32string_view replacement;
  if (!charsmap.find(bytes, replacement)) return "none";
  std::string out;
  for (const char32_t c : replacement) out += std::to_string(static_cast<uint32_t>(c)) + " ";
  return out;
}

TEST(Charsmap, FindsTheShortestKey) {
  EXPECT_EQ(found(Charsmap(blob("z", 0)), "zy"), "97 98 ");
  EXPECT_EQ(found(Charsmap(blob("z", 3)), "z"), "233 ");
  EXPECT_EQ(found(Charsmap(blob("z", 2)), "z"), "");
  EXPECT_EQ(found(Charsmap(blob("z", 0)), "yz"), "none");
  EXPECT_FALSE(Charsmap(blob("z", 0)).keeps('z'));
  EXPECT_TRUE(Charsmap(blob("z", 0)).keeps('y'));
}

TEST(Charsmap, HostileOnesFindNothing) {
  EXPECT_EQ(found(Charsmap(blob("z", 4)), "z"), "none");  // inside a character
  for (const uint32_t value : {7, 8, 9, 1 << 20}) {       // byte 7 is the end of the last one
    EXPECT_EQ(found(Charsmap(blob("z", value)), "z"), value == 7 ? "" : "none") << value;
  }
  EXPECT_EQ(found(Charsmap(blob(std::string_view("\0", 1), 0)), std::string_view("\0", 1)), "none");
  std::string far = blob("z", 0);
  far.replace(4, 4, four(1023 << 10));  // the root's children, of which only some are there
  EXPECT_EQ(found(Charsmap(far), "z"), "none");
  far = blob("z", 0);
  far.replace(4 + 4 * (256 ^ 'z'), 4, four(1u << 20 << 10 | 256 | 'z'));
  EXPECT_EQ(found(Charsmap(far), "z"), "none");
}

// As tokenizers 0.23.3 does.
TEST(Charsmap, ReplacesShortGraphemesAsAWhole) {
  const auto normalized = [](std::string_view key, const char* text) {
    NormalizerStep step{NormalizerStep::Kind::precompiled};
    step.charsmap = std::make_shared<const Charsmap>(blob(key, 6));
    return TextNormalizer({step}).normalized(text);
  };
  EXPECT_EQ(normalized("z", "z\u0301z\u0301\u0301\u0301"), "cc\u0301\u0301\u0301");
  EXPECT_EQ(normalized("\r", "\r\n\ra\n"), "cca\n");
  EXPECT_EQ(normalized("\r\n", "\r\n\n\r"), "c\n\r");
  EXPECT_EQ(normalized("\u0600", "\u0600z \u0600\u00ad"), "c c\u00ad");
  EXPECT_EQ(normalized("\u00a9", "\u00a9\u200d \u00a9\u200d\u00a9"), "c c\u200dc");
}

TEST(Charsmap, SaysWhatIsWrong) {
  const auto error = [](const std::string& base64) {
    json definition = small_tokenizer({});
    definition["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", base64}};
    const TestDirectory directory;
    directory.write("tokenizer.json", definition.dump());
    std::string message = directory.error();
    const std::string_view where = "tokenizer.json: normalizer.precompiled_charsmap: ";
    return message.starts_with(where) ? message.substr(where.size()) : message;
  };
  EXPECT_EQ(error("BAAAAAAAAABhPj4+Pz8/AA=="), "");
  EXPECT_EQ(error("A==="), "character 1 is not base64");
  EXPECT_EQ(error("AAA"), "found 3 characters of base64, expected a multiple of 4");
  EXPECT_EQ(error("AAAAAA=="), "not a charsmap: it has 4 bytes, and a trie of 0");
  EXPECT_EQ(error("AgAAAAAA"), "not a charsmap: it has 6 bytes, and a trie of 2");
  EXPECT_EQ(error("CAAAAAAAAAA="), "not a charsmap: it has 8 bytes, and a trie of 8");
  EXPECT_EQ(error("BAAAAAAAAABh/wA="),
            "the replacements of the charsmap are not valid UTF-8 at byte 1");
}

}  // namespace
}  // namespace bert::tokenizer
