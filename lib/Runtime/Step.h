//===- Step.h - a step that can run -----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An instance of an artifact: one arena and one waiting thread per rank.
// Everything a step needs is allocated here and touched once; running
// allocates nothing. The host copies whole tensors in and out; which rank
// holds which part of them is the manifest's business.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_STEP_H
#define STAGEWRIGHT_LIB_RUNTIME_STEP_H

#include "Arena.h"
#include "Artifact.h"
#include "Checker.h"
#include "Layout.h"
#include "Pool.h"
#include "Recorder.h"
#include "Transport.h"

#include <atomic>
#include <csetjmp>
#include <memory>
#include <optional>
#include <thread>

namespace stagewright::runtime {
class Step;
} // namespace stagewright::runtime

/// What generated code knows as its rank.
struct sw_rank {
  stagewright::runtime::Step *step = nullptr;
  int64_t index = 0;
  int64_t microbatches = 0;
  const stagewright::runtime::Layout *layout = nullptr;
  std::byte *arena = nullptr;
  stagewright::runtime::Transport *transport = nullptr;
  stagewright::runtime::Checker *checker = nullptr;   ///< null unless checking
  stagewright::runtime::Recorder *recorder = nullptr; ///< null unless recording
  stagewright::runtime::Pool *pool = nullptr;         ///< null: one thread
};

namespace stagewright::runtime {

struct StepOptions {
  int64_t microbatches = 0; ///< 0: as compiled
  bool trace = false, check = false, profile = false, pin = false;
  int64_t threads = 1; ///< of each rank
};

/// The tensor a host sees at an argument or result.
struct HostTensor {
  sw_dtype dtype;
  std::vector<int64_t> shape;
};
HostTensor hostArgument(const Interface &argument, int64_t microbatches);
HostTensor hostResult(const Interface &result, int64_t microbatches);

class Step {
public:
  Step(std::shared_ptr<const Artifact> artifact, const StepOptions &options);
  ~Step();
  Step(const Step &) = delete;
  Step &operator=(const Step &) = delete;

  void setInput(int64_t position, const sw_tensor &tensor);
  /// Runs one step; throws an `Error` with the first failure.
  void run();
  void getOutput(int64_t position, const sw_tensor &tensor) const;

  const Manifest &manifest() const { return artifact->manifest(); }
  int64_t microbatches() const { return count; }
  double seconds() const { return lastSeconds; }
  const Layout &layout(int64_t rank) const { return layouts[rank]; }
  /// Live bytes of a rank as the compiler predicts them.
  int64_t predictedPeak(int64_t rank) const { return predicted[rank]; }
  /// Highest number of live bytes of the last step; -1 unless checking.
  int64_t peak(int64_t rank) const;
  std::vector<const Recorder *> recorders() const;

private:
  void allocate();
  void fillMicrobatchNumbers();
  /// Sets the arguments whose data lies in the artifact.
  void fillConstants();
  void startThreads(bool pin);
  void serve(int64_t rank, bool pin);
  void prepare(int64_t rank, bool pin);
  void runRank(sw_rank &rank);
  void stopThreads();
  void waitForThreads();
  std::string checkPeaks() const;

  std::shared_ptr<const Artifact> artifact;
  int64_t count; ///< microbatches
  int64_t threadsPerRank;
  int64_t allThreads; ///< of all ranks
  bool ran = false;
  double lastSeconds = 0;
  std::vector<Layout> layouts;
  std::vector<Arena> arenas;
  std::vector<int64_t> predicted; ///< live bytes by rank
  std::vector<bool> given;        ///< by argument
  std::vector<std::unique_ptr<Checker>> checkers;
  std::vector<std::unique_ptr<Recorder>> records;
  std::optional<Transport> transport;
  std::vector<sw_rank> ranks;

  // The host rings `generation` to start a step or, with `quit`, to end the
  // threads; each thread adds itself to `finished`.
  alignas(64) std::atomic<uint32_t> generation{0};
  alignas(64) std::atomic<uint32_t> finished{0};
  std::atomic<bool> quit{false};
  std::vector<std::unique_ptr<Pool>> pools; ///< by rank, if it has threads
  std::vector<std::thread> threads;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_STEP_H
