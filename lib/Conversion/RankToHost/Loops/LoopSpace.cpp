//===- LoopSpace.cpp - loops and accesses of a linalg operation -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::host {

FailureOr<Place> locate(OpBuilder &builder, Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  Place place;
  if (!type || !type.hasStaticShape() ||
      failed(type.getStridesAndOffset(place.strides, place.offset)) ||
      llvm::any_of(place.strides, ShapedType::isDynamic))
    return failure();
  Location loc = buffer.getLoc();
  bool known = !ShapedType::isDynamic(place.offset);
  auto add = [&](Value value, int64_t stride) {
    Value factor = arith::ConstantIndexOp::create(builder, loc, stride);
    value = arith::MulIOp::create(builder, loc, value, factor);
    place.start = place.start
                      ? arith::AddIOp::create(builder, loc, place.start, value)
                      : value;
  };
  // Views of one allocation share its aligned pointer.
  while (Operation *view = buffer.getDefiningOp()) {
    if (auto slice = dyn_cast<memref::SubViewOp>(view)) {
      if (!known) {
        SmallVector<int64_t> strides;
        int64_t offset;
        if (failed(slice.getSourceType().getStridesAndOffset(strides, offset)))
          return failure();
        int64_t sum = 0;
        for (auto [index, stride] :
             llvm::zip_equal(slice.getMixedOffsets(), strides)) {
          if (ShapedType::isDynamic(stride))
            return failure();
          if (auto number = getConstantIntValue(index))
            sum += *number * stride;
          else
            add(cast<Value>(index), stride);
        }
        place.offset =
            (ShapedType::isDynamic(place.offset) ? 0 : place.offset) + sum;
        known = !ShapedType::isDynamic(offset);
        if (known)
          place.offset += offset;
      }
      buffer = slice.getSource();
    } else if (isa<memref::CastOp, memref::CollapseShapeOp,
                   memref::ExpandShapeOp>(view)) {
      buffer = view->getOperand(0);
    } else {
      break;
    }
  }
  if (!known) {
    if (ShapedType::isDynamic(place.offset))
      place.offset = 0;
    add(memref::ExtractStridedMetadataOp::create(builder, loc, buffer)
            .getOffset(),
        1);
  }
  place.buffer = buffer;
  return place;
}

/// Adds `factor` times `expr` to the steps and the offset; false if it is not
/// linear.
static bool addLinear(AffineExpr expr, int64_t factor, Access &access) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    access.steps[dim.getPosition()] += factor;
    return true;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    access.place.offset += factor * constant.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, access) &&
           addLinear(binary.getRHS(), factor, access);
  auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && scale &&
         addLinear(binary.getLHS(), factor * scale.getValue(), access);
}

static bool isElement(Type type) {
  if (type.isInteger(1) || type.isIndex())
    return true;
  if (!isa<FloatType, IntegerType>(type))
    return false;
  unsigned bits = type.getIntOrFloatBitWidth();
  return (bits == 8 && isa<IntegerType>(type)) || bits == 16 || bits == 32 ||
         bits == 64;
}

void LoopSpace::forEachAccess(function_ref<void(Access &)> callback) {
  for (Access &access : accesses)
    callback(access);
  for (auto &entry : loads)
    callback(entry.second);
}

/// Adds the accesses of the loads in the body. Of their indices, those of loops
/// become steps and constants become offsets; the body computes the others.
/// False if a load has no access of this form.
bool LoopSpace::addLoads(OpBuilder &builder) {
  for (Operation &op : body()) {
    auto load = dyn_cast<memref::LoadOp>(op);
    if (!load)
      continue;
    FailureOr<Place> place = locate(builder, load.getMemRef());
    if (failed(place) || !isElement(load.getType()))
      return false;
    Access access{*place, load.getType(), {}, {}};
    access.steps.assign(numLoops(), 0);
    for (auto [index, stride] :
         llvm::zip_equal(load.getIndices(), place->strides)) {
      APInt constant;
      if (auto number = index.getDefiningOp<linalg::IndexOp>())
        access.steps[number.getDim()] += stride;
      else if (matchPattern(index, m_ConstantInt(&constant)))
        access.place.offset += constant.getSExtValue() * stride;
      else
        access.computed.emplace_back(index, stride);
    }
    loads[load] = std::move(access);
  }
  return true;
}

void LoopSpace::eraseLoop(unsigned loop) {
  extents.erase(extents.begin() + loop);
  reduced.erase(reduced.begin() + loop);
  forEachAccess(
      [&](Access &access) { access.steps.erase(access.steps.begin() + loop); });
  for (int &counts : counter)
    counts = counts == int(loop) ? -1 : counts - (counts > int(loop));
}

void LoopSpace::dropUnitLoops() {
  for (unsigned loop = numLoops(); loop-- > 0;)
    if (extents[loop] == 1)
      eraseLoop(loop);
}

/// Merges two adjacent loops if every access moves as far in one iteration of
/// the outer loop as in all of the inner, and nothing reads the index of
/// either. The order of iterations stays the same.
void LoopSpace::mergeLoops() {
  auto merges = [&](unsigned outer, unsigned inner) {
    if (reduced[outer] != reduced[inner] ||
        llvm::is_contained(counter, int(outer)) ||
        llvm::is_contained(counter, int(inner)))
      return false;
    bool all = true;
    forEachAccess([&](Access &access) {
      all &= access.steps[outer] == access.steps[inner] * extents[inner];
    });
    return all;
  };
  for (unsigned inner = numLoops(); inner-- > 1;)
    if (merges(inner - 1, inner)) {
      extents[inner] *= extents[inner - 1];
      eraseLoop(inner - 1);
    }
}

FailureOr<LoopSpace> LoopSpace::get(OpBuilder &builder, linalg::LinalgOp op) {
  LoopSpace space;
  space.op = op;
  space.extents = op.getStaticLoopRanges();
  if (!op.hasPureBufferSemantics() ||
      llvm::any_of(space.extents, ShapedType::isDynamic) ||
      llvm::is_contained(space.extents, 0))
    return failure();
  for (utils::IteratorType iterator : op.getIteratorTypesArray())
    space.reduced.push_back(iterator == utils::IteratorType::reduction);
  for (OpOperand &operand : op->getOpOperands()) {
    Access access;
    access.steps.assign(space.numLoops(), 0);
    access.element = getElementTypeOrSelf(operand.get().getType());
    if (!isElement(access.element))
      return failure();
    if (isa<MemRefType>(operand.get().getType())) {
      FailureOr<Place> place = locate(builder, operand.get());
      if (failed(place))
        return failure();
      access.place = *place;
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (auto [expr, stride] :
           llvm::zip_equal(map.getResults(), place->strides))
        if (!addLinear(expr, stride, access))
          return failure();
    }
    space.accesses.push_back(std::move(access));
  }
  if (!space.addLoads(builder))
    return failure();
  // Indices that only loads read are already in the steps of the loads.
  space.counter.assign(space.numLoops(), -1);
  for (auto number : space.body().getOps<linalg::IndexOp>())
    if (!llvm::all_of(number->getUsers(), llvm::IsaPred<memref::LoadOp>))
      space.counter[number.getDim()] = number.getDim();
  space.dropUnitLoops();
  space.mergeLoops();
  return space;
}

} // namespace stagewright::host
