// SPDX-License-Identifier: Apache-2.0
#include "models/calls/workspace_pool.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace bert::models {
namespace {

TEST(WorkspacePool, KeepsNoMoreThanItSays) {
  WorkspacePool pool;
  const auto bytes_of_the_next = [&] {
    int64_t bytes = 0;
    pool.use([&](Workspace& space) { bytes = space.bytes(); });
    return bytes;
  };
  const auto use = [&](int64_t rows) {
    pool.use([&](Workspace& space) { space.rows.tensor(rows, 1000); });
  };
  use(1000);
  EXPECT_GE(bytes_of_the_next(), 4000000);
  pool.clear();
  EXPECT_EQ(bytes_of_the_next(), 0);
  use(70000);  // 280 MB, as the logits of a large vocabulary
  EXPECT_EQ(bytes_of_the_next(), 0);
}

}  // namespace
}  // namespace bert::models
