// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/shards/merge_command.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "tools/console/command_line.h"
#include "tools/console/counted.h"
#include "tools/console/lines/input_lines.h"
#include "tools/console/output_file.h"
#include "tools/console/signals/stop.h"
#include "tools/infer/shards/indexed_lines.h"

namespace bert::tools {
namespace {

constexpr const char* kManual = R"(bert-infer merge: the answers of all shards in one file

  bert-infer merge -o FILE PART...

The parts are what bert-infer --shard 0/N to N-1/N wrote, in any order: .jsonl or .tsv, compressed
or not. FILE gets the bytes that one run without --shard would have written. An answer that is cut,
there twice, or missing before the last one of all is an error, and so are answers of different
tasks, and a part that an interrupted run has left (.partial). (To classify the text "merge":
bert-infer -- merge)

  -o, --output FILE    .jsonl or .tsv, as the parts; - (default) is standard output
      --format F       jsonl or tsv, whatever the ending
      --allow-gaps     answers may be missing: in .tsv, those of lines that --on-error skip has left
                       out; or those of shards that are merged later
  -h, --help           this text
      --version        versions of this and of oneDNN, backend, instruction set
)";

struct MergeOptions {
  std::vector<std::string> parts;
  std::string output = "-";
  std::optional<OutputFormat> format;
  bool allows_gaps = false;
};

OutputFormat format_of(const MergeOptions& options) {
  if (options.format) return *options.format;
  const bool is_by_part = options.output == "-";
  std::string_view name = is_by_part ? options.parts.front() : options.output;
  for (const std::string_view ending : {".gz", ".zst"}) {  // of parts alone: it compresses nothing
    if (is_by_part && name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  if (name.ends_with(".jsonl")) return OutputFormat::jsonl;
  if (name.ends_with(".tsv")) return OutputFormat::tsv;
  throw UsageError(
      fmt::format("{}: expected a name that ends in .jsonl or .tsv, or --format", name));
}

// Where the JSON object at the beginning ends; npos if it was cut, so that something stays open.
size_t end_of_object(std::string_view json) {
  int64_t depth = 0;
  bool is_quoted = false;
  for (size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (is_quoted) {
      if (c == '\\') ++at;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// What was computed, such as "logits": the first key after the index and what --keep passes
// through. Nothing if a line was skipped instead.
std::string_view kind_of(std::string_view line) {
  constexpr std::string_view kKept = "\"kept\": ";
  const auto skip = [&line](size_t bytes) { line.remove_prefix(std::min(bytes, line.size())); };
  skip(line.find(',') + 2);
  if (line.starts_with(kKept)) {
    skip(kKept.size());
    skip(end_of_object(line) + 2);
  }
  if (!line.starts_with('"') || line.starts_with("\"error\": ")) return {};
  skip(1);
  return line.substr(0, line.find('"'));
}

// Hidden states and attention of a long text take more than a line of input may.
constexpr size_t kMaxAnswerBytes = size_t{4} << 30;

// The answers of one shard.
class Part {
 public:
  Part(const std::string& path, OutputFormat format, const Stop& stop)
      : file_(path), lines_(file_.fd(), file_.name(), stop.fd(), kMaxAnswerBytes), format_(format) {
    if (path.ends_with(".partial")) {
      throw std::runtime_error(path +
                               ": is what an interrupted run has left; --resume finishes it");
    }
    if (format == OutputFormat::tsv) read_header(stop);
    advance();
  }
  const std::string& name() const { return file_.name(); }
  const std::string& header() const { return header_; }
  std::optional<int64_t> index() const { return index_; }  // of the next answer, if there is one
  std::string_view line() const { return line_; }

  void advance() {
    const auto before = index_;
    const auto line = next_line();
    index_ = line ? index_of(*line, format_) : std::nullopt;
    if (!line) return;
    line_ = *line;
    if (!index_) fail("is not an answer of bert-infer's");
    if (!is_whole()) fail("is not a whole answer: the part was cut");
    if (before && *index_ <= *before) {
      fail(fmt::format("the index {} follows {}, expected ascending ones", *index_, *before));
    }
  }

 private:
  void read_header(const Stop& stop) {
    const auto line = next_line();
    if (!line && stop.signal() == 0) {
      throw std::runtime_error(name() + ": is empty, expected a header, as in each whole .tsv");
    }
    header_ = std::string(line.value_or(""));
  }

  [[noreturn]] void fail(std::string_view reason) const {
    throw std::runtime_error(line_error(name(), lines_.number(), reason));
  }

  std::optional<std::string_view> next_line() {
    try {
      const auto line = lines_.next();
      // Of a number, nobody could tell whether digits are missing.
      if (line && !lines_.has_end()) fail("has no line break at its end: the part was cut");
      return line;
    } catch (const LongLine& error) {
      fail(error.what());
    }
  }

  bool is_whole() const {
    if (format_ == OutputFormat::jsonl) return end_of_object(line_) == line_.size();
    return std::ranges::count(line_, '\t') == std::ranges::count(header_, '\t');
  }

  InputFile file_;
  LineReader lines_;
  const OutputFormat format_;
  std::string header_;
  std::string_view line_;
  std::optional<int64_t> index_;
};

using Parts = std::vector<std::unique_ptr<Part>>;

// The part with the lowest index; null if all have ended.
Part* find_next(const Parts& parts) {
  Part* next = nullptr;
  for (const auto& part : parts) {
    if (part->index() && (!next || *part->index() < *next->index())) next = part.get();
  }
  return next;
}

void write_header(const Parts& parts, OutputFile& output) {
  const std::string& header = parts.front()->header();
  for (const auto& part : parts) {
    if (part->header() == header) continue;
    throw std::runtime_error(
        fmt::format("{}: its header differs from that of {}", part->name(), parts.front()->name()));
  }
  output.append(header + '\n');
}

// All parts are open at the same time.
void allow_open_files(size_t parts) {
  constexpr rlim_t kOthers = 16;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = parts + kOthers;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return;
  throw std::runtime_error(
      fmt::format("{} are too many to be open at the same time, as the limit of open files is {} "
                  "(ulimit -Hn): merge some of them first, with --allow-gaps",
                  counted(static_cast<int64_t>(parts), "part"), limit.rlim_max));
}

// Throws where the next answer cannot follow those before.
class Order {
 public:
  Order(OutputFormat format, bool allows_gaps) : format_(format), allows_gaps_(allows_gaps) {}

  void check(const Part& part) {
    const int64_t index = *part.index();
    if (index < expected_) {
      throw std::runtime_error(
          fmt::format("{}: the index {} is in another part too", part.name(), index));
    }
    if (index > expected_ && !allows_gaps_) {
      const std::string place =
          expected_ == 0 ? "is the lowest of all" : fmt::format("follows {}", expected_ - 1);
      const bool may_be_skipped = format_ == OutputFormat::tsv;
      throw std::runtime_error(
          fmt::format("{}: the index {} {}: no part has {}{}", part.name(), index, place, expected_,
                      may_be_skipped ? " (--allow-gaps, if --on-error skip has left it out)" : ""));
    }
    expected_ = index + 1;
    if (format_ == OutputFormat::jsonl) check_kind(part);
  }

 private:
  void check_kind(const Part& part) {
    const std::string_view kind = kind_of(part.line());
    if (kind_.empty()) kind_ = kind;
    if (kind.empty() || kind == kind_) return;
    throw std::runtime_error(
        fmt::format("{}: the answer with the index {} has \"{}\", expected \"{}\", "
                    "as those before it",
                    part.name(), *part.index(), kind, kind_));
  }

  const OutputFormat format_;
  const bool allows_gaps_;
  int64_t expected_ = 0;
  std::string kind_;
};

void merge(const MergeOptions& options) {
  const OutputFormat format = format_of(options);
  const Stop stop;
  allow_open_files(options.parts.size());
  Parts parts;
  for (const std::string& path : options.parts) {
    parts.push_back(std::make_unique<Part>(path, format, stop));
  }
  refuse_files_read(options.parts, options.output == "-" ? "/dev/stdout" : options.output);
  OutputFile output(options.output);
  if (format == OutputFormat::tsv) write_header(parts, output);
  Order order(format, options.allows_gaps);
  for (Part* next = find_next(parts); next && stop.signal() == 0; next = find_next(parts)) {
    order.check(*next);
    output.append(next->line());
    output.append("\n");
    next->advance();
  }
  if (stop.signal() != 0) {
    output.discard();
    stop.end_process();
  }
  output.close();
}

}  // namespace

int merge_main(int argc, char** argv) {
  MergeOptions options;
  return run_tool(
      "bert-infer", kManual, argc, argv,
      [&](CLI::App& app) {
        app.add_option("-o,--output", options.output)->type_name("FILE")->check(not_empty());
        app.add_option("--format")
            ->check(CLI::IsMember({"jsonl", "tsv"}))
            ->each([&](const std::string& text) {
              options.format = text == "tsv" ? OutputFormat::tsv : OutputFormat::jsonl;
            });
        app.add_flag("--allow-gaps", options.allows_gaps);
        app.add_option("PART", options.parts)->type_name("FILE");
      },
      [&] {
        if (options.parts.empty()) throw UsageError("merge needs at least one part");
        merge(options);
        return 0;
      });
}

}  // namespace bert::tools
