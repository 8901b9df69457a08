// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tools/serve/http/http_message.h"

namespace bert::tools::serve {

// A request on its way to a model's queue.
struct Turn {
  // Submits it. A queue ends what comes too late, or whose client is gone.
  using Start = std::function<void(const std::shared_ptr<Turn>& turn, bool background)>;

  std::string caller;
  int64_t tokens = 0;
  std::stop_token gone = {};
  Clock::time_point deadline = Clock::time_point::max();
  Start start = {};

 private:
  friend class Turns;
  bool waits_ = false, under_way_ = false;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_ = {};
};

// Clients take turns, so that one which asks for much holds up no other. What a client asks for
// while it has more than kLittle tokens under way, and shortly after, is computed in the
// background. The queues get only so much of that as keeps them busy; the rest waits here, in a row
// for each client, and the rows take turns.
class Turns {
 public:
  static constexpr int64_t kLittle = 128;  // tokens: enough for who asks now and then
  // A client with many connections has nothing under way when all its answers come at once. Were
  // its next requests to begin in the foreground again, each batch would be divided between the
  // two.
  static constexpr std::chrono::milliseconds kRemembered{100};
  static constexpr int64_t kUnderWay = 1024;    // tokens in the background: about two batches
  static constexpr int64_t kLeastUnderWay = 2;  // requests, of whatever length

  // Starts the request, now or on the thread of another one that leaves; also when its client is
  // gone or its deadline has passed.
  void enter(const std::shared_ptr<Turn>& turn);
  // After it was started, when it has been computed or has ended.
  void leave(Turn& turn);
  // From now on, nothing is started.
  void close();
  int64_t waiting_requests() const;
  int64_t waiting_tokens() const;

 private:
  using Row = std::list<std::shared_ptr<Turn>>;
  struct Client {
    int64_t requests = 0, tokens = 0;  // that are under way or wait
    int64_t background = 0;            // requests of them that are under way
    Clock::time_point busy_until = {};
    Row row = {};
  };

  void give_up(const std::shared_ptr<Turn>& turn);
  // With mutex_ held:
  void forget(Clock::time_point now);
  bool has_room() const { return tokens_ < kUnderWay || requests_ < kLeastUnderWay; }
  void wait(const std::shared_ptr<Turn>& turn, Client& client);
  std::shared_ptr<Turn> take(Client& client, Row::iterator place);
  std::vector<std::shared_ptr<Turn>> take_next();
  static void start(const std::vector<std::shared_ptr<Turn>>& turns);

  mutable std::mutex mutex_;
  std::map<std::string, Client> clients_;
  std::deque<std::pair<Clock::time_point, std::string>> idle_;  // remembered until then
  std::list<Client*> rows_;            // of those whose requests wait, the next first
  int64_t requests_ = 0, tokens_ = 0;  // under way in the background
  int64_t waiting_requests_ = 0, waiting_tokens_ = 0;
  bool closed_ = false;
};

// How many requests are being answered, and whose they are.
class Places {
 public:
  // Whether there is room for another one: where `most` are taken, a client with less than an equal
  // share of them still gets one.
  bool take(const std::string& caller, int64_t most);
  void leave(const std::string& caller);
  int64_t taken() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> of_;
  int64_t taken_ = 0;
};

}  // namespace bert::tools::serve
