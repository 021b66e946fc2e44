// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What the engine refuses at once, and what it tells of itself.
#include "cc/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/cc/counting_host.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

TEST(EngineCreateTest, ExperimentalOptimizersRunOnRequest) {
  const EngineConfig config =
      Completed(TableLayout(2, {Table("user", 4, 2, 1, "online_yogi")}));
  EngineOptions options;
  EXPECT_EQ(Engine::Create(config, options).status().code(),
            StatusCode::kUnimplemented);

  options.experimental_optimizers = true;
  EXPECT_THAT(Engine::Create(config, options).status(), IsOk());
}

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() {
    EngineConfig config = CountingHost::Config(2, false);
    config.tables[0].learning_rate_tag = 0;
    engine_ = *Engine::Create(Completed(std::move(config)), EngineOptions());
  }
  ~EngineTest() override { engine_->Shutdown(); }

  // Calls that must end at once.
  Status Receive(int64_t core) {
    Outcome outcome;
    engine_->Receive(core, {}, MakeCall(outcome));
    return outcome.done() ? outcome.Wait() : Waits();
  }
  Status Send(int64_t core, const std::vector<TensorView>& gradients,
              const std::vector<TensorView>& learning_rates) {
    Outcome outcome;
    engine_->Send(core, {gradients, nullptr}, learning_rates,
                  MakeCall(outcome));
    return outcome.done() ? outcome.Wait() : Waits();
  }
  void Load() {
    EXPECT_THAT(engine_->Load(0, Shard(), {a_.Floats({1, 2, 3, 4}, {4, 1})},
                              ParallelFor()),
                IsOk());
  }
  TensorView One() { return a_.Floats({1}, {1, 1}); }

  std::shared_ptr<Engine> engine_;
  TensorArena a_;

 private:
  static Status Waits() { return Status(StatusCode::kInternal, "it waits"); }
  static Call MakeCall(Outcome& outcome) {
    Call call;
    call.schedule = [](std::function<void()>) { FAIL() << "it waited"; };
    call.done = [&outcome](const Status& status) { outcome.Set(status); };
    return call;
  }
};

TEST_F(EngineTest, TablesThatCannotFitAreRefused) {
  EngineConfig config = CountingHost::Config(1, false);
  config.tables[0].vocabulary_size = int64_t{1} << 60;

  EXPECT_EQ(Engine::Create(Completed(std::move(config)), EngineOptions())
                .status()
                .code(),
            StatusCode::kResourceExhausted);
}

TEST_F(EngineTest, TablesAreFoundByNameOrId) {
  EXPECT_EQ(*engine_->FindTable("user", -1), 0);
  EXPECT_EQ(*engine_->FindTable("", 0), 0);
}

TEST_F(EngineTest, TablesThatAreNotThereAreNotFound) {
  const std::shared_ptr<Engine> engine =
      *Engine::Create(Completed(TableLayout(
                          1, {Table("user", 4, 1, 1), Table("item", 4, 1, 1)})),
                      EngineOptions());

  EXPECT_THAT(engine->FindTable("users", -1),
              IsNotFound("unknown table 'users', expected one of 'user', "
                         "'item'"));
  EXPECT_THAT(engine->FindTable("", 2),
              IsInvalidArgument("table_id must be >= 0 and < 2, got 2"));
  EXPECT_THAT(engine->FindTable("", -1),
              IsInvalidArgument("table_id must be >= 0 and < 2, got -1"));
}

TEST_F(EngineTest, CoresThatAreNotThereAreRefused) {
  const std::string message =
      "core must be >= 0 and < 2, the cores of this host, got ";
  Load();

  EXPECT_THAT(engine_->CheckCore(1), IsOk());
  EXPECT_THAT(engine_->CheckCore(2), IsInvalidArgument(message + "2"));
  EXPECT_THAT(Receive(2), IsInvalidArgument(message + "2"));
  EXPECT_THAT(Send(-1, {}, {}), IsInvalidArgument(message + "-1"));
}

TEST_F(EngineTest, TablesMustBeLoadedFirst) {
  const auto is_not_loaded = IsFailedPrecondition(
      "table 'user': must be loaded first, no shard of it is");
  std::vector<float> rows(4);

  EXPECT_THAT(Receive(0), is_not_loaded);
  EXPECT_THAT(Send(0, {One(), One()}, {a_.Scalar(1)}), is_not_loaded);
  EXPECT_THAT(engine_->Retrieve(0, Shard(), {rows.data()}, ParallelFor()),
              is_not_loaded);
  EXPECT_FALSE(engine_->statistics().tables[0].loaded);
}

TEST_F(EngineTest, NumberOfGradients) {
  Load();

  EXPECT_THAT(Send(0, {One()}, {a_.Scalar(1)}),
              IsInvalidArgument("must have 2 gradients, one a feature, got 1"));
}

