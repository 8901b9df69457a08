// SPDX-License-Identifier: Apache-2.0
//
// bert-infer: texts, pairs or ids in; logits, embeddings, hidden states or tokens out. Of the
// library it uses the public header alone.
#include "models/bert_infer.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "tools/console/command_line.h"
#include "tools/console/input_lines.h"
#include "tools/console/output_file.h"
#include "tools/console/progress.h"
#include "tools/console/stop.h"
#include "tools/infer/answer_writer.h"
#include "tools/infer/encoding_reader.h"
#include "tools/infer/infer_options.h"
#include "tools/infer/tasks.h"

namespace bert::tools {
namespace {

// Without a model, tokenizing is all the work: worth sharing out from some 100 KB of text on.
constexpr int64_t kTokensAhead = int64_t{1} << 17;

// What answers: a model, or for the tokens task its tokenizer alone.
struct Answerer {
  std::optional<bert::Model> model;
  bert::Tokenizer tokenizer;
  bert::Info info;  // of the model
  Task task;
};

// What the checkpoint's head is for, where nothing else is asked for.
Task usual_task(bert::Task task) {
  switch (task) {
    case bert::Task::embed:
      return Task::embed;
    case bert::Task::fill_mask:
      return Task::fill_mask;
    case bert::Task::tag:
      return Task::tag;
    case bert::Task::answer:
      return Task::answer;
    case bert::Task::choose:
      return Task::choose;
    case bert::Task::classify:
    case bert::Task::detect:
      break;
  }
  return Task::logits;
}

Task resolve_task(const InferOptions& options, const bert::Info& info,
                  const std::string& directory) {
  const Task usual = usual_task(info.task), task = options.task;
  if (task == Task::automatic) return usual;
  if (task == Task::logits && !info.has_logits && !info.has_token_logits) {
    throw bert::Error(fmt::format("{}: {} has no head, expected one for --task logits", directory,
                                  info.architecture));
  }
  const bool needs_head =
      task == Task::fill_mask || task == Task::tag || task == Task::answer || task == Task::choose;
  if (needs_head && task != usual) {
    throw bert::Error(fmt::format("{}: {} has no head for --task {}, it is for --task {}",
                                  directory, info.architecture, task_name(task), task_name(usual)));
  }
  return task;
}

// Whether the answers are more than a row of numbers.
bool is_structured(const InferOptions& options, const bert::Info& info, Task task) {
  return task > Task::tokens || (task == Task::hidden && !options.layers.empty()) ||
         (task == Task::logits && !info.has_logits);
}

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
  const Task task = resolve_task(options, info, directory);
  options.check_task(task);
  return {model, model.tokenizer(), info, task};
}

// Ids are not truncated: what would be left might not end in [SEP].
void check_length(const bert::Encoding& encoding, const InferOptions& options) {
  const int limit = options.load.max_length;
  if (limit == 0 || std::ssize(encoding.ids) <= limit) return;
  throw std::runtime_error(fmt::format("\"ids\" holds {} ids, expected at most {} (--max-length)",
                                       encoding.ids.size(), limit));
}

std::variant<bert::Input, bert::Encoding> parse(std::string_view line,
                                                const InferOptions& options) {
  auto input = parse_line(line, options.input_format);
  if (const auto* encoding = std::get_if<bert::Encoding>(&input)) check_length(*encoding, options);
  return input;
}

// Answers windows of inputs in their order.
class Session {
 public:
  Session(const Answerer& answerer, AnswerWriter& writer, std::string input_name,
          Progress& progress)
      : answerer_(answerer), writer_(writer), name_(std::move(input_name)), progress_(progress) {}

