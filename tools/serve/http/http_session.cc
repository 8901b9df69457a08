// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/http/http_session.h"

#include <algorithm>
#include <ctime>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "tools/serve/http/request_head.h"

namespace bert::tools::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kBodyRead = 65536;
constexpr size_t kMostAhead = 16384;     // of the next requests, while one is being answered
constexpr size_t kLarge = 65536;         // from here on, a body counts among all bodies
constexpr size_t kMostLinger = 1 << 24;  // bytes that are read only to be thrown away
constexpr seconds kLinger{2};            // without a byte of the client

// The time in the form of HTTP's Date, made once a second.
const std::string& date() {
  thread_local std::string text;
  thread_local std::time_t made = 0;
  const std::time_t now = std::time(nullptr);
  if (now != made) {
    std::tm utc{};
    gmtime_r(&now, &utc);
    char buffer[64];
    text.assign(buffer, std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &utc));
    made = now;
  }
  return text;
}

}  // namespace

HttpSession::HttpSession(Socket socket, std::shared_ptr<SessionContext> context)
    : socket_(std::move(socket)), context_(std::move(context)), buffer_(2 * kBodyRead) {
  boost::system::error_code error;
  const auto peer = socket_.remote_endpoint(error);
  if (!error) address_ = peer.address().to_string();
  if (!error) client_ = fmt::format("{}:{}", address_, peer.port());
  ++context_->open;
}

HttpSession::~HttpSession() {
  --context_->open;
  context_->held -= held_;
  {
    const std::lock_guard lock(context_->mutex);
    context_->sessions.erase(place_);
  }
  if (context_->waits_for_room.exchange(false)) context_->on_room();
}

void HttpSession::start() {
  {
    const std::lock_guard lock(context_->mutex);
    place_ = context_->sessions.insert(context_->sessions.end(), weak_from_this());
  }
  asio::dispatch(socket_.get_executor(), [self = shared_from_this()] {
    boost::system::error_code ignored;
    self->socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    self->socket_.non_blocking(true, ignored);
    self->expect_next();
    self->read();
  });
}

void HttpSession::enter(State state, milliseconds time) {
  state_ = state;
  const auto now = Clock::now();
  deadline_ = time.count() == 0 ? 0 : (now + time).time_since_epoch().count();
  idle_since_ = state == State::idle ? now.time_since_epoch().count() : 0;
}

milliseconds HttpSession::transfer_time(size_t bytes) const {
  return seconds(context_->limits.transfer) + seconds(bytes / 100'000);
}

void HttpSession::expect_next() {
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(context_->limits.header_bytes));
  parser_->body_limit(context_->limits.body_bytes);
  written_ = 0;
  has_stop_ = false;
  enter(State::idle, seconds(context_->limits.idle));
}

void HttpSession::read() {
  if (reading_ || ended_ || state_ == State::closed) return;
  if ((state_ == State::busy || state_ == State::writing) && buffer_.size() >= kMostAhead) return;
  reading_ = true;
  socket_.async_read_some(asio::buffer(first_), [self = shared_from_this()](
                                                    const boost::system::error_code& error,
                                                    size_t bytes) { self->on_read(error, bytes); });
}

void HttpSession::on_read(boost::system::error_code error, size_t bytes) {
  reading_ = false;
  if (state_ == State::closed) return;
  if (error) return on_end();
  if (buffer_.size() + bytes > buffer_.max_size()) {  // of which nothing could be parsed
    ++context_->unreadable;
    return refuse(431, "the head of a chunk, or what follows the last one, is too long");
  }
  bytes = asio::buffer_copy(buffer_.prepare(bytes), asio::buffer(first_, bytes));
  buffer_.commit(bytes);
  const bool has_room = buffer_.max_size() - buffer_.size() >= kBodyRead;
  if (bytes == first_.size() && state_ == State::body && has_room) {  // the rest of it, at once
    const size_t more = socket_.read_some(buffer_.prepare(kBodyRead), error);
    if (!error) buffer_.commit(more);
    bytes += more;
  }
  if (state_ == State::lingering) {
    release_buffer();
    lingered_ += bytes;
    const bool is_over = lingered_ > kMostLinger || Clock::now() > linger_end_;
    if (is_over) return close();
    enter(State::lingering, kLinger);
    return read();
  }
  parse();
  const bool is_fast = state_ == State::body && bytes >= first_.size();
  if (buffer_.size() == 0 && buffer_.capacity() > first_.size() && !is_fast) release_buffer();
  read();
}

void HttpSession::release_buffer() {
  buffer_.clear();
  buffer_.shrink_to_fit();
}

