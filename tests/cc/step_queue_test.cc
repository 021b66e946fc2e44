// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The rules of the step protocol, as pure state.
#include "cc/engine/step_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace tpuless {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNull;
using BatchPointer = std::shared_ptr<Batch>;

BatchPointer MakeBatch(int64_t core, Mode mode = Mode::kTraining,
                       int64_t program = 0) {
  auto minibatch = std::make_shared<Minibatch>();
  minibatch->core = core;
  minibatch->mode = mode;
  auto batch = std::make_shared<Batch>();
  batch->minibatch = std::move(minibatch);
  batch->enqueued_by = program;
  return batch;
}

// Drives a queue as the protocol does.
class Driver {
 public:
  Driver(int64_t num_cores, bool pipelined) : queue(num_cores, pipelined) {}

  BatchPointer Push(int64_t core, Mode mode = Mode::kTraining,
                    int64_t program = 0) {
    BatchPointer batch = MakeBatch(core, mode, program);
    queue.Push(batch);
    return batch;
  }
  BatchPointer Receive(int64_t core) {
    BatchPointer batch = queue.NextToReceive(core);
    queue.BeginReceive(batch);
    batch->state = Batch::kReceived;
    return batch;
  }
  void Send(int64_t core) { queue.SetSent(queue.NextToSend(core), {}); }
  bool MayReceiveNext(int64_t core) {
    return queue.MayReceive(*queue.NextToReceive(core));
  }

  StepQueue queue;
};

TEST(StepQueueTest, BatchesThatNeedAGradientTakeTheStepsOneByOne) {
  Driver d(2, false);
  const BatchPointer a1 = d.Push(0), a2 = d.Push(0);
  const BatchPointer inference = d.Push(1, Mode::kInference);
  const BatchPointer b1 = d.Push(1), b2 = d.Push(1, Mode::kBackwardPassOnly);

  EXPECT_EQ(a1->step->number, 1);
  EXPECT_EQ(a2->step->number, 2);
  EXPECT_THAT(inference->step, IsNull());
  EXPECT_EQ(b1->step, a1->step);
  EXPECT_EQ(b2->step, a2->step);
}

TEST(StepQueueTest, ReceiveTakesTheOldestBatchThatIsNotBackwardOnly) {
  Driver d(1, false);
  EXPECT_THAT(d.queue.NextToReceive(0), IsNull());

  d.Push(0, Mode::kBackwardPassOnly);
  EXPECT_THAT(d.queue.NextToReceive(0), IsNull());

  const BatchPointer first = d.Push(0, Mode::kInference);
  d.Push(0);
  EXPECT_EQ(d.queue.NextToReceive(0), first);
}

TEST(StepQueueTest, SendTakesTheOldestReceivedOrBackwardOnlyBatch) {
  Driver d(1, false);
  const BatchPointer training = d.Push(0);
  EXPECT_THAT(d.queue.NextToSend(0), IsNull());

  const BatchPointer backward = d.Push(0, Mode::kBackwardPassOnly);
  EXPECT_EQ(d.queue.NextToSend(0), backward);

  d.Receive(0);
  EXPECT_EQ(d.queue.NextToSend(0), training);
}

TEST(StepQueueTest, SendWaitsForAReceiveThatIsNotDone) {
  Driver d(1, false);
  const BatchPointer batch = d.Push(0);
  d.queue.BeginReceive(batch);

  EXPECT_THAT(d.queue.NextToSend(0), IsNull());
}

TEST(StepQueueTest, QueuedBatchesAreThoseNeitherReceivedNorSent) {
  Driver d(1, false);
  d.Push(0);
  d.Push(0, Mode::kBackwardPassOnly);
  EXPECT_EQ(d.queue.num_queued(0), 2);

  d.Receive(0);
  EXPECT_EQ(d.queue.num_queued(0), 1);

  d.Send(0);
  d.Send(0);
  EXPECT_EQ(d.queue.num_queued(0), 0);
}

