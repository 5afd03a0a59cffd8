//===- ClusterData.h - clusters as plain data -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversion between pipeline.cluster and Cost/Cluster.h, lossless both ways.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_CLUSTERDATA_H
#define STAGEWRIGHT_ANALYSIS_CLUSTERDATA_H

#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Cost/Cluster.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {

/// The devices, links and fabric of `cluster`.
Cluster readCluster(ClusterOp cluster);

/// Writes `cluster` as an operation at the end of `module`, with an unused
/// name.
ClusterOp writeCluster(mlir::ModuleOp module, const Cluster &cluster);

/// The cluster that a pass uses: `option` (a preset or a file), else the one
/// cluster operation in the module, else the one that the module attribute
/// pipeline.cluster names, else none. Errors are reported at the module or at
/// the cluster operation.
mlir::FailureOr<std::optional<Cluster>> findCluster(mlir::ModuleOp module,
                                                    llvm::StringRef option);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_CLUSTERDATA_H
