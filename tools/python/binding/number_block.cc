// SPDX-License-Identifier: Apache-2.0
#include "tools/python/binding/number_block.h"

namespace bert::python {

py::buffer_info buffer_of(const NumberBlock& block) {
  std::vector<py::ssize_t> strides(block.shape.size());
  py::ssize_t stride = block.number_size;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= block.shape[i];
  }
  return {const_cast<void*>(block.data),
          block.number_size,
          block.format,
          static_cast<py::ssize_t>(block.shape.size()),
          block.shape,
          strides,
          block.is_constant};
}

py::object numpy_array(NumberBlock block) {
  return py::module_::import("numpy").attr("asarray")(py::cast(std::move(block)));
}

py::object numpy_array(std::vector<float>&& values, std::vector<py::ssize_t> shape) {
  const auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  return numpy_array({owner, owner->data(), py::format_descriptor<float>::format(), sizeof(float),
                      std::move(shape), false});
}

py::object numpy_array(Output&& output) {
  return numpy_array(std::move(output.values), {output.rows, output.columns});
}

}  // namespace bert::python
