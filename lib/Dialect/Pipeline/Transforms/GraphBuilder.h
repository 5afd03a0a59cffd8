//===- GraphBuilder.h - write nodes and their bodies ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes a `pipeline.graph` for a step whose operations have layers. Backward
// operations that other layers depend on go to node I of their layer, others to
// W. Nodes are in an order in which they can run (F of the first to the last
// layer, then I and W from the last to the first), arguments of a body in the
// order of first use, results that other layers read first: so equal layers get
// equal bodies.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_GRAPHBUILDER_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_GRAPHBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Analysis/ResultParts.h"
#include "stagewright/Analysis/Stash.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::pipeline {

class GraphBuilder {
public:
  GraphBuilder(const StepGraph &graph, const Layers &layers, const Stash &stash,
               llvm::ArrayRef<ResultPart> parts)
      : graph(graph), layers(layers), stash(stash), parts(parts) {}

  /// Inserts the graph and the bodies after the step function, which stays.
  mlir::FailureOr<GraphOp> build();

private:
  /// A node and the contents of its body.
  struct Node {
    int layer;
    ActionKind phase;
    std::vector<unsigned> own;  // operations assigned to it, in program order
    std::vector<unsigned> body; // all operations in order, copies included
    /// Operations in `body` that are free, repeated or compute scalars.
    llvm::DenseSet<unsigned> copies;
    llvm::SetVector<mlir::Value> inputs;
    llvm::SetVector<mlir::Value> exports; // values that other nodes read
    std::vector<unsigned> yields;         // indices into `parts`
    llvm::SmallVector<mlir::Value> outputs;
  };

  int nodeNumber(int layer, ActionKind phase) const;
  void assignNodes();
  void assignYields();
  int nodeOfYield(const ResultPart &part) const;
  int ownerOf(mlir::Value value, const Node &reader) const;
  bool isCopiedInto(const Node &node, unsigned number) const;
  void emit(Node &node, unsigned number);
  void need(Node &node, mlir::Value value);
  void plan();
  void orderOutputs(Node &node);
  mlir::func::FuncOp makeFunction(Node &node, llvm::StringRef name);

  const StepGraph &graph;
  const Layers &layers;
  const Stash &stash;
  llvm::ArrayRef<ResultPart> parts;
  std::vector<Node>
      nodes; // F of every layer, then I and W from the last layer down
  /// Per operation; -1 if it is free, computes scalars or is not live.
  std::vector<int> nodeOf;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_GRAPHBUILDER_H
