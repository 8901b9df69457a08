// SPDX-License-Identifier: Apache-2.0
//
// bert-convert: copies a model's directory with the encoder's weights in int8 or bf16.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "models/bert_infer.h"
#include "models/config/sentence_settings.h"
#include "models/directory/convert.h"
#include "models/weights/json_file.h"
#include "tools/console/command_line.h"
#include "tools/console/output_file.h"
#include "tools/console/progress_bar.h"
#include "tools/console/signals/stop.h"
#include "tools/convert/new_directory.h"

namespace bert::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManual =
    R"(bert-convert: write a model with its encoder's weights in int8 or bf16

  bert-convert -m DIR --precision int8|bf16 -o NEW

Writes the directory NEW: the weights of DIR converted, its other files as they are. NEW gives the
same bits as DIR with --precision int8 or bf16 (int8: on processors with the same instructions, and
with the default backend), but is smaller and starts faster, as nothing has to be quantised on
loading. Only the encoder's dense layers are converted; embeddings, norms, biases and heads stay as
they are stored.

  -m, --model DIR      a Hugging Face directory; default: the demo model
  -o, --output NEW     a directory that does not exist yet or is empty. It is written under a name
                       that begins with a dot, and gets its own when it is whole
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

// The folders of sentence-transformers' modules, within the model's: "1_Pooling", "2_Dense".
std::set<fs::path> module_folders(const fs::path& model) {
  const models::ModuleList list(model);
  std::set<fs::path> folders;
  const auto normal = [](const fs::path& folder) { return (folder / "").lexically_normal(); };
  const auto add = [&](const std::string& folder) {
    const fs::path place = normal(folder).lexically_relative(normal(model)).parent_path();
    if (!place.empty() && place != ".") folders.insert(place);  // the encoder's own is "."
  };
  for (const auto& module : list.modules) add(module.folder);
  if (!list.query_table.empty()) add(list.query_table);
  return folders;
}

// Whether a folder is, by a link, one of those that it was reached through (depth: how many there
// are below the first) or that it lies in.
bool is_cycle(const fs::path& folder, int depth) {
  const fs::path place = fs::canonical(folder.parent_path()), target = fs::canonical(folder);
  if (std::ranges::mismatch(target, place).in1 == target.end()) return true;
  fs::path above = folder;
  for (int i = 0; i <= depth; ++i) {
    above = above.parent_path();
    if (fs::equivalent(above, folder)) return true;
  }
  return false;
}

// Whether a module's folder is this one or lies in it.
bool leads_to_one(const fs::path& folder, const std::set<fs::path>& modules) {
  return std::ranges::any_of(modules, [&](const fs::path& module) {
    return std::ranges::mismatch(folder, module).in1 == folder.end();
  });
}

// A signal that asks to stop.
class Interrupted {};

void check(const Stop& stop) {
  if (stop.signal() != 0) throw Interrupted();
}

void check_copied(const std::error_code& error, const fs::path& from, const fs::path& to) {
  if (!error) return;
  throw std::runtime_error(
      fmt::format("{}: cannot be copied to {}: {}", from.string(), to.string(), error.message()));
}

// Skips hidden files and folders, which are the downloading tool's, unless one is a module's or
// leads to it; the folders of adapters, which are added or left out; and the new directory itself.
// Links (in the hub's cache, every file is one) are
// copied as what they point to.
void copy_others(const fs::path& from, const fs::path& to, const fs::path& itself,
                 const Stop& stop) {
  const std::set<fs::path> modules = module_folders(from);
  for (auto at =
           fs::recursive_directory_iterator(from, fs::directory_options::follow_directory_symlink);
       at != fs::recursive_directory_iterator(); ++at) {
    check(stop);
    const std::string name = at->path().filename();
    const fs::path place = at->path().lexically_relative(from), target = to / place;
    std::error_code error;
    const bool is_hidden = name.starts_with(".") && !leads_to_one(place, modules);
    const bool is_adapter = at->is_directory() && fs::exists(at->path() / "adapter_config.json");
    if (is_hidden || is_adapter || fs::weakly_canonical(at->path()) == itself ||
        (at->is_directory() && is_cycle(at->path(), at.depth()))) {
      at.disable_recursion_pending();
    } else if (at->is_directory()) {
      fs::create_directories(target, error);
    } else if (at->is_regular_file() &&
               (!holds_weights(name) || modules.contains(place.parent_path()))) {
      fs::copy_file(at->path(), target, error);
    }
    check_copied(error, at->path(), target);
  }
}

