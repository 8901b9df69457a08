// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/weights/weight_file.h"

namespace bert::models {

// A checkpoint of TensorFlow 1, as Google published BERT: PREFIX.index, a sorted table of
// tensorflow/core/protobuf/tensor_bundle.proto's messages, and PREFIX.data-00000-of-0000N.
//
// The tensors get the names that transformers' load_tf_weights_in_bert gives them, in today's
// spelling, "bert/encoder/layer_0/output/dense/kernel" that of "bert.encoder.layer.0.output.dense.
// weight", and so does a classifier as google-research/bert's run_classifier.py stores it. Kernels
// are [inputs, outputs] there: they are seen transposed where they lie. What an optimizer stored is
// left out. Errors are std::runtime_error that name the file and the tensor.
WeightFile read_tensorflow(const std::string& prefix);

}  // namespace bert::models
