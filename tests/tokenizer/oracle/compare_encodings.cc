// SPDX-License-Identifier: Apache-2.0
//
// compare_encodings DIR < encodings.jsonl
//
// Encodes each input of oracle_encode.mjs's output with the tokenizer in DIR and compares ids, type
// ids, offsets and tokens, if it has them; an input with an "error" must be one here. Where it has
// "decode", those ids must decode to "decoded" and to "without_special". Prints one
// JSON object, {"kind": [compared, different], ...}, and on stderr the first inputs that differ.
// compare_with_oracle.py runs it.
#include <cstdio>
#include <iostream>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "tokenizer/text_encoder.h"

namespace {

using bert::Encoding;
using nlohmann::json;

json as_json(const Encoding& encoding) {
  std::vector<int32_t> offsets;
  for (const auto& offset : encoding.offsets) {
    offsets.push_back(offset.begin);
    offsets.push_back(offset.end);
  }
  return {{"ids", encoding.ids}, {"type_ids", encoding.type_ids}, {"offsets", offsets}};
}

json encode(const bert::tokenizer::TextEncoder& tokenizer, const json& input) {
  std::optional<std::string> second;
  if (input.contains("second")) second = input["second"].get<std::string>();
  try {
    const std::string& first = input.at("first").get_ref<const std::string&>();
    const int most = input.value("max_length", 0);
    json out = as_json(tokenizer.encode(first, second, most));
    if (input.contains("tokens")) out["tokens"] = tokenizer.strings(first, second, most);
    if (input.contains("decode")) {
      const auto ids = input["decode"].get<std::vector<int32_t>>();
      out["decoded"] = tokenizer.decode(ids, false);
      out["without_special"] = tokenizer.decode(ids, true);
    }
    return out;
  } catch (const std::exception& error) {
    return {{"ids", error.what()}};
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return std::fprintf(stderr, "usage: compare_encodings DIR < JSONL\n"), 2;
  const auto tokenizer = bert::tokenizer::TextEncoder::load(argv[1]);
  std::map<std::string, std::pair<int64_t, int64_t>> counts;
  int shown = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const json expected = json::parse(line);
    const json got = encode(tokenizer, expected);
    auto& [compared, different] = counts[expected.value("kind", "")];
    ++compared;
    const auto differs = [&](const auto& item) { return expected.at(item.key()) != item.value(); };
    bool equal = true;
    if (expected.contains("error")) {
      equal = got.at("ids").is_string();
    } else {
      for (const auto& item : got.items()) equal = equal && !differs(item);
    }
    if (equal) continue;
    ++different;
    if (++shown <= 5)
      std::fprintf(stderr, "expected %s\ngot %s\n", line.c_str(), got.dump().c_str());
  }
  std::printf("%s\n", json(counts).dump().c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
