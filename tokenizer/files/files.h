// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace bert::tokenizer {

bool file_exists(const std::string& path);
// Throws if the file cannot be read.
std::string read_file(const std::string& path);
// Errors begin with the name. A duplicate key is one, as it would be a guess which value counts.
nlohmann::json parse_json_text(std::string_view text, const std::string& name);
nlohmann::json parse_json(const std::string& path);
// Like parse_json, but a duplicate key is no error, and the members of model.vocab may be appended
// to `vocabulary`, in order, instead of being in the document: a hundred thousand tokens as JSON
// values would take longer than the rest of loading.
nlohmann::json parse_tokenizer_json(const std::string& path,
                                    std::vector<std::pair<std::string, int32_t>>& vocabulary);

// The lines of a vocab.txt.
class VocabularyLines {
 public:
  // Throws on a byte-order mark, which would be part of the first token.
  explicit VocabularyLines(const std::string& path);

  size_t size() const { return lines_.size(); }
  std::string_view line(size_t i) const { return lines_[i]; }
  // Line i as Hugging Face reads it: without trailing white space. Throws if it is not UTF-8.
  std::string_view token(size_t i) const;

 private:
  std::string path_, text_;
  std::vector<std::string_view> lines_;  // views of text_
};

}  // namespace bert::tokenizer
