// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "tools/serve/http/http_server.h"
#include "tools/serve/routes/route.h"

namespace bert::tools::serve {

// From a request to its route, the model's queue and the answer.
class Service final : public HttpHandler {
 public:
  // api_key: "" for none. access_log: where each response is noted, or null.
  Service(const ServeLimits& limits, std::string api_key,
          std::shared_ptr<spdlog::logger> access_log);
  // Requests that still wait for their turn are not answered.
  ~Service();

  // Where answers are spelt, as HttpServer::post() does it; must be set before requests come.
  using Post = std::function<void(std::function<void()> work, bool is_long)>;
  void set_post(Post post, std::function<HttpStatistics()> statistics);
  // Whether all models were loaded; `stops` is asked before each, and ends it.
  bool load(const std::vector<ServedModels::Source>& sources, const bert::Options& options,
            const std::function<bool()>& stops = {});
  // From now on, requests for computation are refused.
  void stop() { state_.draining = true; }

  bool takes(const HttpRequest& request, HttpResponse& response) override;
  void handle(HttpRequest request, Reply reply) override;
  HttpResponse refuse(const HttpRequest& request, int status, const std::string& reason) override;
  void log(const HttpRequest& request, const HttpResponse& response, size_t bytes) override;

 private:
  struct Pending;
  struct Answer {
    std::shared_ptr<Pending> pending;
    Work::Spell spell;
  };

  void check_key(std::string_view authorization) const;
  void check(const HttpRequest& request, const FoundRoute& found, bool is_ready) const;
  const ServedModels* models() const { return state_.ready ? &state_.models : nullptr; }
  void run(const HttpRequest& request, const FoundRoute& found, const Reply& reply);
  void start(const HttpRequest& request, const FoundRoute& found, const Reply& reply);
  void ask(const HttpRequest& request, std::shared_ptr<Pending> pending, Work work,
           const Reply& reply);
  void deliver(Answer answer, bool is_long);
  void count_batches();
  void hand_on();
  void finish(Pending& pending, const Work::Spell& spell);
  HttpResponse failed(Dialect dialect, const RequestError& error);
  void add_headers(const Pending& pending, int64_t tokens, HttpResponse& response);

  const std::string api_key_;
  const std::shared_ptr<spdlog::logger> access_log_;
  Post post_;
  std::mutex mutex_;
  std::vector<Answer> answers_;    // of batches, which are handed on together
  bert::QueueStatistics batches_;  // those that were counted
  ServeState state_;               // last, as its queues call what is above
};

}  // namespace bert::tools::serve
