// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bert::tools {

class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Nobody reads the output any more (EPIPE): a reason to stop, not an error.
class ClosedPipe : public OutputError {
 public:
  ClosedPipe() : OutputError("the output pipe is closed") {}
};

// Where a path's symbolic links end, even at nothing: a link's target is replaced, not the link.
std::string end_of_links(std::filesystem::path path);

// Throws if `path` is there, in the model's directory or a folder of it, unless its name is one of
// a result: which files a model is read from depends on the model. Weights are mapped and read on
// demand: truncating their file would also crash the program. owner: "model", or whose the folder
// is.
void refuse_file_of(const std::string& folder, const std::string& path,
                    const char* owner = "model");

// Throws if writing `path`, or `path`.partial before it, would overwrite one of the files that are
// read ("-": standard input).
void refuse_files_read(const std::vector<std::string>& read, const std::string& path);

// A buffered file, or standard output. Every failure is thrown as OutputError: a full disk must not
// look like success.
//
// A regular file is written as PATH.partial, which close() renames when it is whole: until then,
// whatever was at PATH stays.
class OutputFile {
 public:
  // "-" is standard output. Refuses to write to the file that input_fd reads (-1: none). If it
  // resumes, it goes on at the end of PATH.partial; otherwise that begins anew.
  explicit OutputFile(const std::string& path, int input_fd = -1, bool resumes = false);
  ~OutputFile();  // without close() or keep_partial() before, removes what was begun
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void append(std::string_view bytes);
  bool is_flushed() const { return buffer_.empty(); }
  void flush();
  // Overwrites. The file must be able to seek, and hold nothing but what this object has written.
  void patch(int64_t offset, std::string_view bytes);
  // Until this has succeeded, a machine that stops may leave less than what was written.
  void sync();
  // After a failure, what was written can still be kept, or cut.
  void close();

  // Instead of close(), where something went wrong. Leaves what was written as PATH.partial, and
  // returns that name; "" if it was written to PATH itself.
  std::string keep_partial();
  void discard();
  // After a write that failed: drops what did not reach the file as a whole, of each call of
  // append(). Returns how many of these calls are left.
  int64_t cut();
  // Also after a write that failed: writes again all that did not reach the file as a whole.
  void flush_again();
  void truncate(int64_t size);
  int64_t size() const { return size_; }  // without what is buffered
  const std::string& partial() const { return partial_; }
  bool resumed() const { return resumed_; }  // whether PATH.partial was there and had contents

 private:
  OutputFile() = default;  // whose destructor runs where a constructor that delegates to it throws
  void open_partial(const std::string& path, int input_fd, bool resumes);
  void write(std::string_view bytes);
  [[noreturn]] void fail(const char* what) const;

  std::string name_;              // for messages
  std::string target_, partial_;  // empty if written directly
  int fd_ = -1;
  std::string buffer_;
  int64_t size_ = 0;                      // of the file, without the buffer
  bool resumed_ = false, begun_ = false;  // begun_: PATH.partial is this object's own
  int64_t calls_ = 0;                     // of append(), whose bytes are all in the file
  std::vector<int64_t> ends_;             // where the buffered ones end, which reach it next
};

}  // namespace bert::tools
