// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace bert::tools::serve {

// OpenAPI 3.1, from the table of routes and their fields.
const std::string& openapi_document();
// The same for people, in HTML.
const std::string& documentation_page();

}  // namespace bert::tools::serve
