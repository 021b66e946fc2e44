// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Objects whose memory serves again, step after step.
#ifndef TPULESS_CC_ENGINE_RECYCLER_H_
#define TPULESS_CC_ENGINE_RECYCLER_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tpuless {

// Thread safe. New memory costs more than all else that Enqueue does: the
// system clears each of its pages.
template <class T>
class Recycler {
 public:
  // Keeps at most `most_idle` objects that nobody uses.
  explicit Recycler(size_t most_idle) : idle_(std::make_shared<Idle>()) {
    idle_->most = most_idle;
  }

  // Returns an object as its last user left it, or a new one. It comes back
  // with the last pointer to it, which may outlive the recycler.
  std::shared_ptr<T> Take() {
    std::unique_ptr<T> object;
    {
      const std::lock_guard<std::mutex> lock(idle_->mutex);
      if (!idle_->objects.empty()) {
        object = std::move(idle_->objects.back());
        idle_->objects.pop_back();
      }
    }
    if (object == nullptr) object = std::make_unique<T>();
    return std::shared_ptr<T>(object.release(), [idle = idle_](T* returned) {
      std::unique_ptr<T> owned(returned);
      const std::lock_guard<std::mutex> lock(idle->mutex);
      if (idle->objects.size() < idle->most) {
        idle->objects.push_back(std::move(owned));
      }
    });
  }

 private:
  struct Idle {
    std::mutex mutex;
    size_t most = 0;
    std::vector<std::unique_ptr<T>> objects;
  };

  const std::shared_ptr<Idle> idle_;
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_RECYCLER_H_
