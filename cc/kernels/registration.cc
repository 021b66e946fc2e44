// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Which kernels this library gives to TensorFlow.
#include "cc/kernels/registration.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/virtual_tpu/collectives.h"
#include "cc/virtual_tpu/dynamic_shape_ops.h"
#include "cc/virtual_tpu/replicate_pass.h"
#include "cc/virtual_tpu/virtual_devices.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/platform/logging.h"

namespace tpuless {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpRegistry;

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

// The path of this library is the label of one kernel more, which no graph
// names: kernels are what a second copy of the library can find of the first.
constexpr char kLabeledOp[] = "TpulessStatistics";

std::string PathOfThisLibrary() {
  Dl_info info;
  if (dladdr(&kLabeledOp, &info) == 0) return "(unknown)";
  std::error_code error;
  const auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : path.string();
}

// Returns the path of the copy whose kernels are registered, if any.
std::string PathOfLoadedLibrary() {
  const tensorflow::KernelList kernels =
      tensorflow::GetRegisteredKernelsForOp(kLabeledOp);
  for (const tensorflow::KernelDef& kernel : kernels.kernel()) {
    if (!kernel.label().empty()) return kernel.label();
  }
  return "";
}

// Returns whether TensorFlow is loading an op library, and so reads what
// becomes of the registrations.
bool IsLoadingOpLibrary() {
  const auto ignore = [](const absl::Status& status, const tensorflow::OpDef&) {
    return status;
  };
  OpRegistry* registry = OpRegistry::Global();
  if (absl::IsAlreadyExists(registry->SetWatcher(ignore))) return true;
  registry->SetWatcher(nullptr).IgnoreError();
  return false;
}

void RefuseSecondCopy(const std::string& loaded) {
  // TensorFlow would ignore AlreadyExists.
  const absl::Status status = absl::FailedPreconditionError(absl::StrCat(
      "tpuless is loaded already, from ", loaded, "; ", PathOfThisLibrary(),
      " is a second copy and registers nothing"));
  if (IsLoadingOpLibrary()) {
    // Becomes the error of tf.load_op_library().
    OpRegistry::Global()->Register(
        [status](tensorflow::OpRegistrationData*) { return status; });
  } else {
    LOG(ERROR) << status.message();
  }
}

bool RegisterAll() {
  const std::string loaded = PathOfLoadedLibrary();
  if (!loaded.empty()) {
    RefuseSecondCopy(loaded);
    return false;
  }
  RegisterControlOps();
  RegisterConfigurationKernels();
  RegisterControlKernels();
  RegisterEnqueueKernels();
  RegisterGradientKernels();
  RegisterLoadAllKernels();
  RegisterParameterKernels();
  RegisterCollectiveKernels();
  RegisterDynamicShapeKernels();
  RegisterVirtualDevices();
  RegisterReplicatePass();
  AddKernel(kLabeledOp, tensorflow::DEVICE_CPU, PathOfThisLibrary(),
            Make<NotCompiledKernel>);
  return true;
}

const bool registered = RegisterAll();

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

}  // namespace tpuless
