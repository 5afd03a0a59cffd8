//===- Scores.cpp - values computed from scores of attention --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scores.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Analysis/Work.h"

namespace stagewright::pipeline {

/// Max number of values to follow; softmax, mask and gradients have about
/// fifty.
constexpr size_t kMostValues = 300;
/// Max depth to which the operands of the operations that make these values are
/// traced back.
constexpr unsigned kDepth = 16;

/// An elementwise operation on whole tensors, such as arith.addf.
static bool isTensorwise(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1;
}

static bool isReshape(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

static bool isElementwise(Operation *op) {
  return isTensorwise(op) || isReshape(op) ||
         (isa<linalg::LinalgOp>(op) && op->getNumResults() != 0 &&
          llvm::all_of(op->getResults(),
                       [](Value result) { return bool(parallelOf(result)); }));
}

SmallVector<unsigned> widelySummed(linalg::LinalgOp op) {
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  llvm::erase_if(dims, [&](unsigned dim) { return extents[dim] == 1; });
  return dims;
}

bool Scores::isFull(Value value) const {
  auto it = axes.find(value);
  if (it == axes.end() || it->second.size() != rank)
    return false;
  llvm::SmallDenseSet<int> dims(it->second.begin(), it->second.end());
  return dims.size() == rank && !dims.contains(-1);
}

SmallVector<int64_t> Scores::indicesOf(Value value, ArrayRef<int> place) const {
  SmallVector<int64_t> indices(rank, kAbsent);
  for (auto [dim, index] : llvm::zip_equal(axes.lookup(value), place))
    if (dim >= 0)
      indices[size_t(dim)] =
          index < 0 || extents[size_t(index)] == 1 ? kZero : index;
  for (auto [index, extent] : llvm::zip_equal(indices, extents))
    if (extent == 1)
      index = kZero;
  return indices;
}

Axes Scores::loopsOf(linalg::LinalgOp op) const {
  Axes loops(op.getNumLoops(), -2);
  auto learn = [&](Value value, AffineMap map) {
    auto known = axes.find(value);
    if (known == axes.end())
      return;
    for (auto [expr, dim] : llvm::zip_equal(map.getResults(), known->second))
      if (auto loop = dyn_cast<AffineDimExpr>(expr))
        if (int &of = loops[loop.getPosition()]; of < 0)
          of = dim;
  };
  for (OpOperand &operand : op->getOpOperands())
    if (!op.isDpsInit(&operand))
      learn(operand.get(), op.getMatchingIndexingMap(&operand));
  for (OpResult result : op->getResults())
    learn(result, op.getMatchingIndexingMap(
                      op.getDpsInitOperand(result.getResultNumber())));
  return loops;
}

/// Replaces -1 by dimensions of the scores of extent 1, if `of` has one axis
/// for each dimension and lacks just those.
void Scores::nameUnits(Axes &of) const {
  SmallVector<int> missing;
  for (int dim = 0; dim < int(rank); ++dim)
    if (!llvm::is_contained(of, dim))
      missing.push_back(dim);
  if (of.size() != rank || missing.size() != size_t(llvm::count(of, -1)) ||
      !llvm::all_of(missing, [&](int dim) { return extents[dim] == 1; }))
    return;
  const int *next = missing.begin();
  for (int &dim : of)
    if (dim < 0)
      dim = *next++;
}

/// Infers unknown axes of operands and results of `op` from known ones.
bool Scores::infer(Operation *op) {
  bool learned = false;
  auto say = [&](Value value, Axes of) {
    nameUnits(of);
    learned |= axes.try_emplace(value, std::move(of)).second;
  };
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    Axes loops = loopsOf(linalgOp);
    auto teach = [&](Value value, AffineMap map) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || axes.contains(value))
        return;
      Axes of;
      for (auto [expr, extent] :
           llvm::zip_equal(map.getResults(), type.getShape())) {
        auto loop = dyn_cast<AffineDimExpr>(expr);
        int dim = loop ? loops[loop.getPosition()] : -1;
        if (dim == -2 && extent != 1)
          return;
        of.push_back(std::max(dim, -1));
      }
      say(value, of);
    };
    for (OpOperand &operand : op->getOpOperands())
      if (!linalgOp.isDpsInit(&operand))
        teach(operand.get(), linalgOp.getMatchingIndexingMap(&operand));
    for (OpResult result : op->getResults())
      teach(result, linalgOp.getMatchingIndexingMap(
                        linalgOp.getDpsInitOperand(result.getResultNumber())));
    return learned;
  }
  if (isReshape(op)) {
    // A reshape may only add and remove axes of extent 1.
    Value from = op->getOperand(0), to = op->getResult(0);
    bool forward = axes.contains(from);
    Value known = forward ? from : to, other = forward ? to : from;
    if (!axes.contains(known) || axes.contains(other))
      return false;
    auto shapeOf = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getShape();
    };
    if (auto of = reshapeAxes(axes[known], shapeOf(known), shapeOf(other)))
      say(other, *of);
    return learned;
  }
  for (Value value : op->getOperands())
    if (auto known = axes.find(value); known != axes.end()) {
      Axes of = known->second;
      say(op->getResult(0), of);
      break;
    }
  if (auto known = axes.find(op->getResult(0)); known != axes.end()) {
    Axes of = known->second;
    for (Value value : op->getOperands())
      if (isa<RankedTensorType>(value.getType()))
        say(value, of);
  }
  return learned;
}

