// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Steps that are given up: nothing of them is applied, nobody waits on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/cc/counting_host.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

using ::testing::ElementsAre;

constexpr bool kPipelined = true;
const char kTooFew[] = "must have 2 gradients, one a feature, got 1";
const char kBadId[] =
    "feature 'watched': id 4 of sample 0 (embedding_indices[0]) must be >= 0 "
    "and < vocabulary_size (4)";

std::string GivenUp(int step, const std::string& why) {
  return "step " + std::to_string(step) + " was given up: " + why;
}

// Expects that the next step of two cores is as if nothing had been before.
void ExpectCleanStep(CountingHost& host, float count) {
  EXPECT_EQ(host.Count(), count);
  EXPECT_EQ(host.engine().statistics().queued_batches, 0);
  EXPECT_EQ(host.Forward(0), count);
  EXPECT_EQ(host.Forward(1), count);
  EXPECT_THAT(host.Send(0).Wait(), IsOk());
  EXPECT_THAT(host.Send(1).Wait(), IsOk());
  EXPECT_EQ(host.Count(), count + 2);
}

TEST(GiveUpTest, ARefusedSendOfSeveralCores) {
  CountingHost host(2);
  host.Forward(0);
  host.Enqueue(1);
  const PendingCall send = host.Send(1);

  EXPECT_THAT(host.SendTooFew(0).Wait(), IsInvalidArgument(kTooFew));

  EXPECT_THAT(send.Wait(), IsAborted(GivenUp(1, kTooFew)));
  EXPECT_EQ(host.engine().statistics().abandoned_steps, 1);
  ExpectCleanStep(host, 0);
}

TEST(GiveUpTest, ARefusedSendDropsWhatOtherCoresSent) {
  CountingHost host(2);
  host.Forward(0);
  host.Forward(1);
  host.Send(1, -50);

  EXPECT_THAT(host.SendTooFew(0).Wait(), IsInvalidArgument(kTooFew));

  ExpectCleanStep(host, 0);
}

TEST(GiveUpTest, ARefusedEnqueueOfSeveralCores) {
  CountingHost host(2);
  host.Forward(0);
  const PendingCall receive = host.Receive(1);

  EXPECT_THAT(host.EnqueueBadId(1).Wait(), IsInvalidArgument(kBadId));

  EXPECT_THAT(receive.Wait(), IsAborted(GivenUp(1, kBadId)));
  ExpectCleanStep(host, 0);
}

// A program that made both calls shows the error that it hears of first.
TEST(GiveUpTest, TheRefusedCallHearsOfItBeforeThoseThatWait) {
  CountingHost host(2);
  host.Forward(0);
  std::vector<std::string> order;
  // Calls that end are told at once, on the thread that ends them.
  const auto call = [&](const std::string& name) {
    Call call;
    call.schedule = [](const std::function<void()>& closure) { closure(); };
    call.done = [&order, name](const Status&) { order.push_back(name); };
    call.cancelled = std::make_shared<std::atomic<bool>>(false);
    return call;
  };
  float activations[2];
  host.engine().Receive(1, {&activations[0], &activations[1]}, call("receive"));
  TensorArena a;
  EnqueueRequest request;
  request.inputs = {a.Input(a.Ints({}), {4}), a.Input(a.Ints({}), {1})};
  request.mode_override = "train";
  request.device_ordinal = 1;

  host.engine().Enqueue(request, call("enqueue"));

  EXPECT_THAT(order, ElementsAre("enqueue", "receive"));
}

TEST(GiveUpTest, ARefusedEnqueueOfAStepThatNobodyBegan) {
  CountingHost host(2);

  EXPECT_THAT(host.EnqueueBadId(1).Wait(), IsInvalidArgument(kBadId));

  EXPECT_EQ(host.engine().statistics().abandoned_steps, 0);
  ExpectCleanStep(host, 0);
}

TEST(GiveUpTest, ARefusedInferenceGivesUpNoStep) {
  CountingHost host(2);
  host.Forward(0);

  EXPECT_THAT(host.Enqueue(1, "inference", 0, 4).Wait(),
              IsInvalidArgument(kBadId));

  EXPECT_EQ(host.engine().statistics().abandoned_steps, 0);
}

TEST(GiveUpTest, ARefusedInferenceByConfigurationGivesUpNoStep) {
  EngineConfig config = CountingHost::Config(2, false);
  config.mode = Mode::kInference;
  CountingHost host(config, EngineOptions());
  host.Forward(0, "train");

  EXPECT_THAT(host.Enqueue(1, "unspecified", 0, 4).Wait(),
              IsInvalidArgument(kBadId));

  EXPECT_EQ(host.engine().statistics().abandoned_steps, 0);
}

