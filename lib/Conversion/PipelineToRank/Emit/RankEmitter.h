//===- RankEmitter.h - writes the program of one rank -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes what a plan decided, rank by rank; decides nothing. What all ranks
// share is in Module.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_PIPELINETORANK_EMIT_RANKEMITTER_H
#define STAGEWRIGHT_CONVERSION_PIPELINETORANK_EMIT_RANKEMITTER_H

#include "../Plan.h"
#include "llvm/ADT/StringSet.h"

namespace stagewright::torank {

/// Names that all programs share.
struct ModuleNames {
  mlir::SymbolTable &symbols;
  std::vector<mlir::FlatSymbolRefAttr> channels; ///< By number in the plan.
  /// Of the parts of gradients that travel, by number of the accumulator.
  std::map<unsigned, mlir::FlatSymbolRefAttr> parts;
  std::vector<mlir::FlatSymbolRefAttr> sums; ///< By bucket.
  /// Of packs of an update, by pack and receiver.
  std::map<std::pair<unsigned, int64_t>, mlir::FlatSymbolRefAttr> packs;
  /// Of new parameters, by argument of the graph and receiver.
  std::map<std::pair<unsigned, int64_t>, mlir::FlatSymbolRefAttr> parameters;
  Variants variants;
  llvm::DenseSet<mlir::Operation *> called;
};

/// A microbatch by its numbers.
struct Numbers {
  mlir::Value inOrder; ///< Within its pipeline, as orders count.
  mlir::Value ofStep;
  mlir::Value turn; ///< Of its route: slots and messages go by it.
};

/// Position and slice of argument or result `index` of the graph.
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
  // Memory (Memory.cpp).
  mlir::Value declare(llvm::Twine name, stagewright::rank::BufferKind kind,
                      std::optional<Place> place, int64_t depth,
                      mlir::MemRefType type, bool onHost = false);
  mlir::LogicalResult declareArguments();
  void declareResults();
  void declareAccumulator(unsigned number);
  bool keepsLastOnly(int64_t index) const;
  void declareStashes();
  mlir::LogicalResult declareArgument(mlir::BlockArgument argument);

  // Entry (Entry.cpp).
  mlir::LogicalResult emitEntry();
  mlir::LogicalResult emitSegment(const Segment &segment);
  mlir::LogicalResult emitTable(const RankOrder &order);
  mlir::Value constant(int64_t value);
  mlir::Value bound(const SegmentBound &bound);
  mlir::Value countMicrobatches();
  mlir::Value slotOf(mlir::Value buffer, mlir::Value m = {});

  // Actions (Action.cpp).
  void findReleases();
  mlir::LogicalResult emitAction(const ActionKey &key, mlir::Value inOrder);
  Numbers numbersOf(const ActionKey &key, mlir::Value inOrder);
  mlir::LogicalResult emitPart(const ActionKey &key);
  mlir::LogicalResult emitNode(const ActionKey &key, const NodePlan &node);
  mlir::Value read(mlir::Value value, const ActionKey &key);
  mlir::Value write(mlir::Value value);
  mlir::Value stashOf(mlir::Value value, const ValuePlan &made) const;
  void distribute(mlir::Value value);
  void passThrough(int64_t result, const ActionKey &key);
  void emitReleases(const ActionKey &key, unsigned position);
  void emitFetches(const ActionKey &key);
  mlir::Value countTurns(const ActionKey &key);

  // Sums over ranks (Sums.cpp).
  void beginSums(const ActionKey &key, unsigned position);
  void beginLateSums();
  void beginSum(unsigned number, mlir::Value m = {}, mlir::Value last = {});
  void awaitSums();
  bool isSummed(unsigned accumulator) const;

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
  /// Where the program runs any number of them.
  mlir::Value lastMicrobatch;
  llvm::StringSet<> bufferNames;
  mlir::Value workspace;
  mlir::DenseMap<unsigned, mlir::Value> arguments; ///< Buffers.
  /// Buffers, by value and the stage that uses them.
  mlir::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> stashes;
  /// Of offloaded stashes: where they wait, and where they come back to.
  struct HostBuffers {
    mlir::Value onHost, back;
  };
  llvm::MapVector<std::pair<mlir::Value, int64_t>, HostBuffers> offloaded;
  /// By the action that uses them first.
  std::map<ActionKey, mlir::SmallVector<HostBuffers>> fetches;
  std::map<int64_t, mlir::Value> outputs;       ///< Buffers, by result.
  std::map<unsigned, mlir::Value> accumulators; ///< Buffers, by number.
  /// Buffers of state and constants, by argument of @update.
  std::map<unsigned, mlir::Value> updateBuffers;
  /// Slots that are there for the whole step.
  mlir::DenseMap<mlir::Value, mlir::Value> slots;
  Numbers numbers; ///< Of the action at hand.
  /// Memory of the values that it has touched.
  mlir::DenseMap<mlir::Value, mlir::Value> present;
  /// What is released after node `position` of an action.
  struct Releases {
    mlir::SmallVector<mlir::Value> stashes; ///< Buffers.
    mlir::SmallVector<unsigned> channels;
    /// Buffers: from a stash to one on the host.
    mlir::SmallVector<std::pair<mlir::Value, mlir::Value>> offloads;
  };
  std::map<ActionKey, std::map<unsigned, Releases>> releases;
};

/// The slot that holds a tensor.
mlir::MemRefType memoryOf(mlir::Type tensor);

/// The collectives of `plan` (Sums.cpp).
void emitCollectives(const Plan &plan, ModuleNames &names,
                     mlir::OpBuilder &builder);

/// Adds what @update has and the step has not to the step's signature, and the
/// channels of packs and parameters (Update.cpp).
void emitUpdateInterface(const Plan &plan, stagewright::rank::StepOp step);
void emitUpdateChannels(const Plan &plan, ModuleNames &names,
                        llvm::function_ref<mlir::FlatSymbolRefAttr(
                            std::string, int64_t, int64_t, mlir::Type)>
                            create);

/// As the dialect writes it, where every so many-th microbatch has a slot.
int64_t depthOf(const RingDepth &depth, int64_t stride);

} // namespace stagewright::torank

#endif // STAGEWRIGHT_CONVERSION_PIPELINETORANK_EMIT_RANKEMITTER_H
