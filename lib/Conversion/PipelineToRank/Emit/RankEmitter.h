//===- RankEmitter.h - writes the program of one rank -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the programs that a plan describes, rank by rank, without decisions of
// its own. Module.cpp writes what all ranks share.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_PIPELINETORANK_EMIT_RANKEMITTER_H
#define STAGEWRIGHT_CONVERSION_PIPELINETORANK_EMIT_RANKEMITTER_H

#include "../RankPlan.h"
#include "llvm/ADT/StringSet.h"

namespace stagewright::torank {

/// Names that all programs share.
struct ModuleNames {
  mlir::SymbolTable &symbols;
  /// By number in the plan; null if a gather carries its messages.
  std::vector<mlir::FlatSymbolRefAttr> channels;
  std::vector<rank::GatherOp> gathers; ///< By number in the plan.
  /// Channels of sent parts of sums, by number of the accumulator.
  std::map<unsigned, mlir::FlatSymbolRefAttr> parts;
  std::vector<mlir::FlatSymbolRefAttr> averages; ///< By bucket.
  /// Sums of gradients, by bucket and rank.
  std::map<std::pair<unsigned, int64_t>, mlir::FlatSymbolRefAttr> sums;
  /// Channels of packs of an update, by pack and receiver.
  std::map<std::pair<unsigned, int64_t>, mlir::FlatSymbolRefAttr> packs;
  /// Channels of new parameters, by argument of the graph and receiver.
  std::map<std::pair<unsigned, int64_t>, mlir::FlatSymbolRefAttr> parameters;
  Variants variants;
  llvm::DenseSet<mlir::Operation *> called;
};

/// The numbers of a microbatch.
struct Numbers {
  mlir::Value inOrder; ///< Within its pipeline, as in orders.
  mlir::Value ofStep;
  mlir::Value turn; ///< Within its route; selects slots and messages.
};

/// Position of an argument or result in the original step, and its slice.
struct Place {
  int64_t position;
  std::optional<int64_t> slice;
};

class RankEmitter {
public:
  RankEmitter(const Plan &plan, int64_t rank, ModuleNames &names,
              EmitStatistics &statistics, mlir::OpBuilder builder)
      : plan(plan), rank(rank), names(names), statistics(statistics),
        builder(builder), loc(pipeline::GraphOp(plan.graph).getLoc()) {}

  /// Writes the program at the builder's insertion point.
  mlir::LogicalResult emit();

private:
  // Memory (RankBuffers.cpp).
  mlir::Value declare(llvm::Twine name, stagewright::rank::BufferKind kind,
                      std::optional<Place> place, int64_t depth,
                      mlir::MemRefType type, bool onHost = false);
  mlir::LogicalResult declareArguments();
  void declareResults();
  void setTurns(rank::BufferOp buffer, const std::set<int64_t> &microbatches);
  void declareAccumulator(unsigned number);
  bool keepsLastOnly(int64_t index) const;
  void declareStashes();
  mlir::LogicalResult declareArgument(mlir::BlockArgument argument);

  // Entry (Entry.cpp).
  mlir::LogicalResult emitEntry();
  mlir::LogicalResult emitSegment(const Segment &segment);
  /// Rows of a table: the actions of each, and their microbatch.
  using Rows = std::vector<std::pair<mlir::SmallVector<ActionKey, 2>, int64_t>>;
  mlir::LogicalResult emitTable(const RankOrder &order);
  mlir::LogicalResult emitLanes(llvm::ArrayRef<Lane> lanes);
  mlir::LogicalResult emitRow(mlir::Value row, const Rows &rows);
  mlir::SmallVector<int64_t> lanesAfter(llvm::ArrayRef<Lane> lanes) const;
  mlir::Value constant(int64_t value);
  mlir::Value bound(const SegmentBound &bound);
  mlir::Value countMicrobatches();
  mlir::Value slotOf(mlir::Value buffer, mlir::Value m = {});

  // Actions (Action.cpp).
  void findReleases();
  mlir::LogicalResult emitAction(const ActionKey &key, mlir::Value inOrder);
  Numbers numbersOf(const ActionKey &key, mlir::Value inOrder);
  mlir::LogicalResult emitPart(const ActionKey &key);
  /// The slot in which an action adds up a result of the step, if it does.
  mlir::Value sumOf(int64_t result, const ActionKey &key);
  mlir::LogicalResult emitNode(const ActionKey &key, const NodePlan &node);
  mlir::Value read(mlir::Value value, const ActionKey &key);
  mlir::Value write(mlir::Value value);
  mlir::Value readPart(const ValuePlan &made, const ActionKey &key);
  mlir::Value acquire(mlir::Value value, const StashPlan &stash);
  void distribute(mlir::Value value);
  void passThrough(mlir::BlockArgument argument, int64_t result,
                   const ActionKey &key);
  void emitReleases(const ActionKey &key, unsigned position);
  void emitFetches(const ActionKey &key);
  mlir::Value countTurns(const ActionKey &key);

