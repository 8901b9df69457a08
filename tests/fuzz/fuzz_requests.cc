// SPDX-License-Identifier: Apache-2.0
//
// Arbitrary requests to all routes of bert-serve, with a model of each kind, but without HTTP. The
// first byte is the route or, where there are no so many, says that a method and a path follow, up
// to a line's end; the rest is the body.
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "tools/serve/service.h"

namespace {

using namespace bert::tools::serve;  // NOLINT(google-build-using-namespace): a program of one file

void require(bool holds, const HttpRequest& request, const HttpResponse& response) {
  if (holds) return;
  std::cerr << "violated by " << request.method << ' ' << request.path << ": " << response.status
            << ' ' << response.body.substr(0, 300) << '\n';
  std::abort();
}

std::unique_ptr<Service> make_service() {
  spdlog::set_level(spdlog::level::off);
  auto service =
      std::make_unique<Service>(ServeLimits{.client_batch = 64, .seconds = 3600}, "", nullptr);
  service->set_post([](const std::function<void()>& work, bool) { work(); },
                    [] { return HttpStatistics(); });
  std::vector<ServedModels::Source> sources;
  for (const char* const name : {"plain", "one-label", "bert-tokens", "bert-qa", "bert-mlm",
                                 "st-mean", "bge-m3", "colbert"}) {
    sources.push_back({name, std::string(FIXTURE_DIR "/") + name});
  }
  bert::Options options;
  options.workers = options.threads = 1;
  service->load(sources, options);
  return service;
}

// Tests leave the fuzzer's process without its ends, so the service's threads are left to it too.
Service& service() {
  static Service* const served = make_service().release();
  return *served;
}

HttpRequest read_request(const uint8_t* data, size_t size) {
  HttpRequest request;
  request.caller = "fuzzer";
  request.came = Clock::now();
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto routes = all_routes();
  if (data[0] < routes.size()) {
    request.method = routes[data[0]].method;
    request.path = routes[data[0]].path;
  } else {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    request.method = line.substr(0, line.find(' '));
    request.path = line.substr(std::min(request.method.size() + 1, line.size()));
  }
  for (size_t at; (at = request.path.find("{model}")) != std::string::npos;) {
    request.path.replace(at, 7, "plain");
  }
  request.body = std::move(text);
  return request;
}

HttpResponse answer(const HttpRequest& request) {
  HttpResponse refused;
  if (!service().takes(request, refused)) return refused;
  std::promise<HttpResponse> promise;
  service().handle(request, [&](HttpResponse response) {
    promise.set_value(std::move(response));  // throws where it is called twice
  });
  return promise.get_future().get();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const HttpRequest request = read_request(data, size);
  const HttpResponse response = answer(request);
  const int status = response.status;
  require(status == 200 || (status >= 400 && status < 500), request, response);
  if (response.type == "application/json") {
    require(nlohmann::json::accept(response.body), request, response);
  }
  return 0;
}
