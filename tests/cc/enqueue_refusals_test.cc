// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What an Enqueue request is refused for, in whole messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/engine/enqueue.h"
#include "tests/cc/configs.h"
#include "tests/cc/status_matchers.h"
#include "tests/cc/tensor_arena.h"

namespace tpuless {
namespace {

class EnqueueRefusalsTest : public ::testing::Test {
 protected:
  static Status Refusal(const EngineConfig& config,
                        const EnqueueRequest& request) {
    EnqueueMemory memory(1);
    return PrepareMinibatch(config, request, false, memory, ParallelFor())
        .status();
  }

  // Returns a sound request of `num_inputs` empty inputs.
  EnqueueRequest Request(EnqueueForm form, size_t num_inputs) {
    EnqueueRequest request;
    request.form = form;
    request.mode_override = "train";
    for (size_t i = 0; i < num_inputs; ++i) {
      request.inputs.push_back(a_.Input(a_.Ints({}), {}));
    }
    return request;
  }

  // Returns one for `tables_`.
  EnqueueRequest Ragged() {
    EnqueueRequest request = Request(EnqueueForm::kRaggedTensorBatch, 3);
    request.table_ids = {0, 0, 1};
    request.num_features = {1, 2, 1};
    return request;
  }

  // Returns one for `features_`.
  EnqueueRequest Arbitrary() {
    EnqueueRequest request = Request(EnqueueForm::kArbitraryTensorBatch, 1);
    request.inputs[0].sample_indices = a_.Ints({0, 0, 0});
    return request;
  }

