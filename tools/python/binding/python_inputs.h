// SPDX-License-Identifier: Apache-2.0
//
// What Python passes to a model, as the library takes it. Whatever does not fit is a TypeError or a
// ValueError that says which input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "models/bert_infer.h"

namespace bert::python {

namespace py = pybind11;

// Either of the two is empty.
struct Inputs {
  std::vector<Input> texts;
  std::vector<Encoding> encodings;
};

// From an iterable of texts, of pairs of texts, or of encodings.
Inputs read_inputs(const py::object& items);
std::vector<Input> read_texts(const py::object& items);
// From an iterable of texts alone; name: what they are called in errors.
std::vector<std::string> read_strings(const char* name, const py::object& items);
// From an iterable of ints of 32 bits; name: as above.
std::vector<int32_t> read_ids(const char* name, const py::object& items);
// From an iterable of (text, choices).
std::vector<Choices> read_choices(const py::object& items);

Options read_options(const py::dict& settings);
Aggregation read_aggregation(const std::string& name);
Role read_role(const std::string& name);

}  // namespace bert::python
