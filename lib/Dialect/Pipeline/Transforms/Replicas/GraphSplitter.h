//===- GraphSplitter.h - a graph with nodes for every replica ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes a graph in which every replica of a stage has layers and nodes of its
// own, with bodies for its samples. Layer l of replica i stands behind that of
// replica i - 1, so forwards go up and backwards down as before.
//
// Between stages of other samples: a producer cuts what it sends (a node
// `slice` of its layer), a consumer puts together what it gets (`join`), once
// for all its uses. A sum over the samples is one number of summands per
// replica; consumer i gets those of the producers i, i + n, ... and only uses
// that are linear exist, so it does not matter who adds which. What does not
// depend on the samples comes from one producer.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_REPLICAS_GRAPHSPLITTER_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_REPLICAS_GRAPHSPLITTER_H

#include "TakeRows.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

namespace stagewright::pipeline {

class GraphSplitter {
public:
  /// `shares`: by stage, the samples of each replica; one for a stage that is
  /// not sliced.
  GraphSplitter(GraphOp graph, GraphRows &rows,
                llvm::ArrayRef<int64_t> stageOfLayer,
                llvm::ArrayRef<mlir::SmallVector<Samples>> shares,
                mlir::SymbolTable &symbols);

  /// The new graph, behind the old one and in no symbol table.
  GraphOp build();

  /// Number of layer `layer` of replica `replica`.
  int64_t layerOf(int64_t layer, int64_t replica) const {
    return firstLayer[layer] + replica;
  }
  int64_t replicasOf(int64_t stage) const { return shares[stage].size(); }

private:
  /// Where something is put together for several uses.
  struct Place {
    Phase phase;
    int64_t layer;
  };

  int64_t stageOf(NodeOp node) const { return stageOfLayer[node.getLayer()]; }
  int64_t makerOf(mlir::Value value) const {
    return stageOf(value.getDefiningOp<NodeOp>());
  }
  void addNode(NodeOp node, int64_t replica);
  void addYield(YieldOp yield);
  mlir::func::FuncOp bodyFor(NodeOp node, int64_t replica);
  mlir::Value valueFor(mlir::Value value, int64_t stage, int64_t replica);
  mlir::Value received(mlir::Value value, int64_t stage, int64_t replica);
  mlir::Value sumOf(mlir::Value value, int64_t first, int64_t step, Place at,
                    int64_t replica);
  mlir::Value rowsOf(mlir::Value value, Samples samples, Place at,
                     int64_t replica);
  mlir::Value partOf(mlir::Value value, int64_t maker, Samples samples);
  Place firstUse(mlir::Value value, int64_t stage) const;
  mlir::Value call(mlir::func::FuncOp function, llvm::StringRef name, Place at,
                   int64_t replica, mlir::ValueRange inputs,
                   mlir::Location loc);
  std::string nameFor(llvm::StringRef name, int64_t stage, int64_t replica);

  GraphOp graph;
  GraphRows &rows;
  llvm::ArrayRef<int64_t> stageOfLayer;
  llvm::ArrayRef<mlir::SmallVector<Samples>> shares;
  mlir::SymbolTable &symbols;
  mlir::OpBuilder builder;
  mlir::SmallVector<int64_t> firstLayer;
  llvm::StringSet<> names;
  /// By value of the old graph: that of each replica of its maker.
  llvm::DenseMap<mlir::Value, mlir::SmallVector<mlir::Value>> made;
  /// (value, stage, replica) that has received it.
  std::map<std::tuple<void *, int64_t, int64_t>, mlir::Value> got;
  /// (value, replica that made it, samples).
  std::map<std::tuple<void *, int64_t, Samples>, mlir::Value> parts;
  std::map<std::tuple<BodyRows *, Samples, std::vector<bool>>,
           mlir::func::FuncOp>
      bodies;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_REPLICAS_GRAPHSPLITTER_H
