// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Names the first field in which two messages differ.
#include "cc/config/message_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "tests/cc/config_protos.h"

namespace tpuless {
namespace {

// Returns the difference that a change to a sound configuration makes.
std::string DifferenceOf(const std::function<void(Proto&)>& change) {
  Proto changed = SoundProto();
  change(changed);
  return FirstDifference(SoundProto(), changed);
}

TEST(MessageDifferenceTest, EqualMessagesHaveNone) {
  EXPECT_EQ(DifferenceOf([](Proto&) {}), "");
}

TEST(MessageDifferenceTest, Number) {
  EXPECT_EQ(DifferenceOf([](Proto& proto) {
              proto.mutable_table_descriptor(0)->set_dimension(8);
            }),
            "table_descriptor[0].dimension: configured 2, got 8");
}

TEST(MessageDifferenceTest, String) {
  EXPECT_EQ(DifferenceOf([](Proto& proto) {
              proto.mutable_table_descriptor(0)->set_name("item");
            }),
            "table_descriptor[0].name: configured 'user', got 'item'");
}

TEST(MessageDifferenceTest, Enum) {
  EXPECT_EQ(
      DifferenceOf([](Proto& proto) { proto.set_mode(Proto::INFERENCE); }),
      "mode: configured TRAINING, got INFERENCE");
}

TEST(MessageDifferenceTest, EnumValueWithoutName) {
  EXPECT_EQ(DifferenceOf([](Proto& proto) {
              proto.set_mode(static_cast<Proto::Mode>(9));
            }),
            "mode: configured TRAINING, got 9");
}

TEST(MessageDifferenceTest, Bool) {
  EXPECT_EQ(DifferenceOf([](Proto& proto) {
              proto.set_pipeline_execution_with_tensor_core(true);
            }),
            "pipeline_execution_with_tensor_core: configured false, got true");
}

TEST(MessageDifferenceTest, NumberOfEntries) {
  EXPECT_EQ(DifferenceOf([](Proto& proto) {
              *proto.add_table_descriptor() = proto.table_descriptor(0);
            }),
            "table_descriptor: configured 1 entries, got 2");
}

TEST(MessageDifferenceTest, EntryOfRepeatedNumbers) {
  Proto configured, given;
  configured.add_feature_descriptor()->add_input_shape(4);
  given.add_feature_descriptor()->add_input_shape(5);

  EXPECT_EQ(FirstDifference(configured, given),
            "feature_descriptor[0].input_shape[0]: configured 4, got 5");
}

TEST(MessageDifferenceTest, MessageThatIsNotSet) {
  EXPECT_EQ(DifferenceOf([](Proto& proto) {
              proto.mutable_table_descriptor(0)
                  ->mutable_optimization_parameters()
                  ->mutable_adagrad();
            }),
            "table_descriptor[0].optimization_parameters.adagrad: configured "
            "not set, got set");
}

TEST(MessageDifferenceTest, FloatsThatDifferInTheLastBit) {
  EXPECT_EQ(DifferenceOf([](Proto& proto) {
              proto.mutable_table_descriptor(0)
                  ->mutable_optimization_parameters()
                  ->mutable_learning_rate()
                  ->set_constant(0.10000001f);
            }),
            "table_descriptor[0].optimization_parameters.learning_rate."
            "constant: configured 0.1, got 0.10000001");
}

TEST(MessageDifferenceTest, NanEqualsNan) {
  OptimizationParameters parameters;
  parameters.set_weight_decay_factor(std::numeric_limits<float>::quiet_NaN());

  EXPECT_EQ(FirstDifference(parameters, parameters), "");
}

}  // namespace
}  // namespace tpuless
