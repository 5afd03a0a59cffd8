//===- Linkage.cpp - which dimensions are split together ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/Linkage.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Analysis/Rows.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

namespace stagewright::pipeline {

//===----------------------------------------------------------------------===//
// Classes of factors
//===----------------------------------------------------------------------===//

unsigned Linkage::add(int64_t size) {
  unsigned number = unsigned(nodes.size());
  nodes.push_back({number, size, {}});
  return number;
}

unsigned Linkage::find(unsigned node) const {
  while (nodes[node].parent != node)
    node = nodes[node].parent = nodes[nodes[node].parent].parent;
  return node;
}

void Linkage::leaves(ArrayRef<unsigned> list, Nodes &result) const {
  for (unsigned node : list) {
    node = find(node);
    if (nodes[node].inner.empty())
      result.push_back(node);
    else
      leaves(nodes[node].inner, result);
  }
}

void Linkage::cut(unsigned node, int64_t outer) {
  int64_t size = nodes[node].size;
  unsigned first = add(outer), second = add(size / outer);
  nodes[node].inner = {first, second};
}

void Linkage::join(ArrayRef<unsigned> left, ArrayRef<unsigned> right) {
  while (true) {
    Nodes a, b;
    leaves(left, a);
    leaves(right, b);
    size_t i = 0;
    while (i < a.size() && i < b.size() && a[i] == b[i])
      ++i;
    if (i == a.size() || i == b.size())
      return;
    int64_t sizeA = nodes[a[i]].size, sizeB = nodes[b[i]].size;
    if (sizeA == sizeB) {
      nodes[a[i]].parent = b[i];
      continue;
    }
    int64_t common = std::gcd(sizeA, sizeB);
    if (common == 1)
      return;
    if (sizeA != common)
      cut(a[i], common);
    if (sizeB != common)
      cut(b[i], common);
  }
}

Linkage::Factors Linkage::factorsOf(ArrayRef<unsigned> list) const {
  Nodes found;
  leaves(list, found);
  Factors factors;
  for (unsigned node : found)
    factors.push_back({node, nodes[node].size});
  return factors;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

SmallVector<Linkage::Nodes> *Linkage::dimsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || unlinked.contains(value))
    return nullptr;
  auto [entry, isNew] = dims.try_emplace(value);
  if (isNew)
    for (int64_t size : type.getShape())
      entry->second.push_back(size > 1 ? Nodes{add(size)} : Nodes());
  return &entry->second;
}

Linkage::Factors Linkage::of(Value value, int64_t dim) const {
  auto found = dims.find(value);
  return found == dims.end() ? Factors() : factorsOf(found->second[dim]);
}

Linkage::Factors Linkage::of(linalg::LinalgOp op, unsigned loop) const {
  auto found = loops.find(op);
  return found == loops.end() ? Factors() : factorsOf(found->second[loop]);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Linkage::Linkage(func::FuncOp step) {
  Block &block = step.getBody().front();
  llvm::DenseMap<int64_t, Value> first; // By position.
  for (BlockArgument argument : step.getArguments()) {
    auto position = step.getArgAttrOfType<IntegerAttr>(
        argument.getArgNumber(), PipelineDialect::kPosition);
    if (!position || !dimsOf(argument))
      continue;
    Value row = first.try_emplace(position.getInt(), argument).first->second;
    if (row.getType() != argument.getType())
      continue;
    SmallVector<Nodes> &own = *dimsOf(argument);
    for (auto [left, right] : llvm::zip_equal(own, *dimsOf(row)))
      join(left, right);
  }
  for (Operation &op : block.without_terminator())
    link(op);
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    auto of = step.getResultAttrOfType<IntegerAttr>(i, PipelineDialect::kOf);
    Value result = block.getTerminator()->getOperand(i);
    if (!of || unlinked.contains(result))
      continue;
    Value parameter = step.getArgument(unsigned(of.getInt()));
    if (parameter.getType() != result.getType())
      continue;
    SmallVector<Nodes> own = *dimsOf(parameter);
    for (auto [left, right] : llvm::zip_equal(own, *dimsOf(result)))
      join(left, right);
  }
}

