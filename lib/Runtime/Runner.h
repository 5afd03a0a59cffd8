//===- Runner.h - the interface of a runnable step --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the C ABI needs of a step: tensors in, run, tensors out, statistics.
// Implemented for CPUs (Threads/Step.h, Processes/ProcessStep.h) and for GPUs
// (Cuda/DeviceStep.h); the artifact's target and the options determine which.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_RUNNER_H
#define STAGEWRIGHT_LIB_RUNTIME_RUNNER_H

#include "Artifact/Artifact.h"
#include "Chooser.h"
#include "Memory/HostTensors.h"
#include "Recording/Recorder.h"
#include "Traffic.h"

#include <memory>

namespace stagewright::runtime {

struct StepOptions {
  int64_t microbatches = 0; ///< 0: as compiled
  int64_t trace = 0;        ///< how many of the last steps to record
  bool check = false, profile = false, pin = false;
  int64_t threads = 1;      ///< of each rank, on CPUs
  std::string devices = {}; ///< by rank, with commas; empty: in order
  bool graph = true;        ///< capture the step and replay it, on GPUs
  double deadline = 0;      ///< seconds without progress; 0: from past steps
  bool processes = false;   ///< this process runs one rank
  bool anyHosts = false;    ///< any placement of ranks on hosts
  bool anyOrder = false;    ///< sums on GPUs: faster, not reproducible
  bool finite = false;      ///< NaN or infinity in results is an error
  std::string dilate = {};  ///< factors of slower ranks (Threads/Dilation.h)
  std::string pace = {};    ///< times of actions (the same file)
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
  /// Copies a result, or bytes [offset, offset + bytes) of it, to the host.
  /// Collective; only the process that `receives` needs memory for it.
  void getOutput(int64_t position, sw_tensor tensor);
  void readOutput(int64_t position, int64_t offset, int64_t bytes, void *to);
  /// Highest number of live bytes; -1 unless checking.
  virtual int64_t peak(int64_t rank) const = 0;
  /// Bytes that the runtime allocated for a rank.
  virtual int64_t allocated(int64_t rank) const { return layout(rank).total; }

  const Manifest &manifest() const { return artifact->manifest(); }
  int64_t microbatches() const { return count; }
  double seconds() const { return lastSeconds; }
  /// The part of seconds() in which the host enqueued all work on the GPUs; 0
  /// on CPUs.
  double enqueueSeconds() const { return lastEnqueue; }
  const Layout &layout(int64_t rank) const { return layouts[rank]; }
  /// Peak of live bytes that the compiler predicts for a rank.
  int64_t predictedPeak(int64_t rank) const { return predicted[rank]; }
  /// Seconds without progress after which a rank has failed.
  virtual double deadline() const = 0;
  /// Whether a rank still runs in a step that has failed. Then the step can
  /// neither run again nor be destroyed.
  virtual bool abandoned() const { return false; }
  std::vector<const Recorder *> recorders() const;
  /// Gathers the records of all ranks in one process; false in the others.
  virtual bool gatherRecords() { return true; }
  /// Traffic of the last step, by rank; with several processes, complete in the
  /// first and empty in the others.
  virtual std::vector<Traffic> gatherTraffic() = 0;
  /// The fraction of the last step in which no action ran, by rank, in every
  /// process; empty if nothing is recorded.
  virtual std::vector<double> lastIdle();

protected:
  /// Copies a part of a result, at most `pieceBytes`, so that no implementation
  /// holds more; its first byte goes to `to`.
  virtual void read(size_t result, ByteRange part, std::byte *to) = 0;
  /// Whether results are copied to this process.
  virtual bool receives() const { return true; }
  /// Throws if an argument was not set.
  void requireInputs() const;
  /// Throws if result `position` has no value: the last step failed, or none
  /// has run and the result is not a parameter or state that was set.
  void requireResult(int64_t position) const;
  /// Whether an argument that the host sets may belong to averages of replicas,
  /// so that running sums must end first. A new parameter begins a new round in
  /// `arenas`.
  bool entersAverages(size_t argument, const HostArenas &arenas) const;
  /// Sets the arguments whose data is in the artifact.
  void fillConstants();
  /// The error if the peak of live bytes is wrong; else empty. Ranks that
  /// choose what they run may stay below the peak.
  std::string checkPeaks() const;

  std::shared_ptr<const Artifact> artifact;
  int64_t count;                  ///< microbatches
  bool ran = false, fresh = true; ///< the last step succeeded; none began
  double lastSeconds = 0, lastEnqueue = 0;
  std::vector<Layout> layouts;
  std::vector<int64_t> predicted; ///< live bytes by rank
  std::vector<bool> given;        ///< by argument
  std::vector<std::unique_ptr<Recorder>> records;
  std::vector<std::unique_ptr<Chooser>> choosers; ///< by rank; null: an order

private:
  void readPieces(size_t result, ByteRange range, std::byte *to);
};

/// A step of the artifact for its target and the options.
std::unique_ptr<Runner> makeRunner(std::shared_ptr<const Artifact> artifact,
                                   const StepOptions &options);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_RUNNER_H
