// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Reads a table's optimizer and says what is wrong with it.
#include "cc/config/optimization_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "google/protobuf/unknown_field_set.h"
#include "tests/cc/config_protos.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(OptimizationParametersTest, ReadsHyperparametersByName) {
  const auto config = ParsedWith([](auto& parameters) {
    auto* adam = parameters.mutable_adam();
    adam->set_beta1(0.5f);
    adam->set_beta2(0.25f);
    adam->set_epsilon(0.125f);
    adam->set_use_sum_inside_sqrt(true);
  });

  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->tables[0].optimizer, "adam");
  EXPECT_THAT(config->tables[0].hyperparameters.values(),
              ElementsAre(Pair("beta1", 0.5), Pair("beta2", 0.25),
                          Pair("epsilon", 0.125), Pair("use_non_lazy_adam", 0),
                          Pair("use_sum_inside_sqrt", 1)));
}

TEST(OptimizationParametersTest, ReadsWhatBelongsToUpdates) {
  const auto config = ParsedWith([](auto& parameters) {
    parameters.mutable_learning_rate()->mutable_dynamic()->set_tag(0);
    parameters.mutable_clipping_limits()->mutable_upper()->set_value(1);
    parameters.mutable_gradient_clipping_limits()->mutable_lower()->set_value(
        0);
    parameters.set_weight_decay_factor(0.5f);
    parameters.set_multiply_weight_decay_factor_by_learning_rate(true);
    auto* quantization = parameters.mutable_simulated_quantization();
    quantization->set_enabled(true);
    quantization->mutable_clipping_limits()->mutable_lower()->set_value(-1);
    quantization->mutable_clipping_limits()->mutable_upper()->set_value(1);
    quantization->set_num_buckets(5);
  });

  ASSERT_THAT(config, IsOk());
  const TableConfig& table = config->tables[0];
  EXPECT_EQ(table.learning_rate_tag, 0);
  ASSERT_TRUE(table.clip_weights.has_value());
  EXPECT_EQ(table.clip_weights->lower, -kInfinity);
  EXPECT_EQ(table.clip_weights->upper, 1);
  ASSERT_TRUE(table.clip_gradients.has_value());
  EXPECT_EQ(table.clip_gradients->lower, 0);
  EXPECT_EQ(table.clip_gradients->upper, kInfinity);
  EXPECT_EQ(table.weight_decay_factor, 0.5f);
  EXPECT_TRUE(table.multiply_weight_decay_by_learning_rate);
  ASSERT_TRUE(table.quantization.has_value());
  EXPECT_EQ(table.quantization->limits.lower, -1);
  EXPECT_EQ(table.quantization->limits.upper, 1);
  EXPECT_EQ(table.quantization->num_buckets, 5);
}

TEST(OptimizationParametersTest, QuantizationThatIsNotEnabledIsOff) {
  const auto config = ParsedWith([](auto& parameters) {
    parameters.mutable_simulated_quantization()->set_num_buckets(5);
  });

  ASSERT_THAT(config, IsOk());
  EXPECT_FALSE(config->tables[0].quantization.has_value());
}

TEST(OptimizationParametersTest, OnlyDisabledTurnsAccumulationOff) {
  for (const auto& [status, accumulates] :
       {std::pair(0, true), std::pair(1, true), std::pair(2, false)}) {
    const auto config = ParsedWith([status = status](auto& parameters) {
      parameters.set_gradient_accumulation_status(
          static_cast<tensorflow::tpu::GradientAccumulationStatus_Status>(
              status));
    });

    ASSERT_THAT(config, IsOk());
    EXPECT_EQ(config->tables[0].accumulate_gradients, accumulates) << status;
  }
}

TEST(OptimizationParametersTest, RefusesATableWithoutOptimizer) {
  EXPECT_THAT(
      ParsedWith([](auto& parameters) {
        parameters.clear_stochastic_gradient_descent();
      }),
      IsInvalidArgument("table 'user': no optimization algorithm specified"));
}

// A message of a table with this optimizer and dynamic input, by reflection:
// older protos do not know the field.
TEST(OptimizationParametersTest, ReadsTheTagOfADynamicInput) {
  const auto* field =
      tensorflow::tpu::OptimizationParameters::descriptor()->FindFieldByName(
          "frequency_aware_adagrad");
  if (field == nullptr) return;
  const auto config = ParsedWith([&](auto& parameters) {
    auto& optimizer =
        *parameters.GetReflection()->MutableMessage(&parameters, field);
    auto& input = *optimizer.GetReflection()->MutableMessage(
        &optimizer, optimizer.GetDescriptor()->FindFieldByName("step_counter"));
    input.GetReflection()->SetInt32(
        &input, input.GetDescriptor()->FindFieldByName("tag"), 0);
  });

  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->tables[0].dynamic_input_tag, 0);
  EXPECT_EQ(config->num_learning_rates(), 1);
}

TEST(OptimizationParametersTest, NamesAnOptimizerThatTensorFlowDoesNotKnow) {
  EXPECT_THAT(ParsedWith([](auto& parameters) {
                parameters.clear_stochastic_gradient_descent();
                parameters.GetReflection()
                    ->MutableUnknownFields(&parameters)
                    ->AddLengthDelimited(99, "");
              }),
              StatusIs(StatusCode::kUnimplemented,
                       "table 'user': optimizer must be known to this "
                       "TensorFlow, got field number 99 of "
                       "OptimizationParameters"));
}

TEST(OptimizationParametersTest, RefusesAnAccumulationStatusThatDoesNotExist) {
  EXPECT_THAT(
      ParsedWith([](auto& parameters) {
        parameters.set_gradient_accumulation_status(
            static_cast<tensorflow::tpu::GradientAccumulationStatus_Status>(7));
      }),
      IsInvalidArgument("table 'user': gradient_accumulation_status must be "
                        "0, 1 or 2, got 7"));
}

}  // namespace
}  // namespace tpuless
