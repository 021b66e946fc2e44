// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The engine of a simulator, as Python sees it.
#ifndef TPULESS_CC_PYBIND_PYTHON_ENGINE_H_
#define TPULESS_CC_PYBIND_PYTHON_ENGINE_H_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/engine/engine.h"
#include "cc/engine/enqueue.h"
#include "cc/engine/thread_pool.h"

namespace tpuless {

// Thread safe under the GIL, which every method gives away while the engine
// works or waits. Errors are thrown as Raise() does. Arrays must be as View()
// wants them.
class PythonEngine {
 public:
  PythonEngine(const std::string& config, const EngineOptions& options,
               int num_threads);
  ~PythonEngine() { Close(); }

  // Ends waiting calls, and gives the tables' memory back after them.
  void Close();

  pybind11::dict Description() const;
  EngineOptions options() const { return engine()->options(); }
  void SetOptions(const EngineOptions& options);
  pybind11::tuple statistics() const;
  int64_t FindTable(const std::string& name, int64_t id) const;

  void Load(int64_t table, const Shard& shard,
            const std::vector<pybind11::array>& variables);
  std::vector<pybind11::array_t<float>> Retrieve(int64_t table,
                                                 const Shard& shard);

  void Enqueue(const EnqueueRequest& request);
  std::vector<pybind11::array_t<float>> Receive(int64_t core);
  void Send(int64_t core, const std::vector<pybind11::array>& gradients,
            const std::vector<pybind11::array>& learning_rates);
  void AbandonStep();

 private:
  // Returns the engine, which a call keeps until its end, or throws if closed.
  std::shared_ptr<Engine> engine() const;

  ThreadPool threads_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace tpuless

#endif  // TPULESS_CC_PYBIND_PYTHON_ENGINE_H_
