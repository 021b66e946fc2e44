// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// One embedding table: weights and slot variables of every row.
#ifndef TPULESS_CC_ENGINE_EMBEDDING_TABLE_H_
#define TPULESS_CC_ENGINE_EMBEDDING_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cc/engine/engine_config.h"
#include "cc/engine/memory.h"
#include "cc/engine/minibatch.h"
#include "cc/engine/optimizer.h"
#include "cc/engine/parallel_for.h"
#include "cc/engine/status.h"

namespace tpuless {

// Rows of one of `num_shards` parts of a table.
struct Shard {
  int64_t num_shards = 1;
  int64_t shard_id = 0;
};

// Not thread safe: the engine lets readers share and writers be alone.
class EmbeddingTable {
 public:
  EmbeddingTable(const TableConfig& config, ShardingStrategy sharding);

  const TableConfig& config() const { return config_; }
  const OptimizerInfo& optimizer_info() const { return *info_; }
  int64_t num_variables() const {
    return 1 + static_cast<int64_t>(info_->slots.size());
  }
  // Bytes of weights and slot variables, claimed or not.
  int64_t num_bytes() const;

  // Returns the number of rows of a shard, or what is wrong with it.
  Result<int64_t> ShardRows(const Shard& shard) const;

  // Copies a shard's variables, each [ShardRows(shard), dimension] and in the
  // order weights, slots. The first Load claims the memory.
  Status Load(const Shard& shard, const std::vector<const float*>& variables,
              const ParallelFor& parallel_for);
  Status Retrieve(const Shard& shard, const std::vector<float*>& variables,
                  const ParallelFor& parallel_for) const;

  // Refuses a table of which rows have not been loaded yet.
  Status CheckLoaded() const;

  const float* weights(int64_t row) const {
    return memory_.data() + row * row_stride_;
  }
  int64_t row_stride() const { return row_stride_; }

  const Optimizer& optimizer() const { return *optimizer_; }

  // Describes the update of a step to the optimizer. The arguments must
  // outlive the result; `gradients` is indexed by Contribution::tensor.
  TableUpdate MakeUpdate(const RowGroups& groups, const float* const* gradients,
                         const std::vector<float>& learning_rates);

 private:
  int64_t ShardRow(const Shard& shard, int64_t i) const;

  TableConfig config_;
  ShardingStrategy sharding_;
  const OptimizerInfo* info_;
  std::unique_ptr<Optimizer> optimizer_;
  int64_t row_stride_;   // Floats from one row's weights to the next one's.
  int64_t slot_stride_;  // Floats from a row's weights to its first slot.
  Memory memory_;
  bool loaded_ = false;
  std::map<int64_t, std::set<int64_t>> loaded_shards_;  // By num_shards.
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_EMBEDDING_TABLE_H_
