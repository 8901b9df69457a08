// SPDX-License-Identifier: Apache-2.0
//
// Arbitrary bytes as a weight file, for the reader that the build passes in. The file must load,
// and then all its elements must be readable, or give an error that names the file. TensorFlow's
// index finds a data file beside it.
#include <cstdlib>
#include <string>
#include <vector>

#include "models/weights/pytorch/pytorch_file.h"
#include "models/weights/safetensors.h"
#include "models/weights/tensorflow/tensorflow_checkpoint.h"
#include "tests/tokenizer/test_directory.h"

namespace {

using bert::models::StoredTensor;
using bert::models::WeightFile;

void use(const WeightFile& file) {
  for (const StoredTensor& tensor : file.tensors()) {
    if (file.find(tensor.name) != &tensor) std::abort();
    if (tensor.row_major().size() != static_cast<size_t>(tensor.size())) std::abort();
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    tensor.copy_to(values.data());
    if (!values.empty()) tensor.at(tensor.elements() - 1);
    file.release(tensor);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bert::tokenizer::TestDirectory directory;
  static const bool with_data = [] {
    directory.write("model.ckpt.data-00000-of-00001", std::string(4096, '\x3f'));
    return true;
  }();
  (void)with_data;
  directory.write(FUZZED_FILE, std::string(reinterpret_cast<const char*>(data), size));
  try {
    use(bert::models::FUZZED_READER(directory.path() + "/" FUZZED_ARGUMENT));
  } catch (const std::runtime_error& error) {
    if (std::string(error.what()).find(directory.path()) != 0) std::abort();
  }
  return 0;
}
