// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Which row each id belongs to, and its gain.
#include "cc/engine/lookup_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "tests/cc/lookup_rows.h"
#include "tests/cc/status_matchers.h"
#include "tests/cc/tensor_arena.h"

namespace tpuless {
namespace {

constexpr int64_t kVocabularySize = 10;

class LookupBuilderTest : public ::testing::Test {
 protected:
  using Add = std::function<Status(LookupBuilder&)>;

  // Builds lookups in `num_rows` rows at the positions that `add` adds.
  LookupRows Build(int64_t num_rows, const TensorView& ids,
                   const TensorView& weights, const Add& add,
                   Combiner combiner = Combiner::kSum, bool skip = false) {
    LookupBuilder builder("input 0", num_rows, kVocabularySize, skip,
                          workspace_, lookups_);
    EXPECT_THAT(builder.SetIds(ids, weights), IsOk());
    EXPECT_THAT(add(builder), IsOk());
    EXPECT_THAT(builder.Build(combiner), IsOk());
    EXPECT_EQ(lookups_.num_rows(), num_rows);
    return OwnRows(lookups_);
  }

  LookupRows Combined(Combiner combiner, std::vector<float> weights) {
    const int32_t size = static_cast<int32_t>(weights.size());
    return Build(
        1, a_.Ints(std::vector<int32_t>(weights.size(), 3)), a_.Floats(weights),
        [&](auto& builder) {
          return builder.AddRowSplits(a_.Ints({0, size}), 1, 0);
        },
        combiner);
  }

