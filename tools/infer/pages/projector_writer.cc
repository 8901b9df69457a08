// SPDX-License-Identifier: Apache-2.0
//
// Files for the embedding projector (projector.tensorflow.org, or a copy of it without network):
// vectors.tsv, metadata.tsv; and index.html, which shows the same without it.
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tokenizer/unicode/printable.h"
#include "tools/infer/answers/numbers.h"
#include "tools/infer/pages/page_writer.h"
#include "tools/infer/pages/projection.h"
#include "tools/report/environment.h"
#include "tools/report/report_page.h"

namespace bert::tools {
namespace {

using nlohmann::ordered_json;

class ProjectorWriter final : public AnswerWriter {
 public:
  ProjectorWriter(const InferOptions& options, const LoadedModel& loaded, OutputFile& file)
      : AnswerWriter(file), options_(options), loaded_(loaded), metadata_(path("metadata.tsv")) {
    shown_.columns = loaded.info.embedding;
    std::string header = "index\ttext";
    for (const std::string& key : options.keep) header += '\t' + tokenizer::printable(key);
    metadata_.append(header + '\n');
  }
  // After a full disk: without vectors, the beginning of their metadata is of no use.
  ~ProjectorWriter() override { metadata_.discard(); }

  void write(const InputName& input, const Answers& answers, size_t i) override {
    const std::span<const float> vector = answers.row(i);
    std::string line;
    for (const float value : vector) {
      if (!line.empty()) line += '\t';
      append_finite(line, value);
    }
    file_.append(line + '\n');
    const ordered_json kept = ordered_json::parse("{" + std::string(input.kept) + "}");
    // Neither a tab nor a line's end may stand in a field.
    std::string fields = fmt::format("{}\t{}", input.index, tokenizer::printable(input.text));
    for (const std::string& key : options_.keep) {
      fields += '\t' + tokenizer::printable(text_of(kept, key));
    }
    metadata_.append(fields + '\n');
    ++count_;
    if (shown_.rows < kMostShown) show(input, kept, vector);
  }

  void flush() override {
    file_.flush();
    metadata_.flush();
  }

  void finish() override {
    if (count_ == 0) return metadata_.discard();
    metadata_.close();
    OutputFile page(path("index.html"));
    page.append(report_page(PageKind::projector, describe()));
    page.close();
  }

 private:
  static constexpr int64_t kMostShown = 2000;  // on the page: each is compared with each
  static constexpr size_t kNeighbours = 10;

  std::string path(const char* name) const {
    return std::filesystem::path(options_.projector) / name;
  }

  static std::string text_of(const ordered_json& kept, const std::string& key) {
    if (!kept.contains(key)) return "";
    return kept[key].is_string() ? kept[key].get<std::string>() : kept[key].dump();
  }

  void show(const InputName& input, const ordered_json& kept, std::span<const float> vector) {
    shown_.values.insert(shown_.values.end(), vector.begin(), vector.end());
    ++shown_.rows;
    ordered_json point = {{"index", input.index}, {"text", input.text}};
    for (const std::string& key : options_.keep) point["kept"].push_back(text_of(kept, key));
    points_.push_back(std::move(point));
  }

  ordered_json describe() {
    const Projection projection = principal_components(shown_, 3);
    const auto neighbours = nearest_neighbours(shown_, kNeighbours);
    for (size_t i = 0; i < points_.size(); ++i) {
      ordered_json at = ordered_json::array(), near = ordered_json::array();
      for (const float value : projection.coordinates.row(static_cast<int64_t>(i))) {
        at.push_back(rounded_number(value, 4));
      }
      for (const Neighbour& other : neighbours[i]) {
        near.push_back({other.index, rounded_number(other.similarity, 4)});
      }
      points_[i]["at"] = at;
      points_[i]["near"] = near;
    }
    ordered_json shares = ordered_json::array();
    for (const double share : projection.shares) shares.push_back(rounded_number(share, 4));
    return {{"model", loaded_.directory}, {"environment", describe_environment(*loaded_.model)},
            {"vectors", count_},          {"size", shown_.columns},
            {"kept", options_.keep},      {"shares", shares},
            {"points", points_}};
  }

  const InferOptions& options_;
  const LoadedModel& loaded_;
  OutputFile metadata_;
  int64_t count_ = 0;
  bert::Output shown_;                           // the first vectors
  ordered_json points_ = ordered_json::array();  // of these
};

}  // namespace

std::unique_ptr<AnswerWriter> make_projector_writer(const InferOptions& options,
                                                    const LoadedModel& loaded, OutputFile& file) {
  return std::make_unique<ProjectorWriter>(options, loaded, file);
}

}  // namespace bert::tools
