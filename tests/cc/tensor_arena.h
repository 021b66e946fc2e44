// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Makes tensor views, and owns the memory that they see.
#ifndef TPULESS_TESTS_CC_TENSOR_ARENA_H_
#define TPULESS_TESTS_CC_TENSOR_ARENA_H_

#include <cassert>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "cc/engine/enqueue.h"
#include "cc/engine/tensor_view.h"

namespace tpuless {

class TensorArena {
 public:
  // Returns a view of `values`, of rank 1 unless `shape` says otherwise.
  TensorView Ints(std::vector<int32_t> values,
                  std::vector<int64_t> shape = {kFlat}) {
    return Make(DType::kInt32, std::move(values), std::move(shape));
  }
  TensorView Longs(std::vector<int64_t> values,
                   std::vector<int64_t> shape = {kFlat}) {
    return Make(DType::kInt64, std::move(values), std::move(shape));
  }
  TensorView Floats(std::vector<float> values,
                    std::vector<int64_t> shape = {kFlat}) {
    return Make(DType::kFloat32, std::move(values), std::move(shape));
  }
  TensorView Doubles(std::vector<double> values,
                     std::vector<int64_t> shape = {kFlat}) {
    return Make(DType::kFloat64, std::move(values), std::move(shape));
  }
  TensorView Scalar(float value) { return Floats({value}, {}); }

  // Returns an input with `ids` at the positions that `indices` gives.
  EnqueueInput Input(TensorView indices, std::vector<int32_t> ids,
                     std::vector<float> weights = {}) {
    EnqueueInput input;
    input.sample_indices = std::move(indices);
    input.embedding_indices = Ints(std::move(ids));
    input.aggregation_weights = Floats(std::move(weights));
    return input;
  }

 private:
  static constexpr int64_t kFlat = -1;

  template <class T>
  TensorView Make(DType dtype, std::vector<T> values,
                  std::vector<int64_t> shape) {
    if (shape == std::vector<int64_t>{kFlat}) {
      shape = {static_cast<int64_t>(values.size())};
    }
    auto owned = std::make_shared<std::vector<T>>(std::move(values));
    TensorView view;
    view.dtype = dtype;
    view.shape = std::move(shape);
    view.data = owned->data();
    assert(view.size() == static_cast<int64_t>(owned->size()));
    memory_.push_back(std::move(owned));
    return view;
  }

  std::vector<std::shared_ptr<void>> memory_;
};

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_TENSOR_ARENA_H_
