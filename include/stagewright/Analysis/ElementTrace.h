//===- ElementTrace.h - elements traced back to their values ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates one element of a tensor, in any algebra, by tracing definitions
// back to values whose elements are given: through fills, casts, reshapes,
// elementwise operations, and linalg operations that compute each element
// independently. What is known of an index is a value of type Index, so one
// evaluation can hold for all elements.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_ELEMENTTRACE_H
#define STAGEWRIGHT_ANALYSIS_ELEMENTTRACE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/Support/SaveAndRestore.h"

namespace stagewright {

/// The linalg operation that makes `value`, if it is no fill and computes each
/// element independently, at its own loop indices; else null.
linalg::LinalgOp parallelOf(Value value);

/// `T`: an element. `Index`: what is known of an index; equality is needed.
template <typename T, typename Index> class ElementTrace {
public:
  using Place = SmallVector<Index, 6>;

  virtual ~ElementTrace() = default;

protected:
  ElementTrace() = default;
  ElementTrace(const ElementTrace &) = default;
  ElementTrace &operator=(const ElementTrace &) = default;

  /// The element if it is given; unknown() if it must not be traced; none if it
  /// shall be traced. `value` is in the body of `op`, whose loop indices are
  /// `place`; or `op` is null, and `place` has one index for each axis of
  /// `value`.
  virtual std::optional<T> given(linalg::LinalgOp op, Value value,
                                 ArrayRef<Index> place) = 0;
  /// The result of an elementwise operation on tensors or scalars.
  virtual T apply(Operation *op, ArrayRef<T> operands) = 0;
  /// An element that cannot be traced.
  virtual T unknown() const = 0;
  /// The index 0.
  virtual Index zero() const = 0;
  /// Indices of the operand of a tensor.expand_shape or tensor.collapse_shape
  /// at indices `place` of its result; none if they are not known.
  virtual std::optional<Place> beforeReshape(Operation *, ArrayRef<Index>) {
    return std::nullopt;
  }

  /// Begins an evaluation: forgets the elements of earlier ones, because
  /// given() may return others by now.
  void begin() {
    steps = kMostSteps;
    known.clear();
  }
  /// The element of `value` at `place`.
  T element(Value value, ArrayRef<Index> place) {
    return recall({}, value, place);
  }
  /// The value of `value`, in the body of `op`, at loop indices `loops`.
  T inBody(linalg::LinalgOp op, Value value, ArrayRef<Index> loops) {
    return recall(op, value, loops);
  }

private:
  /// Max number of values evaluated in one evaluation.
  static constexpr unsigned kMostSteps = 20000;
  /// Max depth of the recursion: a file may have chains of operations of any
  /// length.
  static constexpr unsigned kMostDepth = 2000;

  T recall(linalg::LinalgOp op, Value value, ArrayRef<Index> place) {
    for (auto &[at, found] : known[{value, op}])
      if (ArrayRef<Index>(at) == place)
        return found;
    if (steps == 0 || depth == kMostDepth)
      return unknown();
    --steps;
    llvm::SaveAndRestore deeper(depth, depth + 1);
    std::optional<T> found = given(op, value, place);
    if (!found)
      found = op ? ofScalar(op, value, place) : ofTensor(value, place);
    known[{value, op}].push_back({Place(place), *found});
    return *found;
  }

  /// A value outside every body. A scalar has no indices.
  T ofTensor(Value value, ArrayRef<Index> place) {
    Operation *maker = value.getDefiningOp();
    if (!maker)
      return unknown();
    if (auto fill = dyn_cast<linalg::FillOp>(maker))
      return element(fill.getInputs()[0], {});
    if (linalg::LinalgOp op = parallelOf(value)) {
      unsigned result = cast<OpResult>(value).getResultNumber();
      AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
      Place loops(map.getNumDims(), zero());
      for (auto [i, index] : llvm::enumerate(place))
        loops[map.getDimPosition(unsigned(i))] = index;
      return inBody(op, op.getBlock()->getTerminator()->getOperand(result),
                    loops);
    }
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(maker)) {
      std::optional<Place> before = beforeReshape(maker, place);
      return before ? element(maker->getOperand(0), *before) : unknown();
    }
    if (isa<tensor::CastOp>(maker))
      return element(maker->getOperand(0), place);
    if (!OpTrait::hasElementwiseMappableTraits(maker) ||
        maker->getNumResults() != 1)
      return unknown();
    SmallVector<T> operands;
    for (Value operand : maker->getOperands())
      operands.push_back(
          element(operand, isa<RankedTensorType>(operand.getType())
                               ? place
                               : ArrayRef<Index>()));
    return apply(maker, operands);
  }

  /// A value that the body of `op` defines or captures.
  T ofScalar(linalg::LinalgOp op, Value value, ArrayRef<Index> loops) {
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == op.getBlock()) {
      OpOperand &operand = op->getOpOperand(argument.getArgNumber());
      if (op.isDpsInit(&operand))
        return unknown();
      Place place;
      for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        if (!dim && expr != getAffineConstantExpr(0, expr.getContext()))
          return unknown();
        place.push_back(dim ? loops[dim.getPosition()] : zero());
      }
      return element(operand.get(), place);
    }
    Operation *maker = value.getDefiningOp();
    if (!maker || maker->getBlock() != op.getBlock() ||
        maker->hasTrait<OpTrait::ConstantLike>())
      return isa<ShapedType>(value.getType()) ? unknown() : element(value, {});
    SmallVector<T> operands;
    for (Value operand : maker->getOperands())
      operands.push_back(inBody(op, operand, loops));
    return apply(maker, operands);
  }

  using Elements = SmallVector<std::pair<Place, T>, 1>;

  DenseMap<std::pair<Value, Operation *>, Elements> known;
  unsigned steps = 0; ///< left in this evaluation
  unsigned depth = 0; ///< of the recursion
};

} // namespace stagewright

#endif // STAGEWRIGHT_ANALYSIS_ELEMENTTRACE_H
