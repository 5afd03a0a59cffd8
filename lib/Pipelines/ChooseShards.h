//===- ChooseShards.h - how many devices share a layer ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices can be divided among the shards of a layer, the gangs of a pipeline,
// and copies. For each number of shards (numbersOfShards()), planGroups() finds
// plans for what the options leave open. The plans are tried in the order of
// their expected times, and the fastest is chosen; plans that are expected to
// take at least 10 % longer than the best so far are not tried. Whole layers,
// planned as without shards, are one of the candidates.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_CHOOSESHARDS_H
#define STAGEWRIGHT_LIB_PIPELINES_CHOOSESHARDS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "stagewright/Pipelines/Compile.h"

namespace stagewright {

class DeviceTarget;

struct ShardChoice {
  CompileOptions options; ///< With the chosen shards, stages, copies.
  /// The module with that plan; null if there was nothing to choose.
  mlir::OwningOpRef<mlir::ModuleOp> planned;
  std::vector<mlir::Diagnostic> said; ///< Remarks and warnings of planning.
};

/// The options with the fastest plan of the step of `module`, or `options` if
/// they do not ask for a choice (without shards if layers are already formed).
/// Emits a remark with the time for each number of shards. Does not change the
/// module. Fails if no plan fits, without a cluster, and for searched schedules
/// and schedule files.
mlir::FailureOr<ShardChoice>
chooseShards(mlir::ModuleOp module, const CompileOptions &options,
             const std::shared_ptr<const DeviceTarget> &device);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_CHOOSESHARDS_H