// An adapter may have brought another head.
void set_head(const bert::Info& info, nlohmann::ordered_json& config) {
  config["architectures"] = {info.architecture};
  if (!info.architecture.ends_with("Classification")) return;
  config.erase("num_labels");
  config.erase("label2id");
  config["id2label"] = nlohmann::ordered_json::object();
  for (size_t i = 0; i < info.labels.size(); ++i) {
    config["id2label"][std::to_string(i)] = info.labels[i];
  }
}

// Changes config.json, or a GLiNER's gliner_config.json, where needed. A bert_config.json becomes a
// config.json that every program knows, completed with what the weights say; int8 is marked, so
// that no other program takes the weights for floats: without a quant_method, transformers refuses
// the directory, but ignores one that it does not know.
void write_config(const bert::Info& info, const fs::path& to, bool is_int8, bool is_adapted) {
  const fs::path gliner = to / "gliner_config.json", google = to / "bert_config.json";
  const fs::path path = fs::exists(gliner) ? gliner : to / "config.json";
  const bool is_google = !fs::exists(path);
  nlohmann::ordered_json config;
  {
    const models::JsonFile file(is_google ? google : path);
    config = nlohmann::ordered_json::parse(file.root().dump());
    if (!is_google && !is_int8 && !is_adapted && !file.has(kAdapters)) return;
  }
  if (config.contains(kAdapters)) config[kAdapters] = nullptr;  // they were added, or left out
  if (is_google) {
    config["model_type"] = "bert";
    fs::remove(google);
  }
  if (is_google || (is_adapted && path != gliner)) set_head(info, config);
  fs::remove(path);  // the copy of a read-only file is read-only too
  if (is_int8) {
    config["quantization_config"] = {{"written_by", "bert-convert"}, {"bits", 8}};
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

void write_directory(const bert::Model& model, const fs::path& from, bool is_adapted,
                     NewDirectory& directory, const Stop& stop) {
  const fs::path to = directory.begin();
  copy_others(from, to, directory.target(), stop);
  write_config(model.info(), to, model.info().precision == "int8", is_adapted);
  OutputFile out(to / NewDirectory::kWeights);
  models::write_converted(model, [&](std::string_view bytes) {
    check(stop);
    out.append(bytes);
  });
  out.close();
  directory.finish();
}

int convert(const ConvertOptions& options) {
  if (options.load.precision != Precision::int8 && options.load.precision != Precision::bf16) {
    throw UsageError("--precision is required: int8 or bf16");
  }
  if (options.output.empty()) throw UsageError("--output is empty, expected a directory");
  const std::string from = model_directory(options.model);
  if (const std::string files = models::transformer_folder(from); files != from) {
    throw std::runtime_error(
        fmt::format("{}: its modules.json has the model in {}, expected it in the directory itself",
                    from, files));
  }
  NewDirectory directory(options.output);
  bert::Options load = options.load;
  load.progress = loading_bar();
  const bert::Model model = bert::Model::load(from, load);
  for (const std::string& note : model.info().notes) spdlog::info("note: {}", note);
  const Stop stop;
  try {
    write_directory(model, from, !load.adapter.empty(), directory, stop);
  } catch (const Interrupted&) {
    directory.remove();
    spdlog::error("{}: {} is not written", strsignal(stop.signal()), options.output);
    stop.end_process();
  }
  const fs::path& to = directory.target();
  spdlog::info("{}: {:.1f} MB of weights, {} has {:.1f} MB", options.output,
               static_cast<double>(size_of(to)) / 1e6, from,
               static_cast<double>(size_of(from)) / 1e6);
  return 0;
}

void declare(CLI::App& app, ConvertOptions& options) {
  app.add_option("-m,--model", options.model)->type_name("DIR");
  app.add_option("-o,--output", options.output)->required()->type_name("DIR");
  add_precision(app, options.load.precision);
  app.add_option("--adapter", options.load.adapter)->check(not_empty());
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
