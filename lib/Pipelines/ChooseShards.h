//===- ChooseShards.h - how many devices share a layer ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices can be given to shards of a layer, to stages and to copies. Where
// nobody says how many of each, a step is planned for every product of these
// numbers that takes all devices, and the fastest counts. Whole layers, with
// the replicas and schedules that the planner finds for them, are one of the
// candidates.
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
  CompileOptions options; ///< With the numbers of shards, stages and copies.
  /// The module, planned so; null where there was nothing to choose.
  mlir::OwningOpRef<mlir::ModuleOp> planned;
  std::vector<mlir::Diagnostic> said; ///< While it was planned; no errors.
};

/// The numbers that plan the step of `module` fastest, or `options` as they are
/// where none are to be chosen. Says what each number of shards would take. The
/// module stays as it is. Fails with an error where no plan fits, and where the
/// options leave no choice.
mlir::FailureOr<ShardChoice>
chooseShards(mlir::ModuleOp module, const CompileOptions &options,
             const std::shared_ptr<const DeviceTarget> &device);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_CHOOSESHARDS_H