  TensorArena a_;
  // Both are as the last build left them.
  Workspace workspace_;
  InputLookups lookups_;
};

TEST_F(LookupBuilderTest, DenseGivesEachSampleItsId) {
  const LookupRows rows = Build(3, a_.Ints({4, 0, 9}), a_.Floats({}),
                                [](auto& b) { return b.AddDense(3, 1); });

  EXPECT_EQ(rows, (LookupRows{{{4, 1}}, {{0, 1}}, {{9, 1}}}));
}

TEST_F(LookupBuilderTest, DenseSequenceFillsTheFirstPosition) {
  const LookupRows rows = Build(4, a_.Ints({4, 5}), a_.Floats({}),
                                [](auto& b) { return b.AddDense(2, 2); });

  EXPECT_EQ(rows, (LookupRows{{{4, 1}}, {}, {{5, 1}}, {}}));
}

TEST_F(LookupBuilderTest, NoPositionsAndNoIdsGiveEmptyRows) {
  const LookupRows rows =
      Build(2, a_.Ints({}), a_.Floats({}), [](auto&) { return Status(); });

  EXPECT_EQ(rows, (LookupRows{{}, {}}));
}

TEST_F(LookupBuilderTest, SampleIndicesNeedNotBeSorted) {
  const LookupRows rows =
      Build(3, a_.Longs({1, 2, 3, 4}), a_.Doubles({.5, 1, 2, 4}), [&](auto& b) {
        return b.AddSampleIndices(a_.Longs({2, 0, 2, 0}), 3, 0);
      });

  EXPECT_EQ(rows, (LookupRows{{{2, 1}, {4, 4}}, {}, {{1, .5}, {3, 2}}}));
}

TEST_F(LookupBuilderTest, FirstColumnOfIndicesIsTheSample) {
  const LookupRows rows =
      Build(2, a_.Ints({1, 2, 3}), a_.Floats({}), [&](auto& b) {
        return b.AddSampleIndices(a_.Ints({0, 7, 1, 0, 1, 3}, {3, 2}), 2, 0);
      });

  EXPECT_EQ(rows, (LookupRows{{{1, 1}}, {{2, 1}, {3, 1}}}));
}

TEST_F(LookupBuilderTest, SecondColumnIsThePositionInASequence) {
  const LookupRows rows =
      Build(4, a_.Ints({1, 2, 3, 4}), a_.Floats({1, 2, 3, 4}), [&](auto& b) {
        // Position 2 is cut off; 1 and 4 share a position.
        return b.AddSampleIndices(a_.Longs({0, 1, 0, 2, 1, 0, 0, 1}, {4, 2}), 2,
                                  2);
      });

  EXPECT_EQ(rows, (LookupRows{{}, {{1, 1}, {4, 4}}, {{3, 3}}, {}}));
}

TEST_F(LookupBuilderTest, PositionsCountWhereThereIsNoSecondColumn) {
  const LookupRows rows =
      Build(4, a_.Ints({1, 2, 3, 4, 5}), a_.Floats({}), [&](auto& b) {
        return b.AddSampleIndices(a_.Ints({1, 0, 1, 1, 0}), 2, 2);
      });

  EXPECT_EQ(rows, (LookupRows{{{2, 1}}, {{5, 1}}, {{1, 1}}, {{3, 1}}}));
}

TEST_F(LookupBuilderTest, RowSplitsCutTheIds) {
  const LookupRows rows = Build(
      4, a_.Ints({1, 2, 3}), a_.Floats({}),
      [&](auto& b) { return b.AddRowSplits(a_.Longs({0, 0, 2, 2, 3}), 4, 0); });

  EXPECT_EQ(rows, (LookupRows{{}, {{1, 1}, {2, 1}}, {}, {{3, 1}}}));
}

TEST_F(LookupBuilderTest, RowSplitsOfASequenceCutOffItsEnd) {
  const LookupRows rows =
      Build(4, a_.Ints({1, 2, 3, 4}), a_.Floats({1, 2, 3, 4}),
            [&](auto& b) { return b.AddRowSplits(a_.Ints({0, 3, 4}), 2, 2); });

  EXPECT_EQ(rows, (LookupRows{{{1, 1}}, {{2, 2}}, {{4, 4}}, {}}));
}

TEST_F(LookupBuilderTest, EmptyArbitraryPositionsAreDense) {
  const LookupRows rows =
      Build(4, a_.Ints({1, 2, 3, 4}), a_.Floats({}),
            [&](auto& b) { return b.AddArbitrary(a_.Ints({}), {2, 2}); });

  EXPECT_EQ(rows, (LookupRows{{{1, 1}}, {{2, 1}}, {{3, 1}}, {{4, 1}}}));
}

TEST_F(LookupBuilderTest, ArbitraryCoordinatesAddressTheOutput) {
  const LookupRows rows =
      Build(6, a_.Ints({1, 2, 3}), a_.Floats({}), [&](auto& b) {
        // The last column says nothing; column 3 of the second axis is cut.
        return b.AddArbitrary(a_.Longs({1, 2, 9, 0, 3, 0, 1, 2, 4}, {3, 3}),
                              {2, 3});
      });

  EXPECT_EQ(rows, (LookupRows{{}, {}, {}, {}, {}, {{1, 1}, {3, 1}}}));
}

TEST_F(LookupBuilderTest, NoArbitraryCoordinatesLeaveTheOutputEmpty) {
  const LookupRows rows = Build(2, a_.Ints({}), a_.Floats({}), [&](auto& b) {
    return b.AddArbitrary(a_.Longs({}, {0, 2}), {2});
  });

  EXPECT_EQ(rows, (LookupRows{{}, {}}));
}

TEST_F(LookupBuilderTest, ArbitraryRowSplitsOfAllElementsReduce) {
  const LookupRows rows =
      Build(4, a_.Ints({1, 2, 3}), a_.Floats({}), [&](auto& b) {
        return b.AddArbitrary(a_.Ints({0, 2, 2, 2, 3}), {2, 2});
      });

  EXPECT_EQ(rows, (LookupRows{{{1, 1}, {2, 1}}, {}, {}, {{3, 1}}}));
}

TEST_F(LookupBuilderTest, ArbitraryRowSplitsOfAllButOneAxisAreSequences) {
  const LookupRows rows = Build(
      4, a_.Ints({1, 2, 3, 4}), a_.Floats({}),
      [&](auto& b) { return b.AddArbitrary(a_.Ints({0, 3, 4}), {2, 2}); });

  EXPECT_EQ(rows, (LookupRows{{{1, 1}}, {{2, 1}}, {{4, 1}}, {}}));
}

TEST_F(LookupBuilderTest, ArbitraryRowSplitsReduceWhereBothReadingsFit) {
  const LookupRows rows = Build(
      2, a_.Ints({1, 2, 3}), a_.Floats({}),
      [&](auto& b) { return b.AddArbitrary(a_.Ints({0, 2, 3}), {2, 1}); });

  EXPECT_EQ(rows, (LookupRows{{{1, 1}, {2, 1}}, {{3, 1}}}));
}

TEST_F(LookupBuilderTest, SkippedIdsTakeTheirWeightsAlong) {
  const LookupRows rows = Build(
      2, a_.Longs({1, -1, int64_t{1} << 32, 2, 10}),
      a_.Floats({1, 50, 50, 3, 50}),
      [&](auto& b) { return b.AddRowSplits(a_.Ints({0, 4, 5}), 2, 0); },
      Combiner::kMean, /*skip=*/true);

  EXPECT_EQ(rows, (LookupRows{{{1, .25}, {2, .75}}, {}}));
}

TEST_F(LookupBuilderTest, SumKeepsTheWeights) {
  EXPECT_EQ(Combined(Combiner::kSum, {2, -1}), (LookupRows{{{3, 2}, {3, -1}}}));
}

TEST_F(LookupBuilderTest, MeanDividesByTheSum) {
  EXPECT_EQ(Combined(Combiner::kMean, {3, -1}),
            (LookupRows{{{3, 1.5}, {3, -.5}}}));
}

TEST_F(LookupBuilderTest, SqrtnDividesByTheNorm) {
  EXPECT_EQ(Combined(Combiner::kSqrtn, {3, -4}),
            (LookupRows{{{3, 3 / 5.0f}, {3, -4 / 5.0f}}}));
}

TEST_F(LookupBuilderTest, MeanWithoutWeightsCountsTheIds) {
  const LookupRows rows = Build(
      3, a_.Ints({1, 2, 3}), a_.Floats({}),
      [&](auto& b) { return b.AddRowSplits(a_.Ints({0, 2, 2, 3}), 3, 0); },
      Combiner::kMean);

  EXPECT_EQ(rows, (LookupRows{{{1, .5}, {2, .5}}, {}, {{3, 1}}}));
}

TEST_F(LookupBuilderTest, WeightsThatCancelGiveGainsOfZero) {
  EXPECT_EQ(Combined(Combiner::kMean, {1.5, -1.5}),
            (LookupRows{{{3, 0}, {3, 0}}}));
  EXPECT_EQ(Combined(Combiner::kMean, {0}), (LookupRows{{{3, 0}}}));
  EXPECT_EQ(Combined(Combiner::kSqrtn, {0, 0}), (LookupRows{{{3, 0}, {3, 0}}}));
}

TEST_F(LookupBuilderTest, WideWeightsAreRoundedBeforeTheyCombine) {
  const double third = 1.0 / 3;
  const float rounded = static_cast<float>(third);
  const double sum = static_cast<double>(rounded) + 1;

  const LookupRows rows = Build(
      1, a_.Ints({1, 2}), a_.Doubles({third, 1}),
      [&](auto& b) { return b.AddRowSplits(a_.Ints({0, 2}), 1, 0); },
      Combiner::kMean);

  EXPECT_EQ(rows, (LookupRows{{{1, static_cast<float>(rounded / sum)},
                               {2, static_cast<float>(1 / sum)}}}));
}

}  // namespace
}  // namespace tpuless