TEST(StepQueueTest, AStepIsCompleteWhenEveryCoreHasSent) {
  Driver d(2, false);
  Step* step = d.Push(0)->step;
  d.Receive(0);
  d.Send(0);
  EXPECT_FALSE(step->complete());
  EXPECT_FALSE(step->forwarded());
  EXPECT_THAT(d.queue.NextToApply(false), IsNull());

  d.Push(1);
  d.Receive(1);
  EXPECT_TRUE(step->forwarded());
  EXPECT_FALSE(step->complete());

  d.Send(1);
  EXPECT_TRUE(step->complete());
  EXPECT_EQ(d.queue.NextToApply(false), step);
}

TEST(StepQueueTest, ABackwardOnlyBatchCountsAsForwarded) {
  Driver d(1, false);

  EXPECT_TRUE(d.Push(0, Mode::kBackwardPassOnly)->step->forwarded());
}

TEST(StepQueueTest, OnlyOneStepIsAppliedAtATime) {
  Driver d(1, false);
  Step* step = d.Push(0, Mode::kBackwardPassOnly)->step;
  Step* other = d.Push(0, Mode::kBackwardPassOnly)->step;
  d.Send(0);
  d.Send(0);
  step->applying = true;

  EXPECT_TRUE(d.queue.IsApplying());
  EXPECT_THAT(d.queue.NextToApply(false), IsNull());
  EXPECT_THAT(d.queue.NextToApply(true), IsNull());

  d.queue.Remove(step);
  EXPECT_EQ(d.queue.NextToApply(false), other);
}

TEST(StepQueueTest, WithoutPipeliningABatchWaitsForTheStepBefore) {
  Driver d(2, false);
  Step* step = d.Push(0)->step;
  d.Push(0);
  d.Push(1);
  EXPECT_TRUE(d.MayReceiveNext(0));
  d.Receive(0);
  EXPECT_FALSE(d.MayReceiveNext(0));
  d.Send(0);
  EXPECT_FALSE(d.MayReceiveNext(0));

  d.Receive(1);
  d.Send(1);
  d.queue.Remove(step);
  EXPECT_TRUE(d.MayReceiveNext(0));
}

TEST(StepQueueTest, WithPipeliningABatchWaitsForTheStepBeforeThat) {
  Driver d(1, true);
  Step* first = d.Push(0)->step;
  d.Push(0);
  d.Push(0);
  d.Receive(0);
  EXPECT_TRUE(d.MayReceiveNext(0));
  d.Receive(0);
  EXPECT_FALSE(d.MayReceiveNext(0));

  d.Send(0);
  d.queue.Remove(first);
  EXPECT_TRUE(d.MayReceiveNext(0));
}

TEST(StepQueueTest, WithPipeliningAStepIsParkedUntilTheNextIsForwarded) {
  Driver d(2, true);
  Step* first = nullptr;
  for (int64_t core = 0; core < 2; ++core) {
    first = d.Push(core)->step;
    d.Receive(core);
    d.Send(core);
  }
  EXPECT_TRUE(d.queue.HasComplete());
  EXPECT_THAT(d.queue.NextToApply(false), IsNull());
  EXPECT_EQ(d.queue.NextToApply(true), first);

  d.Push(0);
  d.Push(1);
  d.Receive(0);
  EXPECT_THAT(d.queue.NextToApply(false), IsNull());
  d.Receive(1);
  EXPECT_EQ(d.queue.NextToApply(false), first);
}

TEST(StepQueueTest, InferenceWaitsForStepsThatItsCoreReceivedBefore) {
  Driver d(2, false);
  d.Push(0);
  d.Push(1);
  d.Push(0, Mode::kInference);
  const BatchPointer other = d.Push(1, Mode::kInference);
  d.Receive(0);
  EXPECT_FALSE(d.MayReceiveNext(0));
  // Core 1 has not received the step yet.
  EXPECT_TRUE(d.queue.MayReceive(*other));

  d.Receive(1);
  d.Send(0);
  EXPECT_FALSE(d.MayReceiveNext(0));
  d.Send(1);
  EXPECT_TRUE(d.MayReceiveNext(0));  // Complete: it is applied first.
}

