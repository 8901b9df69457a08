// SPDX-License-Identifier: Apache-2.0
//
// One connection. Only http_server.cc and http_session.cc see Boost.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include "tools/serve/http/http_server.h"

namespace bert::tools::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

using Strand = asio::strand<asio::io_context::executor_type>;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Strand>;

class HttpSession;

// What the sessions of a server share.
struct SessionContext {
  SessionContext(HttpHandler& handles, const HttpLimits& limited)
      : handler(handles), limits(limited) {}

  HttpHandler& handler;
  const HttpLimits limits;
  std::function<void()> on_room;  // called once after waits_for_room, when a session has ended
  std::atomic<bool> waits_for_room = false;
  std::atomic<bool> draining = false;
  std::atomic<int64_t> open = 0, timed_out = 0, unreadable = 0;
  std::atomic<size_t> held = 0;  // bytes of bodies and answers in memory
  // Another process has other ids.
  std::string make_id() { return fmt::format("{:08x}{:08x}", process, ++next_id); }
  const uint32_t process = std::random_device()();
  std::atomic<uint32_t> next_id = 0;

  std::mutex mutex;
  std::list<std::weak_ptr<HttpSession>> sessions;
};

// Everything but the constructor runs on the socket's strand. One wait for input is always under
// way, unless the client has sent more than a request ahead, so that its hanging up is seen while
// the request is being computed.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(Socket socket, std::shared_ptr<SessionContext> context);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void start();
  // From any thread. Closes the connection where its time is up.
  void check_time(Clock::time_point now);
  // From any thread. Nothing more is read after the request that is under way; an idle connection
  // gets `grace` to send the request that may have crossed the closing.
  void drain(std::chrono::milliseconds grace);
  // From any thread: since when the connection has been idle, or nothing if it isn't.
  std::optional<Clock::time_point> idle_since() const;
  void close_idle();

 private:
  enum class State { idle, header, body, busy, writing, lingering, closed };

  void enter(State state, std::chrono::milliseconds time);
  void read();
  void on_read(boost::system::error_code error, size_t bytes);
  void release_buffer();
  void on_end();
  void parse();
  bool parse_some();
  bool on_header();
  bool hold(size_t bytes);
  HttpResponse refuse_held();
  void on_request();
  void refuse(const boost::system::error_code& error);
  void refuse(int status, const std::string& reason);
  void answer(HttpResponse response, bool closes);
  void write();
  void on_written(const boost::system::error_code& error, size_t bytes);
  void finish();
  void linger();
  void close();
  std::chrono::milliseconds transfer_time(size_t bytes) const;
  void expect_next();
  void fill_request();

  Socket socket_;
  const std::shared_ptr<SessionContext> context_;
  std::list<std::weak_ptr<HttpSession>>::iterator place_;
  std::array<char, 2048> first_;  // where bytes arrive: what is parsed meanwhile moves the buffer
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  HttpRequest request_;
  HttpResponse response_;
  std::stop_source gone_;
  std::string head_;     // of the response
  size_t written_ = 0;   // of head and body
  size_t lingered_ = 0;  // bytes
  Clock::time_point linger_end_ = {};
  size_t held_ = 0;  // of context_->held
  bool reading_ = false, ended_ = false, closes_ = false, is_head_ = false, has_stop_ = false;
  State state_ = State::idle;
  std::string client_, address_;  // with the port, and without
  // For check_time() and idle_since(), in Clock's ticks.
  std::atomic<Clock::rep> deadline_{0}, idle_since_{0};
};

}  // namespace bert::tools::serve
