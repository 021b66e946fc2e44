// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The embedding engine of one host: its tables, and the step protocol by
// which the host's cores enqueue, receive and send.
#ifndef TPULESS_CC_ENGINE_ENGINE_H_
#define TPULESS_CC_ENGINE_ENGINE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/engine/call.h"
#include "cc/engine/embedding_table.h"
#include "cc/engine/engine_config.h"
#include "cc/engine/enqueue.h"
#include "cc/engine/parallel_for.h"
#include "cc/engine/status.h"
#include "cc/engine/table_set.h"
#include "cc/engine/tensor_view.h"

namespace tpuless {

class StepProtocol;

struct TableStatistics {
  std::string name;
  int64_t vocabulary_size = 0;
  int64_t dimension = 0;
  int64_t num_bytes = 0;  // Of weights and slot variables.
  bool loaded = false;
};

// Counts since the engine was made.
struct Statistics {
  int64_t enqueues = 0;
  int64_t receives = 0;
  int64_t sends = 0;
  int64_t steps = 0;            // Whose gradients were applied.
  int64_t abandoned_steps = 0;  // Given up, with nothing applied.
  int64_t ids = 0;              // Enqueued.
  int64_t unique_rows = 0;      // Updated, counted once a step and table.
  int64_t queued_batches = 0;   // Now, over all cores.
  std::vector<TableStatistics> tables;
};

// Thread safe. Calls that are not given a Call wait for nothing but the
// computation of others.
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  // `config` must have passed CheckAndComplete(). ResourceExhausted if the
  // tables cannot fit.
  static Result<std::shared_ptr<Engine>> Create(EngineConfig config,
                                                const EngineOptions& options);
  ~Engine();

  const EngineConfig& config() const;
  EngineOptions options() const;
  void SetOptions(const EngineOptions& options);
  Statistics statistics() const;

  // Returns the number of a table: by name, or if that is empty by `id`.
  Result<int64_t> FindTable(const std::string& name, int64_t id) const;

  // See EmbeddingTable. Both see whole steps only, and apply a parked one
  // first; Load refuses variables whose number or shape is not the table's,
  // Retrieve a table that is not loaded.
  const EmbeddingTable& table(int64_t id) const;
  Status Load(int64_t table, const Shard& shard,
              const std::vector<TensorView>& variables,
              const ParallelFor& parallel_for);
  Status Retrieve(int64_t table, const Shard& shard,
                  const std::vector<float*>& variables,
                  const ParallelFor& parallel_for);

  // Checks and queues a minibatch; waits for room in the queue.
  void Enqueue(const EnqueueRequest& request, Call call);

  // Writes the activations of the core's oldest batch to `outputs`, of the
  // shapes EngineConfig::output_shape(); waits for the batch, and for the
  // steps that it must see. The memory must live until `call` is done.
  void Receive(int64_t core, const std::vector<float*>& outputs, Call call);

  // Gives the gradients of the core's oldest batch that lacks them; waits
  // until it has been received. The last core's Send completes the step.
  void Send(int64_t core, Gradients gradients,
            const std::vector<TensorView>& learning_rates, Call call);

  // Refuses a core that this host does not have.
  Status CheckCore(int64_t core) const;

  // Drops the oldest step that is not complete. NotFound if there is none.
  Status AbandonStep();

  // Drops what a failed program left behind: batches that it enqueued and
  // steps that it received or sent in, if they are not complete.
  void GiveUpProgram(int64_t program, const Status& why);

  // Ends waiting calls whose `cancelled` is set.
  void SweepCancelled();

  // Ends all waiting calls with Aborted; later ones end so at once.
  void Shutdown();

 private:
  Engine(EngineConfig config, const EngineOptions& options);

  // Makes the engine live until the call is done.
  Call KeepingAlive(Call call);
  Status CheckGradients(const std::vector<TensorView>& gradients) const;
  Status CheckLearningRates(const std::vector<TensorView>& rates) const;

  const EngineConfig config_;
  TableSet tables_;
  EnqueueMemory enqueue_memory_;
  const std::shared_ptr<StepProtocol> protocol_;
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_ENGINE_H_
