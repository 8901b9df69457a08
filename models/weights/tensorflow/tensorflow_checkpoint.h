// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/weights/weight_file.h"

namespace bert::models {

// Reads a checkpoint of TensorFlow 1, the format in which Google published BERT: PREFIX.index, a
// sorted table of the messages in tensorflow/core/protobuf/tensor_bundle.proto, and
// PREFIX.data-00000-of-0000N.
//
// Tensors get the names that transformers' load_tf_weights_in_bert gives them, in today's spelling:
// "bert/encoder/layer_0/output/dense/kernel" becomes "bert.encoder.layer.0.output.dense.weight". A
// classifier that google-research/bert's run_classifier.py stored also gets its name in
// transformers. Kernels are stored as [inputs, outputs], so they are viewed through transposed
// strides. The optimizer's variables are skipped. Errors are std::runtime_error that name the file
// and the tensor.
WeightFile read_tensorflow(const std::string& prefix);

}  // namespace bert::models
