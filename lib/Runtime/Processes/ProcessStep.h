//===- ProcessStep.h - a step with a rank in each process -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This process's part of a step: the arena of its rank, which runs on the
// calling thread. `run`, `getOutput`, `readOutput`, `gatherRecords`,
// `gatherTraffic` and `lastIdle` are collective; results and records are sent
// to the process of rank 0. All processes end a step together, or, if replicas
// average their parameters, some steps apart. A failure of one process is
// thrown as the same error by all.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PROCESSSTEP_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PROCESSSTEP_H

#include "Memory/Arena.h"
#include "Memory/HostTensors.h"
#include "Processes/MessageTransport.h"
#include "Processes/Processes.h"
#include "Rank.h"
#include "Runner.h"
#include "stagewright/Runtime/Deadline.h"

#include <optional>

namespace stagewright::runtime {

class ProcessStep final : public Runner {
public:
  /// For the rank with the number of this process. Not collective.
  ProcessStep(std::shared_ptr<const Artifact> artifact,
              const StepOptions &options, Processes &processes,
              Processes::Neighbours neighbours);
  ~ProcessStep() override;

  void setInput(int64_t position, const sw_tensor &tensor) override;
  void run() override;
  int64_t peak(int64_t rank) const override;
  int64_t allocated(int64_t rank) const override;
  bool gatherRecords() override;
  std::vector<Traffic> gatherTraffic() override;
  std::vector<double> lastIdle() override;
  double deadline() const override { return limit.seconds(); }

private:
  void read(size_t result, ByteRange part, std::byte *to) override;
  bool receives() const override { return self == 0; }
  HostArenas tensors() const;
  void prepare(Processes::Neighbours neighbours, const StepOptions &options);
  void prepareToGoOn();
  /// Whether it goes on to the next step before others have ended this one.
  bool goesOn() const { return maxBehind > 0; }
  std::string runProgram();
  void end(const std::string &error);
  void complete();
  void settle();

  Processes &processes;
  Messenger &messenger;
  int64_t self;
  Deadline limit; ///< of waits for others
  int spins;
  Arena arena;
  std::optional<Checker> checker;
  int64_t maxBehind = 0; ///< steps that another rank may be behind this one
  std::vector<int64_t> peaks; ///< live bytes in the last step, by rank
  std::unique_ptr<Pool> pool;
  std::optional<MessageTransport> transport;
  std::unique_ptr<Injection> injection;
  std::unique_ptr<Dilation> dilation;
  sw_rank rank;
};

/// Checks that all processes have the same program and options and match its
/// plan, then makes the step of this one. Collective. Errors in making the step
/// are thrown only in the process where they occur.
std::unique_ptr<Runner>
makeProcessStep(std::shared_ptr<const Artifact> artifact,
                const StepOptions &options, Processes &processes);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PROCESSSTEP_H
