// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What a step takes from the heap, once the first ones have warmed up.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "cc/engine/enqueue.h"
#include "cc/engine/lookup.h"
#include "cc/engine/update.h"
#include "tests/cc/configs.h"
#include "tests/cc/table_contents.h"
#include "tests/cc/tensor_arena.h"

namespace {

std::atomic<int64_t> allocated_bytes{0};

}  // namespace

// GCC sees free() inlined into containers and takes it for a mismatch.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void* operator new(size_t size) {
  allocated_bytes += static_cast<int64_t>(size);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tpuless {
namespace {

constexpr int64_t kNumSamples = 2000;
constexpr int64_t kIdsPerSample = 5;
constexpr int64_t kDimension = 8;

// Returns the bytes that a step allocates on tables of `vocabulary_size` rows,
// as the third one and later do.
int64_t BytesOfAStep(int64_t num_tables, int64_t vocabulary_size) {
  std::vector<TableConfig> table_configs;
  std::vector<FeatureConfig> features;
  for (int64_t t = 0; t < num_tables; ++t) {
    table_configs.push_back(
        Table("table" + std::to_string(t), vocabulary_size, kDimension));
    features.push_back(
        Feature("feature" + std::to_string(t), t, {kNumSamples}));
  }
  const EngineConfig config = Completed(FeatureLayout(table_configs, features));
  std::vector<std::unique_ptr<EmbeddingTable>> tables;
  const std::vector<float> values(vocabulary_size * kDimension, 1.0f);
  for (const TableConfig& table : config.tables) {
    tables.push_back(LoadedTable(
        table, Variables(1 + table.optimizer_info()->slots.size(), values)));
  }
  TensorArena arena;
  std::vector<int32_t> ids, splits = {0};
  for (int64_t i = 0; i < kNumSamples * kIdsPerSample; ++i) {
    ids.push_back(static_cast<int32_t>(i * 7919 % vocabulary_size));
  }
  for (int64_t i = 1; i <= kNumSamples; ++i) {
    splits.push_back(static_cast<int32_t>(i * kIdsPerSample));
  }
  EnqueueRequest request;
  request.mode_override = "train";
  for (int64_t t = 0; t < num_tables; ++t) {
    request.inputs.push_back(arena.Input(arena.Ints(splits), ids));
  }
  std::vector<float> activations(kNumSamples * kDimension);
  const std::vector<float*> outputs(num_tables, activations.data());
  const std::vector<const float*> gradients(num_tables, activations.data());
  EnqueueMemory memory(1);

  int64_t bytes = 0;
  for (int step = 0; step < 4; ++step) {
    const int64_t before = allocated_bytes;
    const auto minibatch =
        PrepareMinibatch(config, request, false, memory, ParallelFor());
    EXPECT_TRUE(minibatch.ok());
    Lookup(tables, **minibatch, outputs, ParallelFor());
    std::vector<const RowGroups*> groups;
    for (const RowGroups& each : (*minibatch)->groups) groups.push_back(&each);
    UpdateTables(tables, groups, gradients, {}, ParallelFor());
    bytes = allocated_bytes - before;
  }
  return bytes;
}

TEST(StepAllocationsTest, DoNotGrowWithTheTableOrTheBatch) {
  const int64_t bytes = BytesOfAStep(1, 50'000);

  EXPECT_EQ(BytesOfAStep(1, 500'000), bytes);
  // 10,000 ids of 8 bytes alone would be more.
  EXPECT_LT(bytes, 4000);
}

TEST(StepAllocationsTest, AreLittleForEachTable) {
  EXPECT_LT(BytesOfAStep(50, 1000), 50 * 2000);
}

}  // namespace
}  // namespace tpuless
