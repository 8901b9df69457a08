// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/answer_writer.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bert::tools {
namespace {

static_assert(sizeof(float) == 4 && std::endian::native == std::endian::little,
              ".npy and .safetensors are written as the machine holds the numbers");

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// Of a float, the shortest decimal that reads back to the same bits.
template <typename Number>
void append_number(std::string& line, Number value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, std::end(digits), value);
  line.append(digits, end);
}

template <typename T, typename Append>
void append_array(std::string& line, std::span<const T> values, Append append) {
  line += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) line += ", ";
    append(line, values[i]);
  }
  line += ']';
}

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

// Widths of a row of answers.
int64_t columns_of(Task task, const bert::Info& info) {
  if (task == Task::logits) return std::ssize(info.labels);
  return task == Task::embed ? info.embedding : info.hidden;
}

class JsonLines final : public AnswerWriter {
 public:
  JsonLines(Task task, OutputFile& file, const bert::Info& info, const bert::Tokenizer& tokenizer)
      : task_(task), file_(file), info_(info), tokenizer_(tokenizer) {}

  void write(const Answer& answer) override {
    line_ = "{\"index\": ";
    append_number(line_, answer.index);
    switch (task_) {
      case Task::logits:
        write_logits(answer.values);
        break;
      case Task::embed:
        line_ += ", \"embedding\": ";
        append_array(line_, answer.values, append_number<float>);
        break;
      case Task::hidden:
        write_hidden(answer);
        break;
      case Task::tokens:
        write_tokens(answer.encoding);
        break;
      default:
        break;
    }
    if (task_ != Task::tokens) {
      line_ += ", \"tokens\": ";
      append_number(line_, static_cast<int64_t>(answer.encoding.ids.size()));
    }
    line_ += answer.encoding.truncated ? ", \"truncated\": true}\n" : ", \"truncated\": false}\n";
    file_.append(line_);
  }

  bool needs_finite() const override { return true; }

 private:
  void write_logits(std::span<const float> logits) {
    line_ += ", \"logits\": ";
    append_array(line_, logits, append_number<float>);
    if (info_.scores == bert::Scores::raw) return;
    const bert::Label best = bert::best_label(logits, info_);
    line_ += ", \"label\": " + quoted(best.name) + ", \"probability\": ";
    append_number(line_, best.probability);
  }

  void write_hidden(const Answer& answer) {
    const size_t width = answer.values.size() / answer.encoding.ids.size();
    line_ += ", \"hidden\": [";
    for (size_t i = 0; i < answer.encoding.ids.size(); ++i) {
      if (i > 0) line_ += ", ";
      append_array(line_, answer.values.subspan(i * width, width), append_number<float>);
    }
    line_ += ']';
    if (answer.pooler.empty()) return;
    line_ += ", \"pooler\": ";
    append_array(line_, answer.pooler, append_number<float>);
  }

  void write_tokens(const bert::Encoding& encoding) {
    line_ += ", \"ids\": ";
    append_array(line_, std::span(encoding.ids), append_number<int32_t>);
    line_ += ", \"type_ids\": ";
    append_array(line_, std::span(encoding.type_ids), append_number<int32_t>);
    line_ += ", \"tokens\": ";
    append_array(line_, std::span(encoding.ids),
                 [this](std::string& line, int32_t id) { line += piece(id); });
    if (encoding.offsets.size() < encoding.ids.size()) return;  // of ids that were given
    line_ += ", \"offsets\": ";
    append_array(line_, std::span(encoding.offsets), [](std::string& line, bert::Offset offset) {
      line += '[';
      append_number(line, offset.begin);
      line += ", ";
      append_number(line, offset.end);
      line += ']';
    });
  }

  const std::string& piece(int32_t id) {
    const auto [entry, added] = pieces_.try_emplace(id);
    if (added) entry->second = quoted(tokenizer_.token(id));
    return entry->second;
  }

  const Task task_;
  OutputFile& file_;
  const bert::Info& info_;
  const bert::Tokenizer& tokenizer_;
  std::string line_;
  std::unordered_map<int32_t, std::string> pieces_;  // quoted
};

class Tsv final : public AnswerWriter {
 public:
  Tsv(Task task, OutputFile& file, const bert::Info& info)
      : labelled_(task == Task::logits && info.scores != bert::Scores::raw),
        file_(file),
        info_(info) {
    line_ = labelled_ ? "index\tlabel\tprobability" : "index";
    for (int64_t i = 0; i < columns_of(task, info); ++i) {
      line_ += '\t';
      line_ +=
          task == Task::logits ? field(info.labels[static_cast<size_t>(i)]) : fmt::format("{}", i);
    }
    file_.append(line_ += '\n');
  }

  void write(const Answer& answer) override {
    line_.clear();
    append_number(line_, answer.index);
    if (labelled_) {
      const bert::Label best = bert::best_label(answer.values, info_);
      line_ += '\t' + field(best.name) + '\t';
      append_number(line_, best.probability);
    }
    for (const float value : answer.values) {
      line_ += '\t';
      append_number(line_, value);
    }
    file_.append(line_ += '\n');
  }

 private:
  // TSV has no quoting: what would end a field becomes a space.
  static std::string field(std::string text) {
    for (char& c : text) {
      if (c == '\t' || c == '\n' || c == '\r') c = ' ';
    }
    return text;
  }

  const bool labelled_;
  OutputFile& file_;
  const bert::Info& info_;
  std::string line_;
};

// The head of a binary file holds the number of rows, which is known last: room for it is left
// blank, so a file that was never finished can't be taken for a whole one.
class Npy final : public AnswerWriter {
 public:
  Npy(Task task, OutputFile& file, const bert::Info& info)
      : columns_(columns_of(task, info)), file_(file) {
    file_.append(std::string(kHeader, ' '));
    file_.patch(0, " ");  // finds out now whether the file can seek
  }

