// SPDX-License-Identifier: Apache-2.0
#include "tools/console/command_line.h"

#include <cerrno>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

namespace bert::tools {
namespace {

// What a tool whose run() does this says on stderr.
std::string said_by(const std::function<void()>& run) {
  char name[] = "bert-test";
  char* argv[] = {name, nullptr};
  testing::internal::CaptureStderr();
  const auto fail = [&] {
    run();
    return 0;
  };
  EXPECT_EQ(run_tool(
                name, "", 1, argv, [](CLI::App&) {}, fail),
            1);
  return testing::internal::GetCapturedStderr();
}

TEST(Tools, SayWhatFailed) {
  EXPECT_EQ(said_by([] { throw std::runtime_error("x.tsv: is no file"); }),
            "bert-test: x.tsv: is no file\n");
  EXPECT_EQ(said_by([] { throw std::bad_alloc(); }), "bert-test: out of memory\n");
  EXPECT_EQ(said_by([] {
              throw std::system_error(EAGAIN, std::generic_category());  // as std::thread does
            }),
            "bert-test: cannot start a thread: Resource temporarily unavailable\n");
}

}  // namespace
}  // namespace bert::tools
