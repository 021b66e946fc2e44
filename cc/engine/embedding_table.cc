// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Storage of a table, and the copies in and out of it.
#include "cc/engine/embedding_table.h"

#include <algorithm>
#include <cstring>

namespace tpuless {
namespace {

constexpr int64_t kRowsPerTask = 4096;

// Calls copy(i) for i in [0, num_rows), in blocks on several threads.
template <class Copy>
void ForEachRow(int64_t num_rows, const ParallelFor& parallel_for,
                const Copy& copy) {
  const int64_t num_tasks = (num_rows + kRowsPerTask - 1) / kRowsPerTask;
  parallel_for(num_tasks, [&](int64_t task) {
    const int64_t end = std::min(num_rows, (task + 1) * kRowsPerTask);
    for (int64_t i = task * kRowsPerTask; i < end; ++i) copy(i);
  });
}

}  // namespace

EmbeddingTable::EmbeddingTable(const TableConfig& config,
                               ShardingStrategy sharding)
    : config_(config),
      sharding_(sharding),
      info_(config_.optimizer_info()),
      optimizer_(info_->create(config.hyperparameters)),
      row_stride_(config.dimension * num_variables()),
      slot_stride_(config.dimension) {}

int64_t EmbeddingTable::num_bytes() const {
  return config_.vocabulary_size * row_stride_ *
         static_cast<int64_t>(sizeof(float));
}

Result<int64_t> EmbeddingTable::ShardRows(const Shard& shard) const {
  if (shard.num_shards <= 0) {
    return InvalidArgument("table '", config_.name,
                           "': num_shards must be > 0, got ", shard.num_shards);
  }
  if (shard.shard_id < 0 || shard.shard_id >= shard.num_shards) {
    return InvalidArgument("table '", config_.name,
                           "': shard_id must be >= 0 and < num_shards (",
                           shard.num_shards, "), got ", shard.shard_id);
  }
  const int64_t rest = config_.vocabulary_size % shard.num_shards;
  const int64_t rows =
      config_.vocabulary_size / shard.num_shards + (shard.shard_id < rest);
  if (rows == 0) {
    return InvalidArgument("table '", config_.name,
                           "': every shard must have rows, but shard ",
                           shard.shard_id, " of ", shard.num_shards, " of ",
                           config_.vocabulary_size, " rows has none");
  }
  return rows;
}

// Returns the table row of a shard's i-th row. DIV shards are contiguous, the
// first ones one row longer; MOD shards take every num_shards-th row.
int64_t EmbeddingTable::ShardRow(const Shard& shard, int64_t i) const {
  if (sharding_ == ShardingStrategy::kMod) {
    return shard.shard_id + i * shard.num_shards;
  }
  const int64_t rows = config_.vocabulary_size / shard.num_shards;
  const int64_t rest = config_.vocabulary_size % shard.num_shards;
  return shard.shard_id * rows + std::min(shard.shard_id, rest) + i;
}

Status EmbeddingTable::Load(const Shard& shard,
                            const std::vector<const float*>& variables,
                            const ParallelFor& parallel_for) {
  const Result<int64_t> num_rows = ShardRows(shard);
  if (!num_rows.ok()) return num_rows.status();
  if (!memory_.allocated() &&
      !memory_.Allocate(config_.vocabulary_size * row_stride_)) {
    return ResourceExhausted("table '", config_.name, "': the system has no ",
                             num_bytes(), " bytes for it");
  }
  const int64_t dimension = config_.dimension;
  ForEachRow(*num_rows, parallel_for, [&](int64_t i) {
    float* row = memory_.data() + ShardRow(shard, i) * row_stride_;
    for (const float* variable : variables) {
      std::memcpy(row, variable + i * dimension, dimension * sizeof(float));
      row += slot_stride_;
    }
  });
  if (!loaded_) {
    std::set<int64_t>& shards = loaded_shards_[shard.num_shards];
    shards.insert(shard.shard_id);
    int64_t rows = 0;
    for (int64_t id : shards) rows += *ShardRows({shard.num_shards, id});
    loaded_ = rows == config_.vocabulary_size;
    if (loaded_) loaded_shards_.clear();
  }
  return Status();
}

Status EmbeddingTable::Retrieve(const Shard& shard,
                                const std::vector<float*>& variables,
                                const ParallelFor& parallel_for) const {
  const Result<int64_t> num_rows = ShardRows(shard);
  if (!num_rows.ok()) return num_rows.status();
  TPULESS_RETURN_IF_ERROR(CheckLoaded());
  const int64_t dimension = config_.dimension;
  ForEachRow(*num_rows, parallel_for, [&](int64_t i) {
    const float* row = memory_.data() + ShardRow(shard, i) * row_stride_;
    for (float* variable : variables) {
      std::memcpy(variable + i * dimension, row, dimension * sizeof(float));
      row += slot_stride_;
    }
  });
  return Status();
}

Status EmbeddingTable::CheckLoaded() const {
  if (loaded_) return Status();
  if (loaded_shards_.empty()) {
    return FailedPrecondition("table '", config_.name,
                              "': must be loaded first, no shard of it is");
  }
  // Of several divisions in part loaded, the one with the most shards there.
  const auto& [num_shards, shards] =
      *std::max_element(loaded_shards_.begin(), loaded_shards_.end(),
                        [](const auto& a, const auto& b) {
                          return a.second.size() < b.second.size();
                        });
  constexpr int kNamed = 8;
  std::string missing;
  int count = 0;
  // More shards than rows leave the last ones without any.
  const int64_t num_loadable = std::min(num_shards, config_.vocabulary_size);
  for (int64_t id = 0; id < num_loadable && count <= kNamed; ++id) {
    if (shards.count(id) > 0) continue;
    if (count == kNamed) {
      missing += ", ...";
    } else {
      missing += StrCat(count > 0 ? ", " : "", id);
    }
    ++count;
  }
  return FailedPrecondition("table '", config_.name,
                            "': must be loaded first, missing shards ", missing,
                            " of ", num_shards);
}

TableUpdate EmbeddingTable::MakeUpdate(
    const RowGroups& groups, const float* const* gradients,
    const std::vector<float>& learning_rates) {
  const float learning_rate = config_.learning_rate_tag
                                  ? learning_rates[*config_.learning_rate_tag]
                                  : config_.learning_rate;
  TableUpdate update;
  update.table = memory_.data();
  update.row_stride = row_stride_;
  update.slot_stride = slot_stride_;
  update.dimension = config_.dimension;
  update.begin_column = 0;
  update.end_column = config_.dimension;
  update.num_rows = groups.num_rows();
  update.row_ids = groups.row_ids.data();
  update.row_starts = groups.row_starts.data();
  update.contributions = groups.contributions.data();
  update.gradients = gradients;
  update.inputs = {learning_rate,
                   config_.dynamic_input_tag
                       ? learning_rates[*config_.dynamic_input_tag]
                       : 0.0f};
  update.weight_decay =
      config_.weight_decay_factor *
      (config_.multiply_weight_decay_by_learning_rate ? learning_rate : 1.0f);
  update.accumulate = config_.accumulate_gradients;
  update.clip_weights = config_.clip_weights ? &*config_.clip_weights : nullptr;
  update.clip_gradients =
      config_.clip_gradients ? &*config_.clip_gradients : nullptr;
  return update;
}

}  // namespace tpuless
