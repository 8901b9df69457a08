// SPDX-License-Identifier: Apache-2.0
//
// bert-infer: texts, pairs or ids in; logits, embeddings, hidden states, tokens and more out. Uses
// nothing of the library but its public header.
#include "models/bert_infer.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "tools/console/command_line.h"
#include "tools/console/input_lines.h"
#include "tools/console/output_file.h"
#include "tools/console/progress.h"
#include "tools/console/stop.h"
#include "tools/infer/answers/answer_writer.h"
#include "tools/infer/answers/answers.h"
#include "tools/infer/infer_options.h"
#include "tools/infer/loaded_model.h"
#include "tools/infer/session.h"
#include "tools/infer/task_inputs.h"
#include "tools/infer/window_reader.h"

namespace bert::tools {
namespace {

// The most tokens that are answered together and read ahead.
int64_t window_tokens(const InferOptions& options, const LoadedModel& loaded) {
  // Tokenizing alone is worth sharing out from some 100 KB of text on.
  if (!loaded.model) return int64_t{1} << 17;
  const int64_t window = int64_t{4} * options.load.batch_tokens;
  // The vocabulary's logits of so many tokens take a hundred megabytes, as may attention.
  constexpr int64_t kLargeAnswers = 1024;
  return traits(loaded.task).large ? std::min(window, kLargeAnswers) : window;
}

void check_together(const InferOptions& options, const LoadedModel& loaded) {
  if (options.arguments.size() > 2 && traits(loaded.task).input != InputKind::choices) {
    throw UsageError(
        fmt::format("{} texts are given, expected one or two", options.arguments.size()));
  }
  options.check_output(loaded.task);
}

void stream(const InputFile& input, const InputMaker& maker, int64_t capacity, const Stop& stop,
            Session& session, OutputFile& output, Progress& progress) {
  WindowReader reader(input.fd(), input.name(), stop, maker, capacity);
  for (Window window = reader.take(); !window.lines.empty() && stop.signal() == 0;
       window = reader.take()) {
    session.answer(window);
    if (reader.idle()) output.flush();
    progress.show();
  }
}

void report(const Progress& progress, const LoadedModel& loaded, const bert::Options& load) {
  std::string configuration = "tokenizer alone";
  int max_length = load.max_length;
  if (loaded.model) {
    const bert::Info& info = loaded.info;
    max_length = info.max_length;
    configuration = fmt::format(
        "{}, task {}, precision {}, backend {}, workers {}, threads {}, batch tokens {}",
        info.architecture, task_name(loaded.task), info.precision, info.backend, info.workers,
        info.threads, load.batch_tokens);
    if (loaded.task == Task::embed) configuration += ", pooling " + info.pooling;
  }
  if (max_length > 0) configuration += fmt::format(", max length {}", max_length);
  spdlog::info("{} inputs, {} truncated, {} tokens, {:.0f} tokens/s ({})", progress.inputs,
               progress.truncated, progress.tokens, progress.tokens_per_second(), configuration);
}

// Whatever went wrong, the answers so far can be read. Returns the file that has them, if it is not
// the output itself.
std::string keep_answers(OutputFile& output, AnswerWriter* writer, bool is_cut,
                         const Progress& progress) {
  int64_t answers = writer ? progress.inputs : 0;
  try {
    if (writer && is_cut) {
      answers = writer->finish_cut();
    } else if (writer) {
      writer->finish();
    }
    if (answers > 0) return output.keep_partial();
  } catch (const OutputError&) {  // there is no room for anything
  }
  output.discard();
  return "";
}

[[noreturn]] void rethrow_with(const std::exception_ptr& error, const std::string& kept) {
  if (kept.empty()) std::rethrow_exception(error);
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& what) {
    throw std::runtime_error(fmt::format("{}; the answers so far are in {}", what.what(), kept));
  }
}

void run(const InferOptions& options) {
  std::optional<InputFile> input;
  if (options.arguments.empty()) input.emplace(options.input);
  const LoadedModel loaded = load_model(options);
  check_together(options, loaded);
  const std::unique_ptr<Answers> answers = make_answers(options, loaded);
  refuse_file_of(loaded.directory, options.output);
  OutputFile output(options.output, input ? input->fd() : -1);
  const Stop stop;
  std::exception_ptr error;
  Progress progress(options.output == "-" && isatty(STDOUT_FILENO) != 0);
  std::unique_ptr<AnswerWriter> writer;
  bool is_cut = false;
  int signal = 0;
  try {
    writer = make_writer(options.output_format, loaded.task, output, loaded.info);
    Session session(*answers, *writer, input ? input->name() : "", progress);
    const InputMaker maker(options, loaded);
    if (input) {
      stream(*input, maker, window_tokens(options, loaded), stop, session, output, progress);
    } else {
      session.answer(maker.from_arguments());
    }
    signal = stop.signal();
    if (signal == 0) {
      writer->finish();
      output.close();
    }
  } catch (const ClosedPipe&) {
    throw;
  } catch (const OutputError&) {
    error = std::current_exception();
    is_cut = true;
  } catch (...) {
    error = std::current_exception();
  }
  progress.clear();
  std::string kept;
  if (error || signal != 0) kept = keep_answers(output, writer.get(), is_cut, progress);
  if (error) rethrow_with(error, kept);
  if (input) report(progress, loaded, options.load);
  if (signal == 0) return;
  spdlog::error("{}: the answers so far {}", strsignal(signal),
                kept.empty() ? "have been written" : "are in " + kept);
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
