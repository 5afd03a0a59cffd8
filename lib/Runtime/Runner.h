//===- Runner.h - what a host can do with a step ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C ABI's view of a step: tensors in, run, tensors out, and what it cost.
// Steps on processors (Step.h) and on devices (Cuda/DeviceStep.h) are two of
// them; the artifact's target chooses.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_RUNNER_H
#define STAGEWRIGHT_LIB_RUNTIME_RUNNER_H

#include "Artifact/Artifact.h"
#include "Memory/Layout.h"
#include "Recording/Recorder.h"
#include "Traffic.h"

#include <memory>

namespace stagewright::runtime {

struct StepOptions {
  int64_t microbatches = 0; ///< 0: as compiled
  int64_t trace = 0;        ///< how many of the last steps to record
  bool check = false, profile = false, pin = false;
  int64_t threads = 1;      ///< of each rank, on processors
  std::string devices = {}; ///< of each rank, with commas; empty: in order
  bool graph = true;        ///< capture the step and replay it, on devices
  double deadline = 0;      ///< seconds of a step; 0: by the steps before
  bool processes = false;   ///< this process runs one rank
  bool anyHosts = false;    ///< wherever it was started
  bool anyOrder = false; ///< of sums, on devices: faster, other bits each run
  bool finite = false;   ///< results that are no numbers are an error
};

class Runner {
public:
  Runner(std::shared_ptr<const Artifact> source, const StepOptions &options);
  virtual ~Runner() = default;
  Runner(const Runner &) = delete;
  Runner &operator=(const Runner &) = delete;

  virtual void setInput(int64_t position, const sw_tensor &tensor) = 0;
  /// Runs one step; throws an `Error` with the first failure.
  virtual void run() = 0;
  virtual void getOutput(int64_t position, const sw_tensor &tensor) = 0;
  /// Highest number of live bytes; -1 unless checking.
  virtual int64_t peak(int64_t rank) const = 0;
  /// What the runtime itself allocated for a rank.
  virtual int64_t allocated(int64_t rank) const { return layout(rank).total; }

  const Manifest &manifest() const { return artifact->manifest(); }
  int64_t microbatches() const { return count; }
  double seconds() const { return lastSeconds; }
  /// Of them, what the host took until everything was with the devices; 0 on
  /// processors.
  double enqueueSeconds() const { return lastEnqueue; }
  const Layout &layout(int64_t rank) const { return layouts[rank]; }
  /// Live bytes of a rank as the compiler predicts them.
  int64_t predictedPeak(int64_t rank) const { return predicted[rank]; }
  /// Seconds after which a rank that does not get on has failed.
  virtual double deadline() const = 0;
  /// Whether a rank still runs in a step that has failed. Then the step can
  /// neither run again nor be destroyed.
  virtual bool abandoned() const { return false; }
  std::vector<const Recorder *> recorders() const;
  /// Brings the records of all ranks here, or to another process: then false.
  virtual bool gatherRecords() { return true; }
  /// By rank, what it sent in the last step; of processes, the first gets all
  /// and the others nothing.
  virtual std::vector<Traffic> gatherTraffic() = 0;
  /// By rank, the part of the last step in which no action ran; empty where
  /// nothing is recorded. Every process gets all.
  virtual std::vector<double> lastIdle();

protected:
  /// Throws where an argument was not set.
  void requireInputs() const;
  /// Throws where result `position` has no value: no step has run, and it is no
  /// parameter or state that was set before the first one.
  void requireResult(int64_t position) const;
  /// Sets the arguments whose data lies in the artifact.
  void fillConstants();
  /// What is wrong with the bytes that were live; empty if nothing.
  std::string checkPeaks() const;

  std::shared_ptr<const Artifact> artifact;
  int64_t count;                  ///< microbatches
  bool ran = false, fresh = true; ///< The last step ended well; none began.
  double lastSeconds = 0, lastEnqueue = 0;
  std::vector<Layout> layouts;
  std::vector<int64_t> predicted; ///< live bytes by rank
  std::vector<bool> given;        ///< by argument
  std::vector<std::unique_ptr<Recorder>> records;
};

/// A step of the artifact where its target says.
std::unique_ptr<Runner> makeRunner(std::shared_ptr<const Artifact> artifact,
                                   const StepOptions &options);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_RUNNER_H
