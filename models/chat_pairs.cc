// SPDX-License-Identifier: Apache-2.0
#include "models/chat_pairs.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "models/config/sentence_settings.h"
#include "models/config/texts/logit_score.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::models {
namespace {

using Part = ChatTemplate::Part;

void check_text(std::string_view text, const char* which) {
  const size_t invalid = tokenizer::utf8::first_invalid(text);
  if (invalid == std::string_view::npos) return;
  throw std::runtime_error(fmt::format("the {} is not valid UTF-8 at byte {}", which, invalid));
}

// The part of a token that is in a text, from the text's beginning; nothing if there is none.
std::optional<Offset> within(const Offset& token, const Offset& text) {
  const Offset common{std::max(token.begin, text.begin), std::min(token.end, text.end)};
  if (common.begin >= common.end) return std::nullopt;
  return Offset{common.begin - text.begin, common.end - text.begin};
}

void add(TokenRange& range, int32_t token) {
  if (range.begin == range.end) range.begin = token;
  range.end = token + 1;
}

}  // namespace

std::optional<ChatPairs> ChatPairs::load(const std::string& directory, const std::string& prompt,
                                         const tokenizer::TextEncoder& encoder) {
  if (!encoder.takes_text() || !ModuleList(directory).has("LogitScore")) return std::nullopt;
  std::optional<ChatTemplate> chat = read_chat_template(directory, prompt);
  if (!chat) return std::nullopt;
  return ChatPairs(std::move(*chat), encoder);
}

// The template's last tokens are those with which encodings of different texts end.
ChatPairs::ChatPairs(ChatTemplate chat, const tokenizer::TextEncoder& encoder)
    : chat_(std::move(chat)) {
  const auto encode = [&](const std::string& text) {
    Encoding encoding = encoder.encode(render({text, text}).text, std::nullopt, 0);
    finish({}, 0, encoding);
    return std::move(encoding.ids);
  };
  const Encoding empty = encoder.encode("", std::nullopt, 0);
  before_ = empty.first.begin;
  special_ = static_cast<int>(empty.ids.size());
  least_ = static_cast<int>(encode("").size());
  const std::vector<int32_t> one = encode("0"), other = encode("1 2 3 4");
  const auto differs = std::mismatch(one.rbegin(), one.rend(), other.rbegin(), other.rend()).first;
  end_.assign(differs.base(), one.end());
}

ChatPairs::Rendered ChatPairs::render(const Input& input) const {
  if (!input.second) {
    throw std::runtime_error("the model scores pairs, a query and a document: found one text");
  }
  check_text(input.first, "first text");
  check_text(*input.second, "second text");
  Rendered out;
  for (const auto& [part, text] : chat_.pieces) {
    const auto begin = static_cast<int32_t>(tokenizer::utf8::count_scalars(out.text));
    const std::string& piece = part == Part::query      ? input.first
                               : part == Part::document ? *input.second
                                                        : text;
    out.text += piece;
    if (part == Part::text) continue;
    Offset& where = part == Part::query ? out.query : out.document;
    const auto size = static_cast<int32_t>(tokenizer::utf8::count_scalars(piece));
    if (where == Offset()) where = {begin, begin + size};
  }
  return out;
}

void ChatPairs::finish(const Rendered& rendered, int max_length, Encoding& encoding) const {
  if (max_length > 0 && max_length < least_) {
    throw std::runtime_error(fmt::format(
        "max_length: found {}, expected at least {} for the chat template", max_length, least_));
  }
  const TokenRange text = std::exchange(encoding.first, {});
  const auto keep = [&](auto& values) {
    values.erase(values.begin() + text.end, values.end());
    values.erase(values.begin(), values.begin() + text.begin);
  };
  keep(encoding.ids);
  keep(encoding.offsets);
  encoding.type_ids.assign(encoding.ids.size(), 0);
  const size_t replaced = encoding.truncated ? std::min(end_.size(), encoding.ids.size()) : 0;
  std::copy(end_.end() - static_cast<ptrdiff_t>(replaced), end_.end(),
            encoding.ids.end() - static_cast<ptrdiff_t>(replaced));
  std::fill(encoding.offsets.end() - static_cast<ptrdiff_t>(replaced), encoding.offsets.end(),
            Offset());
  for (int32_t t = 0; t < std::ssize(encoding.ids); ++t) {
    Offset& offset = encoding.offsets[t];
    const auto in_query = within(offset, rendered.query);
    const auto in_document = within(offset, rendered.document);
    offset = in_query ? *in_query : in_document.value_or(Offset());
    if (in_query) add(encoding.first, t);
    if (in_document && !in_query) add(encoding.second, t);
  }
}

void ChatPairs::finish(const Encoding& encoding, std::vector<std::string>& strings,
                       const tokenizer::TextEncoder& encoder) const {
  strings.erase(strings.begin(), strings.begin() + before_);
  strings.resize(encoding.ids.size());
  if (!encoding.truncated) return;
  for (size_t i = strings.size() - std::min(end_.size(), strings.size()); i < strings.size(); ++i) {
    strings[i] = encoder.token(encoding.ids[i]);
  }
}

}  // namespace bert::models
