// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/http/request_head.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace bert::tools::serve {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

// What a client may choose as its request's id: it goes into the log and back into a header.
bool is_plain(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::ranges::all_of(id, [](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '\\';
  });
}

// "client, proxy" is what the last proxy writes of the one before it.
std::string last_element(const std::string& list) {
  const size_t begin = list.find_first_not_of(", ", list.rfind(',') + 1);
  return begin == std::string::npos ? "" : list.substr(begin);
}

// "http://host/path" to "/path": servers must accept both (RFC 9112, 3.2.2).
std::string without_host(const std::string& target) {
  const size_t end = target.find("://");
  if (end == std::string::npos) return target;
  const std::string scheme = target.substr(0, end);
  if (!beast::iequals(scheme, "http") && !beast::iequals(scheme, "https")) return target;
  const size_t path = target.find_first_of("/?", end + 3);
  if (path == std::string::npos) return "/";
  return (target[path] == '?' ? "/" : "") + target.substr(path);
}

}  // namespace

void read_head(const HttpMessage& message, const std::string& caller_header, HttpRequest& request) {
  const std::string target = without_host(text(message.target()));
  const size_t question = target.find('?');
  request.method = text(message.method_string());
  request.path = target.substr(0, question);
  if (question != std::string::npos) request.query = target.substr(question + 1);
  request.authorization = text(message[http::field::authorization]);
  if (!caller_header.empty()) {
    const auto [begin, end] = message.equal_range(caller_header);
    if (begin != end) request.caller = last_element(text(std::prev(end)->value()));
  }
  request.id = text(message["x-request-id"]);
  if (!is_plain(request.id)) request.id.clear();
}

std::optional<HeadError> find_head_error(const HttpMessage& message) {
  if (message.find(http::field::transfer_encoding) != message.end() &&
      !beast::iequals(message[http::field::transfer_encoding], "chunked")) {
    return HeadError{501, "the only Transfer-Encoding is chunked"};
  }
  const size_t hosts = message.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && message.version() >= 11)) {
    return HeadError{400, fmt::format("the header has {} lines with a Host, expected one", hosts)};
  }
  const auto json_bytes =
      message["Inference-Header-Content-Length"];  // Triton's: the rest is binary
  if (!json_bytes.empty() && json_bytes != message[http::field::content_length]) {
    return HeadError{
        400,
        "tensors in binary behind the JSON are not supported: send them in it (binary_data=False)"};
  }
  const auto encoding = message[http::field::content_encoding];
  if (!encoding.empty() && !beast::iequals(encoding, "identity")) {
    return HeadError{
        415, fmt::format("the body's Content-Encoding is {}, expected none", text(encoding))};
  }
  return std::nullopt;
}

}  // namespace bert::tools::serve
