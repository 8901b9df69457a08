// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/info/info_command.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "models/bert_infer.h"
#include "models/tasks/task_names.h"
#include "tokenizer/unicode/printable.h"
#include "tools/console/command_line.h"
#include "tools/console/counted.h"
#include "tools/console/json_text.h"
#include "tools/console/output_file.h"
#include "tools/console/progress_bar.h"

namespace bert::tools {
namespace {

using nlohmann::ordered_json;

constexpr const char* kManual = R"(bert-infer info: how a model directory is interpreted

  bert-infer info [-m DIR] [OPTIONS]

Loads the model and says what was resolved: files, architecture, head, tokenizer, pooling, limits,
precision, backend, and the memory that it takes. (To classify the text "info": bert-infer -- info)

  -m, --model DIR      default: the demo model
      --precision P    auto (default), f32, bf16 or int8
      --backend B      auto (default), onednn or panels
      --workers N      batches computed at the same time
      --threads N      threads per worker
      --max-length N   truncate texts to N tokens
      --prompt NAME    the prompt of embeddings and scores
      --adapter NAME   a LoRA adapter, of the model's own or a folder
      --json           one JSON object, for programs
  -h, --help           this text
      --version        versions of this and of oneDNN, backend, instruction set
)";

struct InfoOptions {
  std::optional<std::string> model;  // none: the demo model
  bert::Options load;
  bool json = false;
};

const char* head_name(const bert::Info& info) {
  switch (info.task) {
    case bert::Task::embed:
      return "none";
    case bert::Task::classify:
      return "classification";
    case bert::Task::choose:
      return "multiple choice";
    case bert::Task::fill_mask:
      return "masked words";
    case bert::Task::tag:
      return info.labels.empty() ? "entities of given labels" : "token classification";
    case bert::Task::answer:
      return "question answering";
    case bert::Task::detect:
      return "replaced tokens";
    case bert::Task::sparse:
      return "sparse vectors";
    case bert::Task::multi_vector:
      return "vectors of tokens";
  }
  return "";
}

// The process' resident memory, in bytes: all of it, and the part that maps no file.
struct Memory {
  int64_t resident = 0, anonymous = 0;
};
Memory memory_in_use() {
  Memory memory;
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key; status.ignore(4096, '\n')) {
    if (key == "VmRSS:") status >> memory.resident;
    if (key == "RssAnon:") status >> memory.anonymous;
  }
  return {memory.resident * 1024, memory.anonymous * 1024};  // it is given in KiB
}

ordered_json describe(const std::string& directory, const bert::Info& info) {
  ordered_json files = ordered_json::array();
  for (const std::string& file : info.files) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    files.push_back({{"path", file}, {"bytes", error ? 0 : static_cast<int64_t>(bytes)}});
  }
  const Memory memory = memory_in_use();
  return {{"model", directory},
          {"files", files},
          {"architecture", info.architecture},
          {"family", info.family},
          {"layers", info.layers},
          {"hidden", info.hidden},
          {"heads", info.heads},
          {"intermediate", info.intermediate},
          {"vocabulary", info.vocabulary},
          {"head", head_name(info)},
          {"labels", info.labels},
          {"scores", models::name_of(info.scores)},
          {"tokenizer", info.tokenizer},
          {"pooling", info.pooling},
          {"embedding", info.embedding},
          {"sparse", info.has_sparse},
          {"token_vector", info.token_vector},
          {"similarity", info.similarity},
          {"max_length", info.max_length},
          {"precision", info.precision},
          {"backend", info.backend},
          {"workers", info.workers},
          {"threads", info.threads},
          {"memory", {{"resident", memory.resident}, {"anonymous", memory.anonymous}}},
          {"notes", info.notes}};
}

std::string megabytes(const ordered_json& bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes.get<int64_t>()) / 1e6);
}

void add_row(std::string& text, const char* name, const std::string& value) {
  text += fmt::format("{:<13} {}\n", name, tokenizer::printable(value, tokenizer::kMostOfMessage));
}

std::string head_text(const bert::Info& info) {
  std::string text = head_name(info);
  if (info.labels.empty()) return text;
  constexpr size_t kShown = 20;
  const std::span<const std::string> labels(info.labels);
  return fmt::format("{}: {}{} ({})", text,
                     fmt::join(labels.subspan(0, std::min(kShown, labels.size())), ", "),
                     labels.size() > kShown ? fmt::format(", ... {} in all", labels.size()) : "",
                     models::name_of(info.scores));
}

std::string readable(const ordered_json& all, const bert::Info& info) {
  std::string text;
  const char* name = "files";
  for (const auto& file : all["files"]) {
    add_row(text, name,
            fmt::format("{}  {}", file["path"].get<std::string>(), megabytes(file["bytes"])));
    name = "";
  }
  add_row(text, "architecture", fmt::format("{} ({})", info.architecture, info.family));
  add_row(text, "size",
          fmt::format("{} of {}, {}, intermediate size {}", counted(info.layers, "layer"),
                      info.hidden, counted(info.heads, "head"), info.intermediate));
  add_row(text, "head", head_text(info));
  add_row(text, "tokenizer", fmt::format("{}, {} ids", info.tokenizer, info.vocabulary));
  if (info.embedding > 0) {
    add_row(text, "embedding",
            fmt::format("{}, pooling {}", counted(info.embedding, "number"), info.pooling));
  }
  if (info.has_sparse) add_row(text, "sparse", "weights of the vocabulary");
  if (info.token_vector > 0) {
    add_row(text, "multi-vector", counted(info.token_vector, "number") + " for each token");
  }
  add_row(text, "similarity", info.similarity);
  add_row(text, "max length", counted(info.max_length, "token"));
  add_row(text, "precision", info.precision);
  add_row(text, "backend", info.backend);
  add_row(text, "workers", fmt::format("{} of {}", info.workers, counted(info.threads, "thread")));
  add_row(text, "memory",
          fmt::format("{} resident, {} of it anonymous", megabytes(all["memory"]["resident"]),
                      megabytes(all["memory"]["anonymous"])));
  for (const std::string& note : info.notes) add_row(text, "note", note);
  return text;
}

int run(const InfoOptions& options) {
  const std::string directory = model_directory(options.model);
  bert::Options load = options.load;
  load.progress = loading_bar();
  const bert::Model model = bert::Model::load(directory, load);
  const ordered_json all = describe(directory, model.info());
  std::string text;
  if (options.json) {
    append_json(text, all);
    text += '\n';
  } else {
    text = readable(all, model.info());
  }
  OutputFile out("-");
  out.append(text);
  out.close();
  return 0;
}

}  // namespace

int info_main(int argc, char** argv) {
  InfoOptions options;
  constexpr int kMost = 1 << 20;
  return run_tool(
      "bert-infer", kManual, argc, argv,
      [&](CLI::App& app) {
        app.add_option("-m,--model", options.model)->type_name("DIR");
        add_precision(app, options.load.precision);
        add_backend(app, options.load.backend);
        app.add_option("--workers", options.load.workers)->transform(thread_count());
        app.add_option("--threads", options.load.threads)->transform(thread_count());
        app.add_option("--max-length", options.load.max_length)->transform(whole_number(1, kMost));
        app.add_option("--prompt", options.load.prompt)->check(not_empty());
        app.add_option("--adapter", options.load.adapter)->check(not_empty());
        app.add_flag("--json", options.json);
      },
      [&] { return run(options); });
}

}  // namespace bert::tools
