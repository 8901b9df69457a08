// SPDX-License-Identifier: Apache-2.0
//
// bert-convert: copies a model's directory with the encoder's weights in int8 or bf16.
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "models/bert_infer.h"
#include "models/directory/convert.h"
#include "models/weights/json_file.h"
#include "tools/console/command_line.h"
#include "tools/console/output_file.h"
#include "tools/console/progress_bar.h"

namespace bert::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManual =
    R"(bert-convert: write a model with its encoder's weights in int8 or bf16

  bert-convert -m DIR --precision int8|bf16 -o NEW

Writes the directory NEW: the weights of DIR converted, its other files as they are. NEW gives the
same bits as DIR with --precision int8 or bf16, but is smaller and starts faster, as nothing has to
be quantised on loading. Only the encoder's dense layers are converted; embeddings, norms, biases
and heads stay as they are stored.

  -m, --model DIR      a Hugging Face directory; default: the demo model
  -o, --output NEW     a directory that does not exist yet or is empty
      --precision P    int8: I8 weights with an F32 scale per output, which bert-infer reads with
                       --precision auto or int8, and no other program does;
                       bf16: BF16 weights, an ordinary checkpoint, for --precision bf16
      --adapter NAME   add a LoRA adapter first, as for bert-infer
      --threads N      default: as many as the process may use
  -h, --help           this text
      --version        versions of this and of oneDNN, backend, instruction set

Exit status: 0 success, 1 failure, 2 wrong usage.
)";

constexpr const char* kAdapters = "lora_adaptations";

struct ConvertOptions {
  std::optional<std::string> model;  // none: the demo model
  std::string output;
  bert::Options load;
};

// Weights in any format. They are not copied, except those of sentence-transformers' modules.
bool holds_weights(const fs::path& path) {
  const std::string name = path.filename();
  for (const char* ending : {".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json",
                             ".h5", ".msgpack", ".onnx", ".ot", ".ckpt"}) {
    if (name.ends_with(ending)) return true;
  }
  // bert_model.ckpt.index, model.ckpt-1000.data-00000-of-00001, and the file that names the newest.
  return name.find(".ckpt.") != std::string::npos || name.find(".ckpt-") != std::string::npos ||
         name == "checkpoint";
}

// The folders that modules.json names: "1_Pooling", "2_Dense".
std::set<fs::path> module_folders(const fs::path& model) {
  std::set<fs::path> folders;
  if (!fs::exists(model / "modules.json")) return folders;
  const models::JsonFile file(model / "modules.json");
  for (const auto& module : file.root()) {
    const std::string path = module.is_object() ? module.value("path", "") : "";
    if (!path.empty()) folders.insert(path);  // the encoder's own is ""
  }
  return folders;
}

// Skips hidden files and folders, which are the downloading tool's. Links (in the hub's cache,
// every file is one) are copied as what they point to.
void copy_others(const fs::path& from, const fs::path& to) {
  const std::set<fs::path> modules = module_folders(from);
  for (auto at =
           fs::recursive_directory_iterator(from, fs::directory_options::follow_directory_symlink);
       at != fs::recursive_directory_iterator(); ++at) {
    const std::string name = at->path().filename();
    const fs::path place = at->path().lexically_relative(from), target = to / place;
    if (name.starts_with(".") || fs::equivalent(at->path(), to)) {
      at.disable_recursion_pending();
    } else if (at->is_directory()) {
      fs::create_directories(target);
    } else if (at->is_regular_file() &&
               (!holds_weights(name) || modules.contains(place.parent_path()))) {
      fs::copy_file(at->path(), target);
    }
  }
}

