// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Waiting calls that time out or are cancelled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "tests/cc/counting_host.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

constexpr bool kPipelined = true;

StatusCode CodeOf(const PendingCall& call) { return call.Wait().code(); }

TEST(StepProtocolTimeoutTest, ReceiveWithoutABatch) {
  CountingHost host(2, false, CountingHost::Timeout(.02));

  EXPECT_THAT(host.Receive(1).Wait(),
              IsDeadlineExceeded(
                  "receive: no enqueued batch after 0.02 s on core 1; an "
                  "EnqueueTPUEmbedding op is missing"));
}

TEST(StepProtocolTimeoutTest, ReceiveWithoutTheSendBefore) {
  CountingHost host(2, false, CountingHost::Timeout(.02));
  host.Forward(0);
  host.Forward(1);
  host.Send(1);
  host.Enqueue(1);

  EXPECT_THAT(host.Receive(1).Wait(),
              IsDeadlineExceeded(
                  "receive: step 1 is not complete after 0.02 s on core 1; "
                  "SendTPUEmbeddingGradients of core 0 is missing "
                  "(tpuless.abandon_step() gives the step up)"));
}

TEST(StepProtocolTimeoutTest, PipelinedReceiveWithoutAnotherCoresReceive) {
  CountingHost host(2, kPipelined, CountingHost::Timeout(.02));
  for (int64_t core = 0; core < 2; ++core) {
    host.Forward(core);
    host.Send(core);
  }
  host.Forward(0);
  host.Enqueue(0);

  EXPECT_THAT(host.Receive(0).Wait(),
              IsDeadlineExceeded(
                  "receive: step 2 is not received by all after 0.02 s on core "
                  "0; RecvTPUEmbeddingActivations of core 1 is missing "
                  "(tpuless.abandon_step() gives the step up)"));
}

TEST(StepProtocolTimeoutTest, InferenceWithoutTheSendBefore) {
  CountingHost host(1, false, CountingHost::Timeout(.02));
  host.Forward(0);
  host.Enqueue(0, "inference");

  EXPECT_THAT(host.Receive(0).Wait(),
              IsDeadlineExceeded(
                  "receive: step 1 is not complete after 0.02 s on core 0; "
                  "SendTPUEmbeddingGradients of core 0 is missing "
                  "(tpuless.abandon_step() gives the step up)"));
}

TEST(StepProtocolTimeoutTest, SendWithoutAReceive) {
  CountingHost host(1, false, CountingHost::Timeout(.02));
  host.Enqueue(0);

  EXPECT_THAT(
      host.Send(0).Wait(),
      IsDeadlineExceeded("send: no received batch after 0.02 s on core 0; "
                         "RecvTPUEmbeddingActivations is missing"));
}

TEST(StepProtocolTimeoutTest, EnqueueWithoutRoom) {
  EngineOptions options = CountingHost::Timeout(.02);
  options.queue_limit = 1;
  CountingHost host(1, false, options);
  host.Enqueue(0);

  EXPECT_THAT(host.Enqueue(0).Wait(),
              IsDeadlineExceeded(
                  "enqueue: no room in the queue of 1 batches after 0.02 s on "
                  "core 0; RecvTPUEmbeddingActivations is missing"));
  EXPECT_EQ(host.engine().statistics().enqueues, 1);
}

TEST(StepProtocolTimeoutTest, AReceiveThatTimesOutConsumesNothing) {
  CountingHost host(1, false, CountingHost::Timeout(.02));
  EXPECT_EQ(CodeOf(host.Receive(0)), StatusCode::kDeadlineExceeded);

  EXPECT_EQ(host.Forward(0), 0);
  EXPECT_THAT(host.Send(0).Wait(), IsOk());
  EXPECT_EQ(host.Count(), 1);
}

TEST(StepProtocolTimeoutTest, ASendThatTimesOutAppliesNothing) {
  CountingHost host(1, false, CountingHost::Timeout(.02));
  host.Enqueue(0);
  EXPECT_EQ(CodeOf(host.Send(0, -50)), StatusCode::kDeadlineExceeded);

  host.Receive(0);
  EXPECT_THAT(host.Send(0).Wait(), IsOk());
  EXPECT_EQ(host.Count(), 1);
}

