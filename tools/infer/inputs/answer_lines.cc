// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/inputs/answer_lines.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "tools/console/counted.h"
#include "tools/infer/inputs/window_reader.h"
#include "tools/infer/task_table.h"

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

}  // namespace

void answer_lines(const InputFile& input, const InputMaker& maker, const InferOptions& options,
                  const LoadedModel& loaded, int64_t first, const Stop& stop, Session& session,
                  Progress& progress) {
  WindowReader reader(input.fd(), input.name(), stop, maker, options, first,
                      window_tokens(options, loaded));
  for (Window window = reader.take(); !window.empty() && stop.signal() == 0;
       window = reader.take()) {
    session.answer(window);
    if (reader.idle()) session.flush();
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
  const std::string skipped =
      progress.skipped > 0 ? fmt::format("{} skipped (the first: {}), ",
                                         counted(progress.skipped, "line"), progress.first_error)
                           : "";
  spdlog::info("{}, {}{} truncated, {}, {:.0f} tokens/s ({})", counted(progress.inputs, "input"),
               skipped, progress.truncated, counted(progress.tokens, "token"),
               progress.tokens_per_second(), configuration);
}

}  // namespace bert::tools
