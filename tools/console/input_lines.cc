// SPDX-License-Identifier: Apache-2.0
#include "tools/console/input_lines.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bert::tools {
namespace {

constexpr size_t kMaxLineBytes = size_t{64} << 20;
constexpr size_t kReadBytes = size_t{1} << 18;

// Abbreviates what a user wrote, which may be megabytes, at a character boundary.
std::string shown(std::string_view text, size_t end = 60) {
  if (text.size() <= end) return std::string(text);
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

[[noreturn]] void fail(const std::string& reason) { throw std::runtime_error(reason); }

std::vector<std::string> fields_of(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string> fields;
  for (size_t begin = 0;;) {
    const size_t tab = line.find('\t', begin);
    fields.emplace_back(line.substr(begin, tab - begin));
    if (tab == std::string_view::npos) return fields;
    begin = tab + 1;
  }
}

bert::Input parse_tsv(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) fail("the line is empty");
  const size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return {std::string(line)};
  const std::string_view second = line.substr(tab + 1);
  if (second.find('\t') != std::string_view::npos) {
    fail("more than two tab-separated fields, expected first or first<TAB>second");
  }
  return {std::string(line.substr(0, tab)), std::string(second)};
}

// Takes the parser's events rather than a document, so that a line cannot cost more memory than its
// own length, and duplicate keys are noticed.
class JsonInput final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonInput(bool chooses) : chooses_(chooses) {}

  bool null() override { wrong("null"); }
  bool boolean(bool value) override { wrong(value ? "true" : "false"); }
  bool number_integer(int64_t value) override { return number(value); }
  bool number_unsigned(uint64_t value) override {
    if (value > std::numeric_limits<int32_t>::max()) wrong(fmt::format("{}", value));
    return number(static_cast<int64_t>(value));
  }
  bool number_float(double, const std::string& text) override { wrong(shown(text)); }
  bool binary(nlohmann::json::binary_t&) override { wrong("binary data"); }
  bool string(std::string& value) override {
    if (in_array_ && chooses_) return choices_->push_back(std::move(value)), true;
    if (key_ != "first" && key_ != "second") wrong("a string");
    text(key_ == "first").emplace(std::move(value));
    return true;
  }
  bool start_object(size_t) override {
    if (started_) wrong("an object");
    return started_ = true;
  }
  bool end_object() override { return true; }
  bool start_array(size_t) override {
    const bool is_text = key_.empty() || key_ == "first" || key_ == "second";
    if (in_array_ || is_text) wrong("an array");
    chooses_ ? void(choices_.emplace()) : void(numbers().emplace());
    return in_array_ = true;
  }
  bool end_array() override {
    in_array_ = false;
    return true;
  }
  bool key(std::string& name) override {
    const bool is_text = name == "first" || (name == "second" && !chooses_);
    const bool is_array = chooses_ ? name == "choices" : name == "ids" || name == "type_ids";
    if (!is_text && !is_array) {
      fail(fmt::format("unknown key \"{}\", expected {}", shown(name),
                       chooses_ ? "first or choices" : "first, second, ids or type_ids"));
    }
    key_ = std::move(name);
    const bool twice = is_text    ? text(key_ == "first").has_value()
                       : chooses_ ? choices_.has_value()
                                  : numbers().has_value();
    if (twice) fail(fmt::format("\"{}\" is given twice", key_));
    return true;
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    // what() reads "[id] parse error at line 1, column 7: reason; last read: ...", or "[id]
    // reason".
    std::string_view what = error.what();
    what.remove_prefix(what.find("] ") + 2);
    if (what.starts_with("parse error at")) what.remove_prefix(what.find(": ") + 2);
    what = what.substr(0, what.find("; last read"));
    fail(fmt::format("not JSON at byte {}: {}", std::max<size_t>(position, 1) - 1,
                     shown(what, 160)));
  }

  bert::Choices take_choices() {
    if (!first_) fail("\"first\" is not given");
    if (!choices_) fail("\"choices\" is not given");
    return {std::move(*first_), std::move(*choices_)};
  }

  std::variant<bert::Input, bert::Encoding> take() {
    if (first_.has_value() == ids_.has_value()) {
      fail(first_ ? "both \"first\" and \"ids\" are given, expected one of them"
                  : "neither \"first\" nor \"ids\" is given");
    }
    if (first_) {
      if (type_ids_) fail("\"type_ids\" goes with \"ids\", not with text");
      return bert::Input{std::move(*first_), std::move(second_)};
    }
    if (second_) fail("\"second\" goes with \"first\", not with \"ids\"");
    if (ids_->empty()) fail("\"ids\" is empty, expected at least one id");
    if (!type_ids_) type_ids_.emplace(ids_->size(), 0);
    if (type_ids_->size() != ids_->size()) {
      fail(fmt::format("\"type_ids\" holds {} numbers, expected {} as in \"ids\"",
                       type_ids_->size(), ids_->size()));
    }
    bert::Encoding encoding;
    encoding.ids = std::move(*ids_);
    encoding.type_ids = std::move(*type_ids_);
    return encoding;
  }

