// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Steps of several cores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cc/counting_host.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

constexpr bool kPipelined = true;

class CoresTest : public ::testing::TestWithParam<int64_t> {
 protected:
  // All cores' forward passes, or sends, of one step.
  void ForwardAll(CountingHost& host, float expected) {
    for (int64_t core = 0; core < GetParam(); ++core) {
      EXPECT_EQ(host.Forward(core), expected) << "core " << core;
    }
  }
  void SendAll(CountingHost& host) {
    for (int64_t core = GetParam(); core-- > 0;) {
      EXPECT_THAT(host.Send(core).Wait(), IsOk());
    }
  }
};

TEST_P(CoresTest, WithoutPipeliningAForwardPassSeesAllStepsBefore) {
  CountingHost host(GetParam());

  for (int step = 0; step < 4; ++step) {
    ForwardAll(host, static_cast<float>(step * GetParam()));
    SendAll(host);
  }
  EXPECT_EQ(host.engine().statistics().steps, 4);
}

TEST_P(CoresTest, WithPipeliningAForwardPassSeesAllStepsButTheLast) {
  CountingHost host(GetParam(), kPipelined);

  for (int step = 0; step < 5; ++step) {
    ForwardAll(host,
               static_cast<float>(step < 2 ? 0 : (step - 1) * GetParam()));
    SendAll(host);
  }
  EXPECT_EQ(host.engine().statistics().steps, 4);
  EXPECT_EQ(host.Count(), 5 * GetParam());
}

TEST_P(CoresTest, GradientsAreSummedBeforeTheOptimizer) {
  EngineConfig config = CountingHost::Config(GetParam(), false);
  config.tables[0].optimizer = "adagrad";
  CountingHost host(config, EngineOptions());
  ForwardAll(host, 0);
  SendAll(host);

  float weights[4], accumulators[4];
  EXPECT_THAT(host.engine().Retrieve(0, Shard(), {weights, accumulators},
                                     ParallelFor()),
              IsOk());
  EXPECT_EQ(accumulators[0], GetParam() * GetParam());
  EXPECT_EQ(weights[0], 1);
}

INSTANTIATE_TEST_SUITE_P(OneTwoFour, CoresTest, ::testing::Values(1, 2, 4));

TEST(StepProtocolCoresTest, GradientsAddUpInTheOrderOfTheCores) {
  const std::vector<float> gradients = {0x1p24f, 1, -0x1p24f};
  for (const std::vector<int64_t>& order :
       std::vector<std::vector<int64_t>>{{0, 1, 2}, {2, 1, 0}, {0, 2, 1}}) {
    CountingHost host(3);
    for (const int64_t core : order) host.Forward(core);
    for (const int64_t core : order) host.Send(core, gradients[core]);

    // (2^24 + 1) - 2^24 is 0.
    EXPECT_EQ(host.Count(), 0);
  }
}

TEST(StepProtocolCoresTest, AnIncompleteStepIsNeverApplied) {
  CountingHost host(2);
  host.Forward(0);
  host.Send(0);
  EXPECT_EQ(host.Count(), 0);

  host.Forward(1);
  EXPECT_EQ(host.Count(), 0);

  host.Send(1);
  EXPECT_EQ(host.Count(), 2);
}

TEST(StepProtocolCoresTest, AReceiveWaitsForTheOtherCoresSend) {
  CountingHost host(2);
  host.Forward(0);
  host.Forward(1);
  host.Send(0);
  host.Enqueue(0);
  const PendingCall receive = host.Receive(0);
  EXPECT_FALSE(receive.done());

  host.Send(1);

  EXPECT_THAT(receive.Wait(), IsOk());
  EXPECT_EQ(receive.activation(), 2);
}

TEST(StepProtocolCoresTest, PipelinedStepsWaitForEveryCoresNextForwardPass) {
  CountingHost host(2, kPipelined);
  for (int64_t core = 0; core < 2; ++core) {
    host.Forward(core);
    host.Send(core);
  }
  EXPECT_EQ(host.Forward(0), 0);
  EXPECT_EQ(host.engine().statistics().steps, 0);

  EXPECT_EQ(host.Forward(1), 0);
  EXPECT_EQ(host.engine().statistics().steps, 1);
}

TEST(StepProtocolCoresTest, PipelinedCoresAreAtMostOneStepApart) {
  CountingHost host(2, kPipelined);
  host.Forward(1);
  host.Send(1);
  host.Forward(0);
  host.Send(0);
  EXPECT_EQ(host.Forward(0), 0);
  host.Send(0);
  host.Enqueue(0);
  const PendingCall third = host.Receive(0);
  EXPECT_FALSE(third.done());

  EXPECT_EQ(host.Forward(1), 0);

  EXPECT_THAT(third.Wait(), IsOk());
  EXPECT_EQ(third.activation(), 2);
}

