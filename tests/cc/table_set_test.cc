// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// All tables together: what fits, what may be loaded, one step of all.
#include "cc/engine/table_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/engine/memory.h"
#include "cc/engine/step_queue.h"
#include "tests/cc/configs.h"
#include "tests/cc/status_matchers.h"
#include "tests/cc/tensor_arena.h"

namespace tpuless {
namespace {

using ::testing::ElementsAre;

Status MemoryStatus(std::vector<TableConfig> tables) {
  return CheckMemory(TableLayout(1, std::move(tables)));
}

TEST(CheckMemoryTest, TablesOfAnyUsualSizeFit) {
  EXPECT_THAT(MemoryStatus({Table("user", 1000, 64, 1, "adam")}), IsOk());
}

TEST(CheckMemoryTest, ATableThatCannotFitIsRefused) {
  EXPECT_THAT(MemoryStatus({Table("small", 1, 1),
                            Table("huge", 1000000000000, 128, 1, "adam")}),
              StatusIs(StatusCode::kResourceExhausted,
                       "table 'huge': needs 1536000000000000 bytes "
                       "(1000000000000 rows x 128 x 3 variables x 4 bytes), "
                       "1536000000000004 with the tables before it, but the "
                       "machine has " +
                           std::to_string(MemoryLimit())));
}

TEST(CheckMemoryTest, SizesThatFitNoIntegerAreRefused) {
  const Status status =
      MemoryStatus({Table("huge", INT64_MAX, INT32_MAX, 1, "adam")});

  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
}

TEST(CheckMemoryTest, TablesThatCannotFitTogetherAreRefused) {
  const int64_t rows = MemoryLimit() / 4 / 3 * 2;

  EXPECT_THAT(MemoryStatus({Table("a", rows, 1)}), IsOk());
  EXPECT_THAT(MemoryStatus({Table("a", rows, 1), Table("b", rows, 1)}),
              StatusIs(StatusCode::kResourceExhausted,
                       "table 'b': needs " + std::to_string(rows * 4) +
                           " bytes (" + std::to_string(rows) +
                           " rows x 1 x 1 variables x 4 bytes), " +
                           std::to_string(rows * 8) +
                           " with the tables before it, but the machine has " +
                           std::to_string(MemoryLimit())));
}

TEST(CheckMemoryTest, ABatchThatCannotFitIsRefused) {
  const EngineConfig config = Completed(FeatureLayout(
      {Table("user", 3, 1)},
      {Feature("small", 0, {1}), Feature("huge", 0, {1 << 30, 1 << 20})}));

  EXPECT_THAT(CheckMemory(config),
              StatusIs(StatusCode::kResourceExhausted,
                       "feature 'huge': a batch of shape [1073741824, "
                       "1048576, 1] needs 13510798882111488 bytes, "
                       "13510798882111500 with the outputs before it, but the "
                       "machine has " +
                           std::to_string(MemoryLimit())));
}

class TableSetTest : public ::testing::Test {
 protected:
  Status Load(int64_t table, const std::vector<TensorView>& variables,
              const Shard& shard = Shard()) {
    return tables_.Load(table, shard, variables, ParallelFor());
  }

