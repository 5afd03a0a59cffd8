//===- Scheduler.cpp - order in which operations run ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation waits only for those that streams and events put before it. A
// seed chooses among the operations that may run, so a program cannot rely on
// an order that it did not request. An even seed chooses at random each time;
// an odd seed ranks the streams: one runs only if none before it can.
// Operations run while the host waits for one, so copies read host memory as
// late as CUDA allows.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <algorithm>
#include <thread>

namespace emulator {

std::mt19937 &chance() {
  static auto &it =
      *new std::mt19937(unsigned(setting("STAGEWRIGHT_EMULATOR_SEED", 0)));
  return it;
}

Scheduler::Scheduler() : holders(64) {}

void Scheduler::add(std::shared_ptr<Operation> operation) {
  std::erase_if(operation->after, [](const auto &it) { return it->done; });
  waiting.push_back(std::move(operation));
}

bool Scheduler::mayRun(const Operation &operation) const {
  if (const auto &holder = holders[size_t(operation.device)];
      holder && holder.get() != &operation)
    return false;
  return std::all_of(operation.after.begin(), operation.after.end(),
                     [](const auto &it) { return it->done; });
}

void Scheduler::arrange(Operations &ready) const {
  static const int64_t seed = setting("STAGEWRIGHT_EMULATOR_SEED", 0);
  std::shuffle(ready.begin(), ready.end(), chance());
  if (seed % 2 == 0)
    return;
  auto place = [](const std::shared_ptr<Operation> &it) {
    uint32_t mixed = uint32_t(seed * 1000 + it->stream + 1) * 2654435761u;
    return (mixed ^ mixed >> 15) * 2246822519u;
  };
  std::sort(ready.begin(), ready.end(),
            [&](const auto &a, const auto &b) { return place(a) < place(b); });
}

bool Scheduler::advance() {
  if (!problem.empty())
    return false;
  Operations ready;
  for (const auto &it : waiting)
    if (mayRun(*it))
      ready.push_back(it);
  arrange(ready);
  for (const auto &it : ready) {
    auto &holder = holders[size_t(it->device)];
    if (holder && holder != it)
      continue; // One that began in this loop holds the device.
    if (it->holds)
      holder = it;
    try {
      if (it->work && !it->work())
        continue;
    } catch (const std::exception &error) {
      problem = error.what();
      log("violation %s", problem.c_str());
      return false;
    }
    it->done = true;
    it->after.clear();
    if (it->holds)
      holder = nullptr;
    std::erase(waiting, it);
    return true;
  }
  return false;
}

bool Scheduler::reached(const Operations &list) {
  auto all = [&] {
    return std::all_of(list.begin(), list.end(),
                       [](const auto &it) { return it->done; });
  };
  while (!all())
    if (!advance())
      return false;
  return true;
}

void Scheduler::finish() {
  while (problem.empty() && !waiting.empty())
    if (!advance())
      std::this_thread::yield();
}

Scheduler &scheduler() {
  static Scheduler &it = *new Scheduler; // Never freed.
  return it;
}

std::recursive_mutex &lock() {
  static auto &it = *new std::recursive_mutex;
  return it;
}

} // namespace emulator
