// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace bert::tools {

// A directory that appears when it is whole. Until then it is a hidden one with a name of its own:
// beside it or, if it exists already, in it, as that may be where a disk is mounted. What is wrong
// is thrown as std::runtime_error.
class NewDirectory {
 public:
  static constexpr const char* kWeights = "model.safetensors";

  // Refuses one that exists and is not empty.
  explicit NewDirectory(const std::string& name);
  ~NewDirectory() { remove(); }
  NewDirectory(const NewDirectory&) = delete;
  NewDirectory& operator=(const NewDirectory&) = delete;

  const std::filesystem::path& target() const { return target_; }
  const std::filesystem::path& begin();  // makes the hidden directory, to be filled
  void finish();
  void remove();  // what is not finished

 private:
  void move_entries(std::error_code& error) const;
  [[noreturn]] void fail(const std::string& reason) const;

  const std::string name_;  // for messages
  std::filesystem::path target_, begun_;
  bool was_there_ = false;
};

}  // namespace bert::tools
