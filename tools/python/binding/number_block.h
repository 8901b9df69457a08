// SPDX-License-Identifier: Apache-2.0
//
// The library's numbers as NumPy arrays, without a copy. Python's buffer protocol carries them, so
// one extension works with any version of NumPy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "models/bert_infer.h"

namespace bert::python {

namespace py = pybind11;

// What an array looks into. It lives as long as the array does.
struct NumberBlock {
  std::shared_ptr<const void> owner;
  const void* data;
  std::string format;  // of one number, as in Python's struct module
  py::ssize_t number_size;
  std::vector<py::ssize_t> shape;
  bool is_constant;
};

py::buffer_info buffer_of(const NumberBlock& block);
py::object numpy_array(NumberBlock block);

// A view of numbers that `owner` keeps alive; Python may not write into it.
template <typename T>
py::object numpy_view(std::shared_ptr<const void> owner, const T* data,
                      std::vector<py::ssize_t> shape) {
  return numpy_array({std::move(owner), data, py::format_descriptor<T>::format(), sizeof(T),
                      std::move(shape), true});
}

// An array that owns the numbers.
py::object numpy_array(std::vector<float>&& values, std::vector<py::ssize_t> shape);
py::object numpy_array(Output&& output);  // [rows, columns]

}  // namespace bert::python
