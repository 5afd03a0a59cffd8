//===- PipelineEngine.h - runs a pipeline's blocks --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: runs the rows of a pipeline. The window order is a
// total order, so one pass over it (PipelineWindow.cpp) computes all times. The
// other orders are event-driven (PipelineEvents.cpp); some of them follow lists
// of blocks made in advance (PipelineSequences.cpp). Pipeline.h defines the
// rules.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_PIPELINEENGINE_H
#define STAGEWRIGHT_SIMULATION_PIPELINEENGINE_H

#include "LinkFlows.h"

namespace stagewright {

/// Blocks that a processor runs in the listed order.
struct Sequence {
  uint32_t processor = 0;
  size_t begin = 0, end = 0; ///< In the engine's list of blocks.
};

/// The ready microbatches of a row that use the same lane, as a bit set. The
/// bit of microbatch m is m / lanes.
struct ReadyQueue {
  uint32_t row = 0, lane = 0, lanes = 1;
  size_t words = 0; ///< Where its bits begin.
  uint32_t first = 0, count = 0;
  uint32_t flags = 0; ///< Index of its first entry in `isListed`.
};

/// Whether the window order is defined for `model`: links do not share rates,
/// and no channel leads to a later microbatch.
bool hasWindows(const PipelineModel &model);

class PipelineEngine {
public:
  /// Runs `model` to its end, or returns kNever as soon as it must take longer
  /// than `atMost`. `record` keeps all starts and ends.
  Ticks run(const PipelineModel &model, ExecutionOrder order, Seconds atMost,
            bool record);
  /// Runs the blocks in the orders that `orders` has for each processor; they
  /// must not deadlock.
  Ticks run(const PipelineModel &model, const SplitBackwards &split,
            const std::vector<Order> &orders);
  /// The makespan of this run and `other` side by side, if they have the same
  /// stages and only the collectives wait for both.
  Ticks join(const PipelineEngine &other);

  PipelineRows rows;
  /// By row and microbatch, if recorded: times, and the order of the starts.
  std::vector<Ticks> starts, ends;
  std::vector<uint32_t> serials;
  /// By stage: the end of its last backward.
  std::vector<Ticks> stageEnds;
  /// By stage: start and end of the part of its collective after its last
  /// backward; set by finish().
  std::vector<Ticks> tailStarts, tailEnds;
  /// By stage: the max number of forwards that its processors together start
  /// before one of its backwards ends; empty in window order.
  std::vector<int64_t> caps;
  size_t numMicrobatches() const { return microbatches; }

private:
  // For all runs.
  void prepare(const PipelineModel &model, const SplitBackwards *split,
               Seconds atMost);
  void startTails();
  Ticks finish();
  uint32_t laneOf(const PipelineRow &row, uint32_t microbatch) const {
    uint32_t lanes = row.lanes.end - row.lanes.begin;
    return lanes == 1 ? 0 : microbatch % lanes;
  }
  uint32_t resourceOf(const PipelineRow &row, uint32_t microbatch) const {
    return rows.list(row.lanes)[laneOf(row, microbatch)];
  }
  std::span<const uint32_t> sharedOf(const PipelineRow &row,
                                     uint32_t microbatch) const {
    return rows.shared(row, laneOf(row, microbatch));
  }
  /// The duration of a block of compute that starts at `start`.
  Ticks durationOf(const PipelineRow &row, uint32_t microbatch,
                   uint32_t processor, Ticks start) const {
    if (model->collectiveSlowdown == 1 && !split)
      return row.duration;
    return specialDurationOf(row, microbatch, processor, start);
  }
  Ticks specialDurationOf(const PipelineRow &row, uint32_t microbatch,
                          uint32_t processor, Ticks start) const;
  void endStay(const PipelineRow &row, Ticks end);
  void record(size_t block, Ticks start, Ticks end) {
    starts[block] = start;
    ends[block] = end;
    serials[block] = serial++;
  }
  size_t at(BlockId block) const {
    return block.row * size_t(microbatches) + block.microbatch;
  }
  Ticks runWindow();
  struct Turn;
  void layTurns();
  bool runTurn(const Turn &turn, uint32_t microbatch);