TEST(GiveUpTest, ARefusedCallOfNoCoreGivesUpNoStep) {
  CountingHost host(2);
  host.Forward(1);

  for (const int64_t core : {-2, 2}) {
    EXPECT_THAT(host.Enqueue(core).Wait(),
                IsInvalidArgument("device_ordinal must be >= -1 and < 2, the "
                                  "cores of this host, got " +
                                  std::to_string(core)));
  }

  EXPECT_EQ(host.engine().statistics().abandoned_steps, 0);
}

TEST(GiveUpTest, ARefusedCallOfTheOnlyCoreChangesNothing) {
  CountingHost host;
  EXPECT_THAT(host.EnqueueBadId(0).Wait(), IsInvalidArgument(kBadId));
  host.Forward(0);
  EXPECT_THAT(host.SendTooFew(0).Wait(), IsInvalidArgument(kTooFew));
  EXPECT_EQ(host.Count(), 0);

  EXPECT_THAT(host.Send(0).Wait(), IsOk());

  EXPECT_EQ(host.Count(), 1);
  EXPECT_EQ(host.engine().statistics().abandoned_steps, 0);
}

TEST(GiveUpTest, LaterStepsMoveUp) {
  CountingHost host(2);
  host.Forward(0);
  host.Enqueue(0);
  const PendingCall next = host.Receive(0);
  host.Enqueue(1);
  host.Enqueue(1);
  EXPECT_FALSE(next.done());

  host.SendTooFew(0);

  EXPECT_THAT(next.Wait(), IsOk());
  EXPECT_THAT(host.Receive(1).Wait(), IsOk());
  host.Send(0);
  host.Send(1);
  EXPECT_EQ(host.Count(), 2);
}

TEST(GiveUpTest, AParkedStepStaysWhenTheNextIsGivenUp) {
  CountingHost host(2, kPipelined);
  for (int64_t core = 0; core < 2; ++core) {
    host.Forward(core);
    host.Send(core);
  }
  host.Forward(0);

  EXPECT_THAT(host.engine().AbandonStep(), IsOk());

  ExpectCleanStep(host, 2);
}

TEST(AbandonStepTest, NoOpenStep) {
  CountingHost host(1, kPipelined);
  EXPECT_THAT(host.engine().AbandonStep(),
              IsNotFound("no step is open, so none can be abandoned"));

  host.Forward(0);
  host.Send(0);
  host.Enqueue(0, "inference");
  EXPECT_THAT(host.engine().AbandonStep(),
              IsNotFound("no step is open, so none can be abandoned"));
}

TEST(AbandonStepTest, EndsTheWaitersOfTheOldestStep) {
  CountingHost host(2);
  host.Enqueue(0);
  const PendingCall send0 = host.Send(0);
  const PendingCall receive1 = host.Receive(1);
  const PendingCall later_receive1 = host.Receive(1);

  EXPECT_THAT(host.engine().AbandonStep(), IsOk());

  const auto is_given_up = IsAborted(GivenUp(1, "abandoned by hand"));
  EXPECT_THAT(send0.Wait(), is_given_up);
  EXPECT_THAT(receive1.Wait(), is_given_up);
  EXPECT_FALSE(later_receive1.done());
}

TEST(AbandonStepTest, TheOnlyCoreGoesOn) {
  CountingHost host;
  host.Forward(0);
  host.Enqueue(0);
  const PendingCall next = host.Receive(0);
  EXPECT_FALSE(next.done());

  EXPECT_THAT(host.engine().AbandonStep(), IsOk());

  EXPECT_THAT(next.Wait(), IsOk());
  EXPECT_EQ(next.activation(), 0);
  EXPECT_THAT(host.Send(0).Wait(), IsOk());
  EXPECT_EQ(host.Count(), 1);
}

TEST(AbandonStepTest, MakesRoomInTheQueue) {
  EngineOptions options;
  options.queue_limit = 1;
  CountingHost host(1, false, options);
  host.Enqueue(0);
  const PendingCall enqueue = host.Enqueue(0);

  EXPECT_THAT(host.engine().AbandonStep(), IsOk());

  EXPECT_THAT(enqueue.Wait(), IsOk());
}

TEST(AbandonStepTest, AReceiveThatIsComputingIsAborted) {
  CountingHost host;
  host.Enqueue(0);
  // The step goes while its tasks are to be done.
  const ParallelFor abandoning(
      2, [&](int64_t num_tasks, const ParallelFor::Task& task) {
        EXPECT_THAT(host.engine().AbandonStep(), IsOk());
        for (int64_t i = 0; i < num_tasks; ++i) task(i);
      });

  EXPECT_THAT(host.Receive(0, 0, abandoning).Wait(),
              IsAborted(GivenUp(1, "abandoned by hand")));

  EXPECT_EQ(host.engine().statistics().receives, 0);
  EXPECT_EQ(host.Forward(0), 0);
  EXPECT_THAT(host.Send(0).Wait(), IsOk());
  EXPECT_EQ(host.Count(), 1);
}

}  // namespace
}  // namespace tpuless
