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

// Whether anything of this name exists, even a dangling link, a FIFO or a folder. All of a model's
// files are looked for with this and read through RegularFile, which refuses those: silently
// skipping a file that is there would give another model.
bool is_there(const std::string& path);

// A file that exists but is not what its name says: not a regular file, not JSON, or a Git LFS
// pointer.
struct UnreadableFile : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An open regular file, links followed; for anything else, throws an error that names it, without
// blocking.
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

// While one lives, keeps the names of the regular files that its thread opens, in their order.
class FilesRead {
 public:
  FilesRead();
  ~FilesRead();
  FilesRead(const FilesRead&) = delete;
  FilesRead& operator=(const FilesRead&) = delete;

  // Each once; none without a FilesRead in this thread.
  static std::vector<std::string> so_far();
};

// Throws if the content is a Git LFS pointer instead of the file.
void refuse_pointer(std::string_view content, const std::string& path);
// Throws if the file cannot be read.
std::string read_file(const std::string& path);
// The first key that an object in a valid JSON text has twice.
std::optional<std::string> duplicate_key(std::string_view text);
// Whether a valid JSON text nests more than 100 deep: copying and writing such values recurses.
bool nests_too_deep(std::string_view text);
// Errors begin with the name. A duplicate key is an error, as choosing a value would be a guess,
// except in parse_any_json_text, where the last one counts.
nlohmann::json parse_any_json_text(std::string_view text, const std::string& name);
nlohmann::json parse_json_text(std::string_view text, const std::string& name);
nlohmann::json parse_json(const std::string& path);
// The elements of model.vocab and model.merges, in order.
struct ScannedLists {
  std::vector<std::pair<std::string, int32_t>> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;
};
// Like parse_any_json_text, but may move the lists' elements to `lists`, leaving the document's
// empty: a hundred thousand tokens as JSON values would take longer than the rest of loading.
nlohmann::json parse_tokenizer_json(const std::string& path, ScannedLists& lists);

// The lines of a vocab.txt.
class VocabularyLines {
 public:
  // Throws on a byte-order mark, which would be part of the first token.
  explicit VocabularyLines(const std::string& path);

  size_t size() const { return lines_.size(); }
  std::string_view line(size_t i) const { return lines_[i]; }
  bool is_last_ended() const { return text_.ends_with('\n'); }
  // Line i as Hugging Face reads it: without trailing white space. Throws if it is not UTF-8.
  std::string_view token(size_t i) const;

 private:
  std::string path_, text_;
  std::vector<std::string_view> lines_;  // views of text_
};

}  // namespace bert::tokenizer
