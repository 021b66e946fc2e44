// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
#include "cc/pybind/numpy_view.h"

namespace tpuless {
namespace {

namespace py = pybind11;

template <class T>
bool Holds(const py::array& array) {
  return py::isinstance<py::array_t<T, py::array::c_style>>(array);
}

DType TypeOf(const py::array& array) {
  if (Holds<int64_t>(array)) return DType::kInt64;
  if (Holds<int32_t>(array)) return DType::kInt32;
  if (Holds<float>(array)) return DType::kFloat32;
  if (Holds<double>(array)) return DType::kFloat64;
  throw py::type_error(
      "an array must be row-major and of int32, int64, float32 or float64");
}

}  // namespace

TensorView View(const py::array& array) {
  return {TypeOf(array),
          std::vector<int64_t>(array.shape(), array.shape() + array.ndim()),
          array.data()};
}

std::vector<TensorView> Views(const std::vector<py::array>& arrays) {
  std::vector<TensorView> views;
  for (const py::array& array : arrays) views.push_back(View(array));
  return views;
}

py::array_t<float> NewArray(const std::vector<int64_t>& shape) {
  return py::array_t<float>(
      std::vector<py::ssize_t>(shape.begin(), shape.end()));
}

std::vector<float*> Values(std::vector<py::array_t<float>>& arrays) {
  std::vector<float*> values;
  for (py::array_t<float>& array : arrays) {
    values.push_back(array.mutable_data());
  }
  return values;
}

}  // namespace tpuless
