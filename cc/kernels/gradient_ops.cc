// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that hand out activations and take their gradients.
#include <memory>
#include <utility>
#include <vector>

#include "cc/config/tpu_embedding_config.h"
#include "cc/kernels/activation_memory.h"
#include "cc/kernels/conversions.h"
#include "cc/kernels/engine_store.h"
#include "cc/kernels/kernel.h"
#include "cc/kernels/registration.h"

namespace tpuless {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

// The core that a Recv or Send speaks for: the index of its device, whatever
// the device's type.
int64_t Core(OpKernelContext* ctx) { return ctx->device()->parsed_name().id; }

class RecvActivationsKernel final : public WaitingKernel {
 public:
  explicit RecvActivationsKernel(OpKernelConstruction* ctx)
      : WaitingKernel(ctx), config_(ctx) {
    OP_REQUIRES_OK(ctx, ToAbsl(CheckSpeaksForOneCore(config_.bytes())));
  }

 private:
  Result<Work> Prepare(OpKernelContext* ctx) override {
    auto engine = EngineStore::Of(ctx).Find(config_);
    if (!engine.ok()) return engine.status();
    const EngineConfig& config = (*engine)->config();
    const int64_t num_outputs = config.features.size();
    if (ctx->num_outputs() != num_outputs) {
      return InvalidArgument("num_outputs must be ", num_outputs, ", got ",
                             ctx->num_outputs());
    }
    const int64_t core = Core(ctx);
    TPULESS_RETURN_IF_ERROR((*engine)->CheckCore(core));

    std::vector<float*> outputs;
    for (int64_t i = 0; i < num_outputs; ++i) {
      Tensor* output;
      TPULESS_RETURN_IF_ERROR(FromAbsl(ActivationMemory::AllocateOutput(
          ctx, i, ToTensorShape(config.output_shape(i)), &output)));
      outputs.push_back(output->flat<float>().data());
    }
    return Work{*engine, [engine = *engine, core, outputs](Call call) {
                  engine->Receive(core, outputs, std::move(call));
                }};
  }

  ConfigAttribute config_;
};

class SendGradientsKernel final : public WaitingKernel {
 public:
  explicit SendGradientsKernel(OpKernelConstruction* ctx)
      : WaitingKernel(ctx), config_(ctx) {
    OP_REQUIRES_OK(ctx, ToAbsl(CheckSpeaksForOneCore(config_.bytes())));
  }

 private:
  Result<Work> Prepare(OpKernelContext* ctx) override {
    auto engine = EngineStore::Of(ctx).Find(config_);
    if (!engine.ok()) return engine.status();
    auto learning_rates = ViewList(ctx, "learning_rates");
    if (!learning_rates.ok()) return learning_rates.status();
    tensorflow::OpInputList inputs;
    TPULESS_RETURN_IF_ERROR(FromAbsl(ctx->input_list("inputs", &inputs)));

    // The engine may use the gradients after the op has ended.
    auto owned =
        std::make_shared<std::vector<Tensor>>(inputs.begin(), inputs.end());
    Gradients gradients;
    for (const Tensor& tensor : *owned)
      gradients.tensors.push_back(View(tensor));
    gradients.owner = owned;
    return Work{*engine, [engine = *engine, core = Core(ctx), gradients,
                          rates = *learning_rates](Call call) {
                  engine->Send(core, gradients, rates, std::move(call));
                }};
  }

  ConfigAttribute config_;
};

// Forwards the activations; in Python its gradient function records theirs.
class ActivationsKernel final : public Kernel {
 public:
  using Kernel::Kernel;

 private:
  Status Run(OpKernelContext* ctx) override {
    ctx->set_output(0, ctx->input(1));
    return Status();
  }
};

}  // namespace

void RegisterGradientKernels() {
  RegisterKernel<RecvActivationsKernel>("RecvTPUEmbeddingActivations");
  RegisterKernel<SendGradientsKernel>("SendTPUEmbeddingGradients");
  RegisterKernel<ActivationsKernel>("TPUEmbeddingActivations");
}

}  // namespace tpuless
