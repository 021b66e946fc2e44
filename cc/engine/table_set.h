// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// All tables of an engine, which many may read and one may write at a time.
#ifndef TPULESS_CC_ENGINE_TABLE_SET_H_
#define TPULESS_CC_ENGINE_TABLE_SET_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "cc/engine/embedding_table.h"
#include "cc/engine/engine_config.h"
#include "cc/engine/minibatch.h"
#include "cc/engine/parallel_for.h"
#include "cc/engine/status.h"
#include "cc/engine/tensor_view.h"

namespace tpuless {

struct Step;

// Refuses tables, or a batch, that cannot fit in memory.
Status CheckMemory(const EngineConfig& config);

// Thread safe. `config` must outlive it.
class TableSet {
 public:
  explicit TableSet(const EngineConfig& config);

  int64_t size() const { return static_cast<int64_t>(tables_.size()); }
  // For what never changes: sizes, shards, the optimizer.
  const EmbeddingTable& operator[](int64_t table) const {
    return *tables_[table];
  }

  Status Load(int64_t table, const Shard& shard,
              const std::vector<TensorView>& variables,
              const ParallelFor& parallel_for);
  Status Retrieve(int64_t table, const Shard& shard,
                  const std::vector<float*>& variables,
                  const ParallelFor& parallel_for) const;

  // Refuses while any table is not loaded.
  Status CheckLoaded() const;
  bool IsLoaded(int64_t table) const;

  void Lookup(const Minibatch& minibatch, const std::vector<float*>& outputs,
              const ParallelFor& parallel_for) const;

  // Applies the gradients of all cores' batches; returns how many distinct
  // rows they touch.
  int64_t Apply(const Step& step, const ParallelFor& parallel_for);

 private:
  const EngineConfig& config_;
  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<EmbeddingTable>> tables_;
  std::atomic<bool> all_loaded_{false};
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_TABLE_SET_H_
