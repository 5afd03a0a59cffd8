//===- Worker.h - a background thread ---------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread that reads batches, or writes checkpoints, beside the steps. One
// thread serves all tasks: a new thread per task would take time to start,
// inherit the pinning of its creator, and leave memory in several of the
// allocator's arenas.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_THREADS_WORKER_H
#define STAGEWRIGHT_LIB_RUNTIME_THREADS_WORKER_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>

namespace stagewright::runtime {

class Worker {
public:
  Worker() : thread([this] { serve(); }) {}
  /// Runs the remaining tasks first.
  ~Worker() {
    {
      std::lock_guard lock(mutex);
      ends = true;
    }
    changed.notify_one();
    thread.join();
  }
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  /// Runs `body` after all earlier tasks; the future has its result or error.
  template <typename Body>
  std::future<std::invoke_result_t<Body>> run(Body body) {
    using Result = std::invoke_result_t<Body>;
    auto task = std::make_shared<std::packaged_task<Result()>>(std::move(body));
    std::future<Result> result = task->get_future();
    {
      std::lock_guard lock(mutex);
      work.push_back([task] { (*task)(); });
    }
    changed.notify_one();
    return result;
  }

private:
  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ends || !work.empty(); });
      if (work.empty())
        return;
      std::function<void()> next = std::move(work.front());
      work.pop_front();
      lock.unlock();
      next();
      next = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  bool ends = false;
  std::thread thread; ///< Last, because it uses the others.
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_THREADS_WORKER_H
