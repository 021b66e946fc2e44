// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Between TensorFlow's types and the engine's.
#include "cc/kernels/conversions.h"

#include <cstdint>

namespace tpuless {
namespace {

DType ToDType(tensorflow::DataType dtype) {
  switch (dtype) {
    case tensorflow::DT_INT32:
      return DType::kInt32;
    case tensorflow::DT_INT64:
      return DType::kInt64;
    case tensorflow::DT_DOUBLE:
      return DType::kFloat64;
    default:  // The ops allow no other type.
      return DType::kFloat32;
  }
}

}  // namespace

absl::Status ToAbsl(const Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.code()),
                      status.message());
}

Status FromAbsl(const absl::Status& status) {
  return Status(static_cast<StatusCode>(status.code()),
                std::string(status.message()));
}

TensorView View(const tensorflow::Tensor& tensor) {
  TensorView view;
  view.dtype = ToDType(tensor.dtype());
  for (int i = 0; i < tensor.dims(); ++i) {
    view.shape.push_back(tensor.dim_size(i));
  }
  view.data = tensor.data();
  return view;
}

Result<std::vector<TensorView>> ViewList(tensorflow::OpKernelContext* ctx,
                                         const std::string& argument) {
  tensorflow::OpInputList list;
  TPULESS_RETURN_IF_ERROR(FromAbsl(ctx->input_list(argument, &list)));
  std::vector<TensorView> views;
  for (const tensorflow::Tensor& tensor : list) views.push_back(View(tensor));
  return views;
}

tensorflow::TensorShape ToTensorShape(const std::vector<int64_t>& shape) {
  return tensorflow::TensorShape(
      tensorflow::gtl::ArraySlice<int64_t>(shape.data(), shape.size()));
}

Result<const tensorflow::Tensor*> Scalar(tensorflow::OpKernelContext* ctx,
                                         const std::string& argument) {
  const tensorflow::Tensor* tensor;
  TPULESS_RETURN_IF_ERROR(FromAbsl(ctx->input(argument, &tensor)));
  if (tensor->dims() != 0) {
    return InvalidArgument(argument, " must be a scalar, got shape ",
                           ShapeString(View(*tensor).shape));
  }
  return tensor;
}

}  // namespace tpuless
