// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/turns.h"

#include <algorithm>
#include <utility>

namespace bert::tools::serve {

void Turns::enter(const std::shared_ptr<Turn>& turn) {
  turn->on_stop_.emplace(turn->gone, [this, entered = std::weak_ptr(turn)] {
    if (const auto left = entered.lock()) give_up(left);
  });
  bool background = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    const Clock::time_point now = Clock::now();
    forget(now);
    Client& client = clients_[turn->caller];
    ++client.requests;
    client.tokens += turn->tokens;
    if (client.tokens > kLittle) client.busy_until = now + kRemembered;
    background = now < client.busy_until;
    if (background) {
      wait(turn, client);
      const bool is_next = client.row.size() == 1 && (has_room() || client.background == 0);
      if (!is_next && !turn->gone.stop_requested()) return;
      take(client, std::prev(client.row.end()));
    }
  }
  std::exchange(turn->start, nullptr)(turn, background);
}

void Turns::forget(Clock::time_point now) {
  for (; !idle_.empty() && idle_.front().first <= now; idle_.pop_front()) {
    const auto found = clients_.find(idle_.front().second);
    if (found == clients_.end() || found->second.requests > 0) continue;
    if (found->second.busy_until <= now) clients_.erase(found);
  }
}

void Turns::wait(const std::shared_ptr<Turn>& turn, Client& client) {
  if (client.row.empty()) rows_.push_back(&client);
  client.row.push_back(turn);
  turn->waits_ = true;
  ++waiting_requests_;
  waiting_tokens_ += turn->tokens;
}

// Its client's next one has to wait until the others had their turns.
std::shared_ptr<Turn> Turns::take(Client& client, Row::iterator place) {
  std::shared_ptr<Turn> turn = std::move(*place);
  client.row.erase(place);
  rows_.remove(&client);
  if (!client.row.empty()) rows_.push_back(&client);
  turn->waits_ = false;
  turn->under_way_ = true;
  --waiting_requests_;
  waiting_tokens_ -= turn->tokens;
  ++requests_;
  tokens_ += turn->tokens;
  ++client.background;
  return turn;
}

std::vector<std::shared_ptr<Turn>> Turns::take_next() {
  std::vector<std::shared_ptr<Turn>> next;
  if (closed_) return next;
  const Clock::time_point now = Clock::now();
  const std::vector<Client*> waiting(rows_.begin(), rows_.end());
  for (Client* const client : waiting) {  // a row's first is its oldest
    while (!client->row.empty() && client->row.front()->deadline <= now) {
      next.push_back(take(*client, client->row.begin()));
    }
    if (!client->row.empty() && client->background == 0) {
      next.push_back(take(*client, client->row.begin()));
    }
  }
  while (!rows_.empty() && has_room()) {
    next.push_back(take(*rows_.front(), rows_.front()->row.begin()));
  }
  return next;
}

void Turns::start(const std::vector<std::shared_ptr<Turn>>& turns) {
  for (const auto& turn : turns) std::exchange(turn->start, nullptr)(turn, true);
}

void Turns::leave(Turn& turn) {
  std::vector<std::shared_ptr<Turn>> next;
  {
    const std::lock_guard lock(mutex_);
    const auto found = clients_.find(turn.caller);
    Client& client = found->second;
    const Clock::time_point now = Clock::now();
    if (client.tokens > kLittle) client.busy_until = now + kRemembered;
    client.tokens -= turn.tokens;
    if (std::exchange(turn.under_way_, false)) {
      --requests_;
      tokens_ -= turn.tokens;
      --client.background;
    }
    if (--client.requests == 0) {
      if (now < client.busy_until) {
        idle_.emplace_back(client.busy_until, turn.caller);
      } else {
        clients_.erase(found);
      }
    }
    next = take_next();
  }
  start(next);
}

// The client has hung up.
void Turns::give_up(const std::shared_ptr<Turn>& turn) {
  {
    const std::lock_guard lock(mutex_);
    if (!turn->waits_ || closed_) return;
    Client& client = clients_.at(turn->caller);
    take(client, std::ranges::find(client.row, turn));
  }
  start({turn});
}

void Turns::close() {
  std::list<Row> dropped;  // without the mutex, as what they hold may call back
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (auto& [name, client] : clients_) dropped.push_back(std::exchange(client.row, {}));
    rows_.clear();
    waiting_requests_ = waiting_tokens_ = 0;
  }
}

int64_t Turns::waiting_requests() const {
  const std::lock_guard lock(mutex_);
  return waiting_requests_;
}

int64_t Turns::waiting_tokens() const {
  const std::lock_guard lock(mutex_);
  return waiting_tokens_;
}

bool Places::take(const std::string& caller, int64_t most) {
  const std::lock_guard lock(mutex_);
  const auto found = of_.find(caller);
  const int64_t own = found == of_.end() ? 0 : found->second;
  if (taken_ >= most) {
    const int64_t clients = std::ssize(of_) + (own == 0 ? 1 : 0);
    if (own >= std::max<int64_t>(1, most / clients) || taken_ >= 2 * most) return false;
  }
  ++of_[caller];
  ++taken_;
  return true;
}

void Places::leave(const std::string& caller) {
  const std::lock_guard lock(mutex_);
  const auto found = of_.find(caller);
  if (--found->second == 0) of_.erase(found);
  --taken_;
}

int64_t Places::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

}  // namespace bert::tools::serve
