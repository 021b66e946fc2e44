// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that configure the engine and drop it.
#include <memory>
#include <string>

#include "cc/config/tpu_embedding_config.h"
#include "cc/kernels/conversions.h"
#include "cc/kernels/engine_store.h"
#include "cc/kernels/kernel.h"
#include "cc/kernels/registration.h"
#include "tensorflow/core/common_runtime/device_mgr.h"
#include "tensorflow/core/protobuf/tpu/topology.pb.h"

namespace tpuless {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

class ConfigureKernel final : public Kernel {
 public:
  explicit ConfigureKernel(OpKernelConstruction* ctx) : Kernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("config", &config_));
  }

 private:
  Status Run(OpKernelContext* ctx) override {
    return EngineStore::Of(ctx).Configure(config_);
  }

  std::string config_;
};

// Returns the topology of a host whose chips lie in a rectangle and have two
// cores each, as those of a TPU v3: 2 x 2 chips are 8 cores. An odd number of
// cores has as many chips.
tensorflow::tpu::TopologyProto Topology(int64_t num_cores) {
  const int64_t cores_per_chip = num_cores % 2 == 0 ? 2 : 1;
  const int64_t num_chips = num_cores / cores_per_chip;
  int64_t height = 1;
  for (int64_t i = 1; i * i <= num_chips; ++i) {
    if (num_chips % i == 0) height = i;
  }
  const int64_t width = num_chips / height;
  tensorflow::tpu::TopologyProto topology;
  for (int64_t size : {width, height, int64_t{1}, cores_per_chip}) {
    topology.add_mesh_shape(size);
  }
  topology.set_num_tasks(1);
  topology.set_num_tpu_devices_per_task(num_cores);
  for (int64_t core = 0; core < num_cores; ++core) {
    const int64_t chip = core / cores_per_chip;
    for (int64_t coordinate :
         {chip % width, chip / width, int64_t{0}, core % cores_per_chip}) {
      topology.add_device_coordinates(coordinate);
    }
  }
  topology.mutable_tpu_hardware_feature()->set_embedding_feature(
      tensorflow::tpu::TPUHardwareFeature::V1);
  return topology;
}

// Returns how many virtual TPU cores there are.
int64_t NumVirtualCores(OpKernelContext* ctx) {
  int64_t count = 0;
  for (const tensorflow::Device* device :
       ctx->function_library()->device_mgr()->ListDevices()) {
    count += device->parsed_name().type == "TPU";
  }
  return count;
}

class ConfigureSystemKernel final : public Kernel {
 public:
  explicit ConfigureSystemKernel(OpKernelConstruction* ctx) : Kernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("tpu_embedding_config", &config_));
  }

 private:
  Status Run(OpKernelContext* ctx) override {
    EngineStore& store = EngineStore::Of(ctx);
    TPULESS_RETURN_IF_ERROR(store.Reset(config_));
    const std::shared_ptr<Engine> engine = store.Get();
    Tensor* topology;
    TPULESS_RETURN_IF_ERROR(FromAbsl(ctx->allocate_output(0, {}, &topology)));
    int64_t num_cores = NumVirtualCores(ctx);
    if (num_cores == 0) {
      num_cores = engine == nullptr ? 1 : engine->config().num_cores;
    }
    topology->scalar<tensorflow::tstring>()() =
        Topology(num_cores).SerializeAsString();
    return Status();
  }

  std::string config_;
};

class ShutdownSystemKernel final : public Kernel {
 public:
  using Kernel::Kernel;

 private:
  Status Run(OpKernelContext* ctx) override {
    return EngineStore::Of(ctx).Reset("");
  }
};

class IsInitializedKernel final : public Kernel {
 public:
  explicit IsInitializedKernel(OpKernelConstruction* ctx)
      : Kernel(ctx), config_(ctx) {}

 private:
  Status Run(OpKernelContext* ctx) override {
    Tensor* is_initialized;
    TPULESS_RETURN_IF_ERROR(
        FromAbsl(ctx->allocate_output(0, {}, &is_initialized)));
    is_initialized->scalar<bool>()() = EngineStore::Of(ctx).Find(config_).ok();
    return Status();
  }

  ConfigAttribute config_;
};

}  // namespace

void RegisterConfigurationKernels() {
  RegisterKernel<ConfigureKernel>("ConfigureTPUEmbedding");
  RegisterKernel<ConfigureSystemKernel>("ConfigureDistributedTPU");
  RegisterKernel<ShutdownSystemKernel>("ShutdownDistributedTPU");
  RegisterKernel<IsInitializedKernel>("IsTPUEmbeddingInitialized");
}

}  // namespace tpuless
