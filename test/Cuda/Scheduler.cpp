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
#include <utility>

namespace emulator {

std::mt19937 &chance() {
  static auto &it = *new std::mt19937(unsigned(setting("SEED", 0)));
  return it;
}

// Never freed.
static auto &waiting = *new Operations;
/// The operations that hold a device, by device; may be null.
static auto &holders = *new std::array<std::shared_ptr<Operation>, 64>;
static auto &problem = *new std::string;

static bool areDone(const Operations &list) {
  return std::ranges::all_of(list, [](const auto &it) { return it->done; });
}

/// The operations that may run, in the order in which they are tried.
static Operations ready() {
  static const int64_t seed = setting("SEED", 0);
  Operations list;
  for (const auto &it : waiting)
    if (areDone(it->after))
      list.push_back(it);
  std::shuffle(list.begin(), list.end(), chance());
  if (seed % 2 != 0)
    std::ranges::sort(list, {}, [](const std::shared_ptr<Operation> &it) {
      uint32_t mixed = uint32_t(seed * 1000 + it->stream + 1) * 2654435761u;
      return (mixed ^ mixed >> 15) * 2246822519u;
    });
  return list;
}

/// Runs one operation to completion; false if none can complete now.
static bool advance() {
  if (!problem.empty())
    return false;
  for (const auto &it : ready()) {
    auto &holder = holders[size_t(it->device)];
    if (holder && holder != it)
      continue;
    try {
      if (auto work = std::exchange(it->work, nullptr))
        work();
      if (it->isComplete && !it->isComplete()) {
        holder = it;
        continue;
      }
    } catch (const std::exception &error) {
      problem = error.what();
      LOG("violation %s", problem.c_str());
      return false;
    }
    it->done = true;
    it->after.clear();
    holder = nullptr;
    std::erase(waiting, it);
    return true;
  }
  return false;
}

const std::string &error() { return problem; }

void schedule(std::shared_ptr<Operation> operation) {
  std::erase_if(operation->after, [](const auto &it) { return it->done; });
  waiting.push_back(std::move(operation));
}

bool reach(const Operations &list) {
  while (!areDone(list))
    if (!advance())
      return false;
  return true;
}

bool await(const Operations &list) {
  for (; !reach(list); std::this_thread::yield())
    if (!problem.empty())
      return false;
  return true;
}

void finish() { await(Operations(waiting)); }

std::recursive_mutex &lock() {
  static auto &it = *new std::recursive_mutex;
  return it;
}

} // namespace emulator
