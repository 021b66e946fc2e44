// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Between TensorFlow's types and the engine's.
#ifndef TPULESS_CC_KERNELS_CONVERSIONS_H_
#define TPULESS_CC_KERNELS_CONVERSIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/engine/status.h"
#include "cc/engine/tensor_view.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace tpuless {

absl::Status ToAbsl(const Status& status);
Status FromAbsl(const absl::Status& status);

// Returns a view of an int32, int64, float or double tensor.
TensorView View(const tensorflow::Tensor& tensor);

// Returns views of the tensors of a list argument.
Result<std::vector<TensorView>> ViewList(tensorflow::OpKernelContext* ctx,
                                         const std::string& argument);

tensorflow::TensorShape ToTensorShape(const std::vector<int64_t>& shape);

// Returns the tensor of an argument that must be a scalar.
Result<const tensorflow::Tensor*> Scalar(tensorflow::OpKernelContext* ctx,
                                         const std::string& argument);

}  // namespace tpuless

#endif  // TPULESS_CC_KERNELS_CONVERSIONS_H_
