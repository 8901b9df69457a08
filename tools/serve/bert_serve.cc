// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <poll.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include "tools/console/command_line.h"
#include "tools/console/signals/stop.h"
#include "tools/serve/http/http_server.h"
#include "tools/serve/serve_options.h"
#include "tools/serve/service.h"

namespace {

using bert::tools::Stop;
using namespace bert::tools::serve;  // NOLINT(google-build-using-namespace): a program's main file

// A connection takes a descriptor, and the usual limit of 1,024 is for programs that call select().
size_t allow_connections(size_t wanted) {
  constexpr rlim_t kOthers = 64;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  limit.rlim_cur = std::min(limit.rlim_max, std::max(limit.rlim_cur, wanted + kOthers));
  setrlimit(RLIMIT_NOFILE, &limit);
  const size_t possible = limit.rlim_cur - std::min(kOthers, limit.rlim_cur / 2);
  if (possible < wanted) {
    spdlog::warn("only {} connections are possible, as the limit of open files is {}", possible,
                 limit.rlim_cur);
  }
  return std::min(wanted, possible);
}

std::shared_ptr<spdlog::logger> make_access_log(const std::string& file) {
  if (file == "none") return nullptr;
  std::shared_ptr<spdlog::sinks::sink> sink;
  if (file == "-") {
    sink = std::make_shared<spdlog::sinks::stdout_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
  }
  auto log = std::make_shared<spdlog::logger>("access", std::move(sink));
  log->set_error_handler(
      [reported = std::make_shared<std::atomic<bool>>()](const std::string& what) {
        if (!reported->exchange(true)) spdlog::error("--access-log: {}", what);
      });
  log->set_pattern("{\"time\": \"%Y-%m-%dT%H:%M:%S.%e%z\", %v");
  spdlog::register_logger(log);
  spdlog::flush_every(std::chrono::seconds(1));
  return log;
}

// Whether it was requested, by now or within so many milliseconds; -1: waits for it.
bool is_requested(const Stop& stop, int milliseconds) {
  pollfd polled = {.fd = stop.fd(), .events = POLLIN, .revents = 0};
  int count;
  while ((count = poll(&polled, 1, milliseconds)) < 0 && errno == EINTR) {
  }
  return count > 0;
}

int serve(ServeOptions& options) {
  options.settle();
  const auto sources = options.sources();
  options.http.connections = allow_connections(options.http.connections);
  const Stop stop;
  const auto access_log = make_access_log(options.access_log);
  // The server outlives the service, whose queues call it, but its threads, which call the service,
  // do not.
  std::optional<HttpServer> server;
  Service service(options.limits, options.api_key, access_log);
  server.emplace(options.host, static_cast<uint16_t>(options.port), options.http, service);
  service.set_post([&server](std::function<void()> work,
                             bool is_long) { server->post(std::move(work), is_long); },
                   [&server] { return server->statistics(); });
  const HttpServer::Threads threads(*server, options.http_threads);
  spdlog::info("listening on http://{}", server->address());
  if (service.load(sources, options.load, [&stop] { return is_requested(stop, 0); })) {
    spdlog::info("ready");
    is_requested(stop, -1);
  }
  spdlog::info("stopping: requests that were accepted are answered");
  service.stop();
  const bool all = server->drain();
  if (access_log) access_log->flush();
  if (!all) spdlog::error("stopped before all requests were answered");
  return all ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  ServeOptions options;
  return bert::tools::run_tool(
      "bert-serve", ServeOptions::kManual, argc, argv, [&](CLI::App& app) { options.declare(app); },
      [&] { return serve(options); });
}
