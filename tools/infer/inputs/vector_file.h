// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "models/bert_infer.h"

namespace bert::tools {

// A .npy file of float32 [N, F], as NumPy and --task embed write it. Errors are std::runtime_error
// and name the file and the field.
class VectorFile {
 public:
  explicit VectorFile(const std::string& path);
  int64_t rows() const { return rows_; }

  // The next rows, at most so many; none at the end.
  bert::Output take(int64_t most);

 private:
  [[noreturn]] void fail(const std::string& reason) const;
  std::string read(int64_t bytes);
  void read_shape(const std::string& header);

  std::string path_;
  std::ifstream file_;
  int64_t rows_ = 0, columns_ = 0, taken_ = 0;
};

}  // namespace bert::tools
