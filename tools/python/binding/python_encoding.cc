// SPDX-License-Identifier: Apache-2.0
#include "tools/python/binding/python_encoding.h"

#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/bert_infer.h"
#include "tools/python/binding/number_block.h"
#include "tools/python/binding/python_inputs.h"

namespace bert::python {
namespace {

std::shared_ptr<Encoding> make_encoding(const py::object& ids, const py::object& type_ids) {
  auto encoding = std::make_shared<Encoding>();
  encoding->ids = read_ids("ids", ids);
  encoding->type_ids = type_ids.is_none() ? std::vector<int32_t>(encoding->ids.size(), 0)
                                          : read_ids("type_ids", type_ids);
  if (encoding->type_ids.size() != encoding->ids.size()) {
    throw py::value_error("type_ids: expected as many as there are ids");
  }
  return encoding;
}

template <typename T>
py::bytes bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
std::vector<T> values_of(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

py::tuple state_of(const Encoding& self) {
  return py::make_tuple(bytes_of(self.ids), bytes_of(self.type_ids), bytes_of(self.offsets),
                        self.truncated, self.first.begin, self.first.end, self.second.begin,
                        self.second.end, self.unattended);
}

std::shared_ptr<Encoding> from_state(const py::tuple& state) {
  if (state.size() != 9) throw py::value_error("an Encoding of another version");
  const auto number = [&](size_t i) { return state[i].cast<int32_t>(); };
  return std::make_shared<Encoding>(
      Encoding{.ids = values_of<int32_t>(state[0].cast<std::string>()),
               .type_ids = values_of<int32_t>(state[1].cast<std::string>()),
               .offsets = values_of<Offset>(state[2].cast<std::string>()),
               .truncated = state[3].cast<bool>(),
               .first = {number(4), number(5)},
               .second = {number(6), number(7)},
               .unattended = number(8)});
}

}  // namespace

void add_encoding(py::module_& m) {
  using Self = const std::shared_ptr<Encoding>&;
  static_assert(sizeof(Offset) == 2 * sizeof(int32_t));
  const auto range = [](const TokenRange& tokens) {
    return py::make_tuple(tokens.begin, tokens.end);
  };
  py::class_<Encoding, std::shared_ptr<Encoding>>(
      m, "Encoding",
      "One input as the model reads it: ids [S], type_ids [S] and, if it was made from text, the\n"
      "offsets [S, 2] of its tokens, in characters of the text.")
      .def(py::init(&make_encoding), py::arg("ids"), py::arg("type_ids") = py::none())
      .def(py::pickle(&state_of, &from_state))
      .def("__len__", [](const Encoding& self) { return self.ids.size(); })
      .def_property_readonly(
          "ids",
          [](Self self) { return numpy_view(self, self->ids.data(), {std::ssize(self->ids)}); },
          "[S]")
      .def_property_readonly(
          "type_ids",
          [](Self self) {
            return numpy_view(self, self->type_ids.data(), {std::ssize(self->type_ids)});
          },
          "[S], the segment of each token: 0 first text, 1 second.")
      .def_property_readonly(
          "offsets",
          [](Self self) {
            return numpy_view(self, reinterpret_cast<const int32_t*>(self->offsets.data()),
                              {std::ssize(self->offsets), 2});
          },
          "[S, 2], each token's [begin, end) in characters of its text; [0, 2] if "
          "made of ids.")
      .def_readonly("truncated", &Encoding::truncated,
                    "Whether tokens were dropped to keep to max_length.")
      .def_property_readonly(
          "first", [range](const Encoding& self) { return range(self.first); },
          "The tokens of the first text, (begin, end), without special tokens.")
      .def_property_readonly(
          "second", [range](const Encoding& self) { return range(self.second); },
          "The tokens of the second text, (begin, end).");
}

}  // namespace bert::python
