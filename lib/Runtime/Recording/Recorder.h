//===- Recorder.h - times of actions, transfers and nodes -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times of actions, messages and sums for the trace, and of nodes for the
// profile. Everything is allocated before the step; a recorder belongs to one
// rank's thread, so recording is two clock readings and a store.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_RECORDING_RECORDER_H
#define STAGEWRIGHT_LIB_RUNTIME_RECORDING_RECORDER_H

#include "Artifact/Manifest.h"
#include "Chooser.h"

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>

namespace stagewright::runtime {

/// Nanoseconds of the steady clock.
inline int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Event {
  enum Type : int32_t { Action, Send, Receive, Sum };
  Type type = Action;
  int32_t kind = 0; ///< of an action: its letter
  int64_t id = 0;   ///< stage of an action, else the channel or collective
  int64_t m = 0;
  int64_t begin = 0, end = 0; ///< nanoseconds
  /// Of an action that the rank chose: its row, the lanes that were ready, and
  /// what the rank waited for, from `chosenAt` on.
  Chooser::Choice choice = {};
  int64_t chosenAt = 0;
};

class Recorder {
public:
  /// Keeps the events of the last `trace` steps, at least of one.
  Recorder(const Manifest &manifest, int64_t rank, int64_t microbatches,
           int64_t trace, bool profile);

  /// Begins a step; drops the oldest one if the log already has the max number
  /// of steps. Samples stay.
  void begin();
  /// The step ran from `start` to `end`.
  void endStep(int64_t start, int64_t end);

  void beginAction(int32_t kind, int64_t stage, int64_t m);
  void endAction();
  /// The rank began at `start` to choose what it runs next.
  void chosen(const Chooser::Choice &choice, int64_t start) {
    pending.choice = choice, pending.chosenAt = start;
  }
  /// A claim that began at `start` has returned; its event ends with the send.
  void claimed(int64_t channel, int64_t start) { claims[channel] = start; }
  void sent(int64_t channel, int64_t m, int64_t end);
  void received(int64_t channel, int64_t m, int64_t start);
  /// A collective began at `start`; its event ends with the wait for it.
  void sumBegun(int64_t collective, int64_t start) { sums[collective] = start; }
  void summed(int64_t collective);
  void beginNode() { nodeBegin = profiling ? now() : 0; }
  void endNode(int64_t node);

  /// Adds, after the step, an event that a device has measured. An event of an
  /// action begins when all messages of the action have arrived.
  void addMeasured(const Event &event);
  void addNodeTime(int64_t node, double seconds);

  bool traces() const { return tracing; }
  bool profiles() const { return profiling; }
  /// Events of the last step.
  std::span<const Event> events() const {
    return starts.empty() ? std::span<const Event>()
                          : events(starts.size() - 1);
  }
  /// Events of a kept step; number 0 is the oldest.
  std::span<const Event> events(size_t step) const;
  size_t kept() const { return starts.size(); }
  /// Events of the last step that did not fit into the log.
  int64_t lost() const { return dropped; }
  /// Seconds of every recorded call of a node.
  std::span<const float> samples(int64_t node) const;
  /// Seconds of an action of the rank's `stage`-th stage, from when all its
  /// messages have arrived; `kind` is an index into actionKinds.
  std::span<const float> samples(size_t stage, size_t kind) const;
  static constexpr std::string_view actionKinds = "FBIWR";

  /// Begin and end of a step and of this rank's actions except updates, and the
  /// total time of all actions without waiting, in nanoseconds.
  struct StepTimes {
    int64_t start = 0, first = 0, last = 0, end = 0, busy = 0;
  };
  /// Of the last steps, in the same order on all ranks.
  std::span<const StepTimes> steps() const { return stepTimes; }
  /// The median, over steps, of the fraction of time in which no action ran, or
  /// the action that ran waited.
  double idleShare() const;
  /// The same of the last step.
  double lastIdle() const { return idleOf(lastTimes); }

  /// Serialises all records, and reads them into a recorder of the same rank
  /// and options in another process, adding `shift` to all times.
  std::vector<std::byte> pack() const;
  void unpack(std::span<const std::byte> bytes, int64_t shift);

private:
  void add(const Event &event);
  void sampleAction(const Event &action);
  static double idleOf(const StepTimes &step);

  /// Seconds of the last calls of a node or action.
  struct Samples {
    std::vector<float> ring;
    int64_t calls = 0;

    void add(double seconds);
    std::span<const float> all() const;
  };

  bool tracing, profiling;
  std::vector<Event> log;
  std::vector<size_t> starts; ///< in the log, of the kept steps
  size_t used = 0, keep;
  int64_t dropped = 0;
  Event open;                  ///< the current action
  Event pending;               ///< the choice of the next one
  std::vector<int64_t> claims; ///< by channel
  std::vector<int64_t> sums;   ///< by collective
  int64_t nodeBegin = 0, lastReceive = 0;
  std::vector<int64_t> stages;      ///< of the rank
  std::vector<Samples> nodes;       ///< by node
  std::vector<Samples> actions;     ///< by stage and kind
  std::vector<StepTimes> stepTimes; ///< a ring
  int64_t stepCount = 0;
  StepTimes lastTimes;
};

/// Chrome trace JSON of the kept steps: a row of actions and one of collectives
/// for every rank, one for each end of a channel, and an arrow for every
/// message. Names and categories are those of a simulated trace
/// (Simulation/WriteTrace.h).
std::string traceJson(const Manifest &manifest,
                      const std::vector<const Recorder *> &ranks);

/// Profile JSON, with median seconds: of every node, of every kind of action of
/// every stage, of a message that its receiver waits for ("hops", by pair of
/// ranks), of a step, and of its parts before the first and after the last
/// action.
std::string profileJson(const Manifest &manifest,
                        const std::vector<const Recorder *> &ranks);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_RECORDING_RECORDER_H
