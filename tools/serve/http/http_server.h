// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tools/serve/http/http_message.h"

namespace bert::tools::serve {

struct HttpLimits {
  size_t header_bytes = 16384;
  size_t body_bytes = 8'000'000;
  size_t connections = 4096;
  size_t all_bodies = 512'000'000;  // bytes of all large bodies and answers at a time
  // Seconds: between requests, for a header, for a body or an answer (of which each 100 kB adds
  // another one), and for the answers that are due when the server stops.
  int idle = 120, header = 10, transfer = 30, drain = 60;
  // The header, set by a proxy, whose last element identifies the client; "": its address does.
  std::string caller_header = "";
};

struct HttpStatistics {
  int64_t connections = 0;              // open
  int64_t accepted = 0, timed_out = 0;  // since the start
  int64_t unreadable = 0;               // requests that were no HTTP or beyond a limit
};

// What an HttpServer calls.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Whether the body of this request (it is still empty) should be read. If not, `response` is the
  // answer and the connection is closed after it.
  virtual bool takes(const HttpRequest& request, HttpResponse& response) = 0;
  // Answers by calling reply once, at any time, from any thread. Must not throw, nor take long,
  // for which there is HttpServer::post().
  virtual void handle(HttpRequest request, Reply reply) = 0;
  // The answer to a request that cannot be read, of which `request` has what could be: status and
  // reason are HTTP's.
  virtual HttpResponse refuse(const HttpRequest& request, int status,
                              const std::string& reason) = 0;
  // Called for every response before it is written, and with its time once it is.
  virtual void log(const HttpRequest& request, const HttpResponse& response, size_t bytes) = 0;
};

// HTTP/1.1 on a few threads: connections cost no thread each. Limits what a client may send and how
// long it may take; a client that hangs up stops its request's `gone`.
class HttpServer {
 public:
  // Listens at once, on `port`, or any free one if it is 0. Throws std::runtime_error where it
  // cannot.
  HttpServer(const std::string& host, uint16_t port, const HttpLimits& limits,
             HttpHandler& handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Those that serve, as long as this lives.
  class Threads {
   public:
    Threads(HttpServer& server, int count) : server_(server) { server_.start(count); }
    ~Threads() { server_.stop(); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

   private:
    HttpServer& server_;
  };

  std::string address() const;  // "127.0.0.1:3000", "[::1]:3000"
  // Accepts no more connections, answers the requests that have come, and closes idle connections.
  // False if not all could be answered within limits.drain seconds.
  bool drain();
  // Runs a function on one of the threads; on those for what takes long, if `is_long`. Nothing
  // happens once the threads have ended.
  void post(std::function<void()> work, bool is_long = false);
  HttpStatistics statistics() const;

 private:
  struct Impl;
  void start(int threads);
  void stop();

  std::unique_ptr<Impl> impl_;
};

}  // namespace bert::tools::serve
