//===- Step.h - a step with a thread per rank -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An instance of an artifact: one arena and one waiting thread per rank.
// Everything a step needs is allocated here and touched once; running allocates
// nothing. The host copies whole tensors in and out; the manifest specifies
// which rank holds which part.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_THREADS_STEP_H
#define STAGEWRIGHT_LIB_RUNTIME_THREADS_STEP_H

#include "Faults/StallTimer.h"
#include "Memory/Arena.h"
#include "Memory/Checker.h"
#include "Memory/HostTensors.h"
#include "Rank.h"
#include "Runner.h"
#include "Threads/Pool.h"
#include "Threads/ThreadTransport.h"
#include "stagewright/Runtime/Deadline.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace stagewright::runtime {

class Step final : public Runner {
public:
  Step(std::shared_ptr<const Artifact> artifact, const StepOptions &options);
  ~Step() override;

  void setInput(int64_t position, const sw_tensor &tensor) override;
  void run() override;
  int64_t peak(int64_t rank) const override;
  std::vector<Traffic> gatherTraffic() override;
  double deadline() const override { return limit.seconds(); }
  bool abandoned() const override { return isAbandoned; }

private:
  void read(size_t result, ByteRange part, std::byte *to) override;
  HostArenas tensors() const;
  void startThreads(bool pin);
  void serve(int64_t rank, bool pin);
  void prepare(int64_t rank, bool pin);
  void stopThreads();
  void waitForThreads();
  void watch(double seconds);

  int64_t threadsPerRank;
  int64_t allThreads; ///< of all ranks
  std::vector<Arena> arenas;
  std::vector<std::unique_ptr<Checker>> checkers;
  std::optional<ThreadTransport> transport;
  std::vector<std::unique_ptr<Injection>> injections; ///< by rank
  std::vector<std::unique_ptr<Dilation>> dilations;   ///< by rank
  std::vector<sw_rank> ranks;
  /// What the host last observed of a rank during a step.
  struct Seen {
    uint64_t changes = 0;
    StallTimer stall;
  };
  std::vector<Seen> seen; ///< by rank
  Deadline limit;
  bool isAbandoned = false;

  // The host increments `generation` to start a step or, with `quit`, to end
  // the threads; each thread that is done increments `finished`.
  alignas(64) std::atomic<uint32_t> generation{0};
  alignas(64) std::atomic<uint32_t> finished{0};
  std::mutex ending;
  std::condition_variable ended; ///< all threads have finished
  std::atomic<bool> quit{false};
  std::vector<std::unique_ptr<Pool>> pools; ///< by rank; null for one thread
  std::vector<std::thread> threads;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_THREADS_STEP_H