 private:
  std::optional<std::string>& text(bool first) { return first ? first_ : second_; }
  std::optional<std::vector<int32_t>>& numbers() { return key_ == "ids" ? ids_ : type_ids_; }

  bool number(int64_t value) {
    if (!in_array_ || chooses_ || value < 0) wrong(fmt::format("{}", value));
    numbers()->push_back(static_cast<int32_t>(value));
    return true;
  }

  [[noreturn]] void wrong(std::string_view found) const {
    if (key_.empty()) fail(fmt::format("found {}, expected a JSON object", found));
    if (key_ == "first" || key_ == "second") {
      fail(fmt::format("\"{}\" is {}, expected a string", key_, found));
    }
    if (!in_array_) {
      fail(fmt::format("\"{}\" is {}, expected an array of {}", key_, found,
                       chooses_ ? "strings" : "integers"));
    }
    if (chooses_) fail(fmt::format("\"{}\" holds {}, expected strings", key_, found));
    fail(fmt::format("\"{}\" holds {}, expected integers from 0 to {}", key_, found,
                     std::numeric_limits<int32_t>::max()));
  }

  const bool chooses_;
  bool started_ = false, in_array_ = false;
  std::string key_;  // whose value comes next
  std::optional<std::string> first_, second_;
  std::optional<std::vector<int32_t>> ids_, type_ids_;
  std::optional<std::vector<std::string>> choices_;
};

void read_json(std::string_view line, JsonInput& input) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) fail("the line is empty");
  // The parser would take this for the end.
  const size_t nul = line.find('\0');
  if (nul != std::string_view::npos) fail(fmt::format("not JSON at byte {}: the byte is 0", nul));
  nlohmann::json::sax_parse(line.begin(), line.end(), &input);
}

std::string system_error(int error) { return std::system_category().message(error); }

}  // namespace

std::variant<bert::Input, bert::Encoding> parse_line(std::string_view line, InputFormat format) {
  if (format == InputFormat::tsv) return parse_tsv(line);
  JsonInput input(/*chooses=*/false);
  read_json(line, input);
  return input.take();
}

bert::Choices parse_choices(std::string_view line, InputFormat format) {
  if (format == InputFormat::jsonl) {
    JsonInput input(/*chooses=*/true);
    read_json(line, input);
    return input.take_choices();
  }
  std::vector<std::string> fields = fields_of(line);
  return {fields[0], {fields.begin() + 1, fields.end()}};
}

std::optional<std::string_view> LineReader::next() {
  size_t scanned = begin_;
  for (;;) {
    const size_t end = buffer_.find('\n', scanned);
    const bool last = end == std::string::npos && ended_;
    if (last && begin_ == buffer_.size()) return std::nullopt;
    const size_t length = (end == std::string::npos ? buffer_.size() : end) - begin_;
    if (length > kMaxLineBytes) {
      throw std::runtime_error(line_error(
          name_, number_ + 1, fmt::format("the line is longer than {} bytes", kMaxLineBytes)));
    }
    if (last || end != std::string::npos) {
      const std::string_view line = std::string_view(buffer_).substr(begin_, length);
      begin_ += length + (last ? 0 : 1);
      ++number_;
      return line;
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    scanned = length;
    fill();
  }
}

bool LineReader::ready() const { return buffer_.find('\n', begin_) != std::string::npos; }

void LineReader::fill() {
  pollfd wait[] = {{fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  while (poll(wait, 2, -1) < 0) {
    if (errno != EINTR)
      fail(fmt::format("{}: cannot wait for input: {}", name_, system_error(errno)));
  }
  if (wait[1].revents != 0) {
    buffer_.clear();
    ended_ = true;
    return;
  }
  const size_t size = buffer_.size();
  buffer_.resize(size + kReadBytes);
  ssize_t got = 0;
  do {
    got = read(fd_, buffer_.data() + size, kReadBytes);
  } while (got < 0 && (errno == EINTR || errno == EAGAIN));
  if (got < 0) fail(fmt::format("{}: cannot be read: {}", name_, system_error(errno)));
  buffer_.resize(size + static_cast<size_t>(got));
  ended_ = got == 0;
}

std::string line_error(std::string_view file, int64_t line, std::string_view reason) {
  return fmt::format("{}:{}: {}", file, line, reason);
}

std::string_view reason_alone(std::string_view what) {
  constexpr std::string_view kPlace = "input 0: ";
  return what.starts_with(kPlace) ? what.substr(kPlace.size()) : what;
}

InputFile::InputFile(const std::string& path) : name_(path == "-" ? "<stdin>" : path) {
  fd_ = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) {
    throw std::runtime_error(
        fmt::format("{}: cannot be opened: {}", name_, std::system_category().message(errno)));
  }
  struct stat status {};
  if (fstat(fd_, &status) == 0 && S_ISDIR(status.st_mode)) {
    throw std::runtime_error(fmt::format("{}: is a directory, expected a file", name_));
  }
}

InputFile::~InputFile() {
  if (fd_ > STDERR_FILENO) close(fd_);
}

}  // namespace bert::tools
