// SPDX-License-Identifier: Apache-2.0
//
// bert-infer: texts, pairs or ids in; logits, embeddings, hidden states or tokens out. Of the
// library it uses the public header alone.
#include "models/bert_infer.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/answer_writer.h"
#include "tools/command_line.h"
#include "tools/encoding_reader.h"
#include "tools/infer_options.h"
#include "tools/input_lines.h"
#include "tools/output_file.h"

namespace bert::tools {
namespace {

// Without a model, tokenizing is all the work: worth sharing out from some 100 KB of text on.
constexpr int64_t kTokensAhead = int64_t{1} << 17;
constexpr const char* kTaskNames[] = {"auto", "logits", "embed", "hidden", "tokens"};

// What answers: a model, or for the tokens task its tokenizer alone.
struct Answerer {
  std::optional<bert::Model> model;
  bert::Tokenizer tokenizer;
  bert::Info info;  // of the model
  Task task;
};

Answerer load(const InferOptions& options) {
  const std::string directory = options.model ? *options.model : bert::demo_model();
  if (options.task == Task::tokens) {
    bert::Tokenizer tokenizer = bert::Tokenizer::load(directory, options.load.max_length);
    for (const std::string& note : tokenizer.notes()) spdlog::info("note: {}", note);
    return {{}, std::move(tokenizer), {}, Task::tokens};
  }
  bert::Model model = bert::Model::load(directory, options.load);
  const bert::Info& info = model.info();
  for (const std::string& note : info.notes) spdlog::info("note: {}", note);
  Task task = options.task;
  if (task == Task::automatic) task = info.has_logits ? Task::logits : Task::embed;
  if (task == Task::logits && !info.has_logits) {
    throw bert::Error(
        fmt::format("{}: {} has no classification head, expected one for --task logits", directory,
                    info.architecture));
  }
  return {model, model.tokenizer(), info, task};
}

// Descriptor of the input, closed at the end.
class InputFile {
 public:
  explicit InputFile(const std::string& path) : name_(path == "-" ? "<stdin>" : path) {
    fd_ = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) {
      throw std::runtime_error(
          fmt::format("{}: cannot be opened: {}", name_, std::system_category().message(errno)));
    }
    struct stat status {};
    if (fstat(fd_, &status) == 0 && S_ISDIR(status.st_mode)) {
      throw std::runtime_error(fmt::format("{}: is a directory, expected a file", name_));
    }
  }
  ~InputFile() {
    if (fd_ > STDERR_FILENO) close(fd_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int fd() const { return fd_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  int fd_;
};

// Ids are not truncated: what would be left might not end in [SEP].
std::variant<bert::Input, bert::Encoding> parse(std::string_view line,
                                                const InferOptions& options) {
  auto input = parse_line(line, options.input_format);
  const int limit = options.load.max_length;
  const auto* encoding = std::get_if<bert::Encoding>(&input);
  if (encoding && limit > 0 && std::ssize(encoding->ids) > limit) {
    throw std::runtime_error(fmt::format("\"ids\" holds {} ids, expected at most {} (--max-length)",
                                         encoding->ids.size(), limit));
  }
  return input;
}

// Counts answers and shows progress, at most once a second and only to a terminal.
class Progress {
 public:
  int64_t inputs = 0, truncated = 0, tokens = 0;

  ~Progress() { clear(); }

  void show() {
    if (!terminal_ || Clock::now() - shown_ < std::chrono::seconds(1)) return;
    shown_ = Clock::now();
    fmt::print(stderr, "\r\x1b[K{} inputs, {:.0f} tokens/s", inputs, tokens_per_second());
    visible_ = true;
  }

  void clear() {
    if (visible_) fmt::print(stderr, "\r\x1b[K");
    visible_ = false;
  }

  double tokens_per_second() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point shown_ = started_;
  bool visible_ = false;
};

// Answers windows of inputs in their order.
class Session {
 public:
  Session(const Answerer& answerer, AnswerWriter& writer, std::string input_name)
      : answerer_(answerer), writer_(writer), name_(std::move(input_name)) {}

  // What the library refuses (an id that is not in the vocabulary, ...) is found by halving, so
  // that everything before it is answered. No line: the input is the command line's.
  void answer(std::span<const bert::Encoding> encodings, std::span<const int64_t> lines) {
    Answers answers;
    try {
      answers = compute(encodings);
    } catch (const bert::Error& error) {
      const size_t half = encodings.size() / 2;
      if (half == 0) {
        std::string_view reason = error.what();
        if (reason.starts_with("input 0: ")) reason.remove_prefix(9);  // we name it better
        throw bad_input(lines, 0, reason);
      }
      answer(encodings.first(half), lines.first(half));
      answer(encodings.subspan(half), lines.subspan(half));
      return;
    }
    for (size_t i = 0; i < encodings.size(); ++i) write(encodings[i], answers, i, lines);
  }

  Progress& progress() { return progress_; }

 private:
  struct Answers {
    bert::Output rows;
    std::vector<bert::Hidden> hidden;
  };

  Answers compute(std::span<const bert::Encoding> encodings) const {
    switch (answerer_.task) {
      case Task::logits:
        return {answerer_.model->run(encodings), {}};
      case Task::embed:
        return {answerer_.model->embed(encodings), {}};
      case Task::hidden:
        return {{}, answerer_.model->hidden(encodings)};
      case Task::tokens:  // token() throws for an id without a piece
        for (const bert::Encoding& encoding : encodings) {
          for (const int32_t id : encoding.ids) answerer_.tokenizer.token(id);
        }
        break;
      case Task::automatic:
        break;
    }
    return {};
  }

  void write(const bert::Encoding& encoding, const Answers& answers, size_t i,
             std::span<const int64_t> lines) {
    Answer answer = {progress_.inputs, encoding, {}, {}};
    if (answerer_.task == Task::hidden) {
      answer.values = answers.hidden[i].states.values;
      answer.pooler = answers.hidden[i].pooler;
    } else if (answerer_.task != Task::tokens) {
      answer.values = answers.rows.row(static_cast<int64_t>(i));
    }
    if (writer_.needs_finite()) {
      for (const auto values : {answer.values, answer.pooler}) {
        for (const float value : values) {
          if (std::isfinite(value)) continue;
          throw bad_input(lines, i,
                          fmt::format("the model answers {}, expected finite numbers (.tsv, .npy "
                                      "and .safetensors files can hold it)",
                                      value));
        }
      }
    }
    writer_.write(answer);
    ++progress_.inputs;
    progress_.truncated += encoding.truncated ? 1 : 0;
    progress_.tokens += std::ssize(encoding.ids);
  }

  std::runtime_error bad_input(std::span<const int64_t> lines, size_t i,
                               std::string_view reason) const {
    return std::runtime_error(lines.empty() ? std::string(reason)
                                            : line_error(name_, lines[i], reason));
  }

  const Answerer& answerer_;
  AnswerWriter& writer_;
  const std::string name_;
  Progress progress_;
};

void report(const Progress& progress, const Answerer& answerer, const bert::Options& load) {
  std::string configuration = "tokenizer alone";
  int max_length = load.max_length;
  if (answerer.model) {
    const bert::Info& info = answerer.info;
    max_length = info.max_length;
    configuration =
        fmt::format("{}, task {}, precision {}, workers {}, threads {}, batch tokens {}",
                    info.architecture, kTaskNames[static_cast<int>(answerer.task)], info.precision,
                    info.workers, info.threads, load.batch_tokens);
    if (answerer.task == Task::embed) configuration += ", pooling " + info.pooling;
  }
  if (max_length > 0) configuration += fmt::format(", max length {}", max_length);
  spdlog::info("{} inputs, {} truncated, {} tokens, {:.0f} tokens/s ({})", progress.inputs,
               progress.truncated, progress.tokens, progress.tokens_per_second(), configuration);
}

void run_file(const InferOptions& options, const Answerer& answerer, const InputFile& input,
              OutputFile& output, Session& session) {
  EncodingReader reader(
      input.fd(), input.name(), [&](std::string_view line) { return parse(line, options); },
      [&](std::span<const bert::Input> texts) {
        return answerer.tokenizer.encode(texts,
                                         options.load.threads * std::max(1, options.load.workers));
      },
      answerer.model ? int64_t{4} * options.load.batch_tokens : kTokensAhead);
  for (Window window = reader.take(); !window.lines.empty(); window = reader.take()) {
    session.answer(window.encodings, window.lines);
    if (reader.idle()) output.flush();
    session.progress().show();
  }
}

void run(const InferOptions& options) {
  std::optional<InputFile> input;
  if (!options.argument) input.emplace(options.input);
  const Answerer answerer = load(options);
  OutputFile output(options.output, input ? input->fd() : -1);
  const auto writer =
      make_writer(options.output_format, answerer.task, output, answerer.info, answerer.tokenizer);
  Session session(answerer, *writer, input ? input->name() : "");
  std::exception_ptr error;
  try {
    if (input) {
      run_file(options, answerer, *input, output, session);
    } else {
      const bert::Encoding encoding = answerer.tokenizer.encode(*options.argument);
      session.answer({&encoding, 1}, {});
    }
  } catch (const OutputError&) {
    throw;
  } catch (...) {  // what was answered before is written, whatever went wrong
    error = std::current_exception();
  }
  session.progress().clear();
  writer->finish();
  output.close();
  if (error) std::rethrow_exception(error);
  if (input) report(session.progress(), answerer, options.load);
}

}  // namespace
}  // namespace bert::tools

int main(int argc, char** argv) {
  using namespace bert::tools;
  InferCommandLine line;
  return run_tool(
      "bert-infer", InferCommandLine::kManual, argc, argv,
      [&](CLI::App& app) { line.declare(app); },
      [&] {
        const auto options = line.options();
        if (!options) return 2;
        run(*options);
        return 0;
      });
}