void Linkage::link(Operation &op) {
  SetVector<Value> reads(op.operand_begin(), op.operand_end());
  getUsedValuesDefinedAbove(op.getRegions(), reads);
  if (llvm::all_of(reads, [&](Value it) { return unlinked.contains(it); })) {
    unlinked.insert(op.result_begin(), op.result_end());
    return;
  }
  for (Value value : reads)
    dimsOf(value);
  for (Value value : op.getResults())
    dimsOf(value);
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](linalg::LinalgOp it) { linkStructured(it); })
      .Case([&](tensor::ExpandShapeOp it) {
        linkReshape(it.getSrc(), it.getResult(), it.getReassociationIndices());
      })
      .Case([&](tensor::CollapseShapeOp it) {
        linkReshape(it.getResult(), it.getSrc(), it.getReassociationIndices());
      })
      .Case([&](tensor::ExtractSliceOp it) {
        linkSlice(it.getResult(), it.getSource(), it.getDroppedDims(),
                  it.getStaticOffsets(), it.getStaticStrides());
      })
      .Case([&](tensor::InsertSliceOp it) {
        linkSlice(it.getSource(), it.getResult(), it.getDroppedDims(),
                  it.getStaticOffsets(), it.getStaticStrides());
        if (SmallVector<Nodes> *dest = dimsOf(it.getDest()))
          for (auto [left, right] :
               llvm::zip_equal(*dest, *dimsOf(it.getResult())))
            join(left, right);
      })
      .Case([&](tensor::PadOp it) {
        SmallVector<int64_t> strides(it.getSourceType().getRank(), 1);
        linkSlice(it.getSource(), it.getResult(),
                  llvm::SmallBitVector(unsigned(strides.size())),
                  it.getStaticLow(), strides);
      });
}

std::optional<unsigned> loopReading(linalg::LinalgOp op, Value value,
                                    int64_t dim) {
  std::optional<unsigned> loop;
  for (OpOperand &use : value.getUses()) {
    if (!op->isProperAncestor(use.getOwner()))
      continue;
    auto read = dyn_cast<tensor::ExtractOp>(use.getOwner());
    auto index = read ? read.getIndices()[dim].getDefiningOp<linalg::IndexOp>()
                      : nullptr;
    if (!index || index->getParentOp() != op ||
        (loop && *loop != index.getDim()))
      return std::nullopt;
    loop = unsigned(index.getDim());
  }
  if (!loop || op.getStaticLoopRanges()[*loop] !=
                   cast<RankedTensorType>(value.getType()).getDimSize(dim))
    return std::nullopt;
  return loop;
}

void Linkage::linkStructured(linalg::LinalgOp op) {
  if (op.hasDynamicShape() || !op.hasPureTensorSemantics())
    return;
  SmallVector<Nodes> &own = loops[op];
  for (int64_t size : op.getStaticLoopRanges())
    own.push_back(size > 1 ? Nodes{add(size)} : Nodes());
  auto joinOperand = [&](Value value, AffineMap map) {
    SmallVector<Nodes> *list = dimsOf(value);
    if (!list)
      return;
    for (auto [nodes, expr] : llvm::zip_equal(*list, map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr))
        join(own[loop.getPosition()], nodes);
  };
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) &&
        op.payloadUsesValueFromOperand(&operand))
      joinOperand(operand.get(), op.getMatchingIndexingMap(&operand));
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    joinOperand(result,
                op.getMatchingIndexingMap(op.getDpsInitOperand(int64_t(i))));
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    if (SmallVector<Nodes> *list = dimsOf(value))
      for (auto [dim, nodes] : llvm::enumerate(*list))
        if (std::optional<unsigned> loop = loopReading(op, value, int64_t(dim)))
          join(own[*loop], nodes);
}

void Linkage::linkReshape(Value small, Value large,
                          ArrayRef<ReassociationIndices> groups) {
  SmallVector<Nodes> whole = *dimsOf(small), parts = *dimsOf(large);
  for (auto [nodes, group] : llvm::zip_equal(whole, groups)) {
    Nodes product;
    for (int64_t dim : group)
      llvm::append_range(product, parts[dim]);
    join(nodes, product);
  }
}

void Linkage::linkRange(Nodes &small, Nodes &large, int64_t first,
                        int64_t count, int64_t size) {
  if (count == size)
    return join(small, large);
  if (ShapedType::isDynamic(first))
    return;
  // Link both dimensions as sequences of chunks: the smaller one is a range of
  // whole chunks of the larger one.
  int64_t chunk = std::gcd(std::gcd(first, count), size);
  if (chunk <= 1)
    return;
  unsigned inner = add(chunk);
  auto chunks = [&](int64_t all) {
    return all == chunk ? Nodes{inner} : Nodes{add(all / chunk), inner};
  };
  join(small, chunks(count));
  join(large, chunks(size));
}

void Linkage::linkSlice(Value small, Value large,
                        const llvm::SmallBitVector &dropped,
                        ArrayRef<int64_t> firsts, ArrayRef<int64_t> strides) {
  if (unlinked.contains(small) || unlinked.contains(large))
    return;
  auto part = cast<RankedTensorType>(small.getType());
  auto whole = cast<RankedTensorType>(large.getType());
  SmallVector<Nodes> *parts = dimsOf(small), *wholes = dimsOf(large);
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    int64_t left = withoutDropped(dropped, dim);
    if (left < 0 || whole.isDynamicDim(dim) || part.isDynamicDim(left) ||
        strides[dim] != 1)
      continue;
    // The references stay valid: linkRange() adds nodes, but no values.
    linkRange((*parts)[left], (*wholes)[dim], firsts[dim],
              part.getDimSize(left), whole.getDimSize(dim));
  }
}

} // namespace stagewright::pipeline
