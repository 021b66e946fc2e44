// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Steps of one core that are parked until the next forward pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cc/counting_host.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

constexpr bool kPipelined = true;

TEST(PipeliningTest, WithPipeliningAReceiveSeesAllStepsButTheLast) {
  CountingHost host(1, kPipelined);

  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(host.Forward(0), i < 2 ? 0 : i - 1);
    EXPECT_THAT(host.Send(0).Wait(), IsOk());
  }
}

TEST(PipeliningTest, WithPipeliningTheSameIsSeenWhenSendsComeLate) {
  CountingHost host(1, kPipelined);
  host.Forward(0);

  for (int i = 1; i < 6; ++i) {
    EXPECT_EQ(host.Forward(0), i - 1);
    EXPECT_THAT(host.Send(0).Wait(), IsOk());
  }
}

TEST(PipeliningTest, WithPipeliningNoReceiveIsTwoStepsAhead) {
  CountingHost host(1, kPipelined);
  host.Forward(0);
  host.Forward(0);
  host.Enqueue(0);
  const PendingCall receive = host.Receive(0);
  EXPECT_FALSE(receive.done());

  host.Send(0);

  EXPECT_THAT(receive.Wait(), IsOk());
  EXPECT_EQ(receive.activation(), 1);
}

TEST(PipeliningTest, RetrieveAppliesAParkedStep) {
  CountingHost host(1, kPipelined);
  host.Forward(0);
  host.Send(0);
  EXPECT_EQ(host.engine().statistics().steps, 0);

  EXPECT_EQ(host.Count(), 1);
  EXPECT_EQ(host.engine().statistics().steps, 1);
  EXPECT_EQ(host.Forward(0), 1);
}

TEST(PipeliningTest, LoadAppliesAParkedStepAndOverwritesIt) {
  CountingHost host(1, kPipelined);
  host.Forward(0);
  host.Send(0);

  host.LoadAll(100);

  EXPECT_EQ(host.engine().statistics().steps, 1);
  EXPECT_EQ(host.Count(), 100);
}

TEST(PipeliningTest, InferenceSeesAParkedStep) {
  CountingHost host(1, kPipelined);
  host.Forward(0);
  host.Send(0);

  EXPECT_EQ(host.Forward(0, "inference"), 1);
}

TEST(PipeliningTest, AParkedStepIsAppliedAfterShutdown) {
  CountingHost host(1, kPipelined);
  host.Forward(0);
  host.Send(0);

  host.engine().Shutdown();

  EXPECT_EQ(host.Count(), 1);
}

}  // namespace
}  // namespace tpuless
