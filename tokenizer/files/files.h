// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace bert::tokenizer {

// Whether a directory has something of this name, be it a link to nothing, a FIFO or a folder. All
// of a model's files are looked for with this and read through RegularFile, which refuses those: to
// pass over a file that is there would give another model.
bool is_there(const std::string& path);

// A file that is there, but is not what its name says: no regular file, no JSON, a pointer to
// another.
struct UnreadableFile : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An open file, once links are followed; anything else is refused by name, without waiting for it.
class RegularFile {
 public:
  explicit RegularFile(const std::string& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  size_t size() const { return size_; }

 private:
  std::string path_;
  int descriptor_;
  size_t size_ = 0;
};

// Throws if a file's content is what git checks out in place of a large file.
void refuse_pointer(std::string_view content, const std::string& path);
// Throws if the file cannot be read.
std::string read_file(const std::string& path);
// The first key that an object in a valid JSON text has twice.
std::optional<std::string> duplicate_key(std::string_view text);
// Errors begin with the name. A duplicate key is one, as it would be a guess which value counts,
// but for the last of a key's values in parse_any_json_text.
nlohmann::json parse_any_json_text(std::string_view text, const std::string& name);
nlohmann::json parse_json_text(std::string_view text, const std::string& name);
nlohmann::json parse_json(const std::string& path);
// What model.vocab and model.merges have, in order.
struct ScannedLists {
  std::vector<std::pair<std::string, int32_t>> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;
};
// As parse_any_json_text, but the lists' elements may be in `lists` instead of the document, where
// the lists are then empty: a hundred thousand tokens as JSON values would take longer than the
// rest of loading.
nlohmann::json parse_tokenizer_json(const std::string& path, ScannedLists& lists);

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
