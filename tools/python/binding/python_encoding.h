// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

namespace bert::python {

// Encodings as Python sees them, whose arrays are views of their numbers.
void add_encoding(pybind11::module_& m);

}  // namespace bert::python
