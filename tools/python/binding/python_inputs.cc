// SPDX-License-Identifier: Apache-2.0
#include "tools/python/binding/python_inputs.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/tasks/task_names.h"

namespace bert::python {
namespace {

std::string type_name(py::handle value) { return Py_TYPE(value.ptr())->tp_name; }

// Of a str, which is part of names[index].
std::string read_text(py::handle value, const char* names, size_t index) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text) return {text, static_cast<size_t>(size)};
  const py::error_already_set error;
  if (!error.matches(PyExc_UnicodeError)) throw error;
  // It has half of a surrogate pair.
  throw py::value_error(
      fmt::format("{}[{}]: {}", names, index, std::string(py::str(error.value()))));
}

bool is_pair(py::handle item) {
  return (PyTuple_Check(item.ptr()) || PyList_Check(item.ptr())) &&
         PySequence_Size(item.ptr()) == 2;
}

Input read_input(py::handle item, size_t index) {
  if (PyUnicode_Check(item.ptr())) return {read_text(item, "inputs", index)};
  if (is_pair(item)) {
    const auto pair = py::reinterpret_borrow<py::sequence>(item);
    const py::object first = pair[0], second = pair[1];
    const bool is_single = second.is_none();
    if (PyUnicode_Check(first.ptr()) && (is_single || PyUnicode_Check(second.ptr()))) {
      Input input = {read_text(first, "inputs", index)};
      if (!is_single) input.second = read_text(second, "inputs", index);
      return input;
    }
  }
  throw py::type_error(fmt::format("inputs[{}]: found {}, expected a text (str) or a pair of texts",
                                   index, type_name(item)));
}

// What is no list of inputs but could be iterated: a text's characters, a dict's keys.
bool is_no_list(py::handle items) {
  return PyUnicode_Check(items.ptr()) || PyBytes_Check(items.ptr()) ||
         PyByteArray_Check(items.ptr()) || PyDict_Check(items.ptr());
}

py::iterator iterate(const py::object& items, const char* names = "inputs",
                     const char* kind = "inputs") {
  if (is_no_list(items)) {
    throw py::type_error(
        fmt::format("{}: found one {}, expected a list of {}", names, type_name(items), kind));
  }
  return py::iter(items);
}

template <typename Value, size_t N>
Value find_name(const char* setting, const std::string& name,
                const models::Named<Value> (&names)[N]) {
  std::string known;
  for (size_t i = 0; i < N; ++i) {
    if (name == names[i].name) return names[i].value;
    known += fmt::format("{}{}", i == 0 ? "" : i + 1 == N ? " or " : ", ", names[i].name);
  }
  throw py::value_error(fmt::format("{} is '{}', expected {}", setting, name, known));
}

// Not as pybind11 reads it, which drops the fraction of some numbers: NumPy's float32, Decimal.
int32_t read_int(const std::string& name, py::handle value) {
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  int overflow = 1;
  const int64_t number = index ? PyLong_AsLongLongAndOverflow(index.ptr(), &overflow) : 0;
  if (overflow == 0 && std::in_range<int32_t>(number)) return static_cast<int32_t>(number);
  PyErr_Clear();
  throw py::type_error(
      fmt::format("{}: found {}, expected an int of 32 bits", name, type_name(value)));
}

template <typename T>
T read_setting(const py::dict& settings, const char* name) {
  const py::object value = settings[name];
  if constexpr (std::is_same_v<T, int>) {
    return read_int(name, value);
  } else {
    if (PyUnicode_Check(value.ptr())) {
      if (PyUnicode_AsUTF8(value.ptr()) != nullptr) return value.cast<T>();
      PyErr_Clear();
      throw py::value_error(fmt::format("{}: cannot be encoded in UTF-8", name));
    }
    throw py::type_error(fmt::format("{}: found {}, expected a str", name, type_name(value)));
  }
}

}  // namespace

Inputs read_inputs(const py::object& items) {
  Inputs inputs;
  size_t index = 0;
  for (const py::handle item : iterate(items)) {
    const bool is_encoding = py::isinstance<Encoding>(item);
    if (is_encoding ? !inputs.texts.empty() : !inputs.encodings.empty()) {
      throw py::type_error(fmt::format(
          "inputs[{}]: found {}, expected only texts or only encodings", index, type_name(item)));
    }
    if (is_encoding) {
      inputs.encodings.push_back(item.cast<const Encoding&>());
    } else {
      inputs.texts.push_back(read_input(item, index));
    }
    ++index;
  }
  return inputs;
}

std::vector<Input> read_texts(const py::object& items) {
  std::vector<Input> texts;
  for (const py::handle item : iterate(items)) texts.push_back(read_input(item, texts.size()));
  return texts;
}

std::vector<std::string> read_strings(const char* name, const py::object& items) {
  std::vector<std::string> strings;
  for (const py::handle item : iterate(items, name, "texts")) {
    if (!PyUnicode_Check(item.ptr())) {
      throw py::type_error(fmt::format("{}[{}]: found {}, expected a text (str)", name,
                                       strings.size(), type_name(item)));
    }
    strings.push_back(read_text(item, name, strings.size()));
  }
  return strings;
}

std::vector<int32_t> read_ids(const char* name, const py::object& items) {
  std::vector<int32_t> ids;
  for (const py::handle item : iterate(items, name, "ints")) {
    ids.push_back(read_int(fmt::format("{}[{}]", name, ids.size()), item));
  }
  return ids;
}

std::vector<Choices> read_choices(const py::object& items) {
  std::vector<Choices> inputs;
  for (const py::handle item : iterate(items)) {
    const auto fail = [&](py::handle found) {
      throw py::type_error(
          fmt::format("inputs[{}]: found {}, expected a text and a list of choices, each a text",
                      inputs.size(), type_name(found)));
    };
    if (!is_pair(item)) fail(item);
    const auto pair = py::reinterpret_borrow<py::sequence>(item);
    const py::object first = pair[0], choices = pair[1];
    if (!PyUnicode_Check(first.ptr())) fail(first);
    if (is_no_list(choices)) fail(choices);
    Choices input = {read_text(first, "inputs", inputs.size()), {}};
    for (const py::handle choice : choices) {
      if (!PyUnicode_Check(choice.ptr())) fail(choice);
      input.choices.push_back(read_text(choice, "inputs", inputs.size()));
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Options read_options(const py::dict& settings) {
  return {.precision = find_name("precision", read_setting<std::string>(settings, "precision"),
                                 models::kPrecisions),
          .backend = find_name("backend", read_setting<std::string>(settings, "backend"),
                               models::kBackends),
          .workers = read_setting<int>(settings, "workers"),
          .threads = read_setting<int>(settings, "threads"),
          .batch_tokens = read_setting<int>(settings, "batch_tokens"),
          .max_length = read_setting<int>(settings, "max_length"),
          .prompt = read_setting<std::string>(settings, "prompt"),
          .adapter = read_setting<std::string>(settings, "adapter")};
}

Role read_role(const std::string& name) { return find_name("role", name, models::kRoles); }

Aggregation read_aggregation(const std::string& name) {
  return find_name("aggregation", name, models::kAggregations);
}

}  // namespace bert::python
