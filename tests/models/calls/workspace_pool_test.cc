// SPDX-License-Identifier: Apache-2.0
#include "models/calls/workspace_pool.h"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert::models {
namespace {

TEST(WorkspacePool, KeepsNoMoreThanItSays) {
  WorkspacePool pool(5000000);
  const auto bytes_of_the_next = [&] {
    int64_t bytes = 0;
    pool.use([&](Workspace& space) { bytes = space.bytes(); });
    return bytes;
  };
  const auto use = [&](int64_t rows) {
    pool.use([&](Workspace& space) { space.rows.tensor(rows, 1000); });
  };
  use(1000);
  for (int again = 0; again < 3; ++again) EXPECT_GE(bytes_of_the_next(), 4000000);
  pool.clear();
  EXPECT_EQ(bytes_of_the_next(), 0);
  use(1300);  // 5.2 MB
  EXPECT_EQ(bytes_of_the_next(), 0);
}

TEST(WorkspacePool, KeepsNoMoreOfAllPassesTogether) {
  WorkspacePool pool(5000000);
  pool.use([&](Workspace& first) {
    first.rows.tensor(1000, 1000);
    pool.use([](Workspace& second) { second.rows.tensor(1000, 200); });
    EXPECT_GE(pool.kept(), 800000);
    EXPECT_LT(pool.kept(), 1000000);
    pool.use([](Workspace& second) { second.rows.tensor(1000, 500); });  // the same one
    EXPECT_GE(pool.kept(), 2000000);
  });
  EXPECT_LT(pool.kept(), 3000000);  // there was no room for the first
  pool.clear();
  EXPECT_EQ(pool.kept(), 0);
}

TEST(WorkspacePool, ItsLimitIsAnOption) {
  const std::vector<Encoding> inputs(50, test::kInput);
  Options options;
  options.workers = options.threads = 2;
  const Model model = Model::load(test::golden("plain"), options);
  EXPECT_EQ(std::pair(model.info().workers, model.info().threads), std::pair(2, 2));
  EXPECT_EQ(model.info().kept_memory, int64_t{512} << 20);
  model.embed(inputs);
  EXPECT_GT(model.kept_memory(), 10000);
  model.release_memory();
  EXPECT_EQ(model.kept_memory(), 0);
  options.kept_memory = 10000;
  const Model small = Model::load(test::golden("plain"), options);
  EXPECT_EQ(small.info().kept_memory, 10000);
  EXPECT_TRUE(test::same_bits(small.embed(inputs).values, model.embed(inputs).values));
  EXPECT_LE(small.kept_memory(), 10000);
  options.kept_memory = -2;
  EXPECT_EQ(test::error_of([&] { Model::load(test::golden("plain"), options); }),
            "kept_memory is -2, expected at least 0, or -1");
}

}  // namespace
}  // namespace bert::models
