// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The optimizers that the registry lists, each defined in its own file.
#ifndef TPULESS_CC_ENGINE_OPTIMIZERS_REGISTRY_H_
#define TPULESS_CC_ENGINE_OPTIMIZERS_REGISTRY_H_

#include "cc/engine/optimizer.h"

// One line an optimizer: the struct of its file.
#define TPULESS_OPTIMIZERS(X)  \
  X(StochasticGradientDescent) \
  X(Adagrad)                   \
  X(AdagradMomentum)           \
  X(BoundedAdagrad)            \
  X(FrequencyAwareAdagrad)     \
  X(ProximalAdagrad)           \
  X(Ftrl)                      \
  X(Adam)                      \
  X(OnlineYogi)                \
  X(ProximalYogi)              \
  X(Lion)                      \
  X(Momentum)                  \
  X(RmsProp)                   \
  X(CenteredRmsProp)           \
  X(Adadelta)                  \
  X(FrequencyEstimator)        \
  X(Assign)

namespace tpuless {

#define TPULESS_DECLARE_OPTIMIZER(Algorithm) \
  const OptimizerInfo& Algorithm##Info();
TPULESS_OPTIMIZERS(TPULESS_DECLARE_OPTIMIZER)
#undef TPULESS_DECLARE_OPTIMIZER

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_OPTIMIZERS_REGISTRY_H_