/// Records the elementwise operations that lead to operands of `op`, up to the
/// products that they read.
void Scores::look(Operation *op, unsigned depth) {
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (!maker || depth == 0 || made.contains(operand))
      continue;
    if (isa<linalg::LinalgOp>(maker) && isContraction(maker))
      products.insert(maker);
    else if (isElementwise(maker) && seen.insert(maker))
      look(maker, depth - 1);
  }
}

LogicalResult Scores::visit(Operation *user) {
  if (isElementwise(user)) {
    seen.insert(user);
    look(user, kDepth);
    made.insert(user->result_begin(), user->result_end());
    return success();
  }
  auto op = dyn_cast<linalg::LinalgOp>(user);
  if (!op || !op.hasPureTensorSemantics() || user->getNumResults() != 1)
    return failure();
  if (isContraction(user)) {
    if (llvm::any_of(uses, [&](Use use) { return use.op == op; }))
      return success();
    SmallVector<unsigned> operands;
    for (OpOperand *input : op.getDpsInputOperands())
      if (made.contains(input->get()))
        operands.push_back(input->getOperandNumber());
    if (operands.size() != 1)
      return failure();
    uses.push_back({op, operands[0]});
    return success();
  }
  if (widelySummed(op).size() > 1)
    return failure();
  if (made.insert(user->getResult(0))) {
    seen.insert(user);
    look(user, kDepth);
    reductions.push_back({op, {}});
  }
  return success();
}

LogicalResult Scores::follow() {
  for (; followed < made.size(); ++followed) {
    if (made.size() > kMostValues)
      return failure();
    Value value = made[followed];
    for (Operation *user : value.getUsers())
      if (failed(visit(user)))
        return failure();
  }
  return success();
}

FailureOr<Scores> Scores::collect(linalg::LinalgOp product) {
  Scores scores;
  scores.product = product;
  Value result = product->getResult(0);
  scores.extents.assign(
      cast<RankedTensorType>(result.getType()).getShape().begin(),
      cast<RankedTensorType>(result.getType()).getShape().end());
  scores.rank = unsigned(scores.extents.size());
  Axes &own = scores.axes[result];
  for (unsigned dim = 0; dim < scores.rank; ++dim)
    own.push_back(int(dim));
  scores.made.insert(result);
  while (true) {
    if (failed(scores.follow()))
      return failure();
    bool learned = true;
    while (learned) {
      learned = false;
      for (Operation *op : scores.seen)
        learned |= scores.infer(op);
    }
    Operation *found = nullptr;
    for (Operation *op : scores.products)
      if (!scores.made.contains(op->getResult(0)) &&
          scores.isFull(op->getResult(0)))
        found = op;
    if (!found)
      break;
    if (scores.gradient)
      return failure();
    scores.gradient = cast<linalg::LinalgOp>(found);
    scores.made.insert(found->getResult(0));
  }
  for (Looped &reduction : scores.reductions)
    reduction.loops = scores.loopsOf(reduction.op);
  return scores;
}

} // namespace stagewright::pipeline
