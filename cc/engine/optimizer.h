// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What an optimizer is, and the table of all that are linked in.
#ifndef TPULESS_CC_ENGINE_OPTIMIZER_H_
#define TPULESS_CC_ENGINE_OPTIMIZER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cc/engine/status.h"

namespace tpuless {

// Values of an optimizer's hyperparameters by their name in TensorFlow's
// proto (bools are 0 or 1). A field that is not set reads as 0.
class Hyperparameters {
 public:
  void Set(const std::string& name, double value) { values_[name] = value; }
  float operator[](const std::string& name) const {
    auto it = values_.find(name);
    return it == values_.end() ? 0.0f : static_cast<float>(it->second);
  }
  const std::map<std::string, double>& values() const { return values_; }

 private:
  std::map<std::string, double> values_;
};

// Upper and lower bound; a bound that is absent is infinite.
struct Limits {
  float lower;
  float upper;
};

// One lookup's part in the gradient of a table row.
struct Contribution {
  int64_t row;     // Row of the gradient tensor.
  int32_t tensor;  // Which gradient tensor of the step, over all cores.
  float gain;      // Factor on that tensor's row.
};

// What an optimizer's formula gets from a step besides the gradient.
struct StepInputs {
  float learning_rate;
  float dynamic_input;  // 0 if OptimizerInfo::dynamic_input is empty.
};

// A table's update in one step, as an optimizer's inner loop sees it.
struct TableUpdate {
  // Weights of row r start at `table + r * row_stride`, its slot variable k
  // `slot_stride * (k + 1)` floats behind them.
  float* table;
  int64_t row_stride;
  int64_t slot_stride;
  int64_t dimension;
  // The columns to update: no formula looks beyond one.
  int64_t begin_column;
  int64_t end_column;
  // Distinct rows, ascending; contributions of row_ids[i] are those in
  // [row_starts[i], row_starts[i + 1]), in the order in which they are summed.
  int64_t num_rows;
  const int64_t* row_ids;
  const int64_t* row_starts;
  const Contribution* contributions;
  // By Contribution::tensor; each has `dimension` columns.
  const float* const* gradients;

  StepInputs inputs;
  float weight_decay;            // Already times the learning rate, if so set.
  bool accumulate;               // Sum contributions, then one update.
  const Limits* clip_weights;    // Or null.
  const Limits* clip_gradients;  // Or null.
};

// Returns the gradient of all columns of a contribution, without its gain.
inline const float* GradientRow(const TableUpdate& update,
                                const Contribution& contribution) {
  return update.gradients[contribution.tensor] +
         contribution.row * update.dimension;
}

// The optimizer of one table, with its hyperparameters. Immutable.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Updates the distinct rows number [begin, end) of `update`.
  virtual void UpdateRows(const TableUpdate& update, int64_t begin,
                          int64_t end) const = 0;

  // Updates the table rows [begin, end); those without contributions get a
  // gradient of 0. The distinct rows among them are number [first, last).
  virtual void UpdateAllRows(const TableUpdate& update, int64_t begin,
                             int64_t end, int64_t first,
                             int64_t last) const = 0;
};

// Describes an optimizer to everything that is not its arithmetic.
struct OptimizerInfo {
  // Name of the field in OptimizationParameters: "adagrad".
  std::string name;
  // Name within Load and Retrieve ops, "Adagrad" of
  // LoadTPUEmbeddingAdagradParameters; empty where TensorFlow has no such op.
  std::string op_name;
  std::vector<std::string> slots;            // In load order.
  std::vector<std::string> hyperparameters;  // Field names in the proto.
  std::function<std::unique_ptr<Optimizer>(const Hyperparameters&)> create;

  // Says what is wrong with the hyperparameters and table shape; null if
  // nothing can be.
  Status (*check)(const Hyperparameters&, int64_t dimension) = nullptr;
  // Name of the hyperparameter that asks for an update of all rows in each
  // step, or empty.
  std::string non_lazy = {};
  // Name of the field that holds the tag of one more dynamic input, or empty.
  std::string dynamic_input = {};
  // Whether public texts leave the formula open, so that it runs only on
  // request; null if they never do.
  bool (*is_experimental)(const Hyperparameters&) = nullptr;
};

// An optimizer of the proto that is refused.
struct RefusedOptimizer {
  std::string name;     // As in OptimizerInfo.
  std::string op_name;  // As in OptimizerInfo.
  std::string reason;
};

// Returns all optimizers of this build, in the order of the registry.
const std::vector<const OptimizerInfo*>& Optimizers();

// Returns the optimizer by its proto field name; null if there is none.
const OptimizerInfo* FindOptimizer(const std::string& name);

// Returns those that no build has.
const std::vector<RefusedOptimizer>& RefusedOptimizers();

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_OPTIMIZER_H_
