// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// CPU devices under the names of TPU cores.
//
// Their type stays CPU: every CPU kernel of TensorFlow runs on them. Python
// derives the type TPU from the name.
#include "cc/virtual_tpu/virtual_devices.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/device_factory.h"
#include "tensorflow/core/common_runtime/threadpool_device.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/public/session_options.h"

namespace tpuless {
namespace {

using tensorflow::Device;
using tensorflow::DeviceFactory;
using tensorflow::SessionOptions;
using tensorflow::Tensor;
using tensorflow::ThreadPoolDevice;

constexpr int kMaxCores = 1024;
// TensorFlow asks for the memory of a device and does nothing with it.
constexpr int64_t kMemoryLimit = 256 << 20;

absl::StatusOr<int> NumCores() {
  const char* text = std::getenv(kCoresVariable);
  if (text == nullptr || *text == '\0') return 0;
  int num_cores;
  if (!absl::SimpleAtoi(text, &num_cores) || num_cores < 0 ||
      num_cores > kMaxCores) {
    return absl::InvalidArgumentError(absl::StrCat(
        "environment variable ", kCoresVariable, " must be a number from 0 to ",
        kMaxCores, ", got '", text, "'"));
  }
  return num_cores;
}

// Returns "TPU:0", ... and "TPU_SYSTEM:0"; none without cores.
absl::StatusOr<std::vector<std::string>> DeviceNames(int limit) {
  absl::StatusOr<int> num_cores = NumCores();
  if (!num_cores.ok()) return num_cores.status();
  if (limit >= 0) *num_cores = std::min(*num_cores, limit);
  std::vector<std::string> names;
  for (int i = 0; i < *num_cores; ++i) names.push_back(absl::StrCat("TPU:", i));
  if (!names.empty()) names.push_back("TPU_SYSTEM:0");
  return names;
}

// Copies between a core and its host, which share their memory.
class SharedMemory final : public tensorflow::DeviceContext {
 public:
  void CopyCPUTensorToDevice(const Tensor* from, Device*, Tensor* to,
                             tensorflow::StatusCallback done,
                             bool) const override {
    *to = *from;
    done(absl::OkStatus());
  }
  void CopyTensorInSameDevice(const Tensor* from, Device*, Tensor* to,
                              tensorflow::StatusCallback done) const override {
    *to = *from;
    done(absl::OkStatus());
  }
  void CopyDeviceTensorToCPU(const Tensor* from, absl::string_view, Device*,
                             Tensor* to,
                             tensorflow::StatusCallback done) override {
    *to = *from;
    done(absl::OkStatus());
  }
};

class VirtualDevice final : public ThreadPoolDevice {
 public:
  VirtualDevice(const SessionOptions& options, const std::string& name)
      : ThreadPoolDevice(options, name, tensorflow::Bytes(kMemoryLimit),
                         tensorflow::DeviceLocality(),
                         tensorflow::cpu_allocator()) {
    // Input pipelines that fetch to a device call functions of the host from
    // it. From a device of this name TensorFlow allows that only with such
    // information.
    info_.default_context = memory_.get();
    set_tensorflow_accelerator_device_info(&info_);
  }

 private:
  const tensorflow::core::RefCountPtr<SharedMemory> memory_{new SharedMemory};
  AcceleratorDeviceInfo info_;
};

class VirtualDeviceFactory final : public DeviceFactory {
 public:
  absl::Status ListPhysicalDevices(std::vector<std::string>* devices) override {
    const auto names = DeviceNames(-1);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      devices->push_back("/physical_device:" + name);
    }
    return absl::OkStatus();
  }

  absl::Status CreateDevices(
      const SessionOptions& options, const std::string& name_prefix,
      std::vector<std::unique_ptr<Device>>* devices) override {
    // A session may ask for fewer.
    const auto& counts = options.config.device_count();
    const auto count = counts.find("TPU");
    const auto names = DeviceNames(count == counts.end() ? -1 : count->second);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      devices->push_back(std::make_unique<VirtualDevice>(
          options, absl::StrCat(name_prefix, "/device:", name)));
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterVirtualDevices() {
  if (DeviceFactory::GetFactory("TPU") != nullptr) return;
  // Below the CPU's own, which stays the default.
  constexpr int kPriority = 1;
  DeviceFactory::Register("TPU", std::make_unique<VirtualDeviceFactory>(),
                          kPriority, /*is_pluggable_device=*/false);
}

}  // namespace tpuless