TEST(StepQueueTest, RemovingAStepTakesItsBatchesOutOfTheQueues) {
  Driver d(2, false);
  const BatchPointer a = d.Push(0), b = d.Push(1), next = d.Push(0);

  d.queue.Remove(a->step);

  EXPECT_THAT(a->step, IsNull());
  EXPECT_THAT(b->step, IsNull());
  EXPECT_EQ(d.queue.num_queued(0), 1);
  EXPECT_EQ(d.queue.num_queued(1), 0);
  EXPECT_EQ(d.queue.NextToReceive(0), next);
  EXPECT_EQ(d.Push(1)->step, next->step);
}

TEST(StepQueueTest, FindsTheStepOfACoresNextCall) {
  Driver d(2, false);
  EXPECT_THAT(d.queue.StepToEnqueue(0), IsNull());
  Step* first = d.Push(0)->step;
  Step* second = d.Push(0)->step;

  EXPECT_THAT(d.queue.StepToEnqueue(0), IsNull());
  EXPECT_EQ(d.queue.StepToEnqueue(1), first);
  EXPECT_EQ(d.queue.StepToReceive(0), first);
  EXPECT_EQ(d.queue.StepToReceive(1), first);
  EXPECT_EQ(d.queue.StepToSend(0), first);
  EXPECT_EQ(d.queue.StepToSend(1), first);

  d.Push(1);
  d.Receive(0);
  d.Send(0);
  EXPECT_EQ(d.queue.StepToEnqueue(1), second);
  EXPECT_EQ(d.queue.StepToReceive(0), second);
  EXPECT_EQ(d.queue.StepToReceive(1), first);
  EXPECT_EQ(d.queue.StepToSend(0), second);
  EXPECT_EQ(d.queue.OldestIncomplete(), first);
}

TEST(StepQueueTest, InferenceIsNoStepToReceive) {
  Driver d(2, false);
  d.Push(0, Mode::kInference);
  d.Push(1);

  EXPECT_THAT(d.queue.StepToReceive(0), IsNull());
}

TEST(StepQueueTest, AProgramTakesItsOpenStepsAndInferenceAlong) {
  Driver d(2, false);
  Step* first = d.Push(0, Mode::kTraining, 7)->step;
  d.Push(0, Mode::kInference, 7);
  d.Push(0, Mode::kInference, 8);
  Step* second = d.Push(0, Mode::kTraining, 8)->step;
  d.Push(1, Mode::kTraining, 8);
  d.Push(1, Mode::kTraining, 8)->received_by = 7;

  EXPECT_THAT(d.queue.TakeProgram(7), ElementsAre(first, second));
  EXPECT_EQ(d.queue.num_queued(0), 3);
  EXPECT_THAT(d.queue.TakeProgram(9), IsEmpty());
}

TEST(StepQueueTest, ACompleteStepIsNotTaken) {
  Driver d(1, true);
  d.Push(0, Mode::kBackwardPassOnly, 7);
  d.Send(0);

  EXPECT_THAT(d.queue.TakeProgram(7), IsEmpty());
}

TEST(StepQueueTest, SaysWhoseSendIsMissing) {
  Driver d(3, false);
  for (int64_t core = 0; core < 2; ++core) {
    d.Push(core);
    d.Receive(core);
  }
  d.Send(0);
  const BatchPointer next = d.Push(0);

  const StepQueue::Obstacle obstacle = d.queue.ObstacleOf(*next);
  EXPECT_EQ(obstacle.state, "step 1 is not complete");
  EXPECT_EQ(obstacle.missing, "SendTPUEmbeddingGradients of core 1, 2");
}

TEST(StepQueueTest, SaysWhoseReceiveIsMissing) {
  Driver d(2, true);
  for (int64_t core = 0; core < 2; ++core) {
    d.Push(core);
    d.Receive(core);
    d.Send(core);
  }
  d.Push(0);
  d.Receive(0);
  const BatchPointer third = d.Push(0);

  const StepQueue::Obstacle obstacle = d.queue.ObstacleOf(*third);
  EXPECT_EQ(obstacle.state, "step 2 is not received by all");
  EXPECT_EQ(obstacle.missing, "RecvTPUEmbeddingActivations of core 1");
}

}  // namespace
}  // namespace tpuless