TEST(StepProtocolCoresTest, InferenceWaitsForAllCoresSends) {
  CountingHost host(2);
  host.Forward(0);
  host.Forward(1);
  host.Send(0);
  host.Enqueue(0, "inference");
  const PendingCall receive = host.Receive(0);
  EXPECT_FALSE(receive.done());

  host.Send(1);

  EXPECT_THAT(receive.Wait(), IsOk());
  EXPECT_EQ(receive.activation(), 2);
}

TEST(StepProtocolCoresTest, InferenceDoesNotWaitForStepsItsCoreIsNotIn) {
  CountingHost host(2);
  host.Forward(0);

  EXPECT_EQ(host.Forward(1, "inference"), 0);
}

TEST(StepProtocolCoresTest, ACoreMayTakePartByABackwardOnlyBatch) {
  CountingHost host(2);
  host.Forward(0);
  host.Enqueue(1, "backward_pass_only");
  host.Send(0);
  host.Send(1, -5);

  EXPECT_EQ(host.Count(), 6);
}

TEST(StepProtocolCoresTest, QueuesAreLimitedOnEachCore) {
  EngineOptions options;
  options.queue_limit = 1;
  CountingHost host(2, false, options);
  host.Enqueue(0);

  EXPECT_FALSE(host.Enqueue(0).done());
  EXPECT_TRUE(host.Enqueue(1).done());
}

class LearningRatesTest : public ::testing::Test {
 protected:
  static EngineConfig Config() {
    EngineConfig config = CountingHost::Config(2, false);
    config.tables[0].learning_rate_tag = 0;
    return config;
  }
  PendingCall Send(int64_t core, float learning_rate) {
    return host_.Send(core, -1, 0, {learning_rate});
  }

  CountingHost host_{Config(), EngineOptions()};
};

TEST_F(LearningRatesTest, EqualOnesAreUsed) {
  host_.Forward(0);
  host_.Forward(1);
  EXPECT_THAT(Send(1, .5).Wait(), IsOk());
  EXPECT_THAT(Send(0, .5).Wait(), IsOk());

  EXPECT_EQ(host_.Count(), 1);
}

TEST_F(LearningRatesTest, DifferentOnesGiveTheStepUp) {
  host_.Forward(0);
  host_.Forward(1);
  EXPECT_THAT(Send(1, .5).Wait(), IsOk());

  EXPECT_THAT(Send(0, .25).Wait(),
              IsInvalidArgument("learning_rates[0] must be the same on all "
                                "cores of step 1, got 0.25 on core 0 but 0.5 "
                                "before"));

  EXPECT_EQ(host_.Count(), 0);
  EXPECT_EQ(host_.engine().statistics().abandoned_steps, 1);
  host_.Forward(0);
  host_.Forward(1);
  Send(0, 1);
  Send(1, 1);
  EXPECT_EQ(host_.Count(), 2);
}

TEST_F(LearningRatesTest, ZerosOfDifferentSignAreDifferent) {
  host_.Forward(0);
  host_.Forward(1);
  Send(0, 0.0f);

  EXPECT_THAT(Send(1, -0.0f).Wait(),
              IsInvalidArgument("learning_rates[0] must be the same on all "
                                "cores of step 1, got -0 on core 1 but 0 "
                                "before"));
}

TEST_F(LearningRatesTest, ThoseOfAWaitingSendGiveTheStepUp) {
  host_.Forward(0);
  Send(0, .5);
  const PendingCall send = Send(1, .25);
  EXPECT_FALSE(send.done());

  host_.Forward(1);

  EXPECT_THAT(send.Wait(),
              IsInvalidArgument("learning_rates[0] must be the same on all "
                                "cores of step 1, got 0.25 on core 1 but 0.5 "
                                "before"));
}

TEST_F(LearningRatesTest, ReceivesThatWaitForTheStepGoOn) {
  host_.Forward(0);
  host_.Forward(1);
  host_.Enqueue(0);
  const PendingCall next = host_.Receive(0);
  EXPECT_FALSE(next.done());

  Send(0, .5);
  Send(1, .25);

  EXPECT_THAT(next.Wait(), IsOk());
  EXPECT_EQ(next.activation(), 0);
}

}  // namespace
}  // namespace tpuless
