// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/loaded_model.h"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "tools/console/command_line.h"
#include "tools/console/output_file.h"
#include "tools/console/progress_bar.h"

namespace bert::tools {
namespace {

Task usual_task(const bert::Info& info) {
  switch (info.task) {
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
    case bert::Task::sparse:
      return Task::sparse;
    case bert::Task::multi_vector:
      return Task::multi_vector;
    case bert::Task::classify:
    case bert::Task::detect:
      break;
  }
  return Task::logits;
}

Task resolve_task(const InferOptions& options, const bert::Info& info,
                  const std::string& directory) {
  const Task usual = usual_task(info);
  const Task task = options.task == Task::automatic ? usual : options.task;
  const bool needs_head = task == Task::logits || traits(task).head;
  if (info.head_task == bert::Task::sparse && needs_head && traits(task).head != info.head_task) {
    throw bert::Error(fmt::format(
        "{}/modules.json: SpladePooling takes the head of this {} for --task sparse, which leaves "
        "none for --task {}",
        directory, info.architecture, task_name(task)));
  }
  if (task == Task::logits && !info.has_logits) {
    if (info.has_token_logits) return Task::token_logits;
    throw bert::Error(fmt::format("{}: {} has no head, expected one for --task logits", directory,
                                  info.architecture));
  }
  if (traits(task).head && traits(task).head != info.head_task) {
    throw bert::Error(fmt::format("{}: {} has no head for --task {}, but one for --task {}",
                                  directory, info.architecture, task_name(task), task_name(usual)));
  }
  return task == Task::hidden && !options.layers.empty() ? Task::layers : task;
}

// What would be a mistake of each line is one of the options.
void check_max_length(const InferOptions& options, const bert::Tokenizer& tokenizer) {
  if (options.load.max_length == 0) return;
  for (const bert::Input& nothing : {bert::Input{""}, bert::Input{"", ""}}) {
    try {
      tokenizer.encode(nothing);
    } catch (const bert::Error& error) {
      constexpr std::string_view kName = "max_length";
      const std::string_view reason = error.what();
      if (!reason.starts_with(kName)) continue;  // not all tokenizers take text, or two
      throw bert::Error(fmt::format("--max-length{}", reason.substr(kName.size())));
    }
  }
}

void check_labels(const InferOptions& options, const LoadedModel& loaded) {
  const bool has_own = !loaded.info.labels.empty();
  if (loaded.task != Task::tag || (has_own && options.labels.empty())) return;
  try {
    loaded.model->tag({}, options.tag);  // of no inputs: refuses a model with other labels
  } catch (const bert::Error& error) {
    const std::string_view reason = error.what();
    const bool names_it = reason.starts_with("labels ");
    throw bert::Error(fmt::format("--{}{}", names_it ? "" : "labels: ", reason));
  }
}

void make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw std::runtime_error(fmt::format("{}: cannot be created: {}", path, error.message()));
  }
}

LoadedModel load(const InferOptions& options) {
  const std::string directory = model_directory(options.model);
  if (options.task == Task::tokens) {
    bert::Tokenizer tokenizer = bert::Tokenizer::load(directory, options.load.max_length);
    for (const std::string& note : tokenizer.notes()) spdlog::info("note: {}", note);
    check_max_length(options, tokenizer);
    return {.directory = directory,
            .model = std::nullopt,
            .tokenizer = std::move(tokenizer),
            .info = {},
            .task = Task::tokens};
  }
  bert::Options load = options.load;
  if (!options.quiet) load.progress = loading_bar();
  const bert::Model model = bert::Model::load(directory, load);
  const bert::Info& info = model.info();
  const bool reads_text = !options.arguments.empty();
  for (const std::string& note : info.notes) {
    // A text on the command line will be refused with the same sentence.
    if (reads_text && note.starts_with("only token ids are accepted, not text: ")) continue;
    spdlog::info("note: {}", note);
  }
  const Task task = resolve_task(options, info, directory);
  options.check_task(task);
  LoadedModel loaded = {.directory = directory,
                        .model = model,
                        .tokenizer = model.tokenizer(),
                        .info = info,
                        .task = task};
  check_max_length(options, loaded.tokenizer);
  check_labels(options, loaded);
  if (options.truncate_dim > info.embedding) {
    throw bert::Error(
        fmt::format("{}: its embeddings have {} dimensions, expected at least {} for "
                    "--truncate-dim",
                    directory, info.embedding, options.truncate_dim));
  }
  if (task == Task::logits && options.ranks_labels() && info.scores == bert::Scores::raw) {
    throw bert::Error(directory +
                      ": the head's scores are raw, expected probabilities for --top-k "
                      "and --threshold");
  }
  if (options.truncate_dim > 0) loaded.info.embedding = options.truncate_dim;
  return loaded;
}

// What is written must be nothing that is read.
void check_files(const InferOptions& options, const LoadedModel& loaded) {
  if (options.output == "-") {  // which >> may add to any file; OutputFile knows the input's
    refuse_files_read(loaded.info.files, "/dev/stdout");
    return refuse_files_read({options.corpus}, "/dev/stdout");
  }
  const std::string& model = loaded.directory;
  std::vector<std::string> written = {options.output};
  if (!options.projector.empty()) {
    for (const char* name : {"/metadata.tsv", "/index.html"}) {
      written.push_back(options.projector + name);
    }
  }
  for (const std::string& path : written) {
    refuse_file_of(model, path);
    if (const std::string& adapter = options.load.adapter; !adapter.empty()) {
      for (const std::string& folder : {model + "/" + adapter, adapter}) {
        refuse_file_of(folder, path, "adapter");
      }
    }
    refuse_files_read(loaded.info.files, path);  // weights may have any name
    refuse_files_read({options.input, options.corpus}, path);
  }
}

}  // namespace

LoadedModel load_model(const InferOptions& options) {
  if (options.quiet) spdlog::set_level(spdlog::level::err);
  LoadedModel loaded = load(options);
  if (options.arguments.size() > 2 && !takes_many_arguments(traits(loaded.task).input)) {
    throw UsageError(
        fmt::format("{} texts are given, expected one or two", options.arguments.size()));
  }
  options.check_output(loaded.task);
  if (!options.projector.empty()) make_directory(options.projector);
  check_files(options, loaded);
  return loaded;
}

}  // namespace bert::tools
