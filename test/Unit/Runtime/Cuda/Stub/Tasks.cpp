//===- Tasks.cpp - what a device does in its own time ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread for all devices of the process, which does one task after the
// other: nothing of a step may need two messages under way at once.
//
//===----------------------------------------------------------------------===//

#include "Stub.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace stub {

namespace {
struct Queue {
  std::mutex mutex;
  std::condition_variable more;
  std::deque<Task> left;
  std::atomic<int64_t> begun = 0, done = 0;
  bool working = false;

  void work() {
    for (;;) {
      std::unique_lock lock(mutex);
      more.wait(lock, [this] { return !left.empty(); });
      Task task = std::move(left.front());
      left.pop_front();
      lock.unlock();
      task();
      ++done;
    }
  }
};
/// As long as the process: its thread may be in a task that never ends.
Queue &queue() {
  static Queue &it = *new Queue;
  return it;
}
} // namespace

void startTasks(const std::vector<Task> &list) {
  Queue &it = queue();
  if (list.empty())
    return;
  std::lock_guard lock(it.mutex);
  it.left.insert(it.left.end(), list.begin(), list.end());
  it.begun += int64_t(list.size());
  if (!it.working)
    std::thread([&it] { it.work(); }).detach();
  it.working = true;
  it.more.notify_one();
}

int64_t tasks() { return queue().begun; }

bool reached(int64_t count) { return queue().done >= count; }

} // namespace stub
