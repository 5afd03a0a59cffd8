//===- ContractOp.cpp - products and convolutions as one call -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::rank {

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

void ContractOp::build(OpBuilder &builder, OperationState &state, Update update,
                       ArrayRef<AffineMap> maps, Value lhs, Value rhs,
                       Value written) {
  bool isTensor = isa<RankedTensorType>(written.getType());
  build(builder, state, isTensor ? written.getType() : Type(),
        UpdateAttr::get(builder.getContext(), update),
        builder.getAffineMapArrayAttr(maps), /*triangle=*/nullptr,
        /*epilogue=*/nullptr, lhs, rhs, /*bias=*/nullptr, written,
        /*aux=*/nullptr);
}

bool ContractOp::writesAux() {
  return getEpilogue() == Epilogue::GeluAux ||
         getEpilogue() == Epilogue::BiasGeluAux;
}

MutableOperandRange ContractOp::getDpsInitsMutable() {
  unsigned first = getWrittenMutable().getOperandNumber();
  return {getOperation(), first, writesAux() && getAux() ? 2u : 1u};
}

SmallVector<AffineMap> ContractOp::getMaps() {
  return llvm::to_vector(getIndexingMaps().getAsValueRange<AffineMapAttr>());
}

SmallVector<int64_t> ContractOp::getExtents() {
  SmallVector<AffineMap> maps = getMaps();
  SmallVector<int64_t> extents(maps[0].getNumDims(), ShapedType::kDynamic);
  const Value operands[] = {getLhs(), getRhs(), getWritten()};
  for (auto [map, operand] : llvm::zip_equal(maps, operands))
    for (auto [expr, extent] : llvm::zip_equal(
             map.getResults(), cast<ShapedType>(operand.getType()).getShape()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        extents[dim.getPosition()] = extent;
  return extents;
}

bool ContractOp::isConvolution() {
  return llvm::any_of(
      getMaps(), [](AffineMap map) { return !map.isProjectedPermutation(); });
}

/// Checks contract_c1.
static LogicalResult verifyMaps(ContractOp op, ArrayRef<AffineMap> maps,
                                ArrayRef<ShapedType> types) {
  bool isTensor = isa<RankedTensorType>(types[2]);
  for (ShapedType type : types)
    if (isTensor ? !isa<RankedTensorType>(type) : !isa<MemRefType>(type))
      return op.emitOpError("needs either only tensors or only buffers, got ")
             << type;
  bool fits = maps.size() == 3;
  for (size_t i = 0; fits && i < 3; ++i)
    fits = maps[i].getNumSymbols() == 0 &&
           maps[i].getNumDims() == maps[0].getNumDims() &&
           int64_t(maps[i].getNumResults()) == types[i].getRank();
  if (!fits)
    return op.emitOpError("needs a map of the same loops for each of A, B and "
                          "C, with a result for each of its dimensions");
  if (!maps[2].isProjectedPermutation())
    return op.emitOpError() << "needs distinct loops as indices of C, got "
                            << AffineMapAttr::get(maps[2]);
  for (unsigned loop = 0; loop < maps[0].getNumDims(); ++loop)
    if (llvm::count_if(
            maps, [&](AffineMap map) { return map.isFunctionOfDim(loop); }) < 2)
      return op.emitOpError() << "has loop " << loop
                              << ", which indexes fewer than two operands";
  return success();
}

/// Whether `expr` is a sum of loops and constants, each times a constant.
static bool isLinear(AffineExpr expr) {
  bool linear = true;
  expr.walk([&](AffineExpr part) {
    AffineExprKind kind = part.getKind();
    linear &= kind != AffineExprKind::Mod && kind != AffineExprKind::FloorDiv &&
              kind != AffineExprKind::CeilDiv;
  });
  return linear;
}

/// Checks contract_c2.
static LogicalResult verifyExtents(ContractOp op, ArrayRef<AffineMap> maps,
                                   ArrayRef<ShapedType> types) {
  for (ShapedType type : types)
    if (!type.hasStaticShape())
      return op.emitOpError() << "needs static shapes, got " << type;
  SmallVector<int64_t> extents = op.getExtents();
  for (auto [loop, extent] : llvm::enumerate(extents))
    if (ShapedType::isDynamic(extent))
      return op.emitOpError() << "has loop " << loop << " without an extent";
  for (auto [map, type] : llvm::zip_equal(maps, types))
    for (auto [expr, size] :
         llvm::zip_equal(map.getResults(), type.getShape())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      auto indexAt = [&, expr = expr](ArrayRef<int64_t> point) {
        return AffineMap::get(map.getNumDims(), 0, expr).compose(point)[0];
      };
      SmallVector<int64_t> first(extents.size(), 0), last;
      for (int64_t extent : extents)
        last.push_back(std::max<int64_t>(extent - 1, 0));
      int64_t low = indexAt(first), high = low; // at the corners of the loops
      for (auto [loop, end] : llvm::enumerate(last)) {
        SmallVector<int64_t> corner = first;
        corner[loop] = end;
        int64_t change = indexAt(corner) - indexAt(first);
        (change < 0 ? low : high) += change;
      }
      if (dim ? extents[dim.getPosition()] != size
              : !isLinear(expr) || low < 0 || (size > 0 && high >= size))
        return op.emitOpError() << "indexes dimensions of " << type << " by "
                                << AffineMapAttr::get(map)
                                << " with loops of extents " << extents;
    }
  return success();
}

/// Checks contract_c3.
static LogicalResult verifyTriangle(ContractOp op, AffineMap result) {
  std::optional<ArrayRef<int64_t>> triangle = op.getTriangle();
  if (!triangle)
    return success();
  SmallVector<int64_t> extents = op.getExtents();
  auto isLoop = [&](int64_t loop) {
    return loop >= 0 && loop < int64_t(extents.size());
  };
  if (triangle->size() != 2 || !llvm::all_of(*triangle, isLoop) ||
      (*triangle)[0] == (*triangle)[1] ||
      extents[(*triangle)[0]] != extents[(*triangle)[1]] ||
      llvm::none_of(*triangle, [&](int64_t loop) {
        return result.isFunctionOfDim(unsigned(loop));
      }))
    return op.emitOpError()
           << "needs two loops of equal extent, one of which indexes C, as a "
              "triangle; got loops "
           << *triangle << " of " << extents;
  return success();
}

/// Checks contract_c4.
static LogicalResult verifyEpilogue(ContractOp op) {
  std::optional<Epilogue> epilogue = op.getEpilogue();
  bool bias = epilogue == Epilogue::Bias || epilogue == Epilogue::BiasGelu ||
              epilogue == Epilogue::BiasGeluAux;
  bool aux = op.writesAux() || epilogue == Epilogue::Dgelu ||
             epilogue == Epilogue::Add;
  if (bias != bool(op.getBias()) || aux != bool(op.getAux()))
    return op.emitOpError()
           << "has operands that do not fit its epilogue, "
           << (epilogue ? stringifyEpilogue(*epilogue) : "none");
  if (!epilogue)
    return success();
  auto written = dyn_cast<MemRefType>(op.getWritten().getType());
  if (!written || !op.overwrites())
    return op.emitOpError("has an epilogue, but does not overwrite a buffer");
  auto row = written.getShape().take_back();
  auto isOf = [](Value value, ArrayRef<int64_t> shape) {
    auto type = value ? dyn_cast<MemRefType>(value.getType()) : MemRefType();
    return !value || (type && type.getShape() == shape);
  };
  if (isOf(op.getBias(), row) && isOf(op.getAux(), written.getShape()))
    return success();
  return op.emitOpError() << "needs a row of C as bias and an array like C as "
                             "aux, where C is "
                          << written;
}

LogicalResult ContractOp::verify() {
  SmallVector<AffineMap> maps = getMaps();
  SmallVector<ShapedType> types;
  for (Value operand : {getLhs(), getRhs(), getWritten()})
    types.push_back(cast<ShapedType>(operand.getType()));
  return success(succeeded(verifyMaps(*this, maps, types)) &&
                 succeeded(verifyExtents(*this, maps, types)) &&
                 succeeded(verifyTriangle(*this, maps[2])) &&
                 succeeded(verifyEpilogue(*this)));
}

//===----------------------------------------------------------------------===//
// Fallback kernels
//===----------------------------------------------------------------------===//

LogicalResult OtherwiseOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getKernelAttr());
  if (kernel && kernel.getNumResults() == 0 &&
      llvm::equal(kernel.getArgumentTypes(), getArguments().getTypes()))
    return success(); // otherwise_c1
  return emitOpError() << "'" << getKernel()
                       << "' is not a function that takes the operands and "
                          "returns nothing";
}

} // namespace stagewright::rank
