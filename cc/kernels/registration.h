// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// How kernels are registered.
#ifndef TPULESS_CC_KERNELS_REGISTRATION_H_
#define TPULESS_CC_KERNELS_REGISTRATION_H_

#include <functional>
#include <string>

#include "tensorflow/core/framework/op_kernel.h"

namespace tpuless {

using MakeKernel =
    std::function<tensorflow::OpKernel*(tensorflow::OpKernelConstruction*)>;

// Registers a kernel for the CPU, unless TensorFlow has a kernel for that op:
// then it runs on real TPUs and this library stands aside. Also registers one
// for XLA that says why it cannot compile the op.
void RegisterKernel(const std::string& op, MakeKernel make);

template <class K>
void RegisterKernel(const std::string& op) {
  RegisterKernel(
      op, [](tensorflow::OpKernelConstruction* ctx) { return new K(ctx); });
}

// Registers a kernel for the CPU, unless TensorFlow has one for it.
void RegisterCpuKernel(const std::string& op, MakeKernel make);

template <class K>
void RegisterCpuKernel(const std::string& op) {
  RegisterCpuKernel(
      op, [](tensorflow::OpKernelConstruction* ctx) { return new K(ctx); });
}

// Registers a kernel that no graph can name, for its label.
void RegisterLabel(const std::string& op, const std::string& label);

// One for each file of kernels; called once, when the library is loaded.
void RegisterConfigurationKernels();
void RegisterControlKernels();
void RegisterEnqueueKernels();
void RegisterGradientKernels();
void RegisterLoadAllKernels();
void RegisterParameterKernels();

// Adds the ops that TensorFlow does not have.
void RegisterControlOps();

}  // namespace tpuless

#endif  // TPULESS_CC_KERNELS_REGISTRATION_H_
