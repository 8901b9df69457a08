// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace bert::tools::serve {

// The page for people, page.html, which page.cc.in makes a part of the program.
extern const std::string_view kPage;

}  // namespace bert::tools::serve
