// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/turns.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tools/serve/http/request_head.h"

namespace bert::tools::serve {
namespace {

// Whether a request of so many tokens is computed in the background; nothing if it has to wait.
std::optional<bool> background(Turns& turns, const std::shared_ptr<Turn>& turn,
                               const std::string& caller, int64_t tokens) {
  std::optional<bool> answer;
  turn->caller = caller;
  turn->tokens = tokens;
  turn->start = [&](const auto&, bool is_background) { answer = is_background; };
  turns.enter(turn);
  return answer;
}

TEST(Turns, WhoHasMuchUnderWayIsInTheBackgroundAndShortlyAfter) {
  Turns turns;
  const auto first = std::make_shared<Turn>(), second = std::make_shared<Turn>();
  EXPECT_EQ(background(turns, first, "a", Turns::kLittle), false);
  EXPECT_EQ(background(turns, second, "a", 1), true);
  EXPECT_EQ(background(turns, std::make_shared<Turn>(), "b", 1), false);
  const Clock::time_point before = Clock::now();
  turns.leave(*first);
  turns.leave(*second);
  const auto next = std::make_shared<Turn>();
  const std::optional<bool> still = background(turns, next, "a", 1);
  if (Clock::now() < before + Turns::kRemembered) {
    EXPECT_EQ(still, true);
  }
  turns.leave(*next);
  std::this_thread::sleep_for(2 * Turns::kRemembered);
  EXPECT_EQ(background(turns, std::make_shared<Turn>(), "a", 1), false);
}

TEST(Callers, AreWhatTheLastProxySays) {
  HttpMessage message;
  HttpRequest request;
  request.caller = "9.9.9.9";
  read_head(message, "X-Forwarded-For", request);
  EXPECT_EQ(request.caller, "9.9.9.9");
  message.insert("X-Forwarded-For", "5.6.7.8");
  message.insert("X-Forwarded-For", "forged, 1.2.3.4");
  read_head(message, "", request);
  EXPECT_EQ(request.caller, "9.9.9.9");
  read_head(message, "X-Forwarded-For", request);
  EXPECT_EQ(request.caller, "1.2.3.4");
}

TEST(Places, AreForEachClientAnEqualShareBeyondThoseThatThereAre) {
  Places places;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(places.take("a", 4));
  EXPECT_FALSE(places.take("a", 4));
  EXPECT_TRUE(places.take("b", 4));
  EXPECT_TRUE(places.take("b", 4));
  EXPECT_FALSE(places.take("b", 4));
  EXPECT_TRUE(places.take("c", 4));
  EXPECT_TRUE(places.take("d", 4));
  EXPECT_FALSE(places.take("e", 4));  // twice as many as there are
  EXPECT_EQ(places.taken(), 8);
  for (int i = 0; i < 4; ++i) places.leave("a");
  EXPECT_TRUE(places.take("e", 4));
}

// Enters requests in the background and notes whose are started.
struct Entered {
  std::shared_ptr<Turn> operator()(char caller, int64_t tokens,
                                   Clock::time_point deadline = Clock::time_point::max()) {
    auto turn = std::make_shared<Turn>();
    turn->caller = caller;
    turn->tokens = tokens;
    turn->deadline = deadline;
    turn->start = [this, caller](const auto&, bool) { started += caller; };
    turns.enter(turn);
    return turn;
  }

  Turns turns;
  std::string started;
};

TEST(Turns, RowsOfClientsTakeTurns) {
  constexpr int64_t kQuarter = Turns::kUnderWay / 4 + 1;
  Entered enter;
  std::vector<std::shared_ptr<Turn>> of_a;
  for (int i = 0; i < 3; ++i) of_a.push_back(enter('a', kQuarter));
  enter('b', kQuarter);
  ASSERT_EQ(enter.started, "aaab");
  of_a.push_back(enter('a', kQuarter));
  for (const char caller : {'a', 'b', 'b'}) enter(caller, kQuarter);
  EXPECT_EQ(enter.turns.waiting_requests(), 4);
  EXPECT_EQ(enter.turns.waiting_tokens(), 4 * kQuarter);
  for (const auto& turn : of_a) enter.turns.leave(*turn);
  EXPECT_EQ(enter.started, "aaababab");
  EXPECT_EQ(enter.turns.waiting_tokens(), 0);
}

TEST(Turns, NeitherAClientsOnlyRequestNorALateOneWaitsForRoom) {
  Entered enter;
  const auto first = enter('a', Turns::kUnderWay), second = enter('a', Turns::kUnderWay);
  const auto other = enter('b', Turns::kUnderWay);
  ASSERT_EQ(enter.started, "aab");
  enter('b', 1);
  enter('a', 1, Clock::now());
  enter('a', 1);
  ASSERT_EQ(enter.started, "aab");
  enter.turns.leave(*other);
  EXPECT_EQ(enter.started, "aabba");
  EXPECT_EQ(enter.turns.waiting_requests(), 1);
}

}  // namespace
}  // namespace bert::tools::serve
