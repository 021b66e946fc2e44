// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// A typed, shaped view of memory that somebody else owns.
#ifndef TPULESS_CC_ENGINE_TENSOR_VIEW_H_
#define TPULESS_CC_ENGINE_TENSOR_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

namespace tpuless {

enum class DType { kInt32, kInt64, kFloat32, kFloat64 };

// Row-major, dense. The memory must outlive the call that gets the view.
struct TensorView {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  const void* data = nullptr;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t size() const {
    int64_t size = 1;
    for (int64_t dim : shape) size *= dim;
    return size;
  }
};

// Returns "[2, 3]".
std::string ShapeString(const std::vector<int64_t>& shape);

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_TENSOR_VIEW_H_
