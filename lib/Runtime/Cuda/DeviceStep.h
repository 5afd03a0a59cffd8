//===- DeviceStep.h - a step that runs on GPUs ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An instance of an artifact whose target is CUDA: one allocation per rank on
// its GPU (the compiler's arena, slots of messages that leave the device,
// constants, the workspace of libraries), the recorded and verified program,
// and its execution. One thread enqueues for all ranks. The end of a step is
// polled, so that the step fails at a deadline if a device hangs.
//
// With several processes it runs one rank. Then the constructor, the first run,
// `getOutput`, `readOutput`, `gatherRecords` and `gatherTraffic` are
// collective; rank 0 gets the results and records. A run that fails ends all
// processes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_DEVICESTEP_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_DEVICESTEP_H

#include "Program.h"
#include "Runner.h"
#include "stagewright/Runtime/Deadline.h"

namespace stagewright::runtime {
class Processes;
} // namespace stagewright::runtime

namespace stagewright::runtime::cuda {

class Device;
class Execution;
class Peers;

class DeviceStep final : public Runner {
public:
  /// Runs all ranks, or with `processes` only that of this process.
  DeviceStep(std::shared_ptr<const Artifact> artifact,
             const StepOptions &options, Processes *processes);
  ~DeviceStep() override;

  void setInput(int64_t position, const sw_tensor &tensor) override;
  void run() override;
  int64_t peak(int64_t rank) const override;
  int64_t allocated(int64_t rank) const override;
  bool gatherRecords() override;
  std::vector<Traffic> gatherTraffic() override;
  double deadline() const override { return limit.seconds(); }

  /// The parts of a step, for callers that order its work themselves.
  const Memory &memory() const;
  const std::vector<RankProgram> &programs() const;
  const Execution &execution() const;
  const Device &device(int64_t rank) const;

private:
  struct Resources;
  void read(size_t result, ByteRange part, std::byte *to) override;
  bool receives() const override;
  void make(const StepOptions &options);
  void connect();
  void copyConstants();
  void place(const StepOptions &options);
  void enqueue();
  void endBehindRanks();
  void settleAverages();
  std::string pending() const;
  void wait(int64_t start);
  void recordTimes(int64_t start, int64_t end);

  bool graph, check;
  bool begun = false;  ///< a step has been run
  bool lost = false;   ///< a device did not end its step
  bool counted = true; ///< the host knows the step counters of averages
  Deadline limit;
  std::unique_ptr<Peers> peers; ///< null: one process
  std::vector<int64_t> own;     ///< ranks of this process
  std::unique_ptr<Resources> resources;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_DEVICESTEP_H
