// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <dlfcn.h>

#include "models/bert_infer.h"

namespace bert {

// Installed, the library or the program that holds it is in PREFIX/lib or PREFIX/bin, and the model
// in PREFIX/share; a build folder has a link to it in the same place, some folders up.
std::string demo_model() {
  namespace fs = std::filesystem;
  Dl_info self;
  if (!dladdr(reinterpret_cast<const void*>(&demo_model), &self) || !self.dli_fname) {
    throw Error("the library's own place cannot be found");
  }
  // A main program's name is as it was called, which may be bare: the kernel knows its place.
  std::error_code error;
  fs::path place = fs::canonical(self.dli_fname, error);
  if (error) place = fs::read_symlink("/proc/self/exe", error);
  for (fs::path folder = place.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    const fs::path demo = folder / "share/bert-infer/demo";
    if (fs::exists(demo / "config.json", error)) return demo;
  }
  throw Error("no demo model is installed with " + place.string() + ": name a model's directory");
}

std::string version() { return BERT_INFER_VERSION; }

}  // namespace bert
