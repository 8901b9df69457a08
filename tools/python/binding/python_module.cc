// SPDX-License-Identifier: Apache-2.0
//
// bert_infer._core: the library's functions for the Python package, which wraps them. Results are
// NumPy arrays and tuples; the GIL is released while they are computed.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "models/bert_infer.h"
#include "models/tasks/ranking/bert_ranking.h"
#include "models/tasks/ranking/pair_scores.h"
#include "models/tasks/task_names.h"
#include "tools/console/vector_math.h"
#include "tools/python/binding/decoded.h"
#include "tools/python/binding/number_block.h"
#include "tools/python/binding/python_encoding.h"
#include "tools/python/binding/python_inputs.h"

namespace bert::python {
namespace {

// Releases the GIL. When it is taken again, an interpreter that is exiting ends a daemon thread by
// unwinding it, which pybind11's guard would not let pass.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() noexcept(false) { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* const state_;
};

template <typename T, typename Convert>
py::list list_of(std::vector<T>&& values, const Convert& convert) {
  py::list list(values.size());
  for (size_t i = 0; i < values.size(); ++i) list[i] = convert(std::move(values[i]));
  return list;
}

py::object array_of(Output&& output) { return numpy_array(std::move(output)); }

py::list encoding_list(std::vector<Encoding>&& encodings) {
  return list_of(std::move(encodings), [](Encoding&& encoding) {
    return py::cast(std::make_shared<Encoding>(std::move(encoding)));
  });
}

// The result of call(texts) or call(encodings), computed without the GIL.
template <typename Call>
auto compute(const py::object& items, const Call& call) {
  const Inputs inputs = read_inputs(items);
  const WithoutGil free;
  return inputs.encodings.empty() ? call(inputs.texts) : call(inputs.encodings);
}

py::tuple span_tuple(Span&& span) {
  return py::make_tuple(span.text, span.offset.begin, span.offset.end, span.string, span.label,
                        span.probability);
}

py::tuple blank_tuple(Blank&& blank) {
  return py::make_tuple(blank.token, list_of(std::move(blank.fills), [](Blank::Fill&& fill) {
                          return py::make_tuple(fill.id, fill.token, fill.probability);
                        }));
}

py::tuple tags_tuple(Tags&& tags) {
  return py::make_tuple(list_of(std::move(tags.words), span_tuple),
                        list_of(std::move(tags.entities), span_tuple), tags.windows, tags.tokens,
                        tags.truncated);
}

py::tuple answer_span_tuple(AnswerSpan&& span) {
  return py::make_tuple(span.offset.begin, span.offset.end, span.string, span.score);
}

py::tuple answer_tuple(Answer&& answer) {
  return py::make_tuple(answer.offset.begin, answer.offset.end, answer.string, answer.score,
                        answer.no_answer, answer.windows, answer.tokens,
                        list_of(std::move(answer.others), answer_span_tuple));
}

py::tuple choice_tuple(Choice&& choice) {
  const py::ssize_t choices = std::ssize(choice.logits);
  return py::make_tuple(choice.index, numpy_array(std::move(choice.logits), {choices}),
                        numpy_array(std::move(choice.probabilities), {choices}), choice.tokens,
                        choice.truncated);
}

py::tuple hidden_tuple(Hidden&& hidden) {
  const py::ssize_t width = std::ssize(hidden.pooler);
  py::object pooler = py::none();
  if (width > 0) pooler = numpy_array(std::move(hidden.pooler), {width});
  return py::make_tuple(array_of(std::move(hidden.states)), pooler,
                        list_of(std::move(hidden.layers), array_of));
}

py::list attention_list(Attention&& attention) {
  return list_of(std::move(attention.layers), [](Output&& layer) {
    const int64_t tokens = layer.columns, heads = tokens > 0 ? layer.rows / tokens : 0;
    return numpy_array(std::move(layer.values), {heads, tokens, tokens});
  });
}

// As Python spells it: "fill_mask".
std::string identifier(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

py::tuple sparse_tuple(SparseVector&& vector) {
  const py::ssize_t size = std::ssize(vector.ids);
  const auto ids = std::make_shared<const std::vector<int32_t>>(std::move(vector.ids));
  return py::make_tuple(numpy_array({ids,
                                     ids->data(),
                                     py::format_descriptor<int32_t>::format(),
                                     sizeof(int32_t),
                                     {size},
                                     false}),
                        numpy_array(std::move(vector.weights), {size}));
}

py::tuple zero_shot_tuple(ZeroShot&& found) {
  const py::ssize_t labels = std::ssize(found.probabilities);
  return py::make_tuple(numpy_array(std::move(found.probabilities), {labels}), found.best);
}

py::dict info_dict(const Info& info) {
  using py::literals::operator""_a;
  return py::dict(
      "architecture"_a = info.architecture, "family"_a = info.family,
      "files"_a = paths_of(info.files), "tokenizer"_a = info.tokenizer, "layers"_a = info.layers,
      "hidden"_a = info.hidden, "heads"_a = info.heads, "intermediate"_a = info.intermediate,
      "vocabulary"_a = info.vocabulary, "task"_a = identifier(models::name_of(info.task)),
      "max_length"_a = info.max_length, "has_logits"_a = info.has_logits,
      "has_token_logits"_a = info.has_token_logits, "has_pooler"_a = info.has_pooler,
      "has_chat_template"_a = info.has_chat_template, "labels"_a = info.labels,
      "scores"_a = models::name_of(info.scores), "pooling"_a = info.pooling,
      "embedding"_a = info.embedding, "has_sparse"_a = info.has_sparse,
      "token_vector"_a = info.token_vector, "similarity"_a = info.similarity,
      "precision"_a = info.precision, "backend"_a = info.backend, "workers"_a = info.workers,
      "threads"_a = info.threads, "notes"_a = notes_of(info.notes));
}

// A matrix of float32 that Python passes, [rows, columns] laid end to end.
struct Rows {
  py::buffer_info buffer;
  int64_t count() const { return buffer.shape[0]; }
  std::span<float> row(int64_t i) const {
    return {static_cast<float*>(buffer.ptr) + i * buffer.shape[1],
            static_cast<size_t>(buffer.shape[1])};
  }
};

Rows read_rows(const py::buffer& matrix, bool writable) {
  Rows rows{matrix.request(writable)};
  const py::buffer_info& found = rows.buffer;
  if (found.ndim != 2 || found.format != py::format_descriptor<float>::format() ||
      found.strides[1] != found.itemsize || found.strides[0] != found.itemsize * found.shape[1]) {
    throw py::type_error(fmt::format(
        "found an array of {} dimensions, expected a matrix of float32, row by row", found.ndim));
  }
  return rows;
}

// of_pairs: as sentence-transformers' CrossEncoder scores them.
py::object probabilities_of(const Model& model, const py::buffer& logits, bool of_pairs) {
  Info info = model.info();
  if (of_pairs) info.scores = models::pair_scores(model);
  const Rows rows = read_rows(logits, false);
  Output output(rows.count(), rows.buffer.shape[1]);
  {
    const WithoutGil free;
    for (int64_t i = 0; i < output.rows; ++i) {
      std::ranges::copy(probabilities(rows.row(i), info), output.row(i).begin());
    }
  }
  return array_of(std::move(output));
}

void normalize_rows(const py::buffer& matrix) {
  const Rows rows = read_rows(matrix, true);
  const WithoutGil free;
  for (int64_t i = 0; i < rows.count(); ++i) tools::normalize(rows.row(i));
}

Output copy_of(const Rows& rows) {
  Output output(rows.count(), rows.buffer.shape[1]);
  const auto* const first = static_cast<const float*>(rows.buffer.ptr);
  std::copy_n(first, output.values.size(), output.values.data());
  return output;
}

float max_sim_of(const py::buffer& query, const py::buffer& document) {
  const Rows of_query = read_rows(query, false), of_document = read_rows(document, false);
  const WithoutGil free;
  return max_sim(copy_of(of_query), copy_of(of_document));
}

void add_tokenizer(py::module_& m) {
  py::class_<Tokenizer>(m, "Tokenizer")
      .def(py::init([](const std::string& directory, int max_length) {
        const WithoutGil free;
        return Tokenizer::load(directory, max_length);
      }))
      .def("encode",
           [](const Tokenizer& self, const py::object& items, int threads) {
             const std::vector<Input> texts = read_texts(items);
             return encoding_list([&] {
               const WithoutGil free;
               return self.encode(texts, threads);
             }());
           })
      .def(
          "decode",
          [](const Tokenizer& self, const std::vector<int32_t>& ids, bool skips_special) {
            return self.decode(ids, skips_special);
          },
          py::call_guard<WithoutGil>())
      .def("token", &Tokenizer::token)
      .def("continues_word", &Tokenizer::continues_word)
      .def_property_readonly("mask_id", &Tokenizer::mask_id)
      .def_property_readonly("notes", [](const Tokenizer& self) { return notes_of(self.notes()); });
}

void add_layers_of_model(py::class_<Model>& model) {
  model
      .def("hidden",
           [](const Model& self, const py::object& items, const std::vector<int>& layers) {
             return list_of(
                 compute(items, [&](const auto& inputs) { return self.hidden(inputs, layers); }),
                 hidden_tuple);
           })
      .def("attention",
           [](const Model& self, const py::object& items, const std::vector<int>& layers) {
             return list_of(
                 compute(items, [&](const auto& inputs) { return self.attention(inputs, layers); }),
                 attention_list);
           })
      .def("sparse",
           [](const Model& self, const py::object& items) {
             return list_of(compute(items, [&](const auto& inputs) { return self.sparse(inputs); }),
                            sparse_tuple);
           })
      .def("multi_vector",
           [](const Model& self, const py::object& items, const std::string& role) {
             const Role as = read_role(role);
             return list_of(
                 compute(items, [&](const auto& inputs) { return self.multi_vector(inputs, as); }),
                 array_of);
           })
      .def("run_tokens", [](const Model& self, const py::object& items) {
        return list_of(compute(items, [&](const auto& inputs) { return self.run_tokens(inputs); }),
                       array_of);
      });
}

template <typename Read, typename Call>
auto compute_texts(const Read& read, const py::object& items, const Call& call) {
  const auto texts = read(items);
  const WithoutGil free;
  return call(texts);
}

void add_tasks_of_model(py::class_<Model>& model) {
  model
      .def("fill_mask",
           [](const Model& self, const py::object& items, int k) {
             return list_of(
                 compute(items, [&](const auto& inputs) { return self.fill_mask(inputs, k); }),
                 [](std::vector<Blank>&& blanks) {
                   return list_of(std::move(blanks), blank_tuple);
                 });
           })
      .def(
          "tag",
          [](const Model& self, const py::object& items, const std::string& aggregation, int stride,
             const py::object& labels, float threshold, bool nested, bool multi_label) {
            const TagOptions options = {read_aggregation(aggregation),
                                        stride,
                                        read_strings("labels", labels),
                                        threshold,
                                        nested,
                                        multi_label};
            return list_of(
                compute_texts(read_texts, items,
                              [&](const auto& texts) { return self.tag(texts, options); }),
                tags_tuple);
          })
      .def("answer",
           [](const Model& self, const py::object& items, int stride, int most_tokens, int top_k) {
             const AnswerOptions options = {stride, most_tokens, top_k};
             return list_of(
                 compute_texts(read_texts, items,
                               [&](const auto& texts) { return self.answer(texts, options); }),
                 answer_tuple);
           })
      .def("zero_shot",
           [](const Model& self, const py::object& items, const py::object& sentences,
              const std::string& hypothesis, bool multi_label) {
             const std::vector<std::string> texts = read_strings("texts", items);
             const std::vector<std::string> labels = read_strings("hypotheses", sentences);
             return list_of(
                 [&] {
                   const WithoutGil free;
                   return zero_shot(self, texts, labels, {hypothesis, multi_label});
                 }(),
                 zero_shot_tuple);
           })
      .def("choose", [](const Model& self, const py::object& items) {
        return list_of(compute_texts(read_choices, items,
                                     [&](const auto& texts) { return self.choose(texts); }),
                       choice_tuple);
      });
}

void add_model(py::module_& m) {
  py::class_<Model> model(m, "Model");
  model
      .def(py::init([](const std::string& directory, const py::dict& settings) {
        const Options options = read_options(settings);
        const WithoutGil free;
        return Model::load(directory, options);
      }))
      .def("run",
           [](const Model& self, const py::object& items) {
             return array_of(compute(items, [&](const auto& inputs) { return self.run(inputs); }));
           })
      .def(
          "embed",
          [](const Model& self, const py::object& items) {
            return array_of(compute(items, [&](const auto& inputs) { return self.embed(inputs); }));
          })
      .def("tokenize",
           [](const Model& self, const py::object& items) {
             return encoding_list(compute_texts(
                 read_texts, items, [&](const auto& texts) { return self.tokenize(texts); }));
           })
      .def("tokenize_as",
           [](const Model& self, const py::object& items, const std::string& role) {
             const Role as = read_role(role);
             return encoding_list(compute_texts(
                 read_texts, items, [&](const auto& texts) { return self.tokenize(texts, as); }));
           })
      .def("probabilities", &probabilities_of)
      .def("tokenizer", &Model::tokenizer, py::return_value_policy::copy)
      .def("info", [](const Model& self) { return info_dict(self.info()); })
      .def("release_memory", &Model::release_memory);
  add_layers_of_model(model);
  add_tasks_of_model(model);
}

}  // namespace
}  // namespace bert::python

PYBIND11_MODULE(_core, m) {
  namespace py = pybind11;
  m.doc() = "The library's functions, which the package wraps.";
  const py::object error = py::register_exception<bert::Error>(m, "Error", PyExc_RuntimeError);
  error.attr("__module__") = "bert_infer";
  error.attr("__doc__") =
      "What the library refuses, in one sentence that names the file or input and the field.";
  py::class_<bert::python::NumberBlock>(m, "NumberBlock", py::buffer_protocol())
      .def_buffer(bert::python::buffer_of);
  bert::python::add_encoding(m);
  bert::python::add_tokenizer(m);
  bert::python::add_model(m);
  m.def("normalize", &bert::python::normalize_rows);
  m.def("max_sim", &bert::python::max_sim_of);
  m.def(
      "demo_model", [] { return bert::python::path_of(bert::demo_model()); },
      "The directory of the demo model that comes with the package. Raises Error if there is "
      "none.");
  // Paths are bytes, which need not be UTF-8.
  m.def("find_model", [](const std::string& name) { return py::bytes(bert::find_model(name)); });
  m.def("version", &bert::version, "The library's, \"1.2.3\".");
}
