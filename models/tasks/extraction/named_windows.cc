// SPDX-License-Identifier: Apache-2.0
#include "models/tasks/extraction/named_windows.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "models/tasks/extraction/windows.h"

namespace bert::models {
namespace {

// A word's tokens, without those that the template puts around an input.
std::vector<int32_t> ids_of(const tokenizer::TextEncoder& encoder, std::string_view word) {
  const Encoding all = encoder.encode(word, std::nullopt, 0);
  return {all.ids.begin() + all.first.begin, all.ids.begin() + all.first.end};
}

void append(std::vector<int32_t>& to, std::span<const int32_t> ids) {
  to.insert(to.end(), ids.begin(), ids.end());
}

struct Markers {
  int32_t marker;
  std::vector<int32_t> separator;
};

Markers markers_of(const tokenizer::TextEncoder& encoder, const SpanSettings& settings) {
  const std::vector<int32_t> ids = ids_of(encoder, settings.marker);
  const bool is_token = ids.size() == 1 && ids[0] != encoder.unknown_id();
  if (settings.marker_id < 0 && !is_token) {
    const int32_t size = encoder.vocabulary_size();  // as GLiNER adds [FLERT] and the two
    return {size + 1, {size + 2}};
  }
  if (settings.marker_id >= 0 && ids != std::vector{settings.marker_id}) {
    throw std::runtime_error(fmt::format(
        "{}: class_token_index: found {}, but the tokenizer makes {} of {}", settings.path,
        settings.marker_id,
        ids.size() == 1 ? fmt::format("{}", ids[0]) : fmt::format("{} tokens", ids.size()),
        settings.marker));
  }
  return {ids[0], ids_of(encoder, settings.separator)};
}

}  // namespace

NamedLabels::NamedLabels(const tokenizer::TextEncoder& encoder, const SpanSettings& settings,
                         std::span<const std::string> labels) {
  const Encoding empty = encoder.encode("", std::nullopt, 0);
  before.assign(empty.ids.begin(), empty.ids.begin() + empty.first.begin);
  after.assign(empty.ids.begin() + empty.first.end, empty.ids.end());
  const auto [marker, separator] = markers_of(encoder, settings);
  for (size_t i = 0; i < labels.size(); ++i) {
    std::vector<int32_t> ids;
    try {
      ids = ids_of(encoder, labels[i]);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("label {}: {}", i, error.what()));
    }
    if (ids.empty()) throw std::runtime_error(fmt::format("label {} has no tokens", i));
    tokens.push_back(static_cast<int32_t>(before.size()) + (settings.reads_marker ? 0 : 1));
    before.push_back(marker);
    append(before, ids);
  }
  append(before, separator);
}

NamedText read_named(const tokenizer::TextEncoder& encoder, const SpanSettings& settings,
                     const NamedLabels& labels, std::string_view text, int64_t max_length,
                     int64_t stride) {
  NamedText named;
  std::vector<int32_t> ids;
  std::vector<int64_t> begins;  // by word: its first id; and where the last one ends
  for (const Word& word : split_words(text)) {
    const std::vector<int32_t> of_word = ids_of(encoder, word.string);
    if (of_word.empty()) continue;
    named.words.push_back(word);
    begins.push_back(std::ssize(ids));
    append(ids, of_word);
  }
  begins.push_back(std::ssize(ids));
  const int64_t around = std::ssize(labels.before) + std::ssize(labels.after);
  const int64_t room = max_length - around;
  const auto words = std::ssize(named.words);
  const int64_t least = std::min(std::ssize(ids), least_room(max_length));
  if (room < least) {
    throw std::runtime_error(
        fmt::format("inputs have at most {} tokens, expected room for {} of the labels and for {} "
                    "of the text",
                    max_length, around, least));
  }
  for (int64_t first = 0; first < words;) {
    // As many words as fit, but always one, of which then only the first tokens are read.
    int64_t end = first + 1;
    const int64_t most = std::min(words, first + settings.most_words);
    while (end < most && begins[end + 1] - begins[first] <= room) ++end;
    const int64_t size = std::min(room, begins[end] - begins[first]);
    NamedWindow window;
    window.first = static_cast<size_t>(first);
    append(window.encoding.ids, labels.before);
    append(window.encoding.ids, std::span(ids).subspan(begins[first], size));
    append(window.encoding.ids, labels.after);
    window.encoding.type_ids.resize(window.encoding.ids.size());
    for (int64_t word = first; word < end; ++word) {
      window.beginning.push_back(
          static_cast<int32_t>(std::ssize(labels.before) + begins[word] - begins[first]));
    }
    named.windows.push_back(std::move(window));
    if (end == words) break;
    // The next one begins as many tokens earlier as the stride says, if it still reaches further.
    int64_t next = end;
    const int64_t overlap = std::min(stride, size / 2);
    const auto can_begin = [&](int64_t word) {
      return begins[end] - begins[word] <= overlap && begins[end + 1] - begins[word] <= room &&
             end + 1 - word <= settings.most_words;
    };
    while (next > first + 1 && can_begin(next - 1)) --next;
    first = next;
  }
  return named;
}

EntityTokens tokens_of(std::span<const NamedWindow* const> windows, std::span<const int64_t> order,
                       const NamedLabels& labels, const Batch& batch) {
  EntityTokens tokens;
  for (size_t i = 0; i < order.size(); ++i) {
    const int32_t start = batch.starts[i];
    for (const int32_t token : windows[order[i]]->beginning) tokens.words.push_back(start + token);
    for (const int32_t token : labels.tokens) tokens.labels.push_back(start + token);
    tokens.word_starts.push_back(static_cast<int32_t>(tokens.words.size()));
    tokens.label_starts.push_back(static_cast<int32_t>(tokens.labels.size()));
  }
  return tokens;
}

}  // namespace bert::models
