// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Ops by which TPU programs handle batches of varying size.
//
// A TPU pads such a batch to a fixed size and remembers the true one. On a CPU
// shapes vary freely: the padding is cut off.
#include "cc/virtual_tpu/dynamic_shape_ops.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/kernels/registration.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tpuless {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::tstring;

class SetDynamicDimensionSizeKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* ctx) override {
    const Tensor& input = ctx->input(0);
    const int dim = ctx->input(1).scalar<int32_t>()();
    const int64_t size = ctx->input(2).scalar<int32_t>()();
    OP_REQUIRES(ctx,
                dim >= 0 && dim < input.dims() && size >= 0 &&
                    size <= input.dim_size(dim),
                absl::InvalidArgumentError(
                    absl::StrCat(type_string(),
                                 ": size must be >= 0 and at most that of the "
                                 "dimension, got ",
                                 size, " for dimension ", dim, " of shape ",
                                 input.shape().DebugString())));
    if (size == input.dim_size(dim)) {
      ctx->set_output(0, input);
      return;
    }
    const bool is_string = input.dtype() == tensorflow::DT_STRING;
    OP_REQUIRES(ctx,
                is_string || tensorflow::DataTypeCanUseMemcpy(input.dtype()),
                absl::UnimplementedError(absl::StrCat(
                    type_string(), ": input must have numbers or strings, got ",
                    tensorflow::DataTypeString(input.dtype()))));
    TensorShape shape = input.shape();
    shape.set_dim(dim, size);
    Tensor* output;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, shape, &output));
    int64_t num_blocks = 1;
    for (int d = 0; d < dim; ++d) num_blocks *= input.dim_size(d);
    if (num_blocks == 0) return;
    if (is_string) {
      Cut(input.flat<tstring>().data(), input.NumElements() / num_blocks,
          output->flat<tstring>().data(), output->NumElements() / num_blocks,
          num_blocks);
    } else {
      Cut(input.tensor_data().data(), input.tensor_data().size() / num_blocks,
          const_cast<char*>(output->tensor_data().data()),
          output->tensor_data().size() / num_blocks, num_blocks);
    }
  }

 private:
  // Copies the beginning of each block.
  template <typename T>
  static void Cut(const T* from, size_t from_size, T* to, size_t to_size,
                  int64_t num_blocks) {
    for (int64_t i = 0; i < num_blocks; ++i) {
      std::copy_n(from + i * from_size, to_size, to + i * to_size);
    }
  }
};

}  // namespace

void RegisterDynamicShapeKernels() {
  RegisterCpuKernel<SetDynamicDimensionSizeKernel>(
      "XlaSetDynamicDimensionSize");
}

}  // namespace tpuless
