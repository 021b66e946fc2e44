// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Shards in and out of a table, and when it counts as loaded.
#include "cc/engine/embedding_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "cc/engine/thread_pool.h"
#include "tests/cc/configs.h"
#include "tests/cc/status_matchers.h"
#include "tests/cc/table_contents.h"

namespace tpuless {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Returns the rows, in a table whose row r holds r, of one shard.
std::vector<float> RowsOfShard(ShardingStrategy sharding,
                               int64_t vocabulary_size, const Shard& shard) {
  EmbeddingTable table(Table("user", vocabulary_size, 1), sharding);
  std::vector<float> rows(vocabulary_size);
  std::iota(rows.begin(), rows.end(), 0.0f);
  EXPECT_THAT(table.Load(Shard(), {rows.data()}, ParallelFor()), IsOk());
  return Retrieved(table, shard)[0];
}

TEST(EmbeddingTableTest, DivShardsAreContiguousTheFirstOnesLonger) {
  const auto rows = [](int64_t id) {
    return RowsOfShard(ShardingStrategy::kDiv, 13, {5, id});
  };

  EXPECT_THAT(rows(0), ElementsAre(0, 1, 2));
  EXPECT_THAT(rows(1), ElementsAre(3, 4, 5));
  EXPECT_THAT(rows(2), ElementsAre(6, 7, 8));
  EXPECT_THAT(rows(3), ElementsAre(9, 10));
  EXPECT_THAT(rows(4), ElementsAre(11, 12));
}

TEST(EmbeddingTableTest, ModShardsTakeEveryNthRow) {
  const auto rows = [](int64_t id) {
    return RowsOfShard(ShardingStrategy::kMod, 13, {5, id});
  };

  EXPECT_THAT(rows(0), ElementsAre(0, 5, 10));
  EXPECT_THAT(rows(1), ElementsAre(1, 6, 11));
  EXPECT_THAT(rows(2), ElementsAre(2, 7, 12));
  EXPECT_THAT(rows(3), ElementsAre(3, 8));
  EXPECT_THAT(rows(4), ElementsAre(4, 9));
}

TEST(EmbeddingTableTest, ShardsIntoATableAndBackAreTheIdentity) {
  std::mt19937 random(1);
  for (const ShardingStrategy sharding :
       {ShardingStrategy::kDiv, ShardingStrategy::kMod}) {
    for (const int64_t num_shards : {1, 2, 5, 13}) {
      EmbeddingTable table(Table("user", 13, 3, 0, "adam"), sharding);
      std::vector<Variables> shards;
      for (int64_t id = 0; id < num_shards; ++id) {
        const int64_t size = *table.ShardRows({num_shards, id}) * 3;
        shards.push_back({});
        for (int k = 0; k < 3; ++k) {
          shards.back().push_back(RandomFloats(size, -1, 1, random));
        }
        EXPECT_THAT(table.Load({num_shards, id}, ConstPointers(shards.back()),
                               ParallelFor()),
                    IsOk());
      }

      for (int64_t id = 0; id < num_shards; ++id) {
        EXPECT_EQ(Retrieved(table, {num_shards, id}), shards[id])
            << id << " of " << num_shards;
      }
    }
  }
}

TEST(EmbeddingTableTest, SeveralThreadsCopyTheSame) {
  std::mt19937 random(1);
  ThreadPool pool(3);
  const Variables loaded = {RandomFloats(3 * 10000, -1, 1, random)};
  EmbeddingTable table(Table("user", 10000, 3), ShardingStrategy::kMod);
  Variables retrieved = {std::vector<float>(3 * 10000)};

  EXPECT_THAT(table.Load({1, 0}, ConstPointers(loaded), pool.parallel_for()),
              IsOk());
  EXPECT_THAT(table.Retrieve({1, 0}, Pointers(retrieved), pool.parallel_for()),
              IsOk());

  EXPECT_EQ(retrieved, loaded);
}

TEST(EmbeddingTableTest, CountsTheBytesOfAllVariables) {
  const EmbeddingTable table(Table("user", 10, 3, 0, "adam"),
                             ShardingStrategy::kDiv);

  EXPECT_EQ(table.num_variables(), 3);
  EXPECT_EQ(table.num_bytes(), 10 * 3 * 3 * 4);
}

TEST(EmbeddingTableTest, ShardsThatCannotBeAreRefused) {
  const EmbeddingTable table(Table("user", 3, 2), ShardingStrategy::kDiv);

  EXPECT_THAT(table.ShardRows({0, 0}),
              IsInvalidArgument("table 'user': num_shards must be > 0, got 0"));
  EXPECT_THAT(table.ShardRows({2, 2}),
              IsInvalidArgument("table 'user': shard_id must be >= 0 and < "
                                "num_shards (2), got 2"));
  EXPECT_THAT(table.ShardRows({2, -1}),
              IsInvalidArgument("table 'user': shard_id must be >= 0 and < "
                                "num_shards (2), got -1"));
  EXPECT_THAT(table.ShardRows({5, 3}),
              IsInvalidArgument("table 'user': every shard must have rows, but "
                                "shard 3 of 5 of 3 rows has none"));
}

class PartialLoadTest : public ::testing::Test {
 protected:
  void Load(const Shard& shard, float value) {
    const std::vector<float> rows(*table_.ShardRows(shard), value);
    EXPECT_THAT(table_.Load(shard, {rows.data()}, ParallelFor()), IsOk());
  }

