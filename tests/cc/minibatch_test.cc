// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Grouping of lookups by table row, and joining of cores.
#include "cc/engine/minibatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include "tests/cc/row_groups.h"

namespace tpuless {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A contribution with the row that it belongs to: id, tensor, row, gain.
using Entry = std::tuple<int64_t, int32_t, int64_t, float>;

std::vector<Entry> Entries(const RowGroups& groups) {
  std::vector<Entry> entries;
  for (int64_t i = 0; i < groups.num_rows(); ++i) {
    for (int64_t c = groups.row_starts[i]; c < groups.row_starts[i + 1]; ++c) {
      const Contribution& each = groups.contributions[c];
      entries.emplace_back(groups.row_ids[i], each.tensor, each.row, each.gain);
    }
  }
  return entries;
}

// Returns the lookups of `table` by row, output, output row and their order.
std::vector<Entry> Sorted(const std::vector<InputLookups>& inputs,
                          int64_t table) {
  std::vector<Entry> entries;
  for (const InputLookups& input : inputs) {
    if (input.table != table) continue;
    for (int64_t row = 0; row < input.num_rows(); ++row) {
      for (int64_t k = input.row_splits[row]; k < input.row_splits[row + 1];
           ++k) {
        entries.emplace_back(input.ids[k], input.output, input.output_row(row),
                             input.gains.empty() ? 1.0f : input.gains[k]);
      }
    }
  }
  const auto place = [](const Entry& entry) {
    const auto& [id, output, row, gain] = entry;
    return std::make_tuple(id, output, row);
  };
  std::stable_sort(
      entries.begin(), entries.end(),
      [&](const Entry& a, const Entry& b) { return place(a) < place(b); });
  return entries;
}

// Returns an input of `num_ids` ids below `vocabulary_size` in 50 rows, some
// of them empty, with the gains 0, 1, 2, ... It fills 2 of 5 slots.
InputLookups RandomInput(int64_t output, int64_t table, int64_t num_ids,
                         int64_t vocabulary_size, std::mt19937_64& random,
                         int64_t offset = 1) {
  InputLookups input;
  input.table = table;
  input.output = output;
  input.width = 2;
  input.stride = 5;
  input.offset = offset;
  std::vector<int64_t> ends;
  for (int i = 0; i < 49; ++i) {
    ends.push_back(static_cast<int64_t>(random() % (num_ids + 1)));
  }
  std::sort(ends.begin(), ends.end());
  input.row_splits = {0};
  input.row_splits.insert(input.row_splits.end(), ends.begin(), ends.end());
  input.row_splits.push_back(num_ids);
  for (int64_t k = 0; k < num_ids; ++k) {
    input.ids.push_back(static_cast<int64_t>(random() % vocabulary_size));
    input.gains.push_back(static_cast<float>(k));
  }
  return input;
}

class GroupByRowTest : public ::testing::TestWithParam<int64_t> {};

TEST_P(GroupByRowTest, EqualsAStableSort) {
  const int64_t vocabulary_size = GetParam();
  std::mt19937_64 random(7);
  const std::vector<InputLookups> inputs = {
      RandomInput(0, 0, 1000, vocabulary_size, random),
      RandomInput(1, 1, 10, vocabulary_size, random),
      RandomInput(0, 0, 700, vocabulary_size, random, /*offset=*/3),
      RandomInput(2, 0, 500, vocabulary_size, random)};

  const RowGroups groups = GroupsOf(inputs, 0, vocabulary_size);

  EXPECT_EQ(Entries(groups), Sorted(inputs, 0));
  EXPECT_EQ(groups.contributions.size(), 2200u);
  EXPECT_TRUE(std::is_sorted(groups.row_ids.begin(), groups.row_ids.end()));
  EXPECT_EQ(std::adjacent_find(groups.row_ids.begin(), groups.row_ids.end()),
            groups.row_ids.end());
}

TEST_P(GroupByRowTest, OneInputWithoutGainsEqualsAStableSort) {
  std::mt19937_64 random(11);
  // Few are sorted in another way than many.
  for (const int64_t num_ids : {0, 1, 2, 255, 256, 257, 3000}) {
    InputLookups input = RandomInput(3, 0, num_ids, GetParam(), random);
    input.gains.clear();

    EXPECT_EQ(Entries(GroupsOf({input}, 0, GetParam())), Sorted({input}, 0));
  }
}

constexpr int64_t kOne = 1;
INSTANTIATE_TEST_SUITE_P(VocabularySizes, GroupByRowTest,
                         ::testing::Values(1, 2, 3, 100, 4095, 4096, 4097, 8800,
                                           8801, 12000, 12001, kOne << 24,
                                           (kOne << 24) + 1, (kOne << 32) - 1,
                                           kOne << 32, (kOne << 32) + 1,
                                           kOne << 33, kOne << 44, kOne << 62));

TEST(GroupByRowEdgesTest, TheLargestIdsOfEitherRangeAreSorted) {
  for (const int64_t size : {(kOne << 32) - 1, kOne << 40, kOne << 62}) {
    InputLookups input;
    input.row_splits = {0, 4};
    input.ids = {size - 1, 0, size - 1, size / 2};

    const RowGroups groups = GroupsOf({input}, 0, size);

    EXPECT_THAT(groups.row_ids, ElementsAre(0, size / 2, size - 1));
    EXPECT_THAT(groups.row_starts, ElementsAre(0, 1, 2, 4));
  }
}

// The largest table with a counter a row, and the smallest one without.
TEST(GroupByRowEdgesTest, ManyIdsOfASmallTableAreSorted) {
  std::mt19937_64 random(5);
  for (const int64_t size : {16383, 16384, 16385}) {
    InputLookups input = RandomInput(2, 0, 5000, size, random);
    input.ids[17] = 0;
    input.ids[4000] = size - 1;
    for (const bool weighted : {true, false}) {
      if (!weighted) input.gains.clear();

      EXPECT_EQ(Entries(GroupsOf({input}, 0, size)), Sorted({input}, 0));
    }
  }
}

// Of outputs with more rows than 32 bits count.
TEST(GroupByRowEdgesTest, ManyIdsOfATableOfOneRowAreSorted) {
  std::mt19937_64 random(9);
  InputLookups input = RandomInput(0, 0, 300, 1, random);
  input.stride = kOne << 33;

  EXPECT_EQ(Entries(GroupsOf({input}, 0, 1)), Sorted({input}, 0));
}

TEST(GroupByRowEdgesTest, InputsOfOneOutputComeByTheirOutputRows) {
  InputLookups first, second;
  first.stride = second.stride = 2;
  second.offset = 1;
  first.row_splits = second.row_splits = {0, 1, 2};
  first.ids = second.ids = {5, 5};

  const RowGroups groups = GroupsOf({first, second}, 0, 8);

  EXPECT_THAT(Entries(groups),
              ElementsAre(Entry(5, 0, 0, 1), Entry(5, 0, 1, 1),
                          Entry(5, 0, 2, 1), Entry(5, 0, 3, 1)));
}

TEST(GroupByRowEdgesTest, NoIdsGiveNoGroups) {
  InputLookups input;
  input.row_splits = {0, 0, 0};

  const RowGroups groups = GroupsOf({input}, 0, 8);

  EXPECT_EQ(groups.num_rows(), 0);
  EXPECT_THAT(groups.row_starts, ElementsAre(0));
  EXPECT_THAT(groups.contributions, IsEmpty());
}

TEST(GroupByRowEdgesTest, MemoryOfOtherGroupsLeavesNoTrace) {
  std::mt19937_64 random(3);
  Workspace workspace;
  RowGroups groups;
  // Larger and smaller, weighted or not, narrow or wide ids.
  for (const int64_t num_ids : {900, 30, 0, 300, 2000, 1}) {
    for (const int64_t vocabulary_size : {kOne << 34, 500 * kOne}) {
      InputLookups input = RandomInput(0, 0, num_ids, vocabulary_size, random);
      for (const bool weighted : {true, false}) {
        if (!weighted) input.gains.clear();

        GroupByRow({&input}, vocabulary_size, workspace, groups);

        const RowGroups fresh = GroupsOf({input}, 0, vocabulary_size);
        EXPECT_EQ(Entries(groups), Sorted({input}, 0));
        EXPECT_EQ(groups.row_ids, fresh.row_ids);
        EXPECT_EQ(groups.row_starts, fresh.row_starts);
        EXPECT_EQ(groups.contributions.size(), static_cast<size_t>(num_ids));
      }
    }
  }
}

TEST(MergeGroupsTest, JoinsRowsInTheOrderOfTheCores) {
  RowGroups a, b;
  a.row_ids = {1, 4};
  a.row_starts = {0, 2, 3};
  a.contributions = {{10, 0, 1}, {11, 1, 2}, {12, 0, 3}};
  b.row_ids = {0, 4};
  b.row_starts = {0, 1, 2};
  b.contributions = {{20, 1, 4}, {21, 0, 5}};

  const RowGroups merged = MergeGroups({&a, &b}, /*num_outputs=*/2);

  EXPECT_THAT(merged.row_ids, ElementsAre(0, 1, 4));
  EXPECT_THAT(merged.row_starts, ElementsAre(0, 1, 3, 5));
  EXPECT_THAT(
      Entries(merged),
      ElementsAre(Entry(0, 3, 20, 4), Entry(1, 0, 10, 1), Entry(1, 1, 11, 2),
                  Entry(4, 0, 12, 3), Entry(4, 2, 21, 5)));
}

TEST(MergeGroupsTest, EqualsTheGroupsOfAllCoresInputs) {
  std::mt19937_64 random(11);
  std::vector<InputLookups> inputs;
  std::vector<RowGroups> cores;
  for (int64_t core = 0; core < 4; ++core) {
    // Core 2 has no ids at all.
    inputs.push_back(RandomInput(0, 0, core == 2 ? 0 : 200, 60, random));
    cores.push_back(GroupsOf({inputs.back()}, 0, 60));
    inputs.back().output = core;
  }

  const RowGroups merged =
      MergeGroups({&cores[0], &cores[1], &cores[2], &cores[3]}, 1);

  EXPECT_EQ(Entries(merged), Sorted(inputs, 0));
}

TEST(MergeGroupsTest, NothingJoinsToNothing) {
  RowGroups empty;
  empty.row_starts = {0};

  const RowGroups merged = MergeGroups({&empty, &empty}, 1);

  EXPECT_EQ(merged.num_rows(), 0);
  EXPECT_THAT(merged.row_starts, ElementsAre(0));
}

TEST(InputLookupsTest, OutputRowsInterleaveTheInputs) {
  InputLookups input;
  input.width = 2;
  input.stride = 5;
  input.offset = 3;

  EXPECT_EQ(input.output_row(0), 3);
  EXPECT_EQ(input.output_row(1), 4);
  EXPECT_EQ(input.output_row(2), 8);
  EXPECT_EQ(input.output_row(3), 9);
}

}  // namespace
}  // namespace tpuless
