// SPDX-License-Identifier: Apache-2.0
//
// Arbitrary text with arbitrary options. The first four bytes are the normalizer's switches, the
// length to truncate to, where to split the text into two (0: one text), and whether there are
// added tokens.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/tokenizer/slow_tokenizer.h"
#include "tests/tokenizer/test_directory.h"

namespace {

using bert::Encoding;
using bert::Offset;
using namespace bert::tokenizer;  // NOLINT(google-build-using-namespace): a program of one file

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "violated: " << what << '\n';
  std::abort();
}

const std::vector<std::string> kTokens = {"a",        "b",
                                          "ab",       "abc",
                                          "the",      "e",
                                          "i",        "##a",
                                          "##b",      "##bc",
                                          "##e",      "##s",
                                          "x",        "##x",
                                          "1",        "##1",
                                          "!",        "#",
                                          "[",        "]",
                                          "中",       "##文",
                                          "é",        "##é",
                                          "ö",        "\u1112\u1161",
                                          "##\u11ab", "\u302e",
                                          "##\u302e", "が",
                                          "##が",     "😀",
                                          "##😀",      "ß",
                                          "σ",        "##σ",
                                          "i\u0307"};

NormalizerOptions options_of(unsigned switches) {
  return {.clean_text = (switches & 1) != 0,
          .handle_chinese_chars = (switches & 2) != 0,
          .strip_accents = (switches & 4) != 0,
          .lowercase = (switches & 8) != 0};
}

nlohmann::json definition(unsigned switches, bool added) {
  nlohmann::json json = small_tokenizer(kTokens);
  const NormalizerOptions options = options_of(switches);
  json["normalizer"] = {{"type", "BertNormalizer"},
                        {"clean_text", options.clean_text},
                        {"handle_chinese_chars", options.handle_chinese_chars},
                        {"strip_accents", options.strip_accents},
                        {"lowercase", options.lowercase}};
  json["model"]["max_input_chars_per_word"] = 20;
  if (!added) json["added_tokens"] = nlohmann::json::array();
  for (int i = 0; added && i < 16; ++i) {
    nlohmann::json token = added_token(std::string("<") + static_cast<char>('A' + i) + ">", 1000);
    token["single_word"] = (i & 1) != 0;
    token["lstrip"] = (i & 2) != 0;
    token["rstrip"] = (i & 4) != 0;
    token["normalized"] = (i & 8) != 0;
    json["added_tokens"].push_back(token);
  }
  return json;
}

struct Subject {
  TextEncoder tokenizer;
  SlowTokenizer slow;
};

Subject make_subject(unsigned switches, bool added) {
  const TestDirectory directory;
  directory.write("tokenizer.json", definition(switches, added).dump());
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  tokens.insert(tokens.end(), kTokens.begin(), kTokens.end());
  return {directory.load(), SlowTokenizer(options_of(switches), tokens, "[UNK]", "##", 20)};
}

const Subject& subject(unsigned switches, bool added) {
  static const std::vector<Subject> subjects = [] {
    std::vector<Subject> out;
    for (unsigned i = 0; i < 32; ++i) out.push_back(make_subject(i % 16, i >= 16));
    return out;
  }();
  return subjects[switches % 16 + (added ? 16 : 0)];
}

bool same(const Encoding& a, const Encoding& b) {
  return a.ids == b.ids && a.type_ids == b.type_ids && offsets_of(a) == offsets_of(b) &&
         a.truncated == b.truncated;
}

// Ids must be in the vocabulary, offsets within the texts and in order. The template's special
// tokens have the offsets (0, 0).
void check_encoding(const TextEncoder& tokenizer, const Encoding& encoding,
                    const std::array<int32_t, 2>& scalars) {
  const size_t size = encoding.ids.size();
  require(encoding.type_ids.size() == size && encoding.offsets.size() == size, "equal sizes");
  int32_t last = 0;
  for (size_t i = 0; i < size; ++i) {
    require(encoding.ids[i] >= 0 && encoding.ids[i] < tokenizer.vocabulary_size(), "id");
    require(!tokenizer.token(encoding.ids[i]).empty(), "token");
    const int32_t type = encoding.type_ids[i];
    require(type == 0 || type == 1, "type id");
    const Offset offset = encoding.offsets[i];
    if (offset.begin == 0 && offset.end == 0) {
      last = 0;
      continue;
    }
    require(offset.begin < offset.end && offset.end <= scalars[static_cast<size_t>(type)],
            "offset");
    require(offset.begin >= last, "order of offsets");
    last = offset.begin;
  }
}

// The ids of one text in an encoding, without the template's special tokens.
std::vector<int32_t> content(const Encoding& encoding, int type) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const bool special = encoding.offsets[i].begin == 0 && encoding.offsets[i].end == 0;
    if (encoding.type_ids[i] == type && !special) out.push_back(encoding.ids[i]);
  }
  return out;
}

void check_truncated(const Encoding& whole, const Encoding& cut, size_t limit) {
  require(cut.ids.size() <= limit, "no longer than the limit");
  require(cut.truncated == (whole.ids.size() > limit), "truncated if and only if too long");
  if (!cut.truncated) return require(same(whole, cut), "equal if not truncated");
  require(cut.ids.size() == limit, "truncated no more than necessary");
  for (const int type : {0, 1}) {
    const std::vector<int32_t> all = content(whole, type), some = content(cut, type);
    require(some.size() <= all.size() && std::equal(some.begin(), some.end(), all.begin()),
            "prefix");
  }
}

void check(const Subject& subject, const std::string& first,
           const std::optional<std::string>& second, int limit, bool added) {
  const TextEncoder& tokenizer = subject.tokenizer;
  const auto count = [](const std::string& text) {
    return static_cast<int32_t>(utf8::count_scalars(text));
  };
  const Encoding whole = tokenizer.encode(first, second, 0);
  check_encoding(tokenizer, whole, {count(first), second ? count(*second) : 0});
  require(!whole.truncated, "not truncated without a limit");
  require(same(whole, tokenizer.encode(first, second, 0)), "deterministic");
  check_truncated(whole, tokenizer.encode(first, second, limit), static_cast<size_t>(limit));
  if (added) return;
  require(content(whole, 0) == subject.slow.encode(first).first, "equal to the slow tokenizer");
  if (second) {
    require(content(whole, 1) == subject.slow.encode(*second).first, "so is the second text");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 4, size - 4);
  const bool added = data[3] % 2 != 0;
  const Subject& chosen = subject(data[0], added);
  const size_t cut = std::min<size_t>(data[2], text.size());
  const std::string first = cut == 0 ? text : text.substr(0, cut);
  const std::optional<std::string> second =
      cut == 0 ? std::nullopt : std::optional(text.substr(cut));
  const bool valid = utf8::first_invalid(first) == std::string::npos &&
                     (!second || utf8::first_invalid(*second) == std::string::npos);
  const int limit = 3 + data[1] % 40;
  try {
    check(chosen, first, second, limit, added);
    require(valid, "invalid UTF-8 must be an error");
  } catch (const std::runtime_error& error) {
    require(!valid, error.what());
  }
  return 0;
}