  const EngineConfig tables_ = Completed(
      TableLayout(2, {Table("user", 10, 1, 3), Table("item", 20, 1, 1)}));
  const EngineConfig features_ = Completed(
      FeatureLayout({Table("user", 10, 1)}, {Feature("watched", 0, {2})}));
  TensorArena a_;
};

TEST_F(EnqueueRefusalsTest, SoundRequestsAreNotRefused) {
  EXPECT_THAT(Refusal(tables_, Ragged()), IsOk());
  EXPECT_THAT(Refusal(features_, Arbitrary()), IsOk());
}

TEST_F(EnqueueRefusalsTest, ModeOverride) {
  EnqueueRequest request = Arbitrary();
  request.mode_override = "eval";

  EXPECT_THAT(Refusal(features_, request),
              IsInvalidArgument("unknown mode_override 'eval', expected one of "
                                "'unspecified', 'inference', 'train', "
                                "'training', 'backward_pass_only'"));
}

TEST_F(EnqueueRefusalsTest, DeviceOrdinal) {
  for (const int64_t ordinal : {-2, 1}) {
    EnqueueRequest request = Arbitrary();
    request.device_ordinal = ordinal;

    EXPECT_THAT(Refusal(features_, request),
                IsInvalidArgument("device_ordinal must be >= -1 and < 1, the "
                                  "cores of this host, got " +
                                  std::to_string(ordinal)));
  }
}

TEST_F(EnqueueRefusalsTest, FormsOfTablesWhereThereAreFeatures) {
  for (const EnqueueForm form :
       {EnqueueForm::kIntegerBatch, EnqueueForm::kSparseBatch,
        EnqueueForm::kSparseTensorBatch, EnqueueForm::kRaggedTensorBatch}) {
    EnqueueRequest request = Request(form, 1);
    request.table_ids = {0};

    EXPECT_THAT(Refusal(features_, request),
                IsInvalidArgument(
                    "the configuration must have no feature_descriptor for "
                    "this op; with them, use "
                    "EnqueueTPUEmbeddingArbitraryTensorBatch"));
  }
}

TEST_F(EnqueueRefusalsTest, NumberOfInputs) {
  EXPECT_THAT(
      Refusal(features_, Request(EnqueueForm::kArbitraryTensorBatch, 2)),
      IsInvalidArgument("must have 1 inputs, one a feature_descriptor, got 2"));
  EXPECT_THAT(Refusal(tables_, Request(EnqueueForm::kArbitraryTensorBatch, 1)),
              IsInvalidArgument("must have 2 inputs, one a table, got 1"));
  EXPECT_THAT(Refusal(tables_, Request(EnqueueForm::kIntegerBatch, 3)),
              IsInvalidArgument("must have 2 inputs, one a table, got 3"));
  EXPECT_THAT(Refusal(tables_, Request(EnqueueForm::kSparseBatch, 0)),
              IsInvalidArgument("must have 2 inputs, one a table, got 0"));

  EnqueueRequest request = Ragged();
  request.table_ids.pop_back();
  EXPECT_THAT(Refusal(tables_, request),
              IsInvalidArgument("must have 2 inputs, one a table_id, got 3"));
}

TEST_F(EnqueueRefusalsTest, NumberOfCombiners) {
  EnqueueRequest request = Ragged();
  request.combiners = {"sum"};

  EXPECT_THAT(Refusal(tables_, request),
              IsInvalidArgument("combiners must be empty, one a table (2) or "
                                "one an input (3), got 1"));
}

TEST_F(EnqueueRefusalsTest, UnknownCombiner) {
  EnqueueRequest request = Ragged();
  request.combiners = {"sum", "avg"};
  const std::string message =
      "unknown combiner 'avg', expected one of 'sum', 'mean', 'sqrtn'";

  EXPECT_THAT(Refusal(tables_, request), IsInvalidArgument(message));
  EXPECT_THAT(CheckCombiners({"avg"}), IsInvalidArgument(message));
  EXPECT_THAT(CheckCombiners({"sum", "mean", "sqrtn"}), IsOk());
}

TEST_F(EnqueueRefusalsTest, LengthOfLists) {
  EnqueueRequest sequences = Ragged();
  sequences.max_sequence_lengths = {0, 0};
  EnqueueRequest features = Ragged();
  features.num_features = {1};

  EXPECT_THAT(Refusal(tables_, sequences),
              IsInvalidArgument("max_sequence_lengths must be empty or have 3 "
                                "entries, one an input, got 2"));
  EXPECT_THAT(Refusal(tables_, features),
              IsInvalidArgument("num_features must be empty or have 3 entries, "
                                "one an input, got 1"));
}

TEST_F(EnqueueRefusalsTest, TableId) {
  EnqueueRequest request = Ragged();
  request.table_ids = {0, 2, 1};
  EXPECT_THAT(Refusal(tables_, request),
              IsInvalidArgument("input 1: table_ids[1] must be >= 0 and < 2, "
                                "got 2"));

  request.table_ids = {-1, 0, 1};
  EXPECT_THAT(Refusal(tables_, request),
              IsInvalidArgument("input 0: table_ids[0] must be >= 0 and < 2, "
                                "got -1"));
}

TEST_F(EnqueueRefusalsTest, NumFeatures) {
  EnqueueRequest request = Ragged();
  request.num_features = {1, 0, 1};

  EXPECT_THAT(Refusal(tables_, request),
              IsInvalidArgument("input 1 (table 'user'): num_features must be "
                                ">= 1, got 0"));
}

TEST_F(EnqueueRefusalsTest, SequenceLength) {
  EnqueueRequest request = Ragged();
  request.max_sequence_lengths = {-1, 0, 0};

  EXPECT_THAT(Refusal(tables_, request),
              IsInvalidArgument("input 0 (table 'user'): max_sequence_lengths "
                                "must be >= 0, got -1"));
}

TEST_F(EnqueueRefusalsTest, SequencesOfSeveralFeatures) {
  EnqueueRequest request = Ragged();
  request.max_sequence_lengths = {0, 2, 0};

  EXPECT_THAT(Refusal(tables_, request),
              IsInvalidArgument("input 1 (table 'user'): num_features must be "
                                "1 for a sequence feature, got 2"));
}

TEST_F(EnqueueRefusalsTest, SlotsThatDoNotFillTheTable) {
  const std::string rule =
      "table 'user': num_features and max_sequence_lengths of its inputs must "
      "add up to its num_features (3), got ";
  EnqueueRequest few = Ragged();
  few.num_features = {1, 1, 1};
  EnqueueRequest many = Ragged();
  many.num_features = {2, 2, 1};
  EnqueueRequest huge = Ragged();
  huge.num_features = {1, INT64_MAX, 1};

  EXPECT_THAT(Refusal(tables_, few), IsInvalidArgument(rule + "2"));
  EXPECT_THAT(Refusal(tables_, many), IsInvalidArgument(rule + "2 + 2"));
  EXPECT_THAT(Refusal(tables_, huge),
              IsInvalidArgument(rule + "1 + 9223372036854775807"));
}

TEST_F(EnqueueRefusalsTest, TableWithoutAnInput) {
  EnqueueRequest request = Ragged();
  request.inputs.pop_back();
  request.table_ids.pop_back();
  request.num_features.pop_back();

  EXPECT_THAT(Refusal(tables_, request),
              IsInvalidArgument("table 'item': num_features and "
                                "max_sequence_lengths of its inputs must add "
                                "up to its num_features (1), got 0"));
}

TEST_F(EnqueueRefusalsTest, RankOfSparseBatchIndices) {
  EnqueueRequest request = Request(EnqueueForm::kSparseBatch, 2);
  request.inputs[0] = a_.Input(a_.Ints({0, 0}, {1, 2}), {1});

  EXPECT_THAT(Refusal(tables_, request),
              IsInvalidArgument("table 'user': sample_indices must have rank "
                                "1, got shape [1, 2]"));
}

TEST_F(EnqueueRefusalsTest, NumberOfIntegers) {
  EnqueueRequest request = Request(EnqueueForm::kIntegerBatch, 2);
  request.inputs[0] = a_.Input(a_.Ints({}), {1, 2, 3, 4, 5});

  EXPECT_THAT(
      Refusal(tables_, request),
      IsInvalidArgument("table 'user': must have 6 ids, one a sample, got 5"));
}

TEST_F(EnqueueRefusalsTest, IdsAreNamedByFeatureOrInput) {
  EnqueueRequest arbitrary = Arbitrary();
  arbitrary.inputs[0] = a_.Input(a_.Ints({0, 1, 2}), {3, 10});
  EnqueueRequest ragged = Ragged();
  ragged.inputs[2] = a_.Input(a_.Ints({0, 0, 1}), {-4});

  EXPECT_THAT(Refusal(features_, arbitrary),
              IsInvalidArgument("feature 'watched': id 10 of sample 1 "
                                "(embedding_indices[1]) must be >= 0 and < "
                                "vocabulary_size (10)"));
  EXPECT_THAT(Refusal(tables_, ragged),
              IsInvalidArgument("input 2 (table 'item'): id -4 of sample 1 "
                                "(embedding_indices[0]) must be >= 0 and < "
                                "vocabulary_size (20)"));
}

TEST_F(EnqueueRefusalsTest, OfSeveralFaultsTheFirstInputsIsReported) {
  EnqueueRequest request = Ragged();
  request.inputs[0] = a_.Input(a_.Ints({0, 0, 1}), {11});
  request.inputs[2] = a_.Input(a_.Ints({0, 0, 1}), {22});

  EXPECT_THAT(Refusal(tables_, request),
              IsInvalidArgument("input 0 (table 'user'): id 11 of sample 1 "
                                "(embedding_indices[0]) must be >= 0 and < "
                                "vocabulary_size (10)"));
}

}  // namespace
}  // namespace tpuless
