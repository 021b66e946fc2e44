// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// User-defined program: w and the slots become what the program computes of g,
// w and the slots. What surrounds it is as for every optimizer.
//
// Unlike the others it does not run column by column: a program may cost much
// to start, so it gets the rows of a whole batch as one array.
#include "cc/engine/optimizers/user_defined_program.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tpuless {
namespace {

// Elements of a batch, about; its arrays stay in the cache.
constexpr int64_t kElements = 4096;

// A table row and its contributions.
struct RowUpdate {
  int64_t row;
  int64_t begin;
  int64_t end;
};

// Clamps `x`; NaN stays NaN.
float Clamp(float x, const Limits& limits) {
  if (x < limits.lower) x = limits.lower;
  return limits.upper < x ? limits.upper : x;
}

// The arrays that the program reads and writes, for some rows at once.
class Batch {
 public:
  Batch(const RowProgram& program, const TableUpdate& update,
        int64_t max_num_rows)
      : program_(program),
        update_(update),
        num_columns_(update.end_column - update.begin_column),
        size_(max_num_rows * num_columns_),
        inputs_((2 + program.num_slots()) * size_),
        outputs_((1 + program.num_slots()) * size_) {}

  // Updates `num_rows` rows, each with all of its contributions.
  void Run(const RowUpdate* rows, int64_t num_rows) {
    const int64_t num_variables = 1 + program_.num_slots();
    const int64_t size = num_rows * num_columns_;
    std::fill(inputs_.begin(), inputs_.begin() + size, 0.0f);
    for (int64_t i = 0; i < num_rows; ++i) {
      float* gradient = &inputs_[i * num_columns_];
      for (int64_t c = rows[i].begin; c < rows[i].end; ++c) {
        const Contribution& part = update_.contributions[c];
        const float* from = GradientRow(update_, part) + update_.begin_column;
        for (int64_t j = 0; j < num_columns_; ++j) {
          gradient[j] += part.gain * from[j];
        }
      }
      for (int64_t k = 0; k < num_variables; ++k) {
        std::memcpy(&inputs_[(k + 1) * size_ + i * num_columns_],
                    Variable(rows[i].row, k), num_columns_ * sizeof(float));
      }
    }
    for (int64_t j = 0; j < size; ++j) {
      if (update_.clip_gradients != nullptr) {
        inputs_[j] = Clamp(inputs_[j], *update_.clip_gradients);
      }
      float& weight = inputs_[size_ + j];
      if (update_.weight_decay != 0) weight -= update_.weight_decay * weight;
    }

    std::vector<const float*> inputs;
    std::vector<float*> outputs;
    for (int64_t k = 0; k <= num_variables; ++k) {
      inputs.push_back(&inputs_[k * size_]);
    }
    for (int64_t k = 0; k < num_variables; ++k) {
      outputs.push_back(&outputs_[k * size_]);
    }
    program_.Run(size, update_.inputs.learning_rate, inputs.data(),
                 outputs.data());

    if (update_.clip_weights != nullptr) {
      for (int64_t j = 0; j < size; ++j) {
        outputs_[j] = Clamp(outputs_[j], *update_.clip_weights);
      }
    }
    for (int64_t i = 0; i < num_rows; ++i) {
      for (int64_t k = 0; k < num_variables; ++k) {
        std::memcpy(Variable(rows[i].row, k),
                    &outputs_[k * size_ + i * num_columns_],
                    num_columns_ * sizeof(float));
      }
    }
  }

 private:
  float* Variable(int64_t row, int64_t variable) const {
    return update_.table + row * update_.row_stride +
           variable * update_.slot_stride + update_.begin_column;
  }

  const RowProgram& program_;
  const TableUpdate& update_;
  const int64_t num_columns_;
  const int64_t size_;  // Of one array.
  std::vector<float> inputs_;
  std::vector<float> outputs_;
};

class ProgramOptimizer final : public Optimizer {
 public:
  explicit ProgramOptimizer(std::shared_ptr<const RowProgram> program)
      : program_(std::move(program)) {}

  void UpdateRows(const TableUpdate& update, int64_t begin,
                  int64_t end) const override {
    std::vector<RowUpdate> rows;
    for (int64_t i = begin; i < end; ++i) {
      rows.push_back(
          {update.row_ids[i], update.row_starts[i], update.row_starts[i + 1]});
    }
    Update(update, rows);
  }

  void UpdateAllRows(const TableUpdate& update, int64_t begin, int64_t end,
                     int64_t first, int64_t last) const override {
    std::vector<RowUpdate> rows;
    for (int64_t row = begin; row < end; ++row) {
      const bool touched = first < last && update.row_ids[first] == row;
      rows.push_back({row, touched ? update.row_starts[first] : 0,
                      touched ? update.row_starts[first + 1] : 0});
      first += touched;
    }
    Update(update, rows);
  }

 private:
  void Update(const TableUpdate& update,
              const std::vector<RowUpdate>& rows) const {
    const int64_t num_rows = static_cast<int64_t>(rows.size());
    if (!update.accumulate) {
      // Contributions to one row follow one another.
      Batch batch(*program_, update, 1);
      for (const RowUpdate& each : rows) {
        for (int64_t c = each.begin; c < each.end; ++c) {
          const RowUpdate one = {each.row, c, c + 1};
          batch.Run(&one, 1);
        }
      }
      return;
    }
    const int64_t max_rows = std::max<int64_t>(1, kElements / update.dimension);
    Batch batch(*program_, update, std::min(max_rows, num_rows));
    for (int64_t i = 0; i < num_rows; i += max_rows) {
      batch.Run(&rows[i], std::min(max_rows, num_rows - i));
    }
  }

  const std::shared_ptr<const RowProgram> program_;
};

}  // namespace

std::shared_ptr<const OptimizerInfo> UserDefinedProgramInfo(
    std::shared_ptr<const RowProgram> program) {
  auto info = std::make_shared<OptimizerInfo>();
  info->name = "user_defined_program";
  for (int i = 0; i < program->num_slots(); ++i) {
    info->slots.push_back(StrCat("Slot_", i));
  }
  info->create = [program = std::move(program)](const Hyperparameters&) {
    return std::make_unique<ProgramOptimizer>(program);
  };
  return info;
}

}  // namespace tpuless
