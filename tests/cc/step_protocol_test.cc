// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Enqueue, receive and send of one core: who waits, and what is seen.
#include "cc/engine/step_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cc/counting_host.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

TEST(StepProtocolTest, CallsThatNeedNotWaitEndOnTheCallersThread) {
  CountingHost host;
  const PendingCall enqueue = host.Enqueue(0);
  const PendingCall receive = host.Receive(0);
  const PendingCall send = host.Send(0);

  for (const PendingCall& call : {enqueue, receive, send}) {
    ASSERT_TRUE(call.done());
    EXPECT_THAT(call.Wait(), IsOk());
    EXPECT_EQ(call.outcome->thread(), std::this_thread::get_id());
  }
}

TEST(StepProtocolTest, ReceiveWaitsForTheEnqueueThatSchedulesIt) {
  CountingHost host;
  const PendingCall receive = host.Receive(0);
  EXPECT_FALSE(receive.done());

  host.Enqueue(0);

  EXPECT_THAT(receive.Wait(), IsOk());
  EXPECT_EQ(receive.activation(), 0);
  EXPECT_EQ(receive.outcome->thread(), host.schedule_thread());
}

TEST(StepProtocolTest, SendWaitsForItsReceive) {
  CountingHost host;
  const PendingCall send = host.Send(0);
  host.Enqueue(0);
  EXPECT_FALSE(send.done());

  host.Receive(0);

  EXPECT_THAT(send.Wait(), IsOk());
  EXPECT_EQ(send.outcome->thread(), host.schedule_thread());
  EXPECT_EQ(host.Count(), 1);
}

TEST(StepProtocolTest, WaitingCallsOfOneKindAreServedInTheirOrder) {
  CountingHost host;
  const PendingCall first = host.Receive(0), second = host.Receive(0);

  host.Enqueue(0, "inference");
  EXPECT_THAT(first.Wait(), IsOk());
  EXPECT_FALSE(second.done());

  host.Enqueue(0, "inference");
  EXPECT_THAT(second.Wait(), IsOk());
}

TEST(StepProtocolTest, EnqueueMayRunAhead) {
  CountingHost host;
  for (int i = 0; i < 3; ++i) EXPECT_THAT(host.Enqueue(0).Wait(), IsOk());

  for (int i = 0; i < 3; ++i) {
    const PendingCall receive = host.Receive(0);
    EXPECT_THAT(receive.Wait(), IsOk());
    EXPECT_EQ(receive.activation(), i);
    host.Send(0);
  }
  EXPECT_EQ(host.Count(), 3);
}

TEST(StepProtocolTest, WithoutPipeliningAReceiveSeesAllStepsBefore) {
  CountingHost host;

  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(host.Forward(0), i);
    EXPECT_THAT(host.Send(0).Wait(), IsOk());
  }
}

TEST(StepProtocolTest, WithoutPipeliningAReceiveWaitsForTheSendBefore) {
  CountingHost host;
  host.Forward(0);
  host.Enqueue(0);
  const PendingCall receive = host.Receive(0);
  EXPECT_FALSE(receive.done());

  host.Send(0);

  EXPECT_THAT(receive.Wait(), IsOk());
  EXPECT_EQ(receive.activation(), 1);
}

TEST(StepProtocolTest, AnOpenStepAppliesToWhatWasLoadedMeanwhile) {
  CountingHost host;
  EXPECT_EQ(host.Forward(0), 0);

  host.LoadAll(100);
  host.Send(0);

  EXPECT_EQ(host.Count(), 101);
}

TEST(StepProtocolTest, AQueuedBatchSeesTheTablesAsItIsReceived) {
  CountingHost host;
  host.Enqueue(0);
  host.LoadAll(100);

  EXPECT_EQ(host.Receive(0).activation(), 100);
}

TEST(StepProtocolTest, InferenceWaitsForTheOpenStep) {
  CountingHost host;
  host.Forward(0);
  host.Enqueue(0, "inference");
  const PendingCall receive = host.Receive(0);
  EXPECT_FALSE(receive.done());

  host.Send(0);

  EXPECT_THAT(receive.Wait(), IsOk());
  EXPECT_EQ(receive.activation(), 1);
}

