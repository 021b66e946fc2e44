// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Where kernels find the engine of the TensorFlow task that they run in.
#ifndef TPULESS_CC_KERNELS_ENGINE_STORE_H_
#define TPULESS_CC_KERNELS_ENGINE_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "cc/engine/engine.h"
#include "cc/engine/status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tpuless {

// The `config` attribute of a kernel; empty stands for whatever is configured.
// Remembers what it was found equal to, so that steps do not compare again.
// Thread safe.
class ConfigAttribute {
 public:
  explicit ConfigAttribute(tensorflow::OpKernelConstruction* ctx);

  const std::string& bytes() const { return bytes_; }

 private:
  friend class EngineStore;
  std::string bytes_;
  std::atomic<int64_t> equal_to_{0};  // EngineStore::configuration_.
};

// The engine of one TensorFlow task, with its options, which live longer.
// Thread safe.
class EngineStore {
 public:
  // Returns the store of the task that the kernel's device belongs to.
  static EngineStore& Of(tensorflow::OpKernelContext* ctx);

  // Makes the engine; AlreadyExists if there is one.
  Status Configure(const std::string& config);

  // Drops the engine, and makes a new one unless `config` is empty. Changes
  // nothing if that fails.
  Status Reset(const std::string& config);

  // Returns the engine, or an error if there is none or if it was configured
  // with something else.
  Result<std::shared_ptr<Engine>> Find(ConfigAttribute& config);

  // What kernels say if there is no engine.
  static Status NotConfigured();

  // Returns the engine or null.
  std::shared_ptr<Engine> Get() const;

  // Options of the engine and of those that follow it.
  EngineOptions options() const;
  void SetOptions(const EngineOptions& options);

 private:
  Result<std::shared_ptr<Engine>> Create(const std::string& config) const;

  mutable std::mutex mutex_;
  std::shared_ptr<Engine> engine_;
  std::string config_;
  int64_t configuration_ = 0;  // Number of engines so far.
  EngineOptions options_;
};

}  // namespace tpuless

#endif  // TPULESS_CC_KERNELS_ENGINE_STORE_H_
