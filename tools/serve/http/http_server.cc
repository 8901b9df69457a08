// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/http/http_server.h"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>

#include "tools/serve/http/http_session.h"

namespace bert::tools::serve {
namespace {

using std::chrono::milliseconds;
using Tcp = asio::ip::tcp;
using Acceptor = asio::basic_socket_acceptor<Tcp, Strand>;

constexpr milliseconds kTick{200};
// For requests that cross the end of an idle connection.
constexpr milliseconds kGrace{500};
constexpr int kLongThreads = 2;

std::string spelled(const Tcp::endpoint& end) {
  const std::string address = end.address().to_string();
  return end.address().is_v6() ? fmt::format("[{}]:{}", address, end.port())
                               : fmt::format("{}:{}", address, end.port());
}

}  // namespace

struct HttpServer::Impl {
  Impl(const HttpLimits& limits, HttpHandler& handler)
      : acceptor(asio::make_strand(io)),
        timer(acceptor.get_executor()),
        context(std::make_shared<SessionContext>(handler, limits)) {
    context->on_room = [this] { asio::post(acceptor.get_executor(), [this] { resume(); }); };
  }

  void listen(const std::string& host, uint16_t port);
  void accept();
  void on_accept(const boost::system::error_code& error, Socket socket);
  void add(Socket socket) {
    ++accepted;
    std::make_shared<HttpSession>(std::move(socket), context)->start();
  }
  bool is_full() const {
    return context->open >= static_cast<int64_t>(context->limits.connections);
  }
  void resume();
  bool someone_waits();
  void close_oldest_idle(Clock::time_point idle_before);
  void tick();
  void stop_listening();
  std::vector<std::shared_ptr<HttpSession>> sessions() const;

  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  asio::thread_pool pool{kLongThreads};
  Acceptor acceptor;
  asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Strand> timer;
  std::shared_ptr<SessionContext> context;
  std::vector<std::thread> threads;
  std::string address;
  std::atomic<int64_t> accepted = 0;
  bool paused = false;  // accepting, on the acceptor's strand
};

void HttpServer::Impl::listen(const std::string& host, uint16_t port) {
  try {
    Tcp::resolver resolver(io);
    const auto found = resolver.resolve(host, std::to_string(port),
                                        Tcp::resolver::passive | Tcp::resolver::numeric_service);
    const Tcp::endpoint end = found.begin()->endpoint();
    acceptor.open(end.protocol());
    acceptor.set_option(Tcp::acceptor::reuse_address(true));
    acceptor.bind(end);
    acceptor.listen(asio::socket_base::max_listen_connections);
    address = spelled(acceptor.local_endpoint());
  } catch (const boost::system::system_error& error) {
    throw std::runtime_error(
        fmt::format("cannot listen on {}, port {}: {}", host, port, error.code().message()));
  }
}

void HttpServer::Impl::accept() {
  acceptor.async_accept(asio::make_strand(io),
                        [this](const boost::system::error_code& error, Socket socket) {
                          on_accept(error, std::move(socket));
                        });
}

void HttpServer::Impl::on_accept(const boost::system::error_code& error, Socket socket) {
  if (!acceptor.is_open()) return;
  const Clock::time_point now = Clock::now();
  if (!error) add(std::move(socket));
  // Without a free file descriptor, or with as many connections as allowed, the others wait in the
  // kernel's queue.
  if (!error && !is_full()) return accept();
  paused = true;
  context->waits_for_room = true;
  close_oldest_idle(now);  // not the new one, whose request is on its way
}

bool HttpServer::Impl::someone_waits() {
  pollfd waiting = {acceptor.native_handle(), POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

// Also at every tick, for want of a file descriptor ends without a session's end, and a connection
// may have become idle since the last look.
void HttpServer::Impl::resume() {
  if (!paused || !acceptor.is_open()) return;
  if (is_full()) {
    context->waits_for_room = true;
    if (someone_waits()) close_oldest_idle(Clock::now() - kTick);
    return;
  }
  paused = false;
  accept();
}

std::vector<std::shared_ptr<HttpSession>> HttpServer::Impl::sessions() const {
  std::vector<std::shared_ptr<HttpSession>> all;
  const std::lock_guard lock(context->mutex);
  all.reserve(context->sessions.size());
  for (const auto& weak : context->sessions) {
    if (auto session = weak.lock()) all.push_back(std::move(session));
  }
  return all;
}

void HttpServer::Impl::close_oldest_idle(Clock::time_point idle_before) {
  std::shared_ptr<HttpSession> oldest;
  Clock::time_point since = idle_before;
  for (const auto& session : sessions()) {
    const auto idle = session->idle_since();
    if (!idle || *idle >= since) continue;
    since = *idle;
    oldest = session;
  }
  if (oldest) oldest->close_idle();
}

void HttpServer::Impl::tick() {
  const Clock::time_point now = Clock::now();
  for (const auto& session : sessions()) session->check_time(now);
  resume();
  timer.expires_after(kTick);
  timer.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

// The connections that the kernel has already made are accepted still.
void HttpServer::Impl::stop_listening() {
  boost::system::error_code error;
  acceptor.non_blocking(true, error);
  while (!error && !is_full()) {
    Socket socket(asio::make_strand(io));
    acceptor.accept(socket, error);
    if (!error) add(std::move(socket));
  }
  acceptor.close(error);
}

HttpServer::HttpServer(const std::string& host, uint16_t port, const HttpLimits& limits,
                       HttpHandler& handler)
    : impl_(std::make_unique<Impl>(limits, handler)) {
  impl_->listen(host, port);
}

HttpServer::~HttpServer() = default;

void HttpServer::start(int threads) {
  asio::post(impl_->acceptor.get_executor(), [impl = impl_.get()] {
    impl->accept();
    impl->tick();
  });
  const auto serve = [impl = impl_.get()] {
    while (!impl->io.stopped()) {
      try {
        impl->io.run();
      } catch (const std::exception& error) {
        spdlog::error("a request failed: {}", error.what());
      }
    }
  };
  try {
    for (int i = 0; i < threads; ++i) impl_->threads.emplace_back(serve);
  } catch (...) {
    stop();  // those that could be started
    throw;
  }
}

void HttpServer::stop() {
  impl_->context->waits_for_room = false;
  impl_->pool.stop();
  impl_->pool.join();
  impl_->work.reset();
  impl_->io.stop();
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
}

bool HttpServer::drain() {
  impl_->context->draining = true;
  asio::post(impl_->acceptor.get_executor(), [impl = impl_.get()] {
    impl->stop_listening();
    for (const auto& session : impl->sessions()) session->drain(kGrace);
  });
  const auto end = Clock::now() + std::chrono::seconds(impl_->context->limits.drain);
  std::this_thread::sleep_for(kTick);  // for those that stop_listening() adds
  while (impl_->context->open > 0 && Clock::now() < end)
    std::this_thread::sleep_for(milliseconds(5));
  return impl_->context->open == 0;
}

std::string HttpServer::address() const { return impl_->address; }

void HttpServer::post(std::function<void()> work, bool is_long) {
  is_long ? asio::post(impl_->pool, std::move(work)) : asio::post(impl_->io, std::move(work));
}

HttpStatistics HttpServer::statistics() const {
  const SessionContext& context = *impl_->context;
  return {.connections = context.open,
          .accepted = impl_->accepted,
          .timed_out = context.timed_out,
          .unreadable = context.unreadable};
}

}  // namespace bert::tools::serve
