// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What each form of Enqueue looks up.
#include "cc/engine/enqueue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/cc/configs.h"
#include "tests/cc/lookup_rows.h"
#include "tests/cc/status_matchers.h"
#include "tests/cc/tensor_arena.h"

namespace tpuless {
namespace {

using ::testing::ElementsAre;

class EnqueueTest : public ::testing::Test {
 protected:
  // Prepares `request`, which must be sound, for `config`.
  std::shared_ptr<Minibatch> Prepare(const EngineConfig& config,
                                     EnqueueRequest request,
                                     bool skip = false) {
    if (request.mode_override.empty()) request.mode_override = "unspecified";
    Result<std::shared_ptr<Minibatch>> minibatch =
        PrepareMinibatch(config, request, skip, memory_, ParallelFor());
    EXPECT_THAT(minibatch, IsOk());
    return minibatch.ok() ? *minibatch : std::make_shared<Minibatch>();
  }

  static EnqueueRequest Request(EnqueueForm form,
                                std::vector<EnqueueInput> inputs) {
    EnqueueRequest request;
    request.form = form;
    request.inputs = std::move(inputs);
    return request;
  }

  // 2 samples a core; table 'user' has 3 feature slots, 'item' has 1.
  const EngineConfig tables_ = Completed(
      TableLayout(2, {Table("user", 10, 1, 3), Table("item", 20, 1, 1)}));
  // Features of both tables, one a sequence of up to 3.
  const EngineConfig features_ = Completed(
      FeatureLayout({Table("user", 10, 1), Table("item", 20, 1)},
                    {Feature("seen", 1, {2, 3}), Feature("id", 0, {2})}));
  TensorArena a_;
  EnqueueMemory memory_{1};
};

TEST_F(EnqueueTest, IntegerBatchGivesEachRowItsId) {
  const auto batch =
      Prepare(tables_, Request(EnqueueForm::kIntegerBatch,
                               {a_.Input(a_.Ints({}), {1, 2, 3, 4, 5, 6}),
                                a_.Input(a_.Ints({}), {19, 18})}));

  EXPECT_EQ(
      OutputRows(*batch, 0),
      (LookupRows{{{1, 1}}, {{2, 1}}, {{3, 1}}, {{4, 1}}, {{5, 1}}, {{6, 1}}}));
  EXPECT_EQ(OutputRows(*batch, 1), (LookupRows{{{19, 1}}, {{18, 1}}}));
}

TEST_F(EnqueueTest, SparseBatchIndicesAreActivationRows) {
  const auto batch = Prepare(
      tables_, Request(EnqueueForm::kSparseBatch,
                       {a_.Input(a_.Ints({5, 0, 5}), {1, 2, 3}, {1, 2, 3}),
                        a_.Input(a_.Ints({}), {})}));

  EXPECT_EQ(OutputRows(*batch, 0),
            (LookupRows{{{2, 2}}, {}, {}, {}, {}, {{1, 1}, {3, 3}}}));
  EXPECT_EQ(OutputRows(*batch, 1), (LookupRows{{}, {}}));
}

TEST_F(EnqueueTest, SparseBatchWithoutIndicesIsDense) {
  const auto batch =
      Prepare(tables_, Request(EnqueueForm::kSparseBatch,
                               {a_.Input(a_.Ints({}), {1, 2, 3, 4, 5, 6}),
                                a_.Input(a_.Ints({}), {7, 8})}));

  EXPECT_EQ(OutputRows(*batch, 1), (LookupRows{{{7, 1}}, {{8, 1}}}));
  EXPECT_EQ(batch->num_ids, 8);
}

TEST_F(EnqueueTest, SparseTensorInputsTakeTheSlotsOfTheirTable) {
  // A sequence of 2 and a plain feature share 'user', around one of 'item'.
  EnqueueRequest request =
      Request(EnqueueForm::kSparseTensorBatch,
              {a_.Input(a_.Ints({0, 1, 1, 0, 1, 2}, {3, 2}), {1, 2, 3}),
               a_.Input(a_.Ints({1}), {15}),
               a_.Input(a_.Ints({0, 0}), {4, 5}, {.5, 2})});
  request.table_ids = {0, 1, 0};
  request.max_sequence_lengths = {2, 0, 0};

  const auto batch = Prepare(tables_, request);

  EXPECT_EQ(OutputRows(*batch, 0),
            (LookupRows{{}, {{1, 1}}, {{4, .5}, {5, 2}}, {{2, 1}}, {}, {}}));
  EXPECT_EQ(OutputRows(*batch, 1), (LookupRows{{}, {{15, 1}}}));
}

TEST_F(EnqueueTest, SparseTensorWithSeveralFeaturesASample) {
  EnqueueRequest request = Request(
      EnqueueForm::kSparseTensorBatch,
      {a_.Input(a_.Ints({0, 1}), {1, 2}),
       a_.Input(a_.Ints({}, {0, 2}), {7, 8, 9, 1}), a_.Input(a_.Ints({}), {})});
  request.table_ids = {0, 0, 1};
  request.num_features = {1, 2, 1};

  const auto batch = Prepare(tables_, request);

  // The second input's samples 0 and 1 are slots 1 and 2 of sample 0.
  EXPECT_EQ(
      OutputRows(*batch, 0),
      (LookupRows{{{1, 1}}, {{7, 1}}, {{8, 1}}, {{2, 1}}, {{9, 1}}, {{1, 1}}}));
}

TEST_F(EnqueueTest, RaggedTensorReadsRowSplits) {
  EnqueueRequest request =
      Request(EnqueueForm::kRaggedTensorBatch,
              {a_.Input(a_.Ints({0, 1, 1, 3, 3}), {1, 2, 3}),
               a_.Input(a_.Longs({0, 0, 2}), {4, 5}),
               a_.Input(a_.Ints({0, 3, 4}), {11, 12, 13, 14})});
  request.table_ids = {0, 0, 1};
  request.num_features = {2, 1, 1};

  const auto batch = Prepare(tables_, request);

  EXPECT_EQ(
      OutputRows(*batch, 0),
      (LookupRows{{{1, 1}}, {}, {}, {{2, 1}, {3, 1}}, {}, {{4, 1}, {5, 1}}}));
  EXPECT_EQ(OutputRows(*batch, 1),
            (LookupRows{{{11, 1}, {12, 1}, {13, 1}}, {{14, 1}}}));
}

TEST_F(EnqueueTest, RaggedSequencesAreCutOff) {
  EnqueueRequest request =
      Request(EnqueueForm::kRaggedTensorBatch,
              {a_.Input(a_.Ints({0, 4, 5}), {1, 2, 3, 4, 5}),
               a_.Input(a_.Ints({}), {9, 8})});
  request.table_ids = {0, 1};
  request.max_sequence_lengths = {3, 0};

  const auto batch = Prepare(tables_, request);

  EXPECT_EQ(OutputRows(*batch, 0),
            (LookupRows{{{1, 1}}, {{2, 1}}, {{3, 1}}, {{5, 1}}, {}, {}}));
  EXPECT_EQ(OutputRows(*batch, 1), (LookupRows{{{9, 1}}, {{8, 1}}}));
  EXPECT_EQ(batch->num_ids, 6);  // Not those that were cut off.
}

TEST_F(EnqueueTest, ArbitraryInputsAreFeatures) {
  const auto batch =
      Prepare(features_,
              Request(EnqueueForm::kArbitraryTensorBatch,
                      {a_.Input(a_.Longs({0, 2, 0, 1, 0, 0, 1, 5, 0}, {3, 3}),
                                {11, 12, 13}),
                       a_.Input(a_.Ints({}), {1, 2})}));

  EXPECT_EQ(OutputRows(*batch, 0),
            (LookupRows{{}, {}, {{11, 1}}, {{12, 1}}, {}, {}}));
  EXPECT_EQ(OutputRows(*batch, 1), (LookupRows{{{1, 1}}, {{2, 1}}}));
}

TEST_F(EnqueueTest, ArbitraryInputsAreTablesWhereThereAreNoFeatures) {
  const auto batch = Prepare(
      tables_, Request(EnqueueForm::kArbitraryTensorBatch,
                       {a_.Input(a_.Ints({0, 1, 1, 1, 1, 1, 2}), {1, 2}),
                        a_.Input(a_.Ints({}, {0, 2}), {})}));

  EXPECT_EQ(OutputRows(*batch, 0),
            (LookupRows{{{1, 1}}, {}, {}, {}, {}, {{2, 1}}}));
  EXPECT_EQ(OutputRows(*batch, 1), (LookupRows{{}, {}}));
}

TEST_F(EnqueueTest, CombinersAreThoseOfTablesWhereBothReadingsFit) {
  EnqueueRequest request =
      Request(EnqueueForm::kArbitraryTensorBatch,
              {a_.Input(a_.Ints({0, 2, 2, 2, 2, 2, 2}), {1, 2}),
               a_.Input(a_.Ints({0, 0, 4}), {1, 2, 3, 4})});
  request.combiners = {"mean", "sqrtn"};

  const auto batch = Prepare(features_, request);

  // Feature 0 is of table 1.
  EXPECT_EQ(OutputRows(*batch, 0)[0],
            (LookupRow{{1, 1 / std::sqrt(2.0f)}, {2, 1 / std::sqrt(2.0f)}}));
  EXPECT_EQ(OutputRows(*batch, 1)[1],
            (LookupRow{{1, .25}, {2, .25}, {3, .25}, {4, .25}}));
}

TEST_F(EnqueueTest, CombinersMayBeThoseOfInputs) {
  EnqueueRequest request = Request(EnqueueForm::kRaggedTensorBatch,
                                   {a_.Input(a_.Ints({0, 2, 2, 2, 2}), {1, 2}),
                                    a_.Input(a_.Ints({0, 2, 2}), {1, 2}),
                                    a_.Input(a_.Ints({0, 2, 2}), {1, 2})});
  request.table_ids = {0, 0, 1};
  request.num_features = {2, 1, 1};
  request.combiners = {"sum", "mean", "sum"};

  const auto batch = Prepare(tables_, request);

  EXPECT_EQ(OutputRows(*batch, 0)[0], (LookupRow{{1, 1}, {2, 1}}));
  EXPECT_EQ(OutputRows(*batch, 0)[2], (LookupRow{{1, .5}, {2, .5}}));
  EXPECT_EQ(OutputRows(*batch, 1)[0], (LookupRow{{1, 1}, {2, 1}}));
}

TEST_F(EnqueueTest, ModeOverrideWins) {
  const auto mode_of = [&](Mode configured, const std::string& override) {
    EngineConfig config = features_;
    config.mode = configured;
    EnqueueRequest request = Request(
        EnqueueForm::kArbitraryTensorBatch,
        {a_.Input(a_.Ints({}, {0, 3}), {}), a_.Input(a_.Ints({}, {0, 2}), {})});
    request.mode_override = override;
    return Prepare(config, request)->mode;
  };

  EXPECT_EQ(mode_of(Mode::kInference, "unspecified"), Mode::kInference);
  EXPECT_EQ(mode_of(Mode::kTraining, "unspecified"), Mode::kTraining);
  EXPECT_EQ(mode_of(Mode::kTraining, "inference"), Mode::kInference);
  EXPECT_EQ(mode_of(Mode::kInference, "train"), Mode::kTraining);
  EXPECT_EQ(mode_of(Mode::kInference, "training"), Mode::kTraining);
  EXPECT_EQ(mode_of(Mode::kTraining, "backward_pass_only"),
            Mode::kBackwardPassOnly);
}

TEST_F(EnqueueTest, DeviceOrdinalIsTheCore) {
  EngineConfig config = features_;
  config.num_cores = 3;
  const auto core_of = [&](int64_t ordinal) {
    EnqueueRequest request = Request(
        EnqueueForm::kArbitraryTensorBatch,
        {a_.Input(a_.Ints({}, {0, 3}), {}), a_.Input(a_.Ints({}, {0, 2}), {})});
    request.device_ordinal = ordinal;
    return Prepare(config, request)->core;
  };

  EXPECT_EQ(core_of(-1), 0);
  EXPECT_EQ(core_of(0), 0);
  EXPECT_EQ(core_of(2), 2);
}

TEST_F(EnqueueTest, LookupsAreGroupedByTable) {
  const auto batch = Prepare(
      features_, Request(EnqueueForm::kArbitraryTensorBatch,
                         {a_.Input(a_.Ints({0, 0, 0, 0, 0, 0, 2}), {19, 3}),
                          a_.Input(a_.Ints({}), {7, 7})}));

  ASSERT_EQ(batch->groups.size(), 2u);
  EXPECT_THAT(batch->groups[0].row_ids, ElementsAre(7));
  EXPECT_EQ(batch->groups[0].contributions.size(), 2u);
  EXPECT_EQ(batch->groups[0].contributions[1].tensor, 1);
  EXPECT_EQ(batch->groups[0].contributions[1].row, 1);
  EXPECT_THAT(batch->groups[1].row_ids, ElementsAre(3, 19));
}

TEST_F(EnqueueTest, InferenceNeedsNoGroups) {
  EnqueueRequest request = Request(
      EnqueueForm::kArbitraryTensorBatch,
      {a_.Input(a_.Ints({}, {0, 3}), {}), a_.Input(a_.Ints({}), {7, 7})});
  request.mode_override = "inference";

  const auto batch = Prepare(features_, request);

  EXPECT_FALSE(batch->needs_gradient());
  EXPECT_TRUE(batch->groups.empty());
}

TEST_F(EnqueueTest, SkippedIdsAreNotCounted) {
  const auto batch = Prepare(features_,
                             Request(EnqueueForm::kArbitraryTensorBatch,
                                     {a_.Input(a_.Ints({}, {0, 3}), {}),
                                      a_.Input(a_.Ints({}), {10, 9})}),
                             /*skip=*/true);

  EXPECT_EQ(OutputRows(*batch, 1), (LookupRows{{}, {{9, 1}}}));
  EXPECT_EQ(batch->num_ids, 1);
}

}  // namespace
}  // namespace tpuless
