// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What a failed program leaves behind is dropped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/cc/counting_host.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

class GiveUpProgramTest : public ::testing::Test {
 protected:
  void GiveUpProgram7() {
    host_.engine().GiveUpProgram(
        7, Status(StatusCode::kInternal, "the program failed"));
  }
  // Expects that the next step is as if nothing had been before.
  void ExpectCleanStep() {
    EXPECT_EQ(host_.engine().statistics().queued_batches, 0);
    for (int64_t core = 0; core < 2; ++core) {
      EXPECT_EQ(host_.Forward(core), 0);
      EXPECT_THAT(host_.Send(core).Wait(), IsOk());
    }
    EXPECT_EQ(host_.Count(), 2);
  }
  int64_t abandoned_steps() {
    return host_.engine().statistics().abandoned_steps;
  }

  CountingHost host_{2};
};

TEST_F(GiveUpProgramTest, DropsItsBatches) {
  host_.Enqueue(0, "train", 7);
  host_.Enqueue(0, "inference", 7);
  host_.Enqueue(0, "train", 7);

  GiveUpProgram7();

  EXPECT_EQ(abandoned_steps(), 2);
  ExpectCleanStep();
}

TEST_F(GiveUpProgramTest, EndsTheOtherCoresWaiters) {
  host_.Enqueue(0, "train", 7);
  const PendingCall receive = host_.Receive(1, 8);

  GiveUpProgram7();

  EXPECT_THAT(receive.Wait(),
              IsAborted("step 1 was given up: the program failed"));
}

TEST_F(GiveUpProgramTest, DropsStepsThatItReceived) {
  host_.Enqueue(0, "train", 6);
  host_.Receive(0, 7);

  GiveUpProgram7();

  ExpectCleanStep();
}

TEST_F(GiveUpProgramTest, DropsStepsThatItSent) {
  host_.Enqueue(0, "backward_pass_only", 6);
  EXPECT_THAT(host_.Send(0, -50, 7).Wait(), IsOk());

  GiveUpProgram7();

  EXPECT_EQ(abandoned_steps(), 1);
  ExpectCleanStep();
}

TEST_F(GiveUpProgramTest, KeepsWhatIsOfOthers) {
  host_.Enqueue(0, "train", 8);
  host_.Receive(0, 8);
  host_.Enqueue(0, "inference", 8);

  GiveUpProgram7();

  EXPECT_EQ(abandoned_steps(), 0);
  EXPECT_EQ(host_.engine().statistics().queued_batches, 1);
}

TEST_F(GiveUpProgramTest, KeepsCompleteSteps) {
  CountingHost host(1, /*pipelined=*/true);
  host.Enqueue(0, "train", 7);
  host.Receive(0, 7);
  host.Send(0, -1, 7);

  host.engine().GiveUpProgram(
      7, Status(StatusCode::kInternal, "the program failed"));

  EXPECT_EQ(host.Count(), 1);
}

TEST_F(GiveUpProgramTest, ProgramZeroIsNone) {
  host_.Enqueue(0, "train", 0);

  host_.engine().GiveUpProgram(
      0, Status(StatusCode::kInternal, "the program failed"));

  EXPECT_EQ(abandoned_steps(), 0);
  EXPECT_EQ(host_.engine().statistics().queued_batches, 1);
}

// A program whose step another core's failure took away does not know it yet:
// its next call must not count for the step after.
TEST_F(GiveUpProgramTest, ALateSendOfAGivenUpStepIsAborted) {
  for (int64_t core = 0; core < 2; ++core) {
    host_.Enqueue(core, "train", 6 + core);
    host_.Receive(core, 6 + core);
  }
  EXPECT_THAT(host_.SendTooFew(0).Wait(),
              IsInvalidArgument("must have 2 gradients, one a feature, got 1"));

  const PendingCall late = host_.Send(1, -50, 7);

  EXPECT_THAT(late.Wait(),
              IsAborted("step 1 was given up: must have 2 gradients, one a "
                        "feature, got 1"));
  ExpectCleanStep();
}

TEST_F(GiveUpProgramTest, ALateReceiveOfAGivenUpStepIsAborted) {
  host_.Enqueue(0, "train", 6);
  host_.Enqueue(1, "train", 7);
  EXPECT_THAT(host_.engine().AbandonStep(), IsOk());

  const PendingCall late = host_.Receive(1, 7);

  EXPECT_THAT(late.Wait(), IsAborted("step 1 was given up: abandoned by hand"));
  ExpectCleanStep();
}

TEST_F(GiveUpProgramTest, OtherProgramsCallsAreOfTheNextStep) {
  for (int64_t core = 0; core < 2; ++core) {
    host_.Enqueue(core, "train", 7);
    host_.Receive(core, 7);
  }
  EXPECT_THAT(host_.engine().AbandonStep(), IsOk());

  ExpectCleanStep();
}

TEST_F(GiveUpProgramTest, ASecondCallOfTheSameProgramIsOfTheNextStep) {
  CountingHost host(1);
  host.Enqueue(0, "train", 7);
  host.Receive(0, 7);
  EXPECT_THAT(host.engine().AbandonStep(), IsOk());
  EXPECT_THAT(host.Send(0, -1, 7).Wait(),
              IsAborted("step 1 was given up: abandoned by hand"));

  host.Enqueue(0, "train", 7);
  host.Receive(0, 7);

  EXPECT_THAT(host.Send(0, -1, 7).Wait(), IsOk());
  EXPECT_EQ(host.Count(), 1);
}

}  // namespace
}  // namespace tpuless
