// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
#include "cc/pybind/python_engine.h"

#include <cstring>
#include <utility>

#include "cc/config/tpu_embedding_config.h"
#include "cc/pybind/describe.h"
#include "cc/pybind/numpy_view.h"
#include "cc/pybind/raise.h"
#include "cc/pybind/waiting_call.h"

namespace tpuless {
namespace {

namespace py = pybind11;

// Returns copies of arrays, which the engine may keep after the call.
Gradients Copy(const std::vector<py::array>& arrays) {
  Gradients gradients{Views(arrays), nullptr};
  auto copies = std::make_shared<std::vector<std::unique_ptr<char[]>>>();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const size_t num_bytes = static_cast<size_t>(arrays[i].nbytes());
    copies->emplace_back(new char[num_bytes]);  // Not set to 0 first.
    std::memcpy(copies->back().get(), arrays[i].data(), num_bytes);
    gradients.tensors[i].data = copies->back().get();
  }
  gradients.owner = std::move(copies);
  return gradients;
}

}  // namespace

PythonEngine::PythonEngine(const std::string& config,
                           const EngineOptions& options, int num_threads)
    : threads_(num_threads),
      engine_(ValueOrRaise(Engine::Create(
          ValueOrRaise(ParseTpuEmbeddingConfig(config)), options))) {}

void PythonEngine::Close() {
  std::shared_ptr<Engine> engine = std::exchange(engine_, nullptr);
  if (engine == nullptr) return;
  py::gil_scoped_release release;
  engine->Shutdown();
  engine.reset();
}

py::dict PythonEngine::Description() const {
  return DescribeConfig(engine()->config());
}

void PythonEngine::SetOptions(const EngineOptions& options) {
  const std::shared_ptr<Engine> engine = this->engine();
  py::gil_scoped_release release;
  engine->SetOptions(options);
}

py::tuple PythonEngine::statistics() const {
  const std::shared_ptr<Engine> engine = this->engine();
  Statistics statistics;
  {
    py::gil_scoped_release release;
    statistics = engine->statistics();
  }
  return DescribeStatistics(statistics);
}

int64_t PythonEngine::FindTable(const std::string& name, int64_t id) const {
  return ValueOrRaise(engine()->FindTable(name, id));
}

void PythonEngine::Load(int64_t table, const Shard& shard,
                        const std::vector<py::array>& variables) {
  const std::shared_ptr<Engine> engine = this->engine();
  const std::vector<TensorView> views = Views(variables);
  Status status;
  {
    py::gil_scoped_release release;
    status = engine->Load(table, shard, views, threads_.parallel_for());
  }
  Raise(status);
}

std::vector<py::array_t<float>> PythonEngine::Retrieve(int64_t table,
                                                       const Shard& shard) {
  const std::shared_ptr<Engine> engine = this->engine();
  const EmbeddingTable& embedding_table = engine->table(table);
  const int64_t num_rows = ValueOrRaise(embedding_table.ShardRows(shard));
  std::vector<py::array_t<float>> variables;
  for (int64_t i = 0; i < embedding_table.num_variables(); ++i) {
    variables.push_back(
        NewArray({num_rows, embedding_table.config().dimension}));
  }
  const std::vector<float*> values = Values(variables);
  Status status;
  {
    py::gil_scoped_release release;
    status = engine->Retrieve(table, shard, values, threads_.parallel_for());
  }
  Raise(status);
  return variables;
}

void PythonEngine::Enqueue(const EnqueueRequest& request) {
  const std::shared_ptr<Engine> engine = this->engine();
  RunCall(*engine, threads_.parallel_for(),
          [&](Call call) { engine->Enqueue(request, std::move(call)); });
}

std::vector<py::array_t<float>> PythonEngine::Receive(int64_t core) {
  const std::shared_ptr<Engine> engine = this->engine();
  Raise(engine->CheckCore(core));
  const EngineConfig& config = engine->config();
  std::vector<py::array_t<float>> outputs;
  for (size_t i = 0; i < config.features.size(); ++i) {
    outputs.push_back(NewArray(config.output_shape(static_cast<int64_t>(i))));
  }
  const std::vector<float*> values = Values(outputs);
  RunCall(*engine, threads_.parallel_for(),
          [&](Call call) { engine->Receive(core, values, std::move(call)); });
  return outputs;
}

void PythonEngine::Send(int64_t core, const std::vector<py::array>& gradients,
                        const std::vector<py::array>& learning_rates) {
  const std::shared_ptr<Engine> engine = this->engine();
  Gradients copies = Copy(gradients);
  const std::vector<TensorView> rates = Views(learning_rates);
  RunCall(*engine, threads_.parallel_for(), [&](Call call) {
    engine->Send(core, std::move(copies), rates, std::move(call));
  });
}

void PythonEngine::AbandonStep() {
  const std::shared_ptr<Engine> engine = this->engine();
  Status status;
  {
    py::gil_scoped_release release;
    status = engine->AbandonStep();
  }
  Raise(status);
}

std::shared_ptr<Engine> PythonEngine::engine() const {
  if (engine_ == nullptr) {
    Raise(FailedPrecondition("the simulator is closed"));
  }
  return engine_;
}

}  // namespace tpuless
