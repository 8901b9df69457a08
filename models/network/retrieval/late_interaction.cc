// SPDX-License-Identifier: Apache-2.0
#include "models/network/retrieval/late_interaction.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bert::models {
namespace {

// PyLate's markers end in a space, "[Q] "; the vocabulary's may not.
std::optional<int32_t> find_marker(const TokenSettings::Side& side,
                                   const tokenizer::TextEncoder& tokenizer) {
  if (side.marker.empty()) return std::nullopt;
  int32_t id = tokenizer.find(side.marker);
  if (id < 0) id = tokenizer.find(side.marker.substr(0, side.marker.find(' ')));
  if (id >= 0) return id;
  throw std::runtime_error(fmt::format("{}: \"{}\" is not a token of {}", side.marker_field,
                                       side.marker, tokenizer.file()));
}

int32_t find_filler(const std::string& token, const tokenizer::TextEncoder& tokenizer) {
  const int32_t id = token.empty() ? tokenizer.mask_id() : tokenizer.find(token);
  if (id >= 0) return id;
  throw std::runtime_error(
      fmt::format("{}: queries are padded with {}, which is not in the vocabulary",
                  tokenizer.file(), token.empty() ? "the mask token" : '"' + token + '"'));
}

}  // namespace

LateInteraction::LateInteraction(const TokenSettings& settings,
                                 const tokenizer::TextEncoder& tokenizer, const Config& config,
                                 int max_length, int asked_for)
    : has_first_(settings.has_first), is_mean_(settings.is_mean) {
  const auto make_side = [&](const TokenSettings::Side& from, int length) {
    Side side{.prompt = from.prompt, .marker = find_marker(from, tokenizer), .skips = from.skips};
    side.limit = std::min(length > 0 ? length : max_length, config.positions);
    side.limit -= side.marker ? 1 : 0;
    if (side.limit < 1) {
      throw std::runtime_error(from.marker_field +
                               ": a text of one token has no room for the marker");
    }
    return side;
  };
  int query_length = settings.query.length;
  if (const auto& expansion = settings.expansion) {
    expanded_ = expansion->length;
    is_attended_ = expansion->is_attended;
    filler_ = find_filler(expansion->token, tokenizer);
    if (expansion->is_exact) {
      query_length = expanded_;
    } else if (query_length > 0) {
      query_length = std::max(query_length, expanded_);
    }
    if (!is_attended_ && config.position_type == PositionType::disentangled) {
      throw std::runtime_error(config.path +
                               ": queries are padded with tokens that are not attended to, which "
                               "is not supported for deberta-v2");
    }
    if (!is_attended_ && !config.short_convolutions.are_masked.value_or(false)) {
      throw std::runtime_error(config.path +
                               ": queries are padded with tokens that are not attended to, for "
                               "which conv_zero_padding has to be true");
    }
    if (expanded_ > config.positions) {
      throw std::runtime_error(
          fmt::format("{}: queries are padded to {} tokens, but the model has {} positions",
                      config.path, expanded_, config.positions));
    }
  }
  query_ = make_side(settings.query, query_length);
  document_ = make_side(settings.document, asked_for > 0 ? asked_for : settings.document.length);
  find_skiplist(settings, tokenizer, config.path);
}

// Words that are not tokens are left out, as in sentence-transformers.
void LateInteraction::find_skiplist(const TokenSettings& settings,
                                    const tokenizer::TextEncoder& tokenizer,
                                    const std::string& path) {
  std::vector<std::string> unknown;
  for (const std::string& word : settings.skiplist) {
    const int32_t id = tokenizer.find(word);
    if (id >= 0 && (id != tokenizer.unknown_id() || word == tokenizer.token(id))) {
      skiplist_.push_back(id);
    } else {
      unknown.push_back(word);
    }
  }
  std::ranges::sort(skiplist_);
  if (unknown.empty()) return;
  notes_.push_back(
      fmt::format("{}: of the tokens without a vector, {} are not in the vocabulary: {}", path,
                  unknown.size(), fmt::join(unknown, " ")));
}

void LateInteraction::finish(Role role, Encoding& encoding) const {
  if (const auto& marker = side(role).marker) {
    const auto insert = [](auto& values, auto value) {
      values.insert(values.begin() + std::min<int64_t>(1, std::ssize(values)), value);
    };
    insert(encoding.ids, *marker);
    insert(encoding.type_ids, 0);
    insert(encoding.offsets, Offset());
    for (TokenRange* range : {&encoding.first, &encoding.second}) {
      if (*range == TokenRange()) continue;
      ++range->begin;
      ++range->end;
    }
  }
  if (role != Role::query || std::ssize(encoding.ids) >= expanded_) return;
  const auto length = static_cast<size_t>(expanded_);
  if (!is_attended_) encoding.unattended = static_cast<int32_t>(length - encoding.ids.size());
  encoding.ids.resize(length, filler_);
  encoding.type_ids.resize(length);
  encoding.offsets.resize(length);
}

bool LateInteraction::keeps(Role role, int64_t place, int32_t id) const {
  if (place == 0 && !has_first_) return false;
  return !side(role).skips || !std::ranges::binary_search(skiplist_, id);
}

}  // namespace bert::models
