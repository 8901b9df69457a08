// SPDX-License-Identifier: Apache-2.0
//
// What a handler sees of HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bert::tools::serve {

using Clock = std::chrono::steady_clock;

struct HttpRequest {
  std::string method;         // "GET", "POST", ... as sent
  std::string path;           // without the query; percent-encoded as sent
  std::string query;          // after "?"
  std::string id;             // the client's x-request-id, or one of our own
  std::string authorization;  // the header, or ""
  std::string body;
  std::string client;      // its address and port, for the log
  std::string caller;      // whom it counts for among others: see HttpLimits::caller_header
  Clock::time_point came;  // when its first byte was read
  std::stop_token gone;    // stop is requested when the client hangs up
};

struct HttpResponse {
  int status = 200;
  std::string body = {};
  std::string_view type = "application/json";  // must outlive the response: a literal
  std::vector<std::pair<std::string_view, std::string>> headers = {};  // names are literals too
};

using Reply = std::function<void(HttpResponse)>;

}  // namespace bert::tools::serve
