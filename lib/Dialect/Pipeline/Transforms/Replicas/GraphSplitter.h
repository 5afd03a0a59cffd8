//===- GraphSplitter.h - a graph with nodes per replica ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes a graph in which every replica of a stage has layers and nodes of its
// own, with bodies for its samples. Layer l of replica i comes after that of
// replica i - 1, so forwards still go up in layers and backwards down.
//
// Between stages whose replicas have different samples, a producer slices what
// it sends (a node `slice` of its layer), and a consumer joins what it receives
// (`join`), once for all its uses. If a value is a sum over the samples, each
// replica makes one summand; consumer i of n receives those of producers i,
// i + n, ... Such values have only linear uses, so every assignment of summands
// gives the same total. A value that does not depend on the samples comes from
// one producer.
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
  /// `shares`: by stage, the samples of each replica; a stage that is not
  /// sliced has one entry.
  GraphSplitter(GraphOp graph, GraphRows &rows,
                llvm::ArrayRef<int64_t> stageOfLayer,
                llvm::ArrayRef<mlir::SmallVector<Samples>> shares,
                mlir::SymbolTable &symbols);

  /// Inserts the new graph after the old one, but in no symbol table.
  GraphOp build();

  /// Number of layer `layer` of replica `replica`.
  int64_t layerOf(int64_t layer, int64_t replica) const {
    return firstLayer[layer] + replica;
  }
  int64_t replicasOf(int64_t stage) const { return shares[stage].size(); }

private:
  /// The phase and layer of a node that slices, joins or adds parts of a value.
  struct Place {
    ActionKind phase;
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
  /// By value of the old graph: the value of each replica that makes it.
  llvm::DenseMap<mlir::Value, mlir::SmallVector<mlir::Value>> made;
  /// By (value, stage, replica): the value as that replica receives it.
  std::map<std::tuple<void *, int64_t, int64_t>, mlir::Value> got;
  /// By (value, replica that made it, samples): the slice for these samples.
  std::map<std::tuple<void *, int64_t, Samples>, mlir::Value> parts;
  std::map<std::tuple<BodyRows *, Samples, std::vector<bool>>,
           mlir::func::FuncOp>
      bodies;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_REPLICAS_GRAPHSPLITTER_H