TEST(StepProtocolTimeoutTest, LaterCallsAreServedAfterOneThatTimedOut) {
  EngineOptions options = CountingHost::Timeout(.02);
  CountingHost host(1, false, options);
  const PendingCall first = host.Receive(0);
  options.receive_timeout = 30;
  host.engine().SetOptions(options);
  const PendingCall second = host.Receive(0);
  EXPECT_EQ(CodeOf(first), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(second.done());

  host.Enqueue(0);

  EXPECT_THAT(second.Wait(), IsOk());
}

TEST(StepProtocolTimeoutTest, ANewTimeoutIsThatOfLaterCalls) {
  CountingHost host;
  const PendingCall patient = host.Receive(0);
  host.engine().SetOptions(CountingHost::Timeout(.02));

  EXPECT_EQ(CodeOf(host.Receive(0)), StatusCode::kDeadlineExceeded);

  EXPECT_FALSE(patient.done());
}

TEST(StepProtocolTimeoutTest, AVeryLongTimeoutIsNotOver) {
  for (const double seconds : {1e10, std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::infinity()}) {
    CountingHost host(1, false, CountingHost::Timeout(seconds));
    const PendingCall receive = host.Receive(0);

    // A call with a short one makes the deadlines be looked at.
    host.engine().SetOptions(CountingHost::Timeout(.02));
    EXPECT_EQ(CodeOf(host.Send(0)), StatusCode::kDeadlineExceeded);
    EXPECT_FALSE(receive.done()) << seconds;

    host.Enqueue(0);
    EXPECT_THAT(receive.Wait(), IsOk());
  }
}

TEST(StepProtocolCancelTest, ACancelledCallEndsAtTheSweep) {
  CountingHost host;
  const PendingCall cancelled = host.Receive(0), other = host.Receive(0);
  *cancelled.cancelled = true;
  EXPECT_FALSE(cancelled.done());

  host.engine().SweepCancelled();

  EXPECT_THAT(cancelled.Wait(),
              StatusIs(StatusCode::kCancelled, "the call was cancelled"));
  EXPECT_FALSE(other.done());
  host.Enqueue(0);
  EXPECT_THAT(other.Wait(), IsOk());
}

TEST(StepProtocolCancelTest, ACallThatIsCancelledBeforeItWaitsEndsAtOnce) {
  CountingHost host;
  PendingCall pending;
  *pending.cancelled = true;

  host.engine().Receive(0, {}, host.MakeCall(pending));

  ASSERT_TRUE(pending.done());
  EXPECT_THAT(pending.Wait(),
              StatusIs(StatusCode::kCancelled, "the call was cancelled"));
}

TEST(StepProtocolCancelTest, ACancelledSendAppliesNothing) {
  CountingHost host;
  host.Enqueue(0);
  const PendingCall send = host.Send(0, -50);
  *send.cancelled = true;
  host.engine().SweepCancelled();
  EXPECT_EQ(CodeOf(send), StatusCode::kCancelled);

  host.Receive(0);
  host.Send(0);

  EXPECT_EQ(host.Count(), 1);
}

TEST(StepProtocolCancelTest, ACancelledEnqueueQueuesNothing) {
  EngineOptions options;
  options.queue_limit = 1;
  CountingHost host(1, false, options);
  host.Enqueue(0);
  const PendingCall cancelled = host.Enqueue(0), next = host.Enqueue(0);
  *cancelled.cancelled = true;

  host.engine().SweepCancelled();
  EXPECT_EQ(CodeOf(cancelled), StatusCode::kCancelled);
  host.Receive(0);

  EXPECT_THAT(next.Wait(), IsOk());
  EXPECT_EQ(host.engine().statistics().enqueues, 2);
}

TEST(StepProtocolCancelTest, ASweepWithoutCancelledCallsChangesNothing) {
  CountingHost host;
  const PendingCall receive = host.Receive(0);

  host.engine().SweepCancelled();

  EXPECT_FALSE(receive.done());
}

}  // namespace
}  // namespace tpuless
