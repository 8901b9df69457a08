// SPDX-License-Identifier: Apache-2.0
//
// Arbitrary files in a tokenizer's directory. The input is split at NUL bytes into the files of
// kNames, and the rest, with any NUL bytes in it, is spiece.model; an empty part means no file. The
// directory must load, and then encode any text, or give an error.
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/tokenizer/test_directory.h"

namespace {

using bert::Encoding;
using namespace bert::tokenizer;  // NOLINT(google-build-using-namespace): a program of one file

constexpr const char* kNames[] = {"tokenizer.json",
                                  "vocab.txt",
                                  "tokenizer_config.json",
                                  "special_tokens_map.json",
                                  "added_tokens.json",
                                  "vocab.json",
                                  "merges.txt",
                                  "bpe.codes"};

void use(const TextEncoder& tokenizer) {
  const std::string text =
      "the [MASK] a  \u00c9tude<x> \u4e2d\u6587\uac00 e\u0301\u302e!##s``\u2122\u0301\u00a0z\r\n1,";
  if (tokenizer.mask_id() >= tokenizer.vocabulary_size()) std::abort();
  const Encoding encoding = tokenizer.encode(text, text, 0);
  for (const int32_t id : encoding.ids) {
    if (id >= tokenizer.vocabulary_size()) std::abort();
    tokenizer.token(id);
    tokenizer.continues_word(id);
  }
  try {
    const Encoding cut = tokenizer.encode(text, std::nullopt, 5);
    if (cut.ids.size() > 5) std::abort();
  } catch (const std::runtime_error& error) {
    if (std::string(error.what()).find("max_length: found 5") != 0) throw;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const TestDirectory directory;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  size_t begin = 0;
  const auto write = [&](const char* name, size_t end) {
    if (end > begin) {
      directory.write(name, std::string(input.substr(begin, end - begin)));
    } else {
      directory.remove(name);
    }
    begin = std::min(end + 1, input.size());
  };
  for (const char* name : kNames) write(name, std::min(input.find('\0', begin), input.size()));
  write("spiece.model", input.size());
  try {
    const TextEncoder tokenizer = directory.load();
    use(tokenizer);
  } catch (const std::runtime_error& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
