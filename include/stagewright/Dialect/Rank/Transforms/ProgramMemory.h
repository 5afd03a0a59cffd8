//===- ProgramMemory.h - bytes of a rank program ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory of a rank program, by purpose. A slot takes its bytes rounded up
// to 64, a ring the sum of its slots. The ring of a channel is allocated at the
// receiver for the whole step. The arena, which the runtime allocates, is the
// sum without the bytes that stashes and workspace share.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_RANK_TRANSFORMS_PROGRAMMEMORY_H
#define STAGEWRIGHT_DIALECT_RANK_TRANSFORMS_PROGRAMMEMORY_H

#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Dialect/Rank/Transforms/Machine.h"

namespace stagewright::rank {

/// Bytes of one rank.
struct ProgramMemory {
  int64_t parameters = 0; ///< Including constants and seeds.
  int64_t gradients = 0;
  int64_t state = 0;     ///< Of the optimizer.
  int64_t batch = 0;     ///< Including microbatch numbers.
  int64_t outputs = 0;   ///< Including accumulators.
  int64_t stash = 0;     ///< All slots of all stashes.
  int64_t transfers = 0; ///< Rings of the channels that end here.
  int64_t workspace = 0;
  int64_t shared = 0;   ///< Stashes placed in the workspace.
  int64_t host = 0;     ///< Stashes in host memory; not part of the arena.
  int64_t livePeak = 0; ///< Max bytes in use at once.
  /// Lower bound of arena(): livePeak with temporaries packed without gaps.
  int64_t bound = 0;

  int64_t arena() const {
    return parameters + gradients + state + batch + outputs + stash +
           transfers + workspace - shared;
  }
};

/// Unrolls the programs of `module` for `microbatches` microbatches (0: the
/// number they were made for); emits an error if it cannot evaluate one. Ranks
/// must be numbered 0, 1, 2, … in any order of the programs.
mlir::FailureOr<Machine> unroll(mlir::ModuleOp module, int64_t microbatches);

/// Memory of `program`, whose events are `events`, for `microbatches`
/// microbatches.
ProgramMemory computeMemory(ProgramOp program, const RankEvents &events,
                            int64_t microbatches);

/// Sets the attribute `memory` of every program of `module`, for the number of
/// microbatches that the module was made for. Call it again after the size of a
/// workspace has changed.
mlir::LogicalResult updateMemory(mlir::ModuleOp module);

} // namespace stagewright::rank

#endif // STAGEWRIGHT_DIALECT_RANK_TRANSFORMS_PROGRAMMEMORY_H
