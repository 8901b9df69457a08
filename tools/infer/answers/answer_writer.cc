// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/answers/answer_writer.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/unicode/printable.h"
#include "tools/console/counted.h"
#include "tools/console/json_text.h"
#include "tools/console/numbers.h"
#include "tools/infer/pages/page_writer.h"

namespace bert::tools {
namespace {

static_assert(sizeof(float) == 4 && std::endian::native == std::endian::little,
              ".npy and .safetensors files get the numbers as they are in memory");

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// Width of a row of answers.
int64_t columns_of(Task task, const bert::Info& info) {
  if (task == Task::logits) return std::ssize(info.labels);
  if (task == Task::multi_vector) return info.token_vector;
  return task == Task::embed ? info.embedding : info.hidden;
}

class JsonLines final : public AnswerWriter {
 public:
  JsonLines(Task task, OutputFile& file) : AnswerWriter(file), task_(task) {}

  void write(const InputName& input, const Answers& answers, size_t i) override {
    const auto [tokens, truncated] = answers.size(i);
    begin(input);
    answers.append_json(line_, i);
    if (task_ != Task::tokens) {  // whose "tokens" are the tokens themselves
      line_ += ", \"tokens\": ";
      append_number(line_, tokens);
    }
    line_ += ", \"truncated\": ";
    line_ += truncated ? "true}\n" : "false}\n";
    file_.append(line_);
  }

  void write_error(const InputName& input, int64_t line, std::string_view reason) override {
    begin(input);
    line_ += "\"error\": ";
    append_quoted(line_, tokenizer::printable(reason, tokenizer::kMostOfMessage));
    line_ += ", \"line\": ";
    append_number(line_, line);
    file_.append(line_ += "}\n");
  }

 private:
  void begin(const InputName& input) {
    line_ = "{\"index\": ";
    append_number(line_, input.index);
    line_ += ", ";
    if (input.kept.empty()) return;
    line_ += "\"kept\": {";
    line_ += input.kept;
    line_ += "}, ";
  }

  const Task task_;
  std::string line_;
};

class Tsv final : public AnswerWriter {
 public:
  Tsv(Task task, OutputFile& file, const bert::Info& info)
      : AnswerWriter(file, file.size() == 0 ? 1 : 0),
        labelled_(task == Task::logits && info.scores != bert::Scores::raw),
        info_(info) {
    if (file.size() > 0) return;
    line_ = labelled_ ? "index\tlabel\tprobability" : "index";
    for (int64_t i = 0; i < columns_of(task, info); ++i) {
      line_ += '\t';
      line_ +=
          task == Task::logits ? field(info.labels[static_cast<size_t>(i)]) : fmt::format("{}", i);
    }
    file_.append(line_ += '\n');
  }

  void write(const InputName& input, const Answers& answers, size_t i) override {
    line_.clear();
    append_number(line_, input.index);
    if (labelled_) {
      const bert::Label best = bert::best_label(answers.row(i), info_);
      line_ += '\t' + field(best.name) + '\t';
      append_number(line_, best.probability);
    }
    for (const float value : answers.row(i)) {
      line_ += '\t';
      append_number(line_, value);
    }
    file_.append(line_ += '\n');
  }

 private:
  // TSV has no quoting: characters that would end a field become spaces.
  static std::string field(std::string text) {
    for (char& c : text) {
      if (c == '\t' || c == '\n' || c == '\r') c = ' ';
    }
    return text;
  }

  const bool labelled_;
  const bert::Info& info_;
  std::string line_;
};

// The header of a binary file holds the number of rows. It is written anew whenever rows reach the
// file, so that a process that is killed leaves a file that can be read.
class Npy final : public AnswerWriter {
 public:
  Npy(Task task, OutputFile& file, const bert::Info& info)
      : AnswerWriter(file, file.size() == 0 ? 1 : 0),
        columns_(columns_of(task, info)),
        earlier_(std::max<int64_t>(0, file.size() - kNpyHeader) / npy_row_bytes(task, info)),
        rows_(earlier_) {
    if (file.size() == 0) file_.append(std::string(kNpyHeader, ' '));
    finish();  // fails right away if the file cannot seek
  }

  void write(const InputName&, const Answers& answers, size_t i) override {
    file_.append(bytes_of(answers.row(i)));
    ++rows_;
    if (file_.is_flushed()) finish();
  }

  void flush() override { finish(); }

  // NumPy's format 1.0: magic, version, length of the rest, a Python dict, spaces, a newline.
  void finish() override {
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(kNpyHeader - 10);
    header += '\0';
    header += fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows_,
                          columns_);
    header.resize(kNpyHeader - 1, ' ');
    file_.patch(0, header + '\n');
  }

 private:
  int64_t forget_after(int64_t answers) override {
    rows_ = earlier_ + answers;
    return kNpyHeader + rows_ * columns_ * static_cast<int64_t>(sizeof(float));
  }