  EmbeddingTable table_{Table("user", 12, 1), ShardingStrategy::kDiv};
};

TEST_F(PartialLoadTest, ATableIsNotLoadedAtFirst) {
  EXPECT_THAT(table_.CheckLoaded(),
              IsFailedPrecondition("table 'user': must be loaded first, no "
                                   "shard of it is"));
}

TEST_F(PartialLoadTest, MissingShardsAreNamed) {
  Load({4, 2}, 1);
  EXPECT_THAT(table_.CheckLoaded(),
              IsFailedPrecondition("table 'user': must be loaded first, "
                                   "missing shards 0, 1, 3 of 4"));

  Load({4, 0}, 1);
  Load({4, 2}, 2);  // Again: still one shard.
  EXPECT_THAT(table_.CheckLoaded(),
              IsFailedPrecondition("table 'user': must be loaded first, "
                                   "missing shards 1, 3 of 4"));
}

TEST_F(PartialLoadTest, NoMoreThanEightMissingShardsAreNamed) {
  Load({9, 8}, 1);
  EXPECT_THAT(table_.CheckLoaded(),
              IsFailedPrecondition("table 'user': must be loaded first, "
                                   "missing shards 0, 1, 2, 3, 4, 5, 6, 7 of "
                                   "9"));
  Load({12, 4}, 1);
  Load({12, 5}, 1);
  EXPECT_THAT(table_.CheckLoaded(),
              IsFailedPrecondition("table 'user': must be loaded first, "
                                   "missing shards 0, 1, 2, 3, 6, 7, 8, 9, ... "
                                   "of 12"));
}

TEST_F(PartialLoadTest, ShardsWithoutRowsAreNotMissing) {
  EmbeddingTable table(Table("user", 3, 1), ShardingStrategy::kDiv);
  const float row = 1;
  EXPECT_THAT(table.Load({5, 1}, {&row}, ParallelFor()), IsOk());
  EXPECT_THAT(table.CheckLoaded(),
              IsFailedPrecondition("table 'user': must be loaded first, "
                                   "missing shards 0, 2 of 5"));

  EXPECT_THAT(table.Load({5, 0}, {&row}, ParallelFor()), IsOk());
  EXPECT_THAT(table.Load({5, 2}, {&row}, ParallelFor()), IsOk());
  EXPECT_THAT(table.CheckLoaded(), IsOk());
}

TEST_F(PartialLoadTest, ShardsOfDifferentDivisionsDoNotAddUp) {
  Load({2, 0}, 1);
  Load({4, 2}, 1);
  Load({4, 3}, 1);

  EXPECT_THAT(table_.CheckLoaded(),
              IsFailedPrecondition("table 'user': must be loaded first, "
                                   "missing shards 0, 1 of 4"));
}

TEST_F(PartialLoadTest, AllShardsOfOneDivisionLoadTheTable) {
  Load({2, 0}, 1);
  Load({2, 1}, 2);

  EXPECT_THAT(table_.CheckLoaded(), IsOk());
  EXPECT_THAT(Retrieved(table_, {2, 0})[0], Each(1));
  EXPECT_THAT(Retrieved(table_, {2, 1})[0], Each(2));
}

TEST_F(PartialLoadTest, ALoadedTableTakesAnyShard) {
  Load({1, 0}, 1);
  Load({3, 1}, 5);

  EXPECT_THAT(table_.CheckLoaded(), IsOk());
  EXPECT_THAT(Retrieved(table_)[0],
              ElementsAre(1, 1, 1, 1, 5, 5, 5, 5, 1, 1, 1, 1));
}

TEST_F(PartialLoadTest, ATableThatIsNotLoadedCannotBeRetrieved) {
  Load({2, 1}, 1);
  std::vector<float> rows(6);

  EXPECT_THAT(table_.Retrieve({2, 1}, {rows.data()}, ParallelFor()),
              IsFailedPrecondition("table 'user': must be loaded first, "
                                   "missing shards 0 of 2"));
}

}  // namespace
}  // namespace tpuless
