// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace bert::tokenizer {

bool file_exists(const std::string& path);
// Throws where the file cannot be read.
std::string read_file(const std::string& path);
// Errors begin with the name. A key that is given twice is one: which of the values holds would be
// a guess.
nlohmann::json parse_json_text(std::string_view text, const std::string& name);
nlohmann::json parse_json(const std::string& path);
// The same, but the members of model.vocab may be appended to `vocabulary`, in their order, instead
// of being in the document: as a document, a hundred thousand tokens would take longer than all the
// rest of loading.
nlohmann::json parse_tokenizer_json(const std::string& path,
                                    std::vector<std::pair<std::string, int32_t>>& vocabulary);

// The lines of a vocab.txt.
class VocabularyLines {
 public:
  // Throws on a byte-order mark, which would be part of the first token.
  explicit VocabularyLines(const std::string& path);

  size_t size() const { return lines_.size(); }
  std::string_view line(size_t i) const { return lines_[i]; }
  // Line i as Hugging Face reads it: without white space at its end. Throws where it is not UTF-8.
  std::string_view token(size_t i) const;

 private:
  std::string path_, text_;
  std::vector<std::string_view> lines_;  // of text_
};

}  // namespace bert::tokenizer
