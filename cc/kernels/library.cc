// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What this library gives to TensorFlow when it is loaded.
#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/kernels/registration.h"
#include "cc/virtual_tpu/collectives.h"
#include "cc/virtual_tpu/dynamic_shape_ops.h"
#include "cc/virtual_tpu/replicate_pass.h"
#include "cc/virtual_tpu/virtual_devices.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/logging.h"

namespace tpuless {
namespace {

using tensorflow::OpRegistry;

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
  RegisterLabel(kLabeledOp, PathOfThisLibrary());
  return true;
}

const bool registered = RegisterAll();

}  // namespace
}  // namespace tpuless
