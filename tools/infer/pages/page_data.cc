// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/pages/page_data.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "models/directory/inspection.h"
#include "tools/report/environment.h"

namespace bert::tools {
namespace {

using nlohmann::ordered_json;

ordered_json rounded_rows(const bert::Output& rows) {
  ordered_json all = ordered_json::array();
  for (int64_t i = 0; i < rows.rows; ++i) {
    ordered_json& row = all.emplace_back(ordered_json::array());
    for (const float value : rows.row(i)) row.push_back(rounded_number(value, 4));
  }
  return all;
}

// Where a head's attention goes, of all tokens together. Not from packed_shares: over many tokens,
// what is rounded away there adds up to more than what is left.
ordered_json summed_shares(std::span<const float> head, std::span<const int32_t> segments) {
  const size_t tokens = segments.size();
  double self = 0, first = 0, last = 0, other = 0;
  for (size_t i = 0; i < tokens; ++i) {
    const auto row = head.subspan(i * tokens, tokens);
    self += row[i];
    first += row.front();
    last += row.back();
    for (size_t j = 0; j < tokens; ++j) {
      if ((segments[i] > 0) != (segments[j] > 0)) other += row[j];
    }
  }
  const auto share = [&](double sum) {
    return rounded_number(sum / static_cast<double>(tokens), 4);
  };
  return {{"self", share(self)},
          {"first", share(first)},
          {"last", share(last)},
          {"other", share(other)}};
}

}  // namespace

std::string packed_shares(std::span<const float> values) {
  constexpr const char* kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  constexpr int kBase = 36;
  std::string text;
  for (const float value : values) {
    const auto thousandths = static_cast<int>(std::lround(1000 * std::clamp(value, 0.0f, 1.0f)));
    text += kDigits[thousandths / kBase];
    text += kDigits[thousandths % kBase];
  }
  return text;
}

ordered_json page_tokens(const bert::Tokenizer& tokenizer, const bert::Encoding& encoding) {
  ordered_json tokens = ordered_json::array();
  std::vector<int32_t> known;
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const int32_t id = encoding.ids[i];
    std::string text = std::to_string(id);
    try {
      text = tokenizer.token(id);
      known.push_back(id);
    } catch (const bert::Error&) {  // the table has a row for it, the vocabulary has no token
    }
    tokens.push_back({{"text", text}, {"id", id}, {"segment", encoding.type_ids[i]}});
  }
  return {{"text", known.empty() ? "" : tokenizer.decode(known, false)}, {"tokens", tokens}};
}

ordered_json attention_page(const bert::Model& model, const bert::Encoding& encoding,
                            const bert::Attention& attention, std::span<const int> layers) {
  ordered_json page = page_tokens(model.tokenizer(), encoding);
  page["layers"] = ordered_json::array();
  for (size_t j = 0; j < layers.size(); ++j) {
    const bert::Output& all = attention.layers[j];  // [A * S, S]
    const auto size = static_cast<size_t>(all.columns * all.columns);
    ordered_json heads = ordered_json::array(), sums = ordered_json::array();
    for (size_t at = 0; at < all.values.size(); at += size) {
      const auto head = std::span(all.values).subspan(at, size);
      heads.push_back(packed_shares(head));
      sums.push_back(summed_shares(head, encoding.type_ids));
    }
    const int layer = layers[j] < 0 ? layers[j] + model.info().layers : layers[j];
    page["layers"].push_back({{"layer", layer}, {"heads", heads}, {"sums", sums}});
  }
  return page;
}

ordered_json embedding_page(const bert::Model& model, const bert::Encoding& encoding) {
  const models::EmbeddingParts parts = models::embedding_parts(model, encoding);
  ordered_json page = page_tokens(model.tokenizer(), encoding);
  page["rows"] = parts.rows;
  page["word"] = rounded_rows(parts.word);
  page["position"] = parts.position.rows > 0 ? rounded_rows(parts.position) : ordered_json();
  page["segments"] = nullptr;
  for (int64_t i = 0; i < parts.type.rows; ++i) {
    ordered_json& segment = page["segments"][std::to_string(encoding.type_ids[i])];
    if (!segment.is_null()) continue;
    for (const float value : parts.type.row(i)) segment.push_back(rounded_number(value, 4));
  }
  page["normed"] = rounded_rows(parts.normed);
  page["projected"] = parts.projected;
  return page;
}

ordered_json position_similarities(const bert::Model& model) {
  constexpr int64_t kMost = 512;  // positions on a page
  const models::PositionTable table = models::position_table(model);
  ordered_json page = {{"kind", table.kind}};
  if (table.rows.rows == 0) return page;
  const int64_t step = (table.rows.rows + kMost - 1) / kMost;
  std::vector<float> shares;
  for (int64_t i = 0; i < table.rows.rows; i += step) {
    for (int64_t j = i; j < table.rows.rows; j += step) {
      shares.push_back((1 + bert::similarity(table.rows.row(i), table.rows.row(j))) / 2);
    }
  }
  page["count"] = table.rows.rows;
  page["step"] = step;
  page["similarities"] = packed_shares(shares);
  return page;
}

}  // namespace bert::tools