  void write(const Answer& answer) override {
    file_.append(bytes_of(answer.values));
    ++rows_;
  }

  // NumPy's format 1.0: magic, version, length of the rest, a Python dictionary, blanks, a newline.
  void finish() override {
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(kHeader - 10);
    header += '\0';
    header += fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows_,
                          columns_);
    header.resize(kHeader - 1, ' ');
    file_.patch(0, header + '\n');
  }

 private:
  static constexpr size_t kHeader = 128;  // a multiple of 64, as the format asks
  const int64_t columns_;
  OutputFile& file_;
  int64_t rows_ = 0;
};

// logits or embedding [N, columns]; or hidden [T, H] with starts [N + 1]: the states of input i are
// the rows from starts[i] to starts[i + 1].
class Safetensors final : public AnswerWriter {
 public:
  Safetensors(Task task, OutputFile& file, const bert::Info& info)
      : task_(task), columns_(columns_of(task, info)), file_(file) {
    file_.append(std::string(kHeader, ' '));
    file_.patch(0, " ");  // as above
  }

  void write(const Answer& answer) override {
    file_.append(bytes_of(answer.values));
    rows_ += static_cast<int64_t>(answer.values.size()) / columns_;
    if (task_ == Task::hidden) starts_.push_back(rows_);
  }

  void finish() override {
    const char* names[] = {"", "logits", "embedding", "hidden"};
    const int64_t values_end = rows_ * columns_ * static_cast<int64_t>(sizeof(float));
    std::string header =
        fmt::format(R"({{"{}":{{"dtype":"F32","shape":[{},{}],"data_offsets":[0,{}]}})",
                    names[static_cast<int>(task_)], rows_, columns_, values_end);
    if (task_ == Task::hidden) {
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
  static constexpr size_t kHeader = 256;  // its longest text has fewer than 220 characters
  const Task task_;
  const int64_t columns_;
  OutputFile& file_;
  int64_t rows_ = 0;
  std::vector<int64_t> starts_ = {0};
};

// A line for a person. Of wide answers only the beginning.
class Readable final : public AnswerWriter {
 public:
  Readable(Task task, OutputFile& file, const bert::Info& info, const bert::Tokenizer& tokenizer)
      : task_(task), file_(file), info_(info), tokenizer_(tokenizer) {}

  void write(const Answer& answer) override {
    const size_t tokens = answer.encoding.ids.size();
    file_.append(task_ == Task::logits   ? logits(answer.values)
                 : task_ == Task::tokens ? pieces(answer.encoding)
                 : task_ == Task::embed
                     ? beginning("embedding", answer.values)
                     : beginning("hidden state of the first token",
                                 answer.values.first(answer.values.size() / tokens)));
    file_.append(fmt::format("  ({} token{}{})\n", tokens, tokens == 1 ? "" : "s",
                             answer.encoding.truncated ? ", truncated" : ""));
  }

  bool needs_finite() const override { return true; }

 private:
  std::string logits(std::span<const float> logits) const {
    const std::vector<float> scores = bert::probabilities(logits, info_);
    std::string all;
    for (size_t i = 0; i < scores.size(); ++i) {
      all += fmt::format("{}{} {:.4f}", i > 0 ? ", " : "", info_.labels[i], scores[i]);
    }
    if (info_.scores == bert::Scores::raw || scores.size() == 1) return all;
    const bert::Label best = bert::best_label(logits, info_);
    return fmt::format("{} {:.4f}  [{}]", best.name, best.probability, all);
  }

  std::string pieces(const bert::Encoding& encoding) const {
    std::string text, ids;
    for (const int32_t id : encoding.ids) {
      text += tokenizer_.token(id) + ' ';
      ids += fmt::format(" {}", id);
    }
    return text + ' ' + ids.substr(ids.empty() ? 0 : 1);
  }

  static std::string beginning(const char* name, std::span<const float> values) {
    double squares = 0;
    std::string text;
    for (size_t i = 0; i < values.size(); ++i) {
      squares += static_cast<double>(values[i]) * values[i];
      if (i < 6) text += fmt::format("{}{:.4f}", i > 0 ? ", " : "", values[i]);
    }
    return fmt::format("{}: {} numbers of length {:.4f}: [{}{}]", name, values.size(),
                       std::sqrt(squares), text, values.size() > 6 ? ", ..." : "");
  }

  const Task task_;
  OutputFile& file_;
  const bert::Info& info_;
  const bert::Tokenizer& tokenizer_;
};

}  // namespace

bool can_hold(OutputFormat format, Task task) {
  if (task >= Task::tokens) return format == OutputFormat::jsonl || format == OutputFormat::text;
  if (task == Task::hidden) return format != OutputFormat::tsv && format != OutputFormat::npy;
  return true;
}

std::unique_ptr<AnswerWriter> make_writer(OutputFormat format, Task task, OutputFile& file,
                                          const bert::Info& info,
                                          const bert::Tokenizer& tokenizer) {
  switch (format) {
    case OutputFormat::text:
      return std::make_unique<Readable>(task, file, info, tokenizer);
    case OutputFormat::jsonl:
      return std::make_unique<JsonLines>(task, file, info, tokenizer);
    case OutputFormat::tsv:
      return std::make_unique<Tsv>(task, file, info);
    case OutputFormat::npy:
      return std::make_unique<Npy>(task, file, info);
    case OutputFormat::safetensors:
      return std::make_unique<Safetensors>(task, file, info);
  }
  throw std::logic_error("no such output format");
}

}  // namespace bert::tools