  // Event-driven runs.
  Ticks runEvents();
  void layQueues();
  void layGPipe();
  void layOneFOneB();
  void addAction(const Action &action);
  void addSequence(uint32_t processor, size_t begin);
  void layEvents();
  size_t placeOf(const PipelineRow &row, uint32_t lane) const {
    return firstPlace[row.number] + lane;
  }
  /// The max number of microbatches in flight on one processor of the stage.
  int64_t capOf(const PipelineRow &row) const;
  void makeReady(BlockId block);
  void start(BlockId block);
  void complete(BlockId block);
  void freeResource(uint32_t resource);
  void awaken(uint32_t processor);
  bool isFree(const ReadyQueue &queue) const;
  template <typename Visit>
  void forResources(const ReadyQueue &queue, Visit visit) const;
  void list(uint32_t queue);
  void addCandidate(uint32_t queue);
  BlockId take(ReadyQueue &queue);
  uint32_t head(const ReadyQueue &queue) const;
  bool pick(uint32_t processor, BlockId &best) const;
  void startTransfers();
  bool startComputes();
  bool startComputesByPriority();
  void runPicked(uint32_t processor, BlockId block);
  bool comesBefore(BlockId a, BlockId b) const;

  const PipelineModel *model = nullptr;
  const SplitBackwards *split = nullptr;
  uint32_t microbatches = 0;
  bool recorded = false, sequenced = false, careful = false, cut = false;
  Ticks limit = kNever, latest = 0, now = 0;
  uint32_t serial = 0;
  std::vector<uint32_t> staysLeft;     ///< By stage.
  std::vector<Ticks> workLeft;         ///< By processor.
  std::vector<Ticks> collectivesUntil; ///< By processor.

  // Window order.
  struct Turn {
    const PipelineRow *row;
    std::span<const uint32_t> before, lanes;
    size_t begin; ///< Of its blocks, in `ends`.
  };
  std::vector<Turn> turns;
  std::vector<uint32_t> byStart, active; ///< Numbers of turns.
  std::vector<Ticks> freeAt;             ///< By resource.

  // Event-driven orders.

  struct Event {
    Ticks time;
    BlockId block;
    bool isSent = false; ///< Only the block's shared resources become free.
  };
  void addEvent(Event event);
  bool sharesRates() const { return model->sharing != LinkSharing::Turns; }
  void layFlows();
  void endFlows();
  LinkFlows flows; ///< Transfers on links, if they share rates.
  void handle(const Event &event);
  std::vector<Event> events; ///< A heap, the earliest first.
  std::vector<uint16_t> pending;
  std::vector<uint8_t> busy;        ///< By resource.
  std::vector<int64_t> inFlight;    ///< By processor of a stage.
  std::vector<uint32_t> firstPlace; ///< By stage: its first in `inFlight`.
  std::vector<ReadyQueue> queues;
  std::vector<uint32_t> firstQueue; ///< By row.
  std::vector<uint64_t> bits;
  std::vector<Part> queuesOf; ///< By processor; of queueNumbers.
  std::vector<uint32_t> queueNumbers;
  /// By resource: queues of transfers that wait for it; may contain queues that
  /// no longer wait.
  struct Waiting {
    uint32_t queue, flag;
  };
  std::vector<std::vector<Waiting>> waiting;
  std::vector<uint8_t> isListed; ///< By queue, and by resource of the queue.
  std::vector<BlockId> blocks;
  std::vector<Sequence> sequences;
  std::vector<Part> sequencesOf; ///< By processor; sequences are sorted.
  std::vector<uint32_t> candidates, zeroCandidates, awake;
  std::vector<uint8_t> isCandidate, isAwake;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_PIPELINEENGINE_H