TEST(StepProtocolTest, InferenceTakesNoGradient) {
  CountingHost host;
  host.Forward(0, "inference");
  const PendingCall send = host.Send(0);
  EXPECT_FALSE(send.done());

  host.Forward(0);

  EXPECT_THAT(send.Wait(), IsOk());
  EXPECT_EQ(host.Count(), 1);
}

TEST(StepProtocolTest, ABackwardOnlyBatchIsSentWithoutAReceive) {
  CountingHost host;
  host.Enqueue(0, "backward_pass_only");

  EXPECT_THAT(host.Send(0).Wait(), IsOk());

  EXPECT_EQ(host.Count(), 1);
}

TEST(StepProtocolTest, ReceivePassesOverBackwardOnlyBatches) {
  CountingHost host;
  host.Enqueue(0, "backward_pass_only");
  host.Enqueue(0);
  const PendingCall receive = host.Receive(0);
  EXPECT_FALSE(receive.done());

  host.Send(0);

  EXPECT_THAT(receive.Wait(), IsOk());
  EXPECT_EQ(receive.activation(), 1);
}

TEST(StepProtocolTest, AFullQueueMakesEnqueueWaitForAReceive) {
  EngineOptions options;
  options.queue_limit = 2;
  CountingHost host(1, false, options);
  host.Enqueue(0);
  host.Enqueue(0);
  const PendingCall enqueue = host.Enqueue(0);
  EXPECT_FALSE(enqueue.done());
  EXPECT_EQ(host.engine().statistics().queued_batches, 2);

  host.Receive(0);

  EXPECT_THAT(enqueue.Wait(), IsOk());
  EXPECT_EQ(host.engine().statistics().queued_batches, 2);
}

TEST(StepProtocolTest, ALargerQueueTakesWaitingBatches) {
  EngineOptions options;
  options.queue_limit = 1;
  CountingHost host(1, false, options);
  host.Enqueue(0);
  const PendingCall second = host.Enqueue(0), third = host.Enqueue(0);

  options.queue_limit = 2;
  host.engine().SetOptions(options);
  EXPECT_THAT(second.Wait(), IsOk());
  EXPECT_FALSE(third.done());

  options.queue_limit = 0;
  host.engine().SetOptions(options);
  EXPECT_THAT(third.Wait(), IsOk());
}

TEST(StepProtocolTest, AQueueWithoutALimitTakesAny) {
  EngineOptions options;
  options.queue_limit = 0;
  CountingHost host(1, false, options);

  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(host.Enqueue(0).done());

  EXPECT_EQ(host.engine().statistics().queued_batches, 1000);
}

TEST(StepProtocolTest, ShutdownEndsWaitingAndLaterCalls) {
  CountingHost host;
  const PendingCall receive = host.Receive(0), send = host.Send(0);

  host.engine().Shutdown();

  const auto is_shut_down = IsAborted("the engine was shut down");
  EXPECT_THAT(receive.Wait(), is_shut_down);
  EXPECT_THAT(send.Wait(), is_shut_down);
  EXPECT_THAT(host.Enqueue(0).Wait(), is_shut_down);
  EXPECT_THAT(host.Receive(0).Wait(), is_shut_down);
  EXPECT_THAT(host.Send(0).Wait(), is_shut_down);
}

TEST(StepProtocolTest, AWaitingCallKeepsTheEngineAlive) {
  ScheduleThread thread;
  Outcome outcome;
  std::weak_ptr<Engine> weak;
  {
    const std::shared_ptr<Engine> engine = *Engine::Create(
        Completed(CountingHost::Config(1, false)), CountingHost::Timeout(.02));
    weak = engine;
    TensorArena a;
    ASSERT_THAT(engine->Load(0, Shard(), {a.Floats({1, 2, 3, 4}, {4, 1})},
                             ParallelFor()),
                IsOk());
    Call call;
    call.schedule = thread.schedule();
    call.done = [&](const Status& status) {
      EXPECT_FALSE(weak.expired());
      outcome.Set(status);
    };
    engine->Receive(0, {}, std::move(call));
  }

  EXPECT_THAT(outcome.Wait(),
              IsDeadlineExceeded(
                  "receive: no enqueued batch after 0.02 s on core 0; an "
                  "EnqueueTPUEmbedding op is missing"));
}

}  // namespace
}  // namespace tpuless
