// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/turns.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace bert::tools::serve
