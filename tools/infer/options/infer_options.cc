// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/options/infer_options.h"

#include <algorithm>
#include <climits>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/tasks/ranking/entailment.h"
#include "tools/console/command_line.h"
#include "tools/infer/options/option_values.h"

namespace bert::tools {

namespace {

const Choices<InputFormat> kInputFormats = {{"tsv", InputFormat::tsv},
                                            {"csv", InputFormat::csv},
                                            {"txt", InputFormat::txt},
                                            {"jsonl", InputFormat::jsonl}};
const Choices<OutputFormat> kOutputFormats = {{"jsonl", OutputFormat::jsonl},
                                              {"tsv", OutputFormat::tsv},
                                              {"npy", OutputFormat::npy},
                                              {"safetensors", OutputFormat::safetensors},
                                              {"text", OutputFormat::text}};

// The format that the name ends in, if it does.
template <typename Format>
std::optional<Format> format_of(std::string_view name, const Choices<Format>& formats) {
  for (const auto& [ending, format] : formats) {
    if (name.ends_with("." + ending)) return format;
  }
  return std::nullopt;
}

OutputFormat output_format(const std::string& output) {
  if (output == "-") return OutputFormat::jsonl;
  const auto format = format_of(output, kOutputFormats);
  if (format && *format != OutputFormat::text) return *format;
  throw UsageError(
      fmt::format("--output {}: unknown ending, expected .jsonl, .tsv, .npy or .safetensors; say "
                  "which format it is with --output-format",
                  output));
}

// By any name, such as /dev/fd/0. A regular file has an offset of its own under each name but "-".
bool is_standard_input(const std::string& path) {
  if (path == "-") return true;
  struct stat named {
  }, input{};
  return stat(path.c_str(), &named) == 0 && fstat(STDIN_FILENO, &input) == 0 &&
         !S_ISREG(named.st_mode) && named.st_dev == input.st_dev && named.st_ino == input.st_ino;
}

// What says that the output has its format: its name, unless an option says otherwise.
std::string output_name(const InferOptions& options) {
  if (options.output_format == OutputFormat::html) return "--html";
  if (options.output_format == OutputFormat::projector) return "--projector";
  if (format_of(options.output, kOutputFormats) == options.output_format) {
    return "--output " + options.output;
  }
  const auto found = std::ranges::find(kOutputFormats, options.output_format,
                                       [](const auto& choice) { return choice.second; });
  return "--output-format " + found->first;
}

}  // namespace

void InferOptions::check_task(Task wanted) const {
  const auto& allowed = traits(wanted).options;
  for (const std::string& given : special_options) {
    if (std::ranges::find(allowed, given) != allowed.end()) continue;
    throw UsageError(fmt::format("{} goes with --task {}, not with {}", given,
                                 tasks_with_option(given), task_name(wanted)));
  }
  if (wanted == Task::attention && output_format == OutputFormat::html) return;
  const auto need = [&](Task of, const char* option) {
    if (wanted != of || is_given(option)) return;
    throw UsageError(fmt::format("--task {} needs {}", task_name(of), option));
  };
  need(Task::attention, "--layers");
  need(Task::zero_shot, "--labels");
  if (wanted == Task::tag) check_labels();
  need(Task::rank, "--query");
  need(Task::search, "--corpus");
}

// Entities of given labels are not made of words'.
void InferOptions::check_labels() const {
  const bool has_labels = is_given("--labels");
  for (const char* option : {"--threshold", "--nested", "--multi-label"}) {
    if (is_given(option) && !has_labels) {
      throw UsageError(fmt::format("--task tag: {} goes with --labels", option));
    }
  }
  if (is_given("--aggregation") && has_labels) {
    throw UsageError("--task tag: --aggregation goes without --labels");
  }
}

bool InferOptions::is_given(std::string_view option) const {
  return std::ranges::find(special_options, option) != special_options.end();
}

void InferOptions::check_page(Task wanted) const {
  if (output_format == OutputFormat::projector && !can_hold(output_format, wanted)) {
    throw UsageError(
        fmt::format("--projector goes with --task embed, not with {}", task_name(wanted)));
  }
  if (output_format != OutputFormat::html) return;
  const bool embeds = layers == std::vector<int>{0};
  if (can_hold(output_format, wanted) && (wanted == Task::attention || embeds)) return;
  throw UsageError("--html goes with --task attention, and with --task hidden --layers 0");
}

void InferOptions::check_output(Task wanted) const {
  check_page(wanted);
  if (!can_hold(output_format, wanted)) {
    throw UsageError(fmt::format("{} cannot hold the answers of --task {}{}, JSON Lines can",
                                 output_name(*this), task_name(wanted), traits(wanted).variant));
  }
  const auto need = [&](const char* option, std::initializer_list<OutputFormat> formats) {
    if (std::ranges::find(formats, output_format) != formats.end()) return;
    throw UsageError(fmt::format(
        "{} needs JSON Lines{} as output, not {}", option,
        std::ranges::find(formats, OutputFormat::tsv) != formats.end() ? " or .tsv" : "",
        output_name(*this)));
  };
  if (traits(wanted).ranks && (resumes || shard.count > 1)) {
    throw UsageError(fmt::format("--task {} reads all of its input, without --shard and --resume",
                                 task_name(wanted)));
  }
  using enum OutputFormat;
  if (!keep.empty()) need("--keep", {jsonl, projector});
  if (skips_errors) need("--on-error skip", {jsonl, text, tsv});
  if (resumes) {
    if (output == "-") throw UsageError("--resume needs --output FILE");
    if (output_format != jsonl && output_format != tsv && output_format != npy) {
      throw UsageError(
          fmt::format("--resume needs .jsonl, .tsv or .npy as output, not {}", output_name(*this)));
    }
  }
  if (wanted != Task::logits) return;
  if (is_given("--top-k")) need("--top-k", {jsonl, text});
  if (is_given("--threshold")) need("--threshold", {jsonl, text});
}

void InferCommandLine::declare(CLI::App& app) {
  declare_input(app);
  declare_output(app);
  app.add_option("--task", task_)->check(CLI::IsMember(task_names()));
  declare_special(app);
  declare_load(app);
  for (size_t i = 0; i < kMaxTexts; ++i) {
    text_options_[i] = app.add_option(fmt::format("TEXT{}", i + 1), texts_[i]);
  }
  app.add_option("MORE", more_texts_);
}

void InferCommandLine::declare_input(CLI::App& app) {
  input_option_ = app.add_option("-i,--input", input_)->type_name("FILE");
  input_format_option_ = add_choice(app, "--input-format", kInputFormats, given_.input_format);
  keep_option_ = app.add_option("--keep")->each(
      [this](const std::string& text) { given_.keep = names_of(text); });
  on_error_option_ =
      add_choice<bool>(app, "--on-error", {{"stop", false}, {"skip", true}}, given_.skips_errors);
  shard_option_ = app.add_option("--shard")->each(
      [this](const std::string& text) { given_.shard = parse_shard(text); });
  resume_option_ = app.add_flag("--resume", given_.resumes);
}

void InferCommandLine::declare_output(CLI::App& app) {
  for (auto output = outputs_.begin(); output != outputs_.end(); ++output) {
    output->option = app.add_option(output->names, output->path)->type_name(output->value);
    output->option->check(not_empty());
    for (auto other = outputs_.begin(); other != output; ++other) {
      output->option->excludes(other->option);
    }
  }
  output_format_option_ = add_choice(app, "--output-format", kOutputFormats, given_.output_format);
  app.add_flag("-q,--quiet", given_.quiet);
}

// The options that not every task takes.
void InferCommandLine::declare_special(CLI::App& app) {
  const auto at_least_one = whole_number(1, INT_MAX);
  special_options_ = {
      app.add_option("--layers")->each([this](const std::string& text) {
        given_.layers = layers_of(text);
      }),
      app.add_option("--top-k", given_.top_k)->transform(at_least_one),
      app.add_option("--threshold")->each([this](const std::string& text) {
        given_.threshold = probability_of(text);
      }),
      app.add_flag("--normalize", given_.normalize),
      app.add_option("--truncate-dim", given_.truncate_dim)->transform(at_least_one),
      app.add_option("--stride", given_.answer.stride)->transform(whole_number(0, INT_MAX)),
      add_choice<Aggregation>(app, "--aggregation",
                              {{"auto", Aggregation::automatic},
                               {"none", Aggregation::none},
                               {"simple", Aggregation::simple},
                               {"first", Aggregation::first},
                               {"average", Aggregation::average},
                               {"max", Aggregation::max}},
                              given_.tag.aggregation),
      add_choice<bert::Role>(app, "--role",
                             {{"query", bert::Role::query}, {"document", bert::Role::document}},
                             given_.role),
      app.add_option("--labels")->each([this](const std::string& text) {
        given_.labels = labels_of(text);
      }),
      app.add_option("--hypothesis", given_.zero_shot.hypothesis),
      app.add_flag("--multi-label", given_.zero_shot.multi_label),
      app.add_flag("--nested", given_.tag.nested),
      app.add_option("--query", given_.query),
      app.add_option("--corpus", given_.corpus),
      app.add_option("--answer-tokens", given_.answer.most_tokens)->transform(at_least_one),
  };
}

// How the model is loaded and run.
void InferCommandLine::declare_load(CLI::App& app) {
  const auto at_least_one = whole_number(1, INT_MAX);
  model_option_ = app.add_option("-m,--model", model_)->type_name("DIR");
  app.add_option("--prompt", given_.load.prompt)->check(not_empty());
  app.add_option("--adapter", given_.load.adapter)->check(not_empty());
  add_precision(app, given_.load.precision);
  add_backend(app, given_.load.backend);
  app.add_option("--workers", given_.load.workers)->transform(thread_count());
  app.add_option("--threads", given_.load.threads)->transform(thread_count());
  app.add_option("--batch-tokens", given_.load.batch_tokens)->transform(at_least_one);
  app.add_option("--max-length", given_.load.max_length)->transform(at_least_one);
}

InputFormat InferCommandLine::input_format(const char* name_of_option, const std::string& input,
                                           const CLI::Option* said) const {
  if (said != nullptr && said->count() > 0) return given_.input_format;
  std::string_view name = input;
  for (const std::string_view ending : {".gz", ".zst"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  if (const auto format = format_of(name, kInputFormats)) return *format;
  if (input == "-") return InputFormat::tsv;
  throw UsageError(
      fmt::format("{} {}: the name ends in none of .tsv, .csv, .txt{}", name_of_option, input,
                  said != nullptr ? " and .jsonl; say which format it is with --input-format"
                                  : ", .jsonl and .npy"));
}

// What tasks that rank need to be read.
void InferCommandLine::check_ranking(InferOptions& options) const {
  check_utf8("--query", options.query);
  check_utf8("--hypothesis", options.zero_shot.hypothesis);
  for (const std::string& label : options.labels) check_utf8("--labels", label);
  if (options.is_given("--hypothesis")) {
    try {
      models::hypothesis(options.zero_shot.hypothesis, "");
    } catch (const bert::Error& error) {
      throw UsageError(fmt::format("--hypothesis: {}", error.what()));
    }
  }
  if (!options.is_given("--corpus")) return;
  if (options.arguments.empty() && is_standard_input(options.corpus) &&
      is_standard_input(options.input)) {
    throw UsageError(fmt::format(
        "--corpus {} needs queries from elsewhere, as arguments or --input FILE", options.corpus));
  }
  options.corpus_is_vectors = options.corpus.ends_with(".npy");
  if (options.corpus_is_vectors) return;
  options.corpus_format =
      options.corpus == "-" ? InputFormat::txt : input_format("--corpus", options.corpus, nullptr);
}

// What only goes with lines of input.
void InferCommandLine::check_texts() const {
  if (input_option_->count() > 0) throw UsageError("--input and a text exclude each other");
  for (const CLI::Option* option :
       {input_format_option_, keep_option_, on_error_option_, shard_option_, resume_option_}) {
    if (option->count() == 0) continue;
    throw UsageError(fmt::format("{} goes with --input, not with a text", option->get_name()));
  }
  if (more_texts_.empty()) return;
  throw UsageError(fmt::format("{} texts are given, expected at most {}; --input takes more",
                               kMaxTexts + more_texts_.size(), kMaxTexts));
}

void InferCommandLine::set_output(InferOptions& options) const {
  const bool has_format = output_format_option_->count() > 0;
  const auto* const given = std::ranges::find_if(
      outputs_, [](const OutputOption& output) { return output.option->count() > 0; });
  const bool has_output = given != outputs_.end();
  if (has_output) options.output = given->path;
  if (has_output && given->page) {
    if (has_format) throw UsageError("--output-format goes with neither --html nor --projector");
    options.output_format = *given->page;
    if (given->page != OutputFormat::projector) return;
    options.projector = given->path;
    options.output = options.projector + "/vectors.tsv";
  } else if (!has_format) {
    // People get text for a text, and a ranking; a program gets JSON.
    const bool is_short = text_options_[0]->count() > 0 || traits(options.task).ranks;
    const bool reads = is_short && !has_output && isatty(STDOUT_FILENO) != 0;
    options.output_format = reads ? OutputFormat::text : output_format(options.output);
  }
}

std::optional<InferOptions> InferCommandLine::options() const {
  const bool has_text = text_options_[0]->count() > 0;
  if (!has_text && input_option_->count() == 0 && isatty(STDIN_FILENO) != 0) {
    fmt::print(stderr, "{}", kManual);
    return std::nullopt;
  }
  InferOptions options = given_;
  options.tag.stride = options.answer.stride;
  options.tag.labels = options.labels;
  options.tag.multi_label = options.zero_shot.multi_label;
  options.task = find_task(task_);
  for (const CLI::Option* option : special_options_) {
    if (option->count() > 0) options.special_options.push_back(option->get_name());
  }
  if (options.is_given("--threshold")) options.tag.threshold = options.threshold;
  set_output(options);
  if (options.task != Task::automatic) options.check_task(options.task);
  if (options.task == Task::tokens && !options.load.prompt.empty()) {
    throw UsageError("--prompt goes with embeddings, not with --task tokens");
  }
  if (options.task == Task::tokens && !options.load.adapter.empty()) {
    throw UsageError("--adapter goes with weights, which --task tokens does not read");
  }
  if (model_option_->count() > 0) options.model = model_;
  if (has_text) {
    check_texts();
    for (size_t i = 0; i < kMaxTexts && text_options_[i]->count() > 0; ++i) {
      options.arguments.push_back(texts_[i]);
    }
  } else {
    if (input_option_->count() > 0) options.input = input_;
    options.input_format = input_format("--input", options.input, input_format_option_);
    const bool has_keys =
        options.input_format == InputFormat::jsonl || options.input_format == InputFormat::csv;
    if (!options.keep.empty() && !has_keys) {
      throw UsageError("--keep goes with .jsonl and .csv, whose values have names");
    }
  }
  check_ranking(options);
  options.check_output(options.task);
  return options;
}

}  // namespace bert::tools