// The client has closed its side. Whether it still reads is not to be seen: while a request is
// being computed, nobody waits for the answer, as with other servers.
void HttpSession::on_end() {
  ended_ = true;
  if (state_ == State::busy && has_stop_) gone_.request_stop();
  if (state_ != State::busy && state_ != State::writing) close();
}

void HttpSession::parse() {
  while (buffer_.size() > 0 && parse_some()) {
  }
}

// Whether there may be more to parse now.
bool HttpSession::parse_some() {
  if (state_ == State::idle) {
    // Some clients end a body with an empty line, which is ignored (RFC 9112, 2.2).
    const std::string_view ahead(static_cast<const char*>(buffer_.data().data()), buffer_.size());
    buffer_.consume(std::min(ahead.find_first_not_of("\r\n"), ahead.size()));
    if (buffer_.size() == 0) return false;
    request_ = HttpRequest();
    request_.came = Clock::now();
    enter(State::header, seconds(context_->limits.header));
  }
  if (state_ != State::header && state_ != State::body) return false;
  boost::system::error_code error;
  const size_t used = parser_->put(buffer_.data(), error);
  buffer_.consume(used);
  if (error == http::error::need_more) error = {};
  if (error) {
    refuse(error);
    return false;
  }
  if (state_ == State::header && parser_->is_header_done() && !on_header()) return false;
  const size_t body = parser_->get().body().size();
  if (!hold(body)) {
    answer(refuse_held(), true);
    return false;
  }
  // In chunks, a body's length is only known as it comes.
  if (state_ == State::body && parser_->chunked()) {
    deadline_ = (request_.came + transfer_time(body)).time_since_epoch().count();
  }
  if (parser_->is_done()) on_request();
  return used > 0 && (state_ == State::header || state_ == State::body);
}

// Counts the bytes of a body until it is answered, and then those of its answer until it is
// written. False if those of all connections together are too many. Small bodies always pass, or
// else a few large ones would keep them out.
bool HttpSession::hold(size_t bytes) {
  const size_t holds = bytes > kLarge ? bytes : 0;
  const size_t held = context_->held.fetch_add(holds - held_) + (holds - held_);
  const bool is_more = holds > held_;
  held_ = holds;
  return !is_more || held <= context_->limits.all_bodies;
}

HttpResponse HttpSession::refuse_held() {
  HttpResponse response = context_->handler.refuse(
      request_, 503, "too many bytes of other requests are being read or answered, try again");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

void HttpSession::fill_request() {
  request_.client = client_;
  request_.caller = address_;
  read_head(parser_->get(), context_->limits.caller_header, request_);
  if (request_.id.empty()) request_.id = context_->make_id();
  is_head_ = request_.method == "HEAD";
}

// False if the request is answered without its body.
bool HttpSession::on_header() {
  fill_request();
  closes_ = !parser_->keep_alive();
  const HttpMessage& message = parser_->get();
  if (const auto error = find_head_error(message)) {
    refuse(error->status, error->reason);
    return false;
  }
  HttpResponse response;
  if (!context_->handler.takes(request_, response)) {
    answer(std::move(response), !parser_->is_done());
    return false;
  }
  if (beast::iequals(message[http::field::expect], "100-continue") && message.version() >= 11 &&
      !parser_->is_done()) {
    boost::system::error_code ignored;  // these few bytes always fit, and nothing else is written
    socket_.write_some(asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25), ignored);
  }
  parser_->eager(true);
  enter(State::body, transfer_time(parser_->content_length().value_or(0)));
  return true;
}

void HttpSession::on_request() {
  request_.body = std::move(parser_->get().body());
  enter(State::busy, milliseconds(0));
  gone_ = std::stop_source();
  has_stop_ = true;
  request_.gone = gone_.get_token();
  HttpRequest request = request_;
  request_.body = {};  // the log needs the rest
  Reply reply = [self = shared_from_this()](HttpResponse response) {
    asio::dispatch(self->socket_.get_executor(), [self, response = std::move(response)]() mutable {
      self->answer(std::move(response), false);
    });
  };
  context_->handler.handle(std::move(request), std::move(reply));
}

void HttpSession::refuse(const boost::system::error_code& error) {
  ++context_->unreadable;
  const HttpLimits& limits = context_->limits;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    refuse(431, fmt::format("the header has more than {} bytes", limits.header_bytes));
  } else if (error == http::error::body_limit) {
    refuse(413, fmt::format("the body has more than {} bytes, the limit of --max-body",
                            limits.body_bytes));
  } else {
    refuse(400, fmt::format("not HTTP/1.1: {}", error.message()));
  }
}