  const EngineConfig config_ = Completed(TableLayout(
      1, {Table("user", 3, 2, 1, "adagrad"), Table("item", 4, 1, 1)}));
  TableSet tables_{config_};
  TensorArena a_;
};

TEST_F(TableSetTest, NumberOfVariablesMustBeTheOptimizers) {
  EXPECT_THAT(Load(0, {a_.Floats(std::vector<float>(6), {3, 2})}),
              IsInvalidArgument("table 'user': must have 2 variables for "
                                "optimizer 'adagrad', got 1"));
}

TEST_F(TableSetTest, VariablesMustHaveTheShapeOfTheShard) {
  const TensorView right = a_.Floats(std::vector<float>(6), {3, 2});
  const TensorView wrong = a_.Floats(std::vector<float>(6), {2, 3});

  EXPECT_THAT(Load(0, {wrong, right}),
              IsInvalidArgument("table 'user': parameters must have shape [3, "
                                "2], got [2, 3]"));
  EXPECT_THAT(Load(0, {right, wrong}),
              IsInvalidArgument("table 'user': accumulators must have shape "
                                "[3, 2], got [2, 3]"));
  EXPECT_THAT(Load(0, {right, right}, {2, 1}),
              IsInvalidArgument("table 'user': parameters must have shape [1, "
                                "2], got [3, 2]"));
}

TEST_F(TableSetTest, VariablesMustBeFloats) {
  EXPECT_THAT(Load(1, {a_.Doubles({1, 2, 3, 4}, {4, 1})}),
              IsInvalidArgument("table 'item': parameters must be float32"));
}

TEST_F(TableSetTest, ShardsMustBeThere) {
  EXPECT_THAT(Load(1, {}, {2, 2}),
              IsInvalidArgument("table 'item': shard_id must be >= 0 and < "
                                "num_shards (2), got 2"));
}

TEST_F(TableSetTest, ARefusedLoadLoadsNothing) {
  EXPECT_FALSE(Load(1, {}).ok());

  EXPECT_FALSE(tables_.IsLoaded(1));
}

TEST_F(TableSetTest, IsLoadedOnceEveryTableIs) {
  EXPECT_THAT(tables_.CheckLoaded(),
              IsFailedPrecondition("table 'user': must be loaded first, no "
                                   "shard of it is"));

  const TensorView user = a_.Floats(std::vector<float>(6), {3, 2});
  EXPECT_THAT(Load(0, {user, user}), IsOk());
  EXPECT_TRUE(tables_.IsLoaded(0));
  EXPECT_THAT(tables_.CheckLoaded(),
              IsFailedPrecondition("table 'item': must be loaded first, no "
                                   "shard of it is"));

  EXPECT_THAT(Load(1, {a_.Floats({1, 2, 3, 4}, {4, 1})}), IsOk());
  EXPECT_THAT(tables_.CheckLoaded(), IsOk());
}

TEST_F(TableSetTest, ApplyUpdatesEveryTableAndCountsItsRows) {
  const TensorView user = a_.Floats(std::vector<float>(6, 1), {3, 2});
  ASSERT_THAT(Load(0, {user, a_.Floats(std::vector<float>(6, 3), {3, 2})}),
              IsOk());
  ASSERT_THAT(Load(1, {a_.Floats({1, 2, 3, 4}, {4, 1})}), IsOk());
  auto minibatch = std::make_shared<Minibatch>();
  minibatch->groups.resize(2);
  minibatch->groups[0].row_ids = {2};
  minibatch->groups[0].row_starts = {0, 1};
  minibatch->groups[0].contributions = {{0, 0, 1}};
  minibatch->groups[1].row_ids = {0, 3};
  minibatch->groups[1].row_starts = {0, 1, 2};
  minibatch->groups[1].contributions = {{0, 1, 1}, {0, 1, 2}};
  auto batch = std::make_shared<Batch>();
  batch->minibatch = minibatch;
  batch->gradients.tensors = {a_.Floats({1, 0}, {1, 2}),
                              a_.Floats({1}, {1, 1})};
  Step step;
  step.batches = {batch};

  EXPECT_EQ(tables_.Apply(step, ParallelFor()), 3);

  std::vector<float> weights(6), accumulators(6), item(4);
  EXPECT_THAT(
      tables_.Retrieve(0, Shard(), {weights.data(), accumulators.data()},
                       ParallelFor()),
      IsOk());
  EXPECT_THAT(tables_.Retrieve(1, Shard(), {item.data()}, ParallelFor()),
              IsOk());
  EXPECT_THAT(weights, ElementsAre(1, 1, 1, 1, .5, 1));
  EXPECT_THAT(accumulators, ElementsAre(3, 3, 3, 3, 4, 3));
  EXPECT_THAT(item, ElementsAre(0, 2, 3, 2));
}

}  // namespace
}  // namespace tpuless
