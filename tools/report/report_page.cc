// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report_page.h"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tools/report/page_sources.h"

namespace bert::tools {
namespace {

struct Page {
  std::string_view title, script;
};

Page find_page(PageKind kind) {
  switch (kind) {
    case PageKind::regress:
      return {"bert-regress", kRegressScript};
    case PageKind::bench:
      return {"bert-bench", kBenchScript};
    case PageKind::embeddings:
      return {"bert-infer: the embedding layer", kEmbeddingsScript};
    case PageKind::attention:
      return {"bert-infer: attention", kAttentionScript};
    case PageKind::projector:
      return {"bert-infer: embeddings", kProjectorScript};
  }
  throw std::logic_error("unknown page");
}

// JSON inside of HTML: ASCII alone, and no "<", which could end the script or begin a comment.
std::string embedded(const nlohmann::ordered_json& data) {
  const std::string json =
      data.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::string text;
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

// The template with each {{name}} replaced, in one pass: what comes in is not searched again.
std::string fill(std::string_view shell,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string text;
  for (size_t at = 0; at < shell.size();) {
    const size_t begin = std::min(shell.find("{{", at), shell.size());
    text += shell.substr(at, begin - at);
    if (begin == shell.size()) break;
    const size_t end = shell.find("}}", begin);
    const std::string_view name = shell.substr(begin + 2, end - begin - 2);
    for (const auto& [key, value] : values) {
      if (key == name) text += value;
    }
    at = end + 2;
  }
  return text;
}

}  // namespace

std::string report_page(PageKind kind, const nlohmann::ordered_json& data) {
  const Page page = find_page(kind);
  return fill(kPageShell, {{"title", page.title},
                           {"style", kPageStyle},
                           {"data", embedded(data)},
                           {"common", kCommonScript},
                           {"charts", kChartsScript},
                           {"script", page.script}});
}

}  // namespace bert::tools
