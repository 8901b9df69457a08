// SPDX-License-Identifier: Apache-2.0
//
// What the header of a request says.
#pragma once

#include <optional>
#include <string>

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "tools/serve/http/http_message.h"

namespace bert::tools::serve {

using HttpMessage = boost::beast::http::request<boost::beast::http::string_body>;

// Fills in what a header says, also one that could be read only in part. caller_header: see
// HttpLimits. The id stays "" where the client has none that may be used.
void read_head(const HttpMessage& message, const std::string& caller_header, HttpRequest& request);

struct HeadError {
  int status;
  std::string reason;
};
// Why no such request is served, whatever it asks for.
std::optional<HeadError> find_head_error(const HttpMessage& message);

}  // namespace bert::tools::serve