TEST_F(EngineTest, NumberOfGradientsOfTableLayout) {
  CountingHost host(TableLayout(1, {Table("user", 4, 1, 2)}), EngineOptions());
  PendingCall send;
  host.engine().Send(0, {{One(), One()}, nullptr}, {}, host.MakeCall(send));

  EXPECT_THAT(send.Wait(),
              IsInvalidArgument("must have 1 gradients, one a table, got 2"));
}

TEST_F(EngineTest, ShapeOfGradients) {
  Load();

  EXPECT_THAT(
      Send(0, {One(), a_.Floats({1}, {1})}, {a_.Scalar(1)}),
      IsInvalidArgument(
          "feature 'liked': gradients must have shape [1, 1], got [1]"));
}

TEST_F(EngineTest, TypeOfGradients) {
  Load();

  EXPECT_THAT(Send(0, {a_.Doubles({1}, {1, 1}), One()}, {a_.Scalar(1)}),
              IsInvalidArgument("feature 'watched': gradients must be "
                                "float32"));
}

TEST_F(EngineTest, NumberOfLearningRates) {
  Load();

  EXPECT_THAT(Send(0, {One(), One()}, {}),
              IsInvalidArgument("must have 1 learning rates, one a dynamic "
                                "tag, got 0"));
}

TEST_F(EngineTest, ShapeOfLearningRates) {
  Load();

  EXPECT_THAT(Send(0, {One(), One()}, {a_.Floats({1})}),
              IsInvalidArgument("learning_rates[0] must be a float32 scalar, "
                                "got shape [1]"));
}

TEST_F(EngineTest, RefusedCallsAreNotCounted) {
  Load();
  Send(0, {}, {}).ok();
  Receive(9).ok();

  const Statistics statistics = engine_->statistics();
  EXPECT_EQ(statistics.enqueues, 0);
  EXPECT_EQ(statistics.receives, 0);
  EXPECT_EQ(statistics.sends, 0);
  EXPECT_EQ(statistics.abandoned_steps, 0);
}

TEST_F(EngineTest, ARefusedLoadChangesNothing) {
  Load();

  EXPECT_THAT(
      engine_->Load(0, {2, 0}, {a_.Floats({7, 7, 7}, {3, 1})}, ParallelFor()),
      IsInvalidArgument("table 'user': parameters must have shape [2, "
                        "1], got [3, 1]"));

  std::vector<float> rows(4);
  EXPECT_THAT(engine_->Retrieve(0, Shard(), {rows.data()}, ParallelFor()),
              IsOk());
  EXPECT_EQ(rows, (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(EngineTest, OptionsAreThoseSet) {
  EngineOptions options;
  options.queue_limit = 3;
  options.skip_out_of_range_ids = true;

  engine_->SetOptions(options);

  EXPECT_EQ(engine_->options().queue_limit, 3);
  EXPECT_TRUE(engine_->options().skip_out_of_range_ids);
}

TEST(EngineStatisticsTest, CountWhatHappened) {
  CountingHost host(2);
  host.Forward(0);
  host.Forward(1);
  host.Send(0);
  host.Send(1);
  host.Forward(0, "inference");
  host.Enqueue(1);

  const Statistics statistics = host.engine().statistics();

  EXPECT_EQ(statistics.enqueues, 4);
  EXPECT_EQ(statistics.receives, 3);
  EXPECT_EQ(statistics.sends, 2);
  EXPECT_EQ(statistics.steps, 1);
  EXPECT_EQ(statistics.abandoned_steps, 0);
  EXPECT_EQ(statistics.ids, 8);
  EXPECT_EQ(statistics.unique_rows, 2);
  EXPECT_EQ(statistics.queued_batches, 1);
  ASSERT_EQ(statistics.tables.size(), 1u);
  EXPECT_EQ(statistics.tables[0].name, "user");
  EXPECT_EQ(statistics.tables[0].vocabulary_size, 4);
  EXPECT_EQ(statistics.tables[0].dimension, 1);
  EXPECT_EQ(statistics.tables[0].num_bytes, 16);
  EXPECT_TRUE(statistics.tables[0].loaded);
}

TEST(EngineOptionsTest, OutOfRangeIdsMayBeSkipped) {
  CountingHost host;
  EngineOptions options;
  options.skip_out_of_range_ids = true;
  host.engine().SetOptions(options);
  host.LoadAll(5);

  EXPECT_THAT(host.EnqueueBadId(0).Wait(), IsOk());
  const PendingCall receive = host.Receive(0);
  EXPECT_THAT(receive.Wait(), IsOk());

  EXPECT_EQ(receive.activation(), 0);
}

}  // namespace
}  // namespace tpuless
