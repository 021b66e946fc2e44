// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// NumPy arrays as the engine's views, and the other way round.
#ifndef TPULESS_CC_PYBIND_NUMPY_VIEW_H_
#define TPULESS_CC_PYBIND_NUMPY_VIEW_H_

#include <pybind11/numpy.h>

#include <cstdint>
#include <vector>

#include "cc/engine/tensor_view.h"

namespace tpuless {

// Returns a view of an array, which must outlive it. Throws TypeError unless
// the array is row-major and of one of the four types that the engine reads:
// the Python side has made it so.
TensorView View(const pybind11::array& array);
std::vector<TensorView> Views(const std::vector<pybind11::array>& arrays);

// Returns a new float32 array whose values are not set.
pybind11::array_t<float> NewArray(const std::vector<int64_t>& shape);

// Returns where the values of arrays from NewArray() start.
std::vector<float*> Values(std::vector<pybind11::array_t<float>>& arrays);

}  // namespace tpuless

#endif  // TPULESS_CC_PYBIND_NUMPY_VIEW_H_
