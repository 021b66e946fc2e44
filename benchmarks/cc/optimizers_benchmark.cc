// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The update of a table's rows, with each optimizer.
//
// bytes_per_second counts the rows' weights and slot variables once; an update
// reads and writes them, and reads the gradients besides.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cc/engine/minibatch.h"
#include "cc/engine/update.h"
#include "tests/cc/optimizer_cases.h"
#include "tests/cc/row_groups.h"

namespace tpuless {
namespace {

constexpr int64_t kVocabularySize = 500'000;
constexpr int64_t kNumIds = 81'920;

std::vector<float> RandomFloats(int64_t size, float lower, float upper,
                                std::mt19937& random) {
  std::uniform_real_distribution<float> distribution(lower, upper);
  std::vector<float> floats(size);
  for (float& each : floats) each = distribution(random);
  return floats;
}

std::unique_ptr<EmbeddingTable> RandomTable(const TableConfig& config,
                                            std::mt19937& random) {
  const int64_t size = config.vocabulary_size * config.dimension;
  const std::vector<float> weights = RandomFloats(size, -2, 2, random);
  const std::vector<float> slots = RandomFloats(size, .1f, 3, random);
  auto table = std::make_unique<EmbeddingTable>(config, ShardingStrategy::kDiv);
  std::vector<const float*> variables(table->num_variables(), slots.data());
  variables[0] = weights.data();
  if (!table->Load(Shard(), variables, ParallelFor()).ok()) std::abort();
  return table;
}

void UpdateRows(benchmark::State& state, const OptimizerCase& optimizer_case,
                int64_t dimension) {
  TableConfig config;
  config.name = "user";
  config.vocabulary_size = kVocabularySize;
  config.dimension = dimension;
  std::mt19937 random(17);
  std::vector<std::unique_ptr<EmbeddingTable>> tables;
  tables.push_back(RandomTable(optimizer_case.Configure(config), random));
  InputLookups input;
  input.width = input.stride = kNumIds;
  for (int64_t i = 0; i <= kNumIds; ++i) input.row_splits.push_back(i);
  for (int64_t i = 0; i < kNumIds; ++i) {
    input.ids.push_back(random() % kVocabularySize);
  }
  const RowGroups groups = GroupsOf({input}, 0, kVocabularySize);
  const std::vector<float> gradients =
      RandomFloats(kNumIds * dimension, -1, 1, random);

  for (auto _ : state) {
    UpdateTables(tables, {&groups}, {gradients.data()},
                 {optimizer_case.inputs().dynamic_input}, ParallelFor());
  }

  state.SetBytesProcessed(state.iterations() * groups.num_rows() *
                          tables[0]->row_stride() *
                          static_cast<int64_t>(sizeof(float)));
}

void Register(const OptimizerCase& optimizer_case, int64_t dimension) {
  const std::string name =
      optimizer_case.name + "/" + std::to_string(dimension);
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    UpdateRows(state, optimizer_case, dimension);
  })->Unit(benchmark::kMillisecond);
}

[[maybe_unused]] const bool registered = [] {
  for (const OptimizerCase& each : OptimizerCases()) {
    // These update all rows, whose number is another matter.
    if (each.name.find("NonLazy") != std::string::npos) continue;
    const bool one_column = each.optimizer == "frequency_estimator";
    Register(each, one_column ? 1 : 64);
    if (each.name == "Adagrad") Register(each, 1);
  }
  return true;
}();

}  // namespace
}  // namespace tpuless