// Changes config.json where needed. A bert_config.json becomes a config.json that every program
// knows, completed with what the weights say; int8 is marked, so that no other program takes the
// weights for floats.
void write_config(const bert::Info& info, const fs::path& to, Precision precision) {
  const fs::path path = to / "config.json", google = to / "bert_config.json";
  const bool is_google = !fs::exists(path);
  nlohmann::ordered_json config;
  {
    const models::JsonFile file(is_google ? google : path);
    config = nlohmann::ordered_json::parse(file.root().dump());
    if (!is_google && precision != Precision::int8 && !file.has(kAdapters)) return;
  }
  if (config.contains(kAdapters)) config[kAdapters] = nullptr;  // they were added, or left out
  if (is_google) {
    config["model_type"] = "bert";
    config["architectures"] = {info.architecture};
    if (info.architecture == "BertForSequenceClassification") {
      config["id2label"] = nlohmann::ordered_json::object();
      for (size_t i = 0; i < info.labels.size(); ++i) {
        config["id2label"][std::to_string(i)] = info.labels[i];
      }
    }
    fs::remove(google);
  }
  fs::remove(path);  // the copy of a read-only file is read-only too
  if (precision == Precision::int8) {
    config["quantization_config"] = {{"quant_method", "bert-infer"}, {"bits", 8}};
  }
  OutputFile out(path);
  out.append(config.dump(2) + "\n");
  out.close();
}

int64_t size_of(const fs::path& directory) {
  int64_t size = 0;
  for (const auto& file : fs::directory_iterator(directory)) {
    if (!file.is_regular_file()) continue;
    const std::string name = file.path().filename();
    const bool shard = name.find(".data-") != std::string::npos;
    if (name.ends_with(".safetensors") || name.ends_with(".bin") || shard) {
      size += static_cast<int64_t>(file.file_size());
    }
  }
  return size;
}

void write_directory(const bert::Model& model, const fs::path& from, const fs::path& to,
                     Precision precision) {
  copy_others(from, to);
  write_config(model.info(), to, precision);
  // Which has another name until it is complete: if this is killed, nothing passes for a model.
  OutputFile out(to / "model.safetensors");
  models::write_converted(model, [&](std::string_view bytes) { out.append(bytes); });
  out.close();
}

int convert(const ConvertOptions& options) {
  if (options.load.precision != Precision::int8 && options.load.precision != Precision::bf16) {
    throw UsageError("--precision is required: int8 or bf16");
  }
  if (options.output.empty()) throw UsageError("--output is empty, expected a directory");
  const std::string from = model_directory(options.model);
  const fs::path to = options.output;
  const bool was_there = fs::exists(to);
  if (was_there && (!fs::is_directory(to) || !fs::is_empty(to))) {
    throw std::runtime_error(to.string() + ": exists and is not an empty directory");
  }
  bert::Options load = options.load;
  load.progress = loading_bar();
  const bert::Model model = bert::Model::load(from, load);
  for (const std::string& note : model.info().notes) spdlog::info("note: {}", note);
  std::error_code error;
  if (fs::create_directories(to, error); error) {
    throw std::runtime_error(
        fmt::format("{}: cannot be created: {}", to.string(), error.message()));
  }
  try {
    write_directory(model, from, to, options.load.precision);
  } catch (...) {  // half a model is worse than none
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(to, ignored)) {
      fs::remove_all(entry.path(), ignored);
    }
    if (!was_there) fs::remove(to, ignored);
    throw;
  }
  spdlog::info("{}: {:.1f} MB of weights, {} has {:.1f} MB", to.string(),
               static_cast<double>(size_of(to)) / 1e6, from,
               static_cast<double>(size_of(from)) / 1e6);
  return 0;
}

void declare(CLI::App& app, ConvertOptions& options) {
  app.add_option("-m,--model", options.model)->type_name("DIR");
  app.add_option("-o,--output", options.output)->required()->type_name("DIR");
  add_precision(app, options.load.precision);
  app.add_option("--adapter", options.load.adapter);
  app.add_option("--threads", options.load.threads)->transform(thread_count());
}

}  // namespace
}  // namespace bert::tools

int main(int argc, char** argv) {
  namespace tools = bert::tools;
  tools::ConvertOptions options;
  return tools::run_tool(
      "bert-convert", tools::kManual, argc, argv,
      [&](CLI::App& app) { tools::declare(app, options); },
      [&] { return tools::convert(options); });
}
