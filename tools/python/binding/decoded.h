// SPDX-License-Identifier: Apache-2.0
//
// Strings of the library that need not be UTF-8, as they hold the names of files.
#pragma once

#include <string>
#include <vector>

#include <pybind11/pybind11.h>

namespace bert::python {

namespace py = pybind11;

// As os.fsdecode, so that Python finds the file again.
inline py::str path_of(const std::string& path) {
  const auto size = static_cast<py::ssize_t>(path.size());
  return py::reinterpret_steal<py::str>(PyUnicode_DecodeFSDefaultAndSize(path.data(), size));
}

inline py::list paths_of(const std::vector<std::string>& paths) {
  py::list list;
  for (const std::string& path : paths) list.append(path_of(path));
  return list;
}

// For people: bytes that are not UTF-8 become "\xff", as in an Error.
inline py::list notes_of(const std::vector<std::string>& notes) {
  py::list list;
  for (const std::string& note : notes) {
    const auto size = static_cast<py::ssize_t>(note.size());
    list.append(py::reinterpret_steal<py::str>(
        PyUnicode_DecodeUTF8(note.data(), size, "backslashreplace")));
  }
  return list;
}

}  // namespace bert::python
