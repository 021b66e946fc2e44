// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// From the tensors of an Enqueue op to a minibatch that is ready to run.
#ifndef TPULESS_CC_ENGINE_ENQUEUE_H_
#define TPULESS_CC_ENGINE_ENQUEUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/engine/engine_config.h"
#include "cc/engine/minibatch.h"
#include "cc/engine/parallel_for.h"
#include "cc/engine/recycler.h"
#include "cc/engine/status.h"
#include "cc/engine/tensor_view.h"

namespace tpuless {

// The five ways in which TensorFlow's Enqueue ops say which id belongs to
// which sample.
enum class EnqueueForm {
  kIntegerBatch,          // A table; one id per activation row.
  kSparseBatch,           // A table; sample_indices are activation rows.
  kSparseTensorBatch,     // An input; COO indices [sample, position].
  kRaggedTensorBatch,     // An input; row splits.
  kArbitraryTensorBatch,  // A feature; COO indices, row splits, or dense.
};

struct EnqueueInput {
  TensorView sample_indices;     // Indices or row splits; unused for integers.
  TensorView embedding_indices;  // [num_ids].
  // [num_ids], or [0] for weights of 1; unused for integers.
  TensorView aggregation_weights;
};

// Attributes that an op does not have stay empty.
struct EnqueueRequest {
  EnqueueForm form = EnqueueForm::kArbitraryTensorBatch;
  std::vector<EnqueueInput> inputs;
  std::vector<std::string> combiners;
  std::vector<int64_t> table_ids;
  std::vector<int64_t> max_sequence_lengths;
  std::vector<int64_t> num_features;
  std::string mode_override;
  int64_t device_ordinal = -1;  // -1 is core 0.
};

// Refuses a combiner that is not sum, mean or sqrtn.
Status CheckCombiners(const std::vector<std::string>& combiners);

// Memory of minibatches that are done, for the next ones. Thread safe.
struct EnqueueMemory {
  // A core may prepare a batch while its last one waits for its gradients.
  explicit EnqueueMemory(int64_t num_cores)
      : minibatches(static_cast<size_t>(num_cores)) {}

  Recycler<Minibatch> minibatches;
  Recycler<Workspace> workspaces{/*most_idle=*/4};
};

// Checks the whole request and prepares its minibatch: nothing of it is used
// later. With `skip_out_of_range_ids`, ids outside a table are left out with
// their weights instead of refused.
Result<std::shared_ptr<Minibatch>> PrepareMinibatch(
    const EngineConfig& config, const EnqueueRequest& request,
    bool skip_out_of_range_ids, EnqueueMemory& memory,
    const ParallelFor& parallel_for);

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_ENQUEUE_H_
