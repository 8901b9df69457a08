// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace bert::tools {

// The pages in tools/report/page/, which page_sources.cc.in makes a part of the programs.
enum class PageKind { regress, bench, embeddings, attention, projector };

// A page in one file that needs no network: the data as JSON, and the scripts that draw it. Nothing
// in the data is ever markup.
std::string report_page(PageKind kind, const nlohmann::ordered_json& data);

}  // namespace bert::tools
