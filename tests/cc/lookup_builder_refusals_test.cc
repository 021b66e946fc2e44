// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What ids, weights and positions are refused for, in whole messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "cc/engine/lookup_builder.h"
#include "tests/cc/status_matchers.h"
#include "tests/cc/tensor_arena.h"

namespace tpuless {
namespace {

class LookupBuilderRefusalsTest : public ::testing::Test {
 protected:
  using Add = std::function<Status(LookupBuilder&)>;

  // Builds lookups in 4 rows of a table of 10, up to the first refusal.
  Status Build(const TensorView& ids, const Add& add, bool skip = false) {
    LookupBuilder builder("feature 'f'", 4, 10, skip, workspace_, lookups_);
    TPULESS_RETURN_IF_ERROR(builder.SetIds(ids, a_.Floats({})));
    TPULESS_RETURN_IF_ERROR(add(builder));
    return builder.Build(Combiner::kSum);
  }

  Status SampleIndices(const TensorView& indices, int64_t sequence_length) {
    return Build(a_.Ints({1, 2}), [&](auto& b) {
      return b.AddSampleIndices(
          indices, 4 / (sequence_length + !sequence_length), sequence_length);
    });
  }

  Status RowSplits(const TensorView& splits) {
    return Build(a_.Ints({1, 2}),
                 [&](auto& b) { return b.AddRowSplits(splits, 4, 0); });
  }

  Status Arbitrary(const TensorView& indices) {
    return Build(a_.Ints({1, 2}),
                 [&](auto& b) { return b.AddArbitrary(indices, {2, 2}); });
  }

  Status Weights(const TensorView& weights) {
    LookupBuilder builder("feature 'f'", 4, 10, false, workspace_, lookups_);
    return builder.SetIds(a_.Ints({1, 2}), weights);
  }