  // Sums over ranks (Sums.cpp).
  void beginSums(const ActionKey &key, unsigned position);
  void beginLateSums();
  void beginSum(unsigned number, mlir::Value m = {}, mlir::Value last = {});
  void awaitSums();
  bool isSummed(unsigned accumulator) const;

  // Averages over replicas (Averages.cpp).
  void markOwn();
  void declareAverages();
  void emitAverages();
  void combine(unsigned accumulator);

  // The end of the step (End.cpp).
  void emitEnd();
  void sendParts(mlir::Value zero);
  void addParts(mlir::Value zero);
  mlir::Value ownedSlot(int64_t result);
  bool hasEnd() const;

  // The optimizer (Update.cpp).
  mlir::LogicalResult declareUpdate();
  void emitUpdate(mlir::Value zero);
  void sendParameters(mlir::Value zero);
  mlir::Value updateSlot(unsigned number);

  const Plan &plan;
  int64_t rank;
  ModuleNames &names;
  EmitStatistics &statistics;
  mlir::OpBuilder builder;
  mlir::Location loc;

  stagewright::rank::EntryOp entry;
  mlir::Operation *lastConstant = nullptr;
  std::map<int64_t, mlir::Value> constants;
  mlir::Value microbatches; ///< Of the rank's pipeline.
  /// The number of the last microbatch. Set only if the program runs any number
  /// of microbatches and begins a sum before the end of the step.
  mlir::Value lastMicrobatch;
  llvm::StringSet<> bufferNames;
  mlir::Value workspace;
  mlir::DenseMap<unsigned, mlir::Value> arguments; ///< Buffers.
  /// Buffers, by value and the stage that uses them.
  mlir::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> stashes;
  /// Buffers of an offloaded stash: on the host, and for the copy back.
  struct HostBuffers {
    mlir::Value onHost, back;
  };
  llvm::MapVector<std::pair<mlir::Value, int64_t>, HostBuffers> offloaded;
  /// Buffers to fetch, by the first action that uses them.
  std::map<ActionKey, mlir::SmallVector<HostBuffers>> fetches;
  std::map<int64_t, mlir::Value> outputs;       ///< Buffers, by result.
  std::map<unsigned, mlir::Value> accumulators; ///< Buffers, by number.
  /// Buffers of state and constants, by argument of @update.
  std::map<unsigned, mlir::Value> updateBuffers;
  /// Buffers of averages, by number; null where the rank has no part.
  struct AverageBuffers {
    mlir::Value step, sum, snapshot;
  };
  std::vector<AverageBuffers> averageBuffers;
  /// By gather of this rank: its stash, and the first action that reads it.
  std::map<int64_t, std::pair<mlir::Value, ActionKey>> gathers;
  /// Slots that live for the whole step, by buffer.
  mlir::DenseMap<mlir::Value, mlir::Value> slots;
  Numbers numbers; ///< Of the current action.
  /// Memory of the values that the current action has read or written.
  mlir::DenseMap<mlir::Value, mlir::Value> present;
  std::map<int64_t, mlir::Value> gathered; ///< Slots of gathers, by number.
  /// What is released after the node at a position of an action.
  struct Releases {
    mlir::SmallVector<mlir::Value> stashes; ///< Buffers.
    mlir::SmallVector<unsigned> channels;
    /// Buffers: from a stash to one on the host.
    mlir::SmallVector<std::pair<mlir::Value, mlir::Value>> offloads;
  };
  std::map<ActionKey, std::map<unsigned, Releases>> releases;
};

/// The type of a slot for a tensor.
mlir::MemRefType memoryOf(mlir::Type tensor);

/// The collectives of `plan` (Sums.cpp).
void emitCollectives(const Plan &plan, ModuleNames &names,
                     mlir::OpBuilder &builder);

/// Adds what only @update has to the arguments and results of `step`
/// (Update.cpp).
void emitUpdateInterface(const Plan &plan, stagewright::rank::StepOp step);
/// Adds the state of averages and of single replicas to the arguments and
/// results of `step` (Averages.cpp).
void emitAverageInterface(const Plan &plan, stagewright::rank::StepOp step);
/// Creates, by `create`, the channels of packs and of new parameters
/// (Update.cpp).
void emitUpdateChannels(const Plan &plan, ModuleNames &names,
                        llvm::function_ref<mlir::FlatSymbolRefAttr(
                            std::string, int64_t, int64_t, mlir::Type)>
                            create);

/// `depth` as the dialect encodes it; `all` means a slot for every `stride`-th
/// microbatch.
int64_t depthOf(const RingDepth &depth, int64_t stride);

} // namespace stagewright::torank

#endif // STAGEWRIGHT_CONVERSION_PIPELINETORANK_EMIT_RANKEMITTER_H
