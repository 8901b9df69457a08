// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unicode/printable.h"

#include <string>

#include <gtest/gtest.h>

#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {
namespace {

TEST(Printable, SpellsOutWhatATerminalObeysOrHides) {
  for (const auto& [text, expected] : {
           std::pair<std::string, std::string>{"plain, é, 漢字, 🙂 and \\",
                                               "plain, é, 漢字, 🙂 and \\"},
           {"\x1b]0;owned\x07", "\\x1b]0;owned\\x07"},
           {"a\tb\nc\r\x7f", "a\\tb\\nc\\r\\x7f"},
           {std::string("nul\0!", 5), "nul\\x00!"},
           {"\xc2\x9b"
            "31m",
            "\\u009b31m"},  // the C1 form of ESC [
           {"a\u202eb\u2066c\u200bd", "a\\u202eb\\u2066c\\u200bd"},
           {"\xff\xe9t\xe9\xc3", "\\xff\\xe9t\\xe9\\xc3"},  // Latin-1, a character cut short
           {"\xed\xa0\x80", "\\xed\\xa0\\x80"},             // a surrogate
       }) {
    EXPECT_EQ(printable(text), expected);
  }
  EXPECT_EQ(printable_lines("a\x1b\nb\n"), "a\\x1b\nb\n");
}

TEST(Printable, LeavesOutTheMiddleOfALongText) {
  const std::string path(5000, 'p');
  const std::string shown = printable(path + ": cannot be read", 100);
  EXPECT_LE(shown.size(), 103u);
  EXPECT_TRUE(shown.starts_with("ppp"));
  EXPECT_TRUE(shown.ends_with("p: cannot be read")) << shown;
  EXPECT_NE(shown.find("p...p"), std::string::npos);
  for (size_t most = 1; most < 40; ++most) {  // no character is cut
    for (const size_t repeats : {10, 30, 1000}) {
      std::string text;
      for (size_t i = 0; i < repeats; ++i) text += "é漢\x01🙂";
      const std::string part = printable(text, most);
      EXPECT_EQ(utf8::first_invalid(part), std::string::npos) << part;
      EXPECT_LE(part.size(), most + 3);
    }
  }
}

}  // namespace
}  // namespace bert::tokenizer
