// SPDX-License-Identifier: Apache-2.0
//
// Files for the embedding projector (projector.tensorflow.org, or a copy of it without network):
// vectors.tsv, metadata.tsv; and index.html, which shows the same without it. They get their names
// together, once all are whole.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tokenizer/unicode/printable.h"
#include "tools/console/numbers.h"
#include "tools/infer/pages/page_writer.h"
#include "tools/infer/pages/projection.h"
#include "tools/report/environment.h"
#include "tools/report/report_page.h"

namespace bert::tools {
namespace {

using nlohmann::ordered_json;

// Where the JSON string or value that begins at `at` ends, of members as KeptValues writes them.
size_t end_of_value(std::string_view json, size_t at) {
  int64_t depth = 0;
  for (bool is_quoted = false; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '\\') {
      ++at;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (is_quoted) {
      continue;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (depth == 0 && (c == ',' || c == ':')) {
      break;
    }
  }
  return at;
}

// The value of one of these members: of a string what it holds, of others how they are spelled. A
// document would change long numbers, and dump deep ones by recursion.
std::string text_of(std::string_view kept, const std::string& key) {
  std::string name;
  append_quoted(name, key);
  for (size_t at = 0; at < kept.size();) {
    const size_t colon = end_of_value(kept, at), begin = colon + 2;
    const size_t end = end_of_value(kept, begin);
    const std::string_view value = kept.substr(begin, end - begin);
    if (kept.substr(at, colon - at) == name) {
      return value.starts_with('"') ? ordered_json::parse(value).get<std::string>()
                                    : std::string(value);
    }
    at = end + 2;
  }
  return "";
}

class ProjectorWriter final : public AnswerWriter {
 public:
  ProjectorWriter(const InferOptions& options, const LoadedModel& loaded, OutputFile& file)
      : AnswerWriter(file),
        options_(options),
        loaded_(loaded),
        metadata_(path("metadata.tsv")),
        page_(path("index.html")) {
    shown_.columns = loaded.info.embedding;
    std::string header = "index\ttext";
    for (const std::string& key : options.keep) header += '\t' + tokenizer::printable(key);
    metadata_.append(header + '\n');
  }

  void write(const InputName& input, const Answers& answers, size_t i) override {
    const std::span<const float> vector = answers.row(i);
    std::string line;
    for (const float value : vector) {
      if (!line.empty()) line += '\t';
      append_finite(line, value);
    }
    // Neither a tab nor a line's end may stand in a field.
    std::string fields = fmt::format("{}\t{}", input.index, tokenizer::printable(input.text));
    for (const std::string& key : options_.keep) {
      fields += '\t' + tokenizer::printable(text_of(input.kept, key));
    }
    metadata_.append(fields + '\n');
    file_.append(line + '\n');
    // In step with the vectors: on a full disk, little of their metadata is still to be written.
    if (file_.is_flushed()) metadata_.flush();
    ++count_;
    if (shown_.rows < kMostShown) show(input, vector);
  }

  void flush() override {
    file_.flush();
    metadata_.flush();
    page_.flush();
  }

  void finish() override { page_.append(report_page(PageKind::projector, describe())); }

  // Without a page, for which there may be no room.
  int64_t finish_cut() override {
    page_.truncate(0);
    const int64_t vectors = file_.cut();  // first: it makes room
    try {
      metadata_.flush_again();
    } catch (const OutputError&) {  // as many of its lines as there is room for
    }
    const int64_t answers = std::min(vectors, std::max<int64_t>(0, metadata_.cut() - 1));
    file_.truncate(end_of_lines(file_.partial(), answers));
    metadata_.truncate(end_of_lines(metadata_.partial(), answers + 1));
    return answers;
  }

  void close() override {
    for (OutputFile* const file : {&file_, &metadata_, &page_}) file->sync();
    page_.close();
    metadata_.close();
    file_.close();
  }

  std::string keep_partial() override {
    page_.size() > 0 ? void(page_.keep_partial()) : page_.discard();
    metadata_.keep_partial();
    return file_.keep_partial();
  }

  void discard() override {
    file_.discard();
    metadata_.discard();
    page_.discard();
  }

 private:
  static constexpr int64_t kMostShown = 2000;  // on the page: each is compared with each
  static constexpr size_t kNeighbours = 10;

  static int64_t end_of_lines(const std::string& path, int64_t count) {
    std::ifstream file(path, std::ios::binary);
    int64_t end = 0;
    std::string line;
    for (int64_t i = 0; i < count && std::getline(file, line); ++i) end += std::ssize(line) + 1;
    return end;
  }

  std::string path(const char* name) const {
    return std::filesystem::path(options_.projector) / name;
  }

  void show(const InputName& input, std::span<const float> vector) {
    shown_.values.insert(shown_.values.end(), vector.begin(), vector.end());
    ++shown_.rows;
    ordered_json point = {{"index", input.index}, {"text", input.text}};
    for (const std::string& key : options_.keep) point["kept"].push_back(text_of(input.kept, key));
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
  OutputFile metadata_, page_;
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