  TensorArena a_;
  Workspace workspace_;
  InputLookups lookups_;
};

TEST_F(LookupBuilderRefusalsTest, IdsOfTheWrongTypeOrRank) {
  const auto dense = [](auto& b) { return b.AddDense(4, 1); };

  EXPECT_THAT(Build(a_.Floats({1, 2}), dense),
              IsInvalidArgument("feature 'f': embedding_indices must be int32 "
                                "or int64 of rank 1, got floats of shape [2]"));
  EXPECT_THAT(Build(a_.Ints({1, 2}, {2, 1}), dense),
              IsInvalidArgument("feature 'f': embedding_indices must be int32 "
                                "or int64 of rank 1, got shape [2, 1]"));
}

TEST_F(LookupBuilderRefusalsTest, WeightsOfTheWrongTypeOrRankOrNumber) {
  EXPECT_THAT(Weights(a_.Ints({1, 2})),
              IsInvalidArgument("feature 'f': aggregation_weights must be "
                                "floats of rank 1, got integers of shape [2]"));
  EXPECT_THAT(Weights(a_.Scalar(1)),
              IsInvalidArgument("feature 'f': aggregation_weights must be "
                                "floats of rank 1, got shape []"));
  EXPECT_THAT(Weights(a_.Floats({1, 2, 3})),
              IsInvalidArgument("feature 'f': aggregation_weights must be "
                                "empty or one an id (2), got 3"));
}

TEST_F(LookupBuilderRefusalsTest, DenseIdsOfTheWrongNumber) {
  EXPECT_THAT(
      Build(a_.Ints({1, 2}), [](auto& b) { return b.AddDense(4, 1); }),
      IsInvalidArgument("feature 'f': must have 4 ids, one a sample, got 2"));
}

TEST_F(LookupBuilderRefusalsTest, SampleIndicesOfTheWrongTypeOrRank) {
  EXPECT_THAT(SampleIndices(a_.Floats({0, 1}), 0),
              IsInvalidArgument("feature 'f': sample_indices must be integers "
                                "of rank 1 or 2, got floats of shape [2]"));
  EXPECT_THAT(SampleIndices(a_.Ints({0, 1}, {2, 1, 1}), 0),
              IsInvalidArgument("feature 'f': sample_indices must be integers "
                                "of rank 1 or 2, got shape [2, 1, 1]"));
  EXPECT_THAT(SampleIndices(a_.Scalar(1), 0),
              IsInvalidArgument("feature 'f': sample_indices must be integers "
                                "of rank 1 or 2, got floats of shape []"));
}

TEST_F(LookupBuilderRefusalsTest, SampleIndicesOfTheWrongNumber) {
  EXPECT_THAT(SampleIndices(a_.Ints({0, 1, 2}), 0),
              IsInvalidArgument("feature 'f': sample_indices must have one "
                                "entry an id (2), got 3"));
  EXPECT_THAT(SampleIndices(a_.Ints({0, 1}, {1, 2}), 0),
              IsInvalidArgument("feature 'f': sample_indices must have one "
                                "entry an id (2), got 1"));
}

TEST_F(LookupBuilderRefusalsTest, SampleIndexOutOfRange) {
  EXPECT_THAT(SampleIndices(a_.Ints({0, 4}), 0),
              IsInvalidArgument("feature 'f': sample index 4 of id 1 must be "
                                ">= 0 and < 4"));
  EXPECT_THAT(SampleIndices(a_.Longs({-1, 0}), 0),
              IsInvalidArgument("feature 'f': sample index -1 of id 0 must be "
                                ">= 0 and < 4"));
}

TEST_F(LookupBuilderRefusalsTest, NegativePosition) {
  EXPECT_THAT(SampleIndices(a_.Ints({0, 0, 1, -2}, {2, 2}), 2),
              IsInvalidArgument("feature 'f': position -2 of id 1 must be >= "
                                "0"));
}

TEST_F(LookupBuilderRefusalsTest, RowSplitsOfTheWrongTypeOrRank) {
  EXPECT_THAT(RowSplits(a_.Floats({0, 0, 0, 0, 2})),
              IsInvalidArgument("feature 'f': row splits must be integers of "
                                "rank 1, got floats of shape [5]"));
  EXPECT_THAT(RowSplits(a_.Ints({0, 0, 0, 0, 2}, {5, 1})),
              IsInvalidArgument("feature 'f': row splits must be integers of "
                                "rank 1, got shape [5, 1]"));
}

TEST_F(LookupBuilderRefusalsTest, RowSplitsOfTheWrongNumber) {
  EXPECT_THAT(RowSplits(a_.Ints({0, 1, 2})),
              IsInvalidArgument("feature 'f': row splits must be those of 4 "
                                "samples, got 2"));
}

TEST_F(LookupBuilderRefusalsTest, RowSplitsThatDoNotCoverTheIds) {
  EXPECT_THAT(RowSplits(a_.Ints({1, 1, 1, 1, 2})),
              IsInvalidArgument("feature 'f': row splits must start at 0, got "
                                "1"));
  EXPECT_THAT(RowSplits(a_.Ints({0, 1, 1, 1, 1})),
              IsInvalidArgument("feature 'f': row splits must end at the "
                                "number of ids (2), got 1"));
}

TEST_F(LookupBuilderRefusalsTest, RowSplitsThatFall) {
  EXPECT_THAT(RowSplits(a_.Longs({0, 2, 1, 2, 2})),
              IsInvalidArgument("feature 'f': row splits must not fall, got 2 "
                                "and then 1 at sample 1"));
  EXPECT_THAT(RowSplits(a_.Longs({0, 1000000, -5, 2, 2})),
              IsInvalidArgument("feature 'f': row splits must not fall, got "
                                "1000000 and then -5 at sample 1"));
}

TEST_F(LookupBuilderRefusalsTest, ArbitraryPositionsOfTheWrongRank) {
  EXPECT_THAT(Arbitrary(a_.Ints({0, 1}, {2, 1, 1})),
              IsInvalidArgument("feature 'f': sample_indices_or_row_splits "
                                "must have rank 1 or 2, got shape [2, 1, 1]"));
}

TEST_F(LookupBuilderRefusalsTest, ArbitraryRowSplitsThatFitNoReading) {
  EXPECT_THAT(Arbitrary(a_.Ints({0, 1, 1, 2})),
              IsInvalidArgument("feature 'f': row splits must be those of 4 "
                                "rows, or of 2 sequences along the last axis, "
                                "got 3"));
}

TEST_F(LookupBuilderRefusalsTest, CoordinatesOfTheWrongTypeOrShape) {
  EXPECT_THAT(Arbitrary(a_.Ints({0, 0, 1, 0}, {2, 2})),
              IsInvalidArgument(
                  "feature 'f': sparse indices must be integers of shape "
                  "[num_ids, 3] for activations of shape [2, 2] + [dimension], "
                  "got shape [2, 2]"));
  EXPECT_THAT(Arbitrary(a_.Floats({0, 0, 0, 1, 0, 0}, {2, 3})),
              IsInvalidArgument(
                  "feature 'f': sparse indices must be integers of shape "
                  "[num_ids, 3] for activations of shape [2, 2] + [dimension], "
                  "got floats of shape [2, 3]"));
}

TEST_F(LookupBuilderRefusalsTest, CoordinatesOfTheWrongNumber) {
  EXPECT_THAT(Arbitrary(a_.Ints({0, 0, 0}, {1, 3})),
              IsInvalidArgument("feature 'f': sparse indices must have one "
                                "entry an id (2), got 1"));
}

TEST_F(LookupBuilderRefusalsTest, CoordinatesOutOfRange) {
  EXPECT_THAT(Arbitrary(a_.Ints({0, 0, 0, 2, 0, 0}, {2, 3})),
              IsInvalidArgument("feature 'f': sample index 2 of id 1 must be "
                                ">= 0 and < 2"));
  EXPECT_THAT(Arbitrary(a_.Ints({0, 0, 0, 1, -1, 0}, {2, 3})),
              IsInvalidArgument("feature 'f': sparse index -1 of id 1 on axis "
                                "1 must be >= 0"));
  EXPECT_THAT(Arbitrary(a_.Ints({-3, 0, 0, 1, 0, 0}, {2, 3})),
              IsInvalidArgument("feature 'f': sparse index -3 of id 0 on axis "
                                "0 must be >= 0"));
  // Behind a coordinate that is cut off, too.
  EXPECT_THAT(Build(a_.Ints({1}),
                    [&](auto& b) {
                      return b.AddArbitrary(a_.Ints({0, 5, -1, 0}, {1, 4}),
                                            {1, 2, 2});
                    }),
              IsInvalidArgument("feature 'f': sparse index -1 of id 0 on axis "
                                "2 must be >= 0"));
}

TEST_F(LookupBuilderRefusalsTest, IdOutOfRange) {
  for (const int64_t id : {int64_t{-1}, int64_t{10}, int64_t{1} << 32}) {
    EXPECT_THAT(Build(a_.Longs({0, 9, id}),
                      [&](auto& b) {
                        return b.AddRowSplits(a_.Ints({0, 1, 1, 1, 3}), 4, 0);
                      }),
                IsInvalidArgument("feature 'f': id " + std::to_string(id) +
                                  " of sample 3 (embedding_indices[2]) must be "
                                  ">= 0 and < vocabulary_size (10)"));
  }
}

TEST_F(LookupBuilderRefusalsTest, IdOutOfRangeThatIsCutOff) {
  EXPECT_THAT(
      Build(a_.Ints({1, 2, 3, 10}),
            [&](auto& b) { return b.AddRowSplits(a_.Ints({0, 1, 4}), 2, 2); }),
      IsInvalidArgument("feature 'f': id 10 of sample 1 "
                        "(embedding_indices[3]) must be >= 0 and < "
                        "vocabulary_size (10)"));
  EXPECT_THAT(Build(a_.Ints({1, -7}),
                    [&](auto& b) {
                      return b.AddArbitrary(a_.Ints({0, 0, 0, 1, 9, 0}, {2, 3}),
                                            {2, 2});
                    }),
              IsInvalidArgument("feature 'f': id -7 of sample 1 "
                                "(embedding_indices[1]) must be >= 0 and < "
                                "vocabulary_size (10)"));
}

TEST_F(LookupBuilderRefusalsTest, BadPositionsAlsoWhereIdsAreSkipped) {
  EXPECT_THAT(
      Build(
          a_.Ints({-1, 2}),
          [&](auto& b) { return b.AddSampleIndices(a_.Ints({0, 4}), 4, 0); },
          /*skip=*/true),
      IsInvalidArgument("feature 'f': sample index 4 of id 1 must be "
                        ">= 0 and < 4"));
}

}  // namespace
}  // namespace tpuless
