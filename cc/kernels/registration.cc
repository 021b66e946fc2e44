// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// How kernels are registered.
#include "cc/kernels/registration.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/framework/types.h"

namespace tpuless {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;

class KernelFactory final : public tensorflow::kernel_factory::OpKernelFactory {
 public:
  explicit KernelFactory(MakeKernel make) : make_(std::move(make)) {}
  OpKernel* Create(OpKernelConstruction* ctx) override { return make_(ctx); }

 private:
  MakeKernel make_;
};

void AddKernel(const std::string& op, const char* device,
               const std::string& label, MakeKernel make) {
  const tensorflow::KernelDef* definition =
      tensorflow::KernelDefBuilder(op.c_str())
          .Device(device)
          .Label(label.c_str())
          .Build();
  tensorflow::kernel_factory::OpKernelRegistrar(
      definition, op, std::make_unique<KernelFactory>(std::move(make)));
}

template <class K>
OpKernel* Make(OpKernelConstruction* ctx) {
  return new K(ctx);
}

// Stands in for an op in a program that XLA is asked to compile.
class NotCompiledKernel final : public OpKernel {
 public:
  explicit NotCompiledKernel(OpKernelConstruction* ctx) : OpKernel(ctx) {
    ctx->SetStatus(absl::UnimplementedError(absl::StrCat(
        type_string(),
        " runs on the host and cannot be compiled by XLA; leave it outside "
        "the function that has jit_compile=True")));
  }
  void Compute(tensorflow::OpKernelContext*) override {}
};

// Returns whether XLA compiles what it can on the CPU, unasked: it then takes
// an op with a kernel for XLA as one that it can compile.
bool XlaChoosesOps() {
  const char* flags = std::getenv("TF_XLA_FLAGS");
  return flags != nullptr &&
         std::strstr(flags, "tf_xla_cpu_global_jit") != nullptr;
}

}  // namespace

void RegisterCpuKernel(const std::string& op, MakeKernel make) {
  const tensorflow::KernelList kernels =
      tensorflow::GetRegisteredKernelsForOp(op);
  for (const tensorflow::KernelDef& kernel : kernels.kernel()) {
    if (kernel.device_type() == tensorflow::DEVICE_CPU) return;
  }
  AddKernel(op, tensorflow::DEVICE_CPU, "", std::move(make));
}

void RegisterKernel(const std::string& op, MakeKernel make) {
  if (tensorflow::GetRegisteredKernelsForOp(op).kernel_size() > 0) return;
  AddKernel(op, tensorflow::DEVICE_CPU, "", std::move(make));
  if (!XlaChoosesOps()) {
    AddKernel(op, "XLA_CPU_JIT", "", Make<NotCompiledKernel>);
  }
}

void RegisterLabel(const std::string& op, const std::string& label) {
  AddKernel(op, tensorflow::DEVICE_CPU, label, Make<NotCompiledKernel>);
}

}  // namespace tpuless
