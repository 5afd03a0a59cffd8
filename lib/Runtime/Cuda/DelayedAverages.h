//===- DelayedAverages.h - averages of replicas on GPUs ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Delayed averages (../Averaging.h) of replicas on GPUs. A step is the same
// graph every time, so averages are not part of it: after each step, the host
// enqueues a copy of the number of steps and, when an average begins or is
// merged, kernels on the streams on which the ranks compute. The sum itself is
// on a stream of its own. If averages are the only sums, and all ranks are in
// one process, nothing waits for it until the merge, so it runs beside the next
// steps.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_DELAYEDAVERAGES_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_DELAYEDAVERAGES_H

#include "Device.h"
#include "Program.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace stagewright::runtime::cuda {

class Averages {
public:
  /// Enqueues the part of a rank in a sum, like `ProcessSums::sum`.
  using Sum = std::function<void(int64_t collective, int64_t rank,
                                 Address bucket, Stream stream)>;
  /// `devices` and `streams`, on which ranks compute, by rank; null for ranks
  /// of other processes. `manifest`, `memory` and `devices` must outlive this
  /// object. Throws if elements have a type that cannot be averaged.
  Averages(const Manifest &manifest, const Memory &memory,
           const std::vector<const Device *> &devices,
           const std::vector<Stream> &streams, Sum sum);
  ~Averages();
  Averages(const Averages &) = delete;
  Averages &operator=(const Averages &) = delete;

  /// Enqueues what averages require at the end of a step, after the work that
  /// is on the streams of the ranks.
  void endStep();
  /// Makes the streams of the ranks wait for sums that are under way.
  void awaitSums() const;
  /// The name of a sum that is under way and for which the step that began it
  /// waits; none if there is none.
  std::optional<std::string> awaited() const;
  /// Sets the numbers of steps of all averages to 0.
  void restart();
  /// Reads the numbers of steps, which the host may have set. `read(rank,
  /// buffer)` returns the number in a buffer.
  template <typename Read> void readSteps(Read read) {
    for (auto &[collective, round] : rounds)
      round.step =
          read(round.members.front().rank, round.members.front().rule->step);
  }

private:
  struct Member {
    int64_t rank;
    const Averaging *rule;
    EventOwner begun, summed;
  };
  /// The members of one average in this process, in the order of its buckets.
  struct Round {
    std::vector<Member> members;
    int64_t step = 0;
  };
  struct Term {
    float weight;
    Address from;
  };

  void load(const Device &device);
  void begin(int64_t collective, Round &round);
  void merge(Round &round);
  void writeSteps(int64_t collective, const Round &round);
  Address at(const Member &member, int64_t buffer) const;
  /// Enqueues `to` = the sum of one to three terms.
  void add(const Member &member, Address to, std::span<const Term> terms,
           int64_t bytes) const;
  template <typename Visit>
  void visitParameters(const Member &member, Visit visit) const;

  const Manifest &manifest;
  const Memory &memory;
  const std::vector<const Device *> &devices;
  const std::vector<Stream> streams;
  const Sum sum;
  /// Whether averages are the only sums, in one process. Kernels of two
  /// communicators may need each other's multiprocessors, and a process must
  /// not leave a sum behind that another waits for. So otherwise the step that
  /// begins a sum waits for it.
  bool alone = true;
  std::map<int64_t, Round> rounds;        ///< by collective
  std::map<int64_t, StreamOwner> summing; ///< by rank
  struct Code {
    Module module = nullptr;
    KernelFunction kernel = nullptr;
  };
  std::map<const Device *, Code> codes;
  PinnedMemory steps; ///< by collective: numbers to copy to the devices
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_DELAYEDAVERAGES_H