  static_assert(kNpyHeader % 64 == 0, "the format requires it");
  const int64_t columns_;
  const int64_t earlier_;  // rows that the file already had
  int64_t rows_;
};

// logits or embedding [N, columns]; or hidden [T, H] or vectors [rows, columns] with starts [N +
// 1]: input i owns the rows from starts[i] to starts[i + 1].
class Safetensors final : public AnswerWriter {
 public:
  Safetensors(Task task, OutputFile& file, const bert::Info& info)
      : AnswerWriter(file, 1),
        name_(*traits(task).tensor),
        has_starts_(!traits(task).one_row),
        columns_(columns_of(task, info)) {
    file_.append(std::string(kHeader, ' '));
    file_.patch(0, " ");  // as above
  }

  void write(const InputName&, const Answers& answers, size_t i) override {
    const std::span<const float> values = answers.row(i);
    file_.append(bytes_of(values));
    rows_ += static_cast<int64_t>(values.size()) / columns_;
    if (has_starts_) {
      starts_.push_back(rows_);
    } else if (file_.is_flushed()) {
      finish();  // where there are starts, they come last
    }
  }

  void flush() override {
    file_.flush();
    if (!has_starts_) finish();
  }

  void finish() override {
    const int64_t values_end = rows_ * columns_ * static_cast<int64_t>(sizeof(float));
    std::string header =
        fmt::format(R"({{"{}":{{"dtype":"F32","shape":[{},{}],"data_offsets":[0,{}]}})", name_,
                    rows_, columns_, values_end);
    if (has_starts_) {
      const std::span<const int64_t> starts = starts_;
      file_.append({reinterpret_cast<const char*>(starts.data()), starts.size_bytes()});
      header += fmt::format(R"(,"starts":{{"dtype":"I64","shape":[{}],"data_offsets":[{},{}]}})",
                            starts.size(), values_end,
                            values_end + static_cast<int64_t>(starts.size_bytes()));
    }
    header += '}';
    header.resize(kHeader - sizeof(uint64_t), ' ');
    const uint64_t length = header.size();
    header.insert(0, reinterpret_cast<const char*>(&length), sizeof(length));
    file_.patch(0, header);
  }

 private:
  static constexpr size_t kHeader = 256;  // the longest header has fewer than 220 characters
  const std::string_view name_;
  const bool has_starts_;
  const int64_t columns_;
  int64_t rows_ = 0;
  std::vector<int64_t> starts_ = {0};  // if it has any

  int64_t forget_after(int64_t answers) override {
    rows_ = answers;
    if (has_starts_) {
      starts_.resize(std::min(starts_.size(), static_cast<size_t>(answers) + 1));
      rows_ = starts_.back();
    }
    return static_cast<int64_t>(kHeader) + rows_ * columns_ * static_cast<int64_t>(sizeof(float));
  }
};

// For people.
class Readable final : public AnswerWriter {
 public:
  Readable(Task task, OutputFile& file)
      : AnswerWriter(file), structured_(traits(task).structured) {}

  void write(const InputName&, const Answers& answers, size_t i) override {
    std::string json;
    answers.append_json(json, i);  // throws what JSON cannot hold: people get none of it either
    const auto [tokens, truncated] = answers.size(i);
    std::string text = tokenizer::printable_lines(answers.text(i));
    if (structured_) {
      text += truncated ? "  (truncated)\n" : "\n";
    } else {
      text += fmt::format("  ({}{})\n", counted(tokens, "token"), truncated ? ", truncated" : "");
    }
    file_.append(text);
  }

  void write_error(const InputName&, int64_t line, std::string_view reason) override {
    file_.append(fmt::format("line {} is skipped: {}\n", line,
                             tokenizer::printable(reason, tokenizer::kMostOfMessage)));
  }

 private:
  const bool structured_;
};

}  // namespace

int64_t npy_row_bytes(Task task, const bert::Info& info) {
  return columns_of(task, info) * static_cast<int64_t>(sizeof(float));
}

int64_t AnswerWriter::finish_cut() {
  for (int64_t answers = std::max<int64_t>(0, file_.cut() - headers_);; answers /= 2) {
    file_.truncate(forget_after(answers));
    try {
      finish();
      file_.flush();
      return answers;
    } catch (const OutputError&) {
      if (answers == 0) throw;
    }
  }
}

std::unique_ptr<AnswerWriter> make_writer(const InferOptions& options, const LoadedModel& loaded,
                                          OutputFile& file) {
  const Task task = loaded.task;
  const bert::Info& info = loaded.info;
  switch (options.output_format) {
    case OutputFormat::text:
      return std::make_unique<Readable>(task, file);
    case OutputFormat::jsonl:
      return std::make_unique<JsonLines>(task, file);
    case OutputFormat::tsv:
      return std::make_unique<Tsv>(task, file, info);
    case OutputFormat::npy:
      return std::make_unique<Npy>(task, file, info);
    case OutputFormat::safetensors:
      return std::make_unique<Safetensors>(task, file, info);
    case OutputFormat::html:
      return make_page_writer(loaded, file);
    case OutputFormat::projector:
      return make_projector_writer(options, loaded, file);
  }
  throw std::logic_error("unknown output format");
}

}  // namespace bert::tools
