// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tokenizer/text_encoder.h"

namespace bert::tokenizer {

// A directory for a tokenizer's files, which is removed with the object.
class TestDirectory {
 public:
  TestDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "bert_tokenizer_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << content;
  }
  void remove(const std::string& name) const { std::filesystem::remove(path_ + "/" + name); }
  TextEncoder load() const { return TextEncoder::load(path_); }
  // The error that loading gives, without the directory's name; empty if there is none.
  std::string error() const {
    try {
      load();
    } catch (const std::runtime_error& error) {
      std::string message = error.what();
      for (size_t at; (at = message.find(path_ + "/")) != std::string::npos;) {
        message.erase(at, path_.size() + 1);
      }
      return message;
    }
    return "";
  }

 private:
  std::string path_;
};

// A small uncased tokenizer.json, for tests to change and write.
inline nlohmann::json small_tokenizer(const std::vector<std::string>& words) {
  nlohmann::json json = nlohmann::json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
      "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
               {"Sequence": {"id": "B", "type_id": 1}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
      "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                         "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100, "vocab": {}}})");
  int id = 0;
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    json["added_tokens"].push_back({{"id", id},
                                    {"content", special},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
    json["model"]["vocab"][special] = id++;
  }
  for (const std::string& word : words) json["model"]["vocab"][word] = id++;
  return json;
}

inline nlohmann::json added_token(const std::string& content, int id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", false}};
}

// The same definition, but for a pre-tokenizer that changes nothing and that no fast pipeline has.
inline nlohmann::json by_parts(nlohmann::json definition) {
  nlohmann::json pieces = {{{"type", "FixedLength"}, {"length", INT32_MAX}}};
  if (!definition["pre_tokenizer"].is_null()) {
    pieces.insert(pieces.begin(), definition["pre_tokenizer"]);
  }
  definition["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", pieces}};
  return definition;
}

// The tokens of a text without special tokens: "the ##re".
inline std::string tokens_of(const TextEncoder& tokenizer, const std::string& text) {
  const Encoding encoding = tokenizer.encode(text, std::nullopt, 0);
  std::string out;
  for (size_t i = 1; i + 1 < encoding.ids.size(); ++i) {
    out += (i == 1 ? "" : " ") + tokenizer.token(encoding.ids[i]);
  }
  return out;
}

inline std::string offsets_of(const Encoding& encoding) {
  std::string out;
  for (const Offset& offset : encoding.offsets) {
    out += std::to_string(offset.begin) + "-" + std::to_string(offset.end) + " ";
  }
  return out.substr(0, out.empty() ? 0 : out.size() - 1);
}

}  // namespace bert::tokenizer
