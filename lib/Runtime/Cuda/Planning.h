//===- Planning.h - the assignment of a step to streams ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_PLANNING_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_PLANNING_H

#include "HostCopies.h"
#include "StreamPlan.h"

#include <map>

namespace stagewright::runtime::cuda {

constexpr size_t none = size_t(-1);

/// The events of a channel, by slot; `none` until one is recorded.
struct ChannelEvents {
  std::vector<size_t> sent, freed, moved;
  int32_t stream = -1;  ///< for its copies
  size_t latest = none; ///< of `moved`: the one recorded last
};

/// Plans one step; used once.
class Planning {
public:
  Planning(const Manifest &manifest, const Memory &memory,
           const std::vector<RankProgram> &programs, const PlanOptions &options)
      : manifest(manifest), memory(memory), programs(programs),
        options(options), computing(programs.size(), -1),
        messages(programs.size(), -1), turns(programs.size(), none),
        channels(manifest.channels.size()), open(programs.size()),
        copies(programs.size()) {}

  Plan run(const std::vector<OrderedCommand> &order);

private:
  /// The spans of a rank that have begun but not ended.
  struct Open {
    size_t command = none; ///< BeginAction of the current action
    bool shown = false;    ///< the action has had an Operation::Begin
    size_t action = none, node = none;
    bool stamped = true; ///< the action has its first stamp
    std::vector<std::pair<int64_t, size_t>> claims; ///< channel, stamp
    std::map<int64_t, size_t> sums;                 ///< stamp, by collective
  };

  void makeStreams();
  void makeCopyStreams();
  void fork();
  void join();
  void command(int32_t rank, size_t number);
  void transfer(int64_t channel, int64_t m);
  void sum(int64_t collective);
  std::vector<int64_t> ranksHere(const Collective &collective) const;
  void follow(int64_t rank);
  void addNotified(int64_t rank, Operation::Kind kind, size_t number, int64_t m,
                   size_t &event);
  size_t &eventOf(std::map<std::pair<int64_t, int64_t>, size_t> &events,
                  int64_t collective, int64_t rank) {
    return events.try_emplace({collective, rank}, none).first->second;
  }
  void copyStash(int32_t rank, size_t number, const Command &command);
  HostCopies::Slot slotOfBuffer(int32_t rank, int64_t buffer, int64_t m) const {
    return {buffer, m % memory.layouts[rank].buffers[buffer].slots};
  }
  void add(Operation::Kind kind, int32_t stream, size_t number, int64_t m = 0) {
    moved[stream] =
        moved[stream] || kind == Operation::Work || kind == Operation::Wait;
    plan.operations.push_back(
        {kind, stream, int32_t(plan.streams[stream].rank), number, m});
  }
  /// Records `event`, which is created if it is `none`.
  void record(int32_t stream, size_t &event) {
    if (event == none)
      event = plan.events++;
    add(Operation::Record, stream, event);
  }
  void wait(int32_t stream, size_t event) {
    if (event != none)
      add(Operation::Wait, stream, event);
  }
  size_t stamp(int32_t rank) {
    add(Operation::Stamp, computing[rank], plan.stamps);
    return plan.stamps++;
  }
  void show(int32_t rank);
  void hide();
  void beginAction(int32_t rank, size_t number, const Command &command);
  void endAction(int32_t rank);
  void receive(int32_t rank, const Command &command);
  size_t slotOf(int64_t channel, int64_t m) const {
    return size_t(m) % channels[channel].sent.size();
  }

  const Manifest &manifest;
  const Memory &memory;
  const std::vector<RankProgram> &programs;
  const PlanOptions &options;
  std::vector<int32_t> computing, messages; ///< streams by rank
  std::vector<size_t> turns; ///< by rank: the event before its messages
  std::vector<ChannelEvents> channels;
  /// Events by collective and rank, recorded when the rank's part of the sum
  /// may begin (`begun`) and when it is done (`sums`).
  std::map<std::pair<int64_t, int64_t>, size_t> begun, sums;
  std::vector<Open> open;         ///< by rank
  std::vector<HostCopies> copies; ///< by rank
  /// By stream: whether it has work after its last event of HostCopies.
  std::vector<bool> moved;
  int32_t openRank = -1; ///< rank of the open Operation::Begin, or -1
  Plan plan;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_PLANNING_H
