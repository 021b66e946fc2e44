// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// A step without TensorFlow around it, and its parts: preparing a minibatch,
// looking it up, updating its rows.
//
// Names are part/workload/threads. ids_per_second counts every id.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cc/engine/enqueue.h"
#include "cc/engine/lookup.h"
#include "cc/engine/memory.h"
#include "cc/engine/thread_pool.h"
#include "cc/engine/update.h"

namespace tpuless {
namespace {

// As in workloads.py.
struct Workload {
  const char* name;
  int64_t num_tables;
  int64_t vocabulary_size;
  int64_t dimension;
  int64_t num_samples;
  int64_t ids_per_sample;
  bool zipf = false;  // Exponent 1.05; else uniform.
};

constexpr Workload kWorkloads[] = {
    {"w1m64", 1, 1'000'000, 64, 4096, 20},
    {"w5m32", 1, 5'000'000, 32, 4096, 20},
    {"w200k128", 1, 200'000, 128, 4096, 20},
    {"w1m64zipf", 1, 1'000'000, 64, 4096, 20, true},
    {"w10k64", 1, 10'000, 64, 4096, 20},
    {"t26", 26, 200'000, 64, 16384, 1},
    {"t26b64", 26, 200'000, 64, 64, 1},
    {"w1m64b1", 1, 1'000'000, 64, 1, 1},
};

// Batches come around after so many steps, when the caches have lost their
// rows.
constexpr int kNumBatches = 12;

void Require(const Status& status) {
  if (status.ok()) return;
  std::cerr << status.message() << "\n";
  std::abort();
}

// Of the ranks of a Zipf distribution, unscaled; empty if ids are uniform.
std::vector<double> CumulativeFrequencies(const Workload& workload) {
  std::vector<double> frequencies;
  if (!workload.zipf) return frequencies;
  double sum = 0;
  for (int64_t rank = 1; rank <= workload.vocabulary_size; ++rank) {
    sum += std::pow(static_cast<double>(rank), -1.05);
    frequencies.push_back(sum);
  }
  return frequencies;
}

int64_t RandomId(const Workload& workload,
                 const std::vector<double>& cumulative, std::mt19937& random) {
  if (!workload.zipf) return random() % workload.vocabulary_size;
  std::uniform_real_distribution<double> uniform(0, cumulative.back());
  const int64_t rank =
      std::upper_bound(cumulative.begin(), cumulative.end(), uniform(random)) -
      cumulative.begin();
  // Scatters the ranks over the table: the factor is a prime.
  return std::min(rank, workload.vocabulary_size - 1) * 2'654'435'761 %
         workload.vocabulary_size;
}

// Tables and batches of a workload. One is alive at a time.
class Job {
 public:
  explicit Job(const Workload& workload) : workload_(workload) {
    config_.mode = Mode::kTraining;
    for (int64_t t = 0; t < workload.num_tables; ++t) {
      TableConfig table;
      table.name = "table" + std::to_string(t);
      table.vocabulary_size = workload.vocabulary_size;
      table.dimension = workload.dimension;
      table.optimizer = "adagrad";
      table.learning_rate = 0.01f;
      config_.tables.push_back(table);
      config_.features.push_back({"", t, {workload.num_samples}});
    }
    Require(CheckAndComplete(config_));
    const int64_t size = workload.vocabulary_size * workload.dimension;
    const std::vector<float> ones(size, 1.0f);
    for (const TableConfig& table : config_.tables) {
      tables_.push_back(
          std::make_unique<EmbeddingTable>(table, ShardingStrategy::kDiv));
      const std::vector<const float*> variables = {ones.data(), ones.data()};
      Require(tables_.back()->Load({}, variables, ParallelFor()));
    }

    std::mt19937 random(17);
    const int64_t num_ids = workload.num_samples * workload.ids_per_sample;
    for (int64_t i = 0; i < num_ids; ++i) {
      indices_.push_back(i / workload.ids_per_sample);
      indices_.push_back(i % workload.ids_per_sample);
    }
    for (int64_t i = 0; i <= workload.num_samples; ++i) {
      splits_.push_back(i * workload.ids_per_sample);
    }
    const std::vector<double> cumulative = CumulativeFrequencies(workload);
    ids_.resize(kNumBatches * workload.num_tables);
    for (std::vector<int64_t>& ids : ids_) {
      ids.resize(num_ids);
      for (int64_t& id : ids) id = RandomId(workload, cumulative, random);
    }
    floats_.resize(workload.num_samples * workload.dimension);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& each : floats_) each = uniform(random);
    gradients_.assign(workload.num_tables, floats_.data());
    if (!activations_.Allocate(workload.num_tables * floats_.size())) {
      std::abort();
    }
  }

  static Job& Of(const Workload& workload) {
    static std::unique_ptr<Job> job;
    if (job == nullptr || job->workload_.name != workload.name) {
      job = nullptr;  // Frees its tables first.
      job = std::make_unique<Job>(workload);
    }
    return *job;
  }

  std::shared_ptr<Minibatch> Prepare(int64_t k, bool sparse,
                                     const ParallelFor& parallel_for) {
    EnqueueRequest request;
    request.mode_override = "train";
    const int64_t num_ids = static_cast<int64_t>(ids_[0].size());
    for (int64_t t = 0; t < workload_.num_tables; ++t) {
      const std::vector<int64_t>& ids =
          ids_[k % kNumBatches * workload_.num_tables + t];
      request.inputs.push_back(
          {sparse ? TensorView{DType::kInt64, {num_ids, 2}, indices_.data()}
                  : TensorView{DType::kInt64,
                               {static_cast<int64_t>(splits_.size())},
                               splits_.data()},
           {DType::kInt64, {num_ids}, ids.data()},
           {DType::kFloat32, {0}, nullptr}});
    }
    auto minibatch =
        PrepareMinibatch(config_, request, false, memory_, parallel_for);
    Require(minibatch.status());
    return std::move(*minibatch);
  }

  std::vector<std::shared_ptr<Minibatch>> PrepareAll() {
    std::vector<std::shared_ptr<Minibatch>> minibatches;
    for (int64_t k = 0; k < kNumBatches; ++k) {
      minibatches.push_back(Prepare(k, false, ParallelFor()));
    }
    return minibatches;
  }

  void Receive(const Minibatch& minibatch, const ParallelFor& parallel_for) {
    std::vector<float*> outputs;
    for (int64_t t = 0; t < workload_.num_tables; ++t) {
      outputs.push_back(activations_.data() + t * floats_.size());
    }
    Lookup(tables_, minibatch, outputs, parallel_for);
  }

  void Send(const Minibatch& minibatch, const ParallelFor& parallel_for) {
    std::vector<const RowGroups*> groups;
    for (const RowGroups& each : minibatch.groups) groups.push_back(&each);
    UpdateTables(tables_, groups, gradients_, {}, parallel_for);
  }

  int64_t num_ids() const {
    return workload_.num_tables * workload_.num_samples *
           workload_.ids_per_sample;
  }

 private:
  const Workload& workload_;
  EngineConfig config_;
  EnqueueMemory memory_{1};
  std::vector<std::unique_ptr<EmbeddingTable>> tables_;
  std::vector<int64_t> indices_;
  std::vector<int64_t> splits_;
  std::vector<std::vector<int64_t>> ids_;  // By batch, then table.
  std::vector<float> floats_;
  std::vector<const float*> gradients_;
  Memory activations_;
};

// Calls body(job, number of the iteration, threads).
template <class Body>
void Measure(benchmark::State& state, const Workload& workload, int threads,
             const Body& body) {
  ThreadPool pool(threads);
  const ParallelFor parallel_for = pool.parallel_for();
  Job& job = Job::Of(workload);
  int64_t k = 0;
  for (auto _ : state) body(job, k++, parallel_for);
  state.counters["ids_per_second"] =
      benchmark::Counter(static_cast<double>(job.num_ids()),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void EnqueueSparse(benchmark::State& state, const Workload& workload,
                   int threads) {
  Measure(state, workload, threads,
          [](Job& job, int64_t k, const ParallelFor& parallel_for) {
            benchmark::DoNotOptimize(job.Prepare(k, true, parallel_for));
          });
}

void EnqueueRagged(benchmark::State& state, const Workload& workload,
                   int threads) {
  Measure(state, workload, threads,
          [](Job& job, int64_t k, const ParallelFor& parallel_for) {
            benchmark::DoNotOptimize(job.Prepare(k, false, parallel_for));
          });
}

void Receive(benchmark::State& state, const Workload& workload, int threads) {
  const auto minibatches = Job::Of(workload).PrepareAll();
  Measure(state, workload, threads,
          [&](Job& job, int64_t k, const ParallelFor& parallel_for) {
            job.Receive(*minibatches[k % kNumBatches], parallel_for);
          });
}

void Send(benchmark::State& state, const Workload& workload, int threads) {
  const auto minibatches = Job::Of(workload).PrepareAll();
  Measure(state, workload, threads,
          [&](Job& job, int64_t k, const ParallelFor& parallel_for) {
            job.Send(*minibatches[k % kNumBatches], parallel_for);
          });
}

void Step(benchmark::State& state, const Workload& workload, int threads) {
  Measure(state, workload, threads,
          [](Job& job, int64_t, const ParallelFor& parallel_for) {
            // One batch, as in the operation "loop" of tpuless_side.py.
            const auto minibatch = job.Prepare(0, false, parallel_for);
            job.Receive(*minibatch, parallel_for);
            job.Send(*minibatch, parallel_for);
          });
}

using Part = void(benchmark::State&, const Workload&, int);

void Register(const std::string& name, Part* part, const Workload& workload,
              int threads) {
  const std::string full =
      name + "/" + workload.name + "/" + std::to_string(threads);
  benchmark::RegisterBenchmark(
      full.c_str(),
      [=](benchmark::State& state) { part(state, workload, threads); })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

[[maybe_unused]] const bool registered = [] {
  for (const Workload& workload : kWorkloads) {
    for (const int threads : {1, 2}) {
      Register("EnqueueSparse", EnqueueSparse, workload, threads);
      Register("EnqueueRagged", EnqueueRagged, workload, threads);
      Register("Receive", Receive, workload, threads);
      Register("Send", Send, workload, threads);
      Register("Step", Step, workload, threads);
    }
  }
  return true;
}();

}  // namespace
}  // namespace tpuless