// Where a request cannot be read, what follows on the connection cannot either.
void HttpSession::refuse(int status, const std::string& reason) {
  if (!parser_->is_header_done()) fill_request();
  answer(context_->handler.refuse(request_, status, reason), true);
}

void HttpSession::answer(HttpResponse response, bool closes) {
  if (state_ == State::closed) return;
  if (ended_) {
    context_->handler.log(request_, response, 0);
    return close();
  }
  if (!hold(response.body.size())) {
    const size_t bytes = response.body.size(), most = context_->limits.all_bodies;
    response = bytes <= most ? refuse_held()
                             : context_->handler.refuse(
                                   request_, 422,
                                   fmt::format("the answer has {} bytes, more than the {} of "
                                               "--max-bodies: send fewer inputs at a time",
                                               bytes, most));
    hold(response.body.size());
  }
  response_ = std::move(response);
  closes_ = closes_ || closes || context_->draining;
  const auto reason = http::obsolete_reason(static_cast<http::status>(response_.status));
  head_.clear();
  const auto add = [this](std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) head_ += part;
  };
  add({"HTTP/1.1 ", std::to_string(response_.status), " ", {reason.data(), reason.size()}});
  add({"\r\nDate: ", date(), "\r\nX-Request-Id: ", request_.id});
  if (!response_.type.empty()) add({"\r\nContent-Type: ", response_.type});
  add({"\r\nContent-Length: ", std::to_string(response_.body.size())});
  add({"\r\nConnection: ", closes_ ? "close" : "keep-alive"});
  for (const auto& [name, value] : response_.headers) add({"\r\n", name, ": ", value});
  head_ += "\r\n\r\n";
  written_ = 0;
  enter(State::writing, transfer_time(response_.body.size()));
  write();
}

void HttpSession::write() {
  const size_t body = is_head_ ? 0 : response_.body.size();
  const size_t of_head = std::min(written_, head_.size()), of_body = written_ - of_head;
  const std::array<asio::const_buffer, 2> left = {
      asio::buffer(head_) + of_head, asio::buffer(response_.body.data(), body) + of_body};
  socket_.async_write_some(
      left, [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->on_written(error, bytes);
      });
}

void HttpSession::on_written(const boost::system::error_code& error, size_t bytes) {
  if (state_ == State::closed) return;
  written_ += bytes;
  if (error) return close();
  if (written_ < head_.size() + (is_head_ ? 0 : response_.body.size())) return write();
  finish();
}

void HttpSession::finish() {
  if (ended_) return close();
  context_->handler.log(request_, response_, written_);
  response_ = HttpResponse();
  hold(0);
  if (closes_) return linger();
  if (buffer_.size() == 0 && buffer_.capacity() > first_.size()) release_buffer();
  expect_next();
  if (context_->draining) enter(State::idle, milliseconds(1));
  parse();
  read();
}

// Closing at once, with bytes of the client still to be read, would reset the connection, and the
// answer might never arrive. A client that goes on sending may not have read it yet.
void HttpSession::linger() {
  enter(State::lingering, kLinger);
  linger_end_ = Clock::now() + transfer_time(0);
  buffer_.clear();
  boost::system::error_code error;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  if (error) return close();
  read();
}

void HttpSession::close() {
  if (state_ == State::writing) context_->handler.log(request_, response_, written_);
  enter(State::closed, milliseconds(0));
  if (has_stop_) gone_.request_stop();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void HttpSession::check_time(Clock::time_point now) {
  const Clock::rep deadline = deadline_;
  if (deadline == 0 || now.time_since_epoch().count() < deadline) return;
  asio::post(socket_.get_executor(), [self = shared_from_this(), deadline] {
    if (self->deadline_ != deadline || self->state_ == State::closed) return;
    if (self->state_ != State::header && self->state_ != State::body) return self->close();
    ++self->context_->timed_out;
    self->refuse(408, "the request took too long to arrive");
  });
}

void HttpSession::drain(milliseconds grace) {
  asio::post(socket_.get_executor(), [self = shared_from_this(), grace] {
    if (self->state_ == State::idle) self->enter(State::idle, grace);
  });
}

std::optional<Clock::time_point> HttpSession::idle_since() const {
  const Clock::rep since = idle_since_;
  if (since == 0) return std::nullopt;
  return Clock::time_point(Clock::duration(since));
}

void HttpSession::close_idle() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->state_ == State::idle) self->close();
  });
}

}  // namespace bert::tools::serve
