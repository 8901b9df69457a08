// SPDX-License-Identifier: Apache-2.0
//
// bert-infer: texts, pairs or ids in; logits, embeddings, hidden states, tokens and more out.
#include "models/bert_infer.h"

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <unistd.h>

#include "tools/console/command_line.h"
#include "tools/console/lines/input_lines.h"
#include "tools/console/output_file.h"
#include "tools/console/progress.h"
#include "tools/console/signals/stop.h"
#include "tools/infer/answers/answer_writer.h"
#include "tools/infer/answers/answers.h"
#include "tools/infer/info/info_command.h"
#include "tools/infer/inputs/answer_lines.h"
#include "tools/infer/inputs/task_inputs.h"
#include "tools/infer/kept_answers.h"
#include "tools/infer/loaded_model.h"
#include "tools/infer/options/infer_options.h"
#include "tools/infer/session.h"
#include "tools/infer/shards/merge_command.h"
#include "tools/infer/shards/resume.h"

namespace bert::tools {
namespace {

void run(const InferOptions& options) {
  if (is_done(options)) return;
  std::optional<InputFile> input;
  if (options.arguments.empty()) input.emplace(options.input);
  const LoadedModel loaded = load_model(options);
  const std::unique_ptr<Answers> answers = make_answers(options, loaded);
  const Stop stop;  // before the output file, which a signal must not leave behind empty
  OutputFile output(options.output, input ? input->fd() : -1, options.resumes);
  const int64_t first = find_first_line(options, loaded.task, loaded.info, output);
  std::exception_ptr error;
  Progress progress(!options.quiet, options.output == "-" && isatty(STDOUT_FILENO) != 0,
                    input ? input->fd() : -1);
  std::unique_ptr<AnswerWriter> writer;
  Written written = Written::so_far;
  int signal = 0;
  try {
    writer = make_task_writer(options, loaded, output);
    Session session(*answers, *writer, input ? input->name() : "", options.skips_errors, progress);
    const InputMaker maker(options, loaded);
    if (input) {
      answer_lines(*input, maker, options, loaded, first, stop, session, progress);
    } else {
      session.answer(maker.from_arguments());
    }
    signal = stop.signal();
    if (signal == 0) {
      writer->finish();
      writer->flush();
      written = Written::whole;
      writer->close();
    }
  } catch (const ClosedPipe&) {
    throw;
  } catch (const OutputError&) {
    error = std::current_exception();
    if (written == Written::so_far) written = Written::cut;
  } catch (...) {
    error = std::current_exception();
  }
  progress.clear();
  std::string kept;
  if (error || signal != 0) kept = keep_answers(output, writer.get(), written, progress);
  if (error) rethrow_with(error, kept);
  if (input) report(progress, loaded, options.load);
  if (signal == 0) return;
  end_by_signal(stop, kept);
}

}  // namespace
}  // namespace bert::tools

int main(int argc, char** argv) {
  namespace tools = bert::tools;
  if (argc > 1 && std::string_view(argv[1]) == "info") return tools::info_main(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "merge")
    return tools::merge_main(argc - 1, argv + 1);
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