  // What the library refuses (an id that is not in the vocabulary, ...) is found by halving, so
  // that everything before it is answered. No line: the input is the command line's.
  void answer(std::span<const bert::Encoding> encodings, std::span<const int64_t> lines) {
    Answers answers;
    try {
      answers = compute(encodings);
    } catch (const bert::Error& error) {
      const size_t half = encodings.size() / 2;
      if (half == 0) throw bad_input(lines, 0, reason_alone(error.what()));
      answer(encodings.first(half), lines.first(half));
      answer(encodings.subspan(half), lines.subspan(half));
      return;
    }
    for (size_t i = 0; i < encodings.size(); ++i) write(encodings[i], answers, i, lines);
  }

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
      default:  // tokens: token() throws for an id without a piece
        for (const bert::Encoding& encoding : encodings) {
          for (const int32_t id : encoding.ids) answerer_.tokenizer.token(id);
        }
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
  Progress& progress_;
};

void report(const Progress& progress, const Answerer& answerer, const bert::Options& load) {
  std::string configuration = "tokenizer alone";
  int max_length = load.max_length;
  if (answerer.model) {
    const bert::Info& info = answerer.info;
    max_length = info.max_length;
    configuration = fmt::format(
        "{}, task {}, precision {}, workers {}, threads {}, batch tokens {}", info.architecture,
        task_name(answerer.task), info.precision, info.workers, info.threads, load.batch_tokens);
    if (answerer.task == Task::embed) configuration += ", pooling " + info.pooling;
  }
  if (max_length > 0) configuration += fmt::format(", max length {}", max_length);
  spdlog::info("{} inputs, {} truncated, {} tokens, {:.0f} tokens/s ({})", progress.inputs,
               progress.truncated, progress.tokens, progress.tokens_per_second(), configuration);
}

void run_file(const InferOptions& options, const Answerer& answerer, const InputFile& input,
              const Stop& stop, OutputFile& output, Session& session, Progress& progress) {
  EncodingReader reader(
      input.fd(), input.name(), stop, [&](std::string_view line) { return parse(line, options); },
      [&](std::span<const bert::Input> texts) {
        return answerer.tokenizer.encode(texts,
                                         options.load.threads * std::max(1, options.load.workers));
      },
      answerer.model ? int64_t{4} * options.load.batch_tokens : kTokensAhead);
  for (Window window = reader.take(); !window.lines.empty() && stop.signal() == 0;
       window = reader.take()) {
    session.answer(window.encodings, window.lines);
    if (reader.idle()) output.flush();
    progress.show();
  }
}

void write_task_answers(const InferOptions& options, std::span<const TaskAnswer> answers,
                        OutputFile& output, Progress& progress) {
  for (const TaskAnswer& answer : answers) {
    if (options.output_format == OutputFormat::text) {
      output.append(answer.text + (answer.truncated ? "  (truncated)\n" : "\n"));
    } else {
      nlohmann::ordered_json line = {{"index", progress.inputs}};
      line.update(answer.json);
      line["tokens"] = answer.tokens;
      line["truncated"] = answer.truncated;
      output.append(line.dump() + '\n');
    }
    ++progress.inputs;
    progress.tokens += answer.tokens;
    progress.truncated += answer.truncated ? 1 : 0;
  }
}

// As many lines at a time as are ready, at most so many. Where they can't be answered together they
// are one by one, so that those before the bad one are.
void run_task_file(const InferOptions& options, const Answerer& answerer, const InputFile& input,
                   const Stop& stop, OutputFile& output, Progress& progress) {
  // Attention and the vocabulary's logits of a long text take a hundred megabytes.
  const size_t most = answerer.task > Task::tokens && answerer.task != Task::attention ? 256 : 4;
  LineReader reader(input.fd(), input.name(), stop.fd());
  std::vector<TaskInput> waiting;
  std::vector<int64_t> lines;
  const auto answer = [&](std::span<const TaskInput> inputs) {
    write_task_answers(options, answer_task(*answerer.model, options, answerer.task, inputs),
                       output, progress);
  };
  const auto flush = [&] {
    try {
      answer(waiting);
    } catch (const bert::Error&) {
      for (size_t i = 0; i < waiting.size(); ++i) {
        try {
          answer({&waiting[i], 1});
        } catch (const bert::Error& error) {
          throw std::runtime_error(line_error(input.name(), lines[i], reason_alone(error.what())));
        }
      }
    }
    waiting.clear();
    lines.clear();
    output.flush();
    progress.show();
  };
  const auto next = [&] {
    try {
      return reader.next();
    } catch (...) {
      flush();
      throw;
    }
  };
  for (auto line = next(); line && stop.signal() == 0; line = next()) {
    try {
      TaskInput parsed = parse_task_line(*line, options.input_format, answerer.task);
      check_length(parsed.encoding, options);
      waiting.push_back(std::move(parsed));
      lines.push_back(reader.number());
    } catch (const std::runtime_error& error) {
      flush();
      throw std::runtime_error(line_error(input.name(), reader.number(), error.what()));
    }
    if (waiting.size() == most || !reader.ready()) flush();
  }
  if (stop.signal() == 0) flush();
}

void run_task(const InferOptions& options, const Answerer& answerer,
              const std::optional<InputFile>& input, const Stop& stop, OutputFile& output,
              Progress& progress) {
  if (input) return run_task_file(options, answerer, *input, stop, output, progress);
  const std::vector<std::string>& texts = options.arguments;
  TaskInput only;
  only.texts.first = texts[0];
  if (answerer.task == Task::choose) {
    only.choices.assign(texts.begin() + 1, texts.end());
  } else if (texts.size() > 1) {
    only.texts.second = texts[1];
  }
  check_texts(only, answerer.task);
  std::vector<TaskAnswer> answers;
  try {
    answers = answer_task(*answerer.model, options, answerer.task, {&only, 1});
  } catch (const bert::Error& error) {
    throw std::runtime_error(std::string(reason_alone(error.what())));
  }
  write_task_answers(options, answers, output, progress);
}

void run(const InferOptions& options) {
  std::optional<InputFile> input;
  if (options.arguments.empty()) input.emplace(options.input);
  const Answerer answerer = load(options);
  if (options.arguments.size() > 2 && answerer.task != Task::choose) {
    throw UsageError(
        fmt::format("{} texts are given, expected one or two", options.arguments.size()));
  }
  const bool structured = answerer.model && is_structured(options, answerer.info, answerer.task);
  if (!can_hold(options.output_format, structured ? Task::tag : answerer.task)) {
    throw UsageError(
        fmt::format("--output {} cannot hold the answers of --task {}, a .jsonl file can",
                    options.output, task_name(answerer.task)));
  }
  // None of no inputs: this refuses layers that the model does not have.
  if (!options.layers.empty()) answer_task(*answerer.model, options, answerer.task, {});
  refuse_file_of(options.model ? *options.model : bert::demo_model(), options.output);
  OutputFile output(options.output, input ? input->fd() : -1);
  const Stop stop;
  std::exception_ptr error;
  Progress progress(options.output == "-" && isatty(STDOUT_FILENO) != 0);
  std::unique_ptr<AnswerWriter> writer;
  try {
    if (structured) {
      run_task(options, answerer, input, stop, output, progress);
    } else {
      writer = make_writer(options.output_format, answerer.task, output, answerer.info,
                           answerer.tokenizer);
      Session session(answerer, *writer, input ? input->name() : "", progress);
      if (input) {
        run_file(options, answerer, *input, stop, output, session, progress);
      } else {
        bert::Input texts = {options.arguments[0]};
        if (options.arguments.size() > 1) texts.second = options.arguments[1];
        const bert::Encoding encoding = answerer.tokenizer.encode(texts);
        session.answer({&encoding, 1}, {});
      }
    }
  } catch (const OutputError&) {
    throw;
  } catch (...) {  // what was answered before is written, whatever went wrong
    error = std::current_exception();
  }
  progress.clear();
  if (writer) writer->finish();
  output.close();
  if (error) std::rethrow_exception(error);
  if (input) report(progress, answerer, options.load);
  if (stop.signal() == 0) return;
  spdlog::error("{}: what was answered is written", strsignal(stop.signal()));
  stop.end_process();
}

}  // namespace
}  // namespace bert::tools

int main(int argc, char** argv) {
  namespace tools = bert::tools;
  tools::InferCommandLine line;
  return tools::run_tool(
      "bert-infer", tools::InferCommandLine::kManual, argc, argv,
      [&](CLI::App& app) { line.declare(app); },
      [&] {
        const auto options = line.options();
        if (!options) return 2;
        tools::run(*options);
        return 0;
      });
}
