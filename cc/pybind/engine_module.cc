// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The Python module _engine: the engine without TensorFlow's graphs. Its
// users are in python/tpuless; _engine.pyi holds its types.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cc/config/tpu_embedding_config.h"
#include "cc/pybind/describe.h"
#include "cc/pybind/numpy_view.h"
#include "cc/pybind/python_engine.h"
#include "cc/pybind/raise.h"

namespace tpuless {
namespace {

namespace py = pybind11;
using py::literals::operator""_a;

// Sample indices (or none), embedding indices and aggregation weights.
using PythonInput = std::tuple<std::optional<py::array>, py::array, py::array>;

void Enqueue(PythonEngine& engine, EnqueueForm form,
             const std::vector<PythonInput>& inputs,
             std::vector<std::string> combiners, std::vector<int64_t> table_ids,
             std::vector<int64_t> max_sequence_lengths,
             std::vector<int64_t> num_features, std::string mode_override,
             int64_t device_ordinal) {
  EnqueueRequest request;
  request.form = form;
  for (const auto& [samples, ids, weights] : inputs) {
    request.inputs.push_back(
        {samples ? View(*samples) : TensorView{}, View(ids), View(weights)});
  }
  request.combiners = std::move(combiners);
  request.table_ids = std::move(table_ids);
  request.max_sequence_lengths = std::move(max_sequence_lengths);
  request.num_features = std::move(num_features);
  request.mode_override = std::move(mode_override);
  request.device_ordinal = device_ordinal;
  engine.Enqueue(request);
}

void Load(PythonEngine& engine, int64_t table,
          const std::vector<py::array>& variables, int64_t num_shards,
          int64_t shard_id) {
  engine.Load(table, {num_shards, shard_id}, variables);
}

py::tuple Retrieve(PythonEngine& engine, int64_t table, int64_t num_shards,
                   int64_t shard_id) {
  return py::cast(engine.Retrieve(table, {num_shards, shard_id}));
}

py::dict Describe(const py::bytes& config) {
  return DescribeConfig(ValueOrRaise(ParseTpuEmbeddingConfig(config)));
}

}  // namespace

PYBIND11_MODULE(_engine, module) {
  module.def("optimizers", &DescribeOptimizers);
  module.def("refused_optimizers", &DescribeRefusedOptimizers);
  module.def("describe", &Describe, "config"_a);

  py::enum_<EnqueueForm>(module, "EnqueueForm")
      .value("INTEGER_BATCH", EnqueueForm::kIntegerBatch)
      .value("SPARSE_BATCH", EnqueueForm::kSparseBatch)
      .value("SPARSE_TENSOR_BATCH", EnqueueForm::kSparseTensorBatch)
      .value("RAGGED_TENSOR_BATCH", EnqueueForm::kRaggedTensorBatch)
      .value("ARBITRARY_TENSOR_BATCH", EnqueueForm::kArbitraryTensorBatch);

  py::class_<EngineOptions>(module, "Options")
      .def(py::init<>())
      .def_readwrite("receive_timeout", &EngineOptions::receive_timeout)
      .def_readwrite("queue_limit", &EngineOptions::queue_limit)
      .def_readwrite("skip_out_of_range_ids",
                     &EngineOptions::skip_out_of_range_ids)
      .def_readwrite("experimental_optimizers",
                     &EngineOptions::experimental_optimizers);

  py::class_<PythonEngine>(module, "Engine")
      .def(py::init([](const py::bytes& config, const EngineOptions& options,
                       int num_threads) {
             return std::make_unique<PythonEngine>(config, options,
                                                   num_threads);
           }),
           "config"_a, "options"_a, "num_threads"_a)
      .def("close", &PythonEngine::Close)
      .def("description", &PythonEngine::Description)
      .def("options", &PythonEngine::options)
      .def("set_options", &PythonEngine::SetOptions, "options"_a)
      .def("statistics", &PythonEngine::statistics)
      .def("find_table", &PythonEngine::FindTable, "name"_a, "id"_a)
      .def("load", &Load, "table"_a, "variables"_a, "num_shards"_a,
           "shard_id"_a)
      .def("retrieve", &Retrieve, "table"_a, "num_shards"_a, "shard_id"_a)
      .def("enqueue", &Enqueue, "form"_a, "inputs"_a, "combiners"_a,
           "table_ids"_a, "max_sequence_lengths"_a, "num_features"_a,
           "mode_override"_a, "device_ordinal"_a)
      .def("receive", &PythonEngine::Receive, "core"_a)
      .def("send", &PythonEngine::Send, "core"_a, "gradients"_a,
           "learning_rates"_a)
      .def("abandon_step", &PythonEngine::AbandonStep);
}

}  // namespace tpuless
