// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <dlfcn.h>

#include "models/bert_infer.h"

namespace bert {

// Once installed, the library (or the program it is linked into) is in PREFIX/lib or PREFIX/bin,
// and the model in PREFIX/share. A build folder has its own share folder, with a link to the model.
std::string demo_model() {
  namespace fs = std::filesystem;
  Dl_info self;
  if (!dladdr(reinterpret_cast<const void*>(&demo_model), &self) || !self.dli_fname) {
    throw Error("cannot find out where the library is");
  }
  // For a main program, dli_fname is the name it was called by, perhaps without a directory.
  std::error_code error;
  fs::path self_path = fs::canonical(self.dli_fname, error);
  if (error) self_path = fs::read_symlink("/proc/self/exe", error);
  for (fs::path folder = self_path.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    const fs::path demo = folder / "share/bert-infer/demo";
    if (fs::exists(demo / "config.json", error)) return demo;
  }
  throw Error("no demo model is installed with " + self_path.string() + ": give a model directory");
}

}  // namespace bert
