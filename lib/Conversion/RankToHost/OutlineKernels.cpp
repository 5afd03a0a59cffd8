//===- OutlineKernels.cpp - every loop nest a function, equal ones once -===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTOUTLINEKERNELS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

/// The buffer a view looks at. Places in the workspace count as buffers: two
/// that live at once are apart.
Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<memref::ViewOp>(view.getOperation()))
      return buffer;
    buffer = view.getViewSource();
  }
  return buffer;
}

/// Whether a pointer alone describes a buffer of this type.
bool isBarePointer(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return type.hasStaticShape() &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

bool isKernel(Operation &op) {
  if (isa<linalg::ContractOp>(op) || op.hasAttr(kConvolution) ||
      op.hasAttr(kEpilogue))
    return false;
  if (isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::ParallelOp>(op))
    return op.getNumResults() == 0;
  return isa<linalg::LinalgOp, memref::CopyOp>(op) && op.getNumResults() == 0;
}

/// Writes what a rank program does to a slot as a loop nest on `mapping`'s
/// values.
void writeSlotOp(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  Location loc = op->getLoc();
  bool hasSource = isa<rank::CopyOp, rank::AddOp>(op);
  Value target = mapping.lookup(op->getOperand(hasSource ? 1 : 0));
  auto type = cast<MemRefType>(target.getType());
  Type element = type.getElementType();
  if (isa<rank::CopyOp>(op)) {
    linalg::makeMemRefCopyOp(builder, loc, mapping.lookup(op->getOperand(0)),
                             target);
    return;
  }
  if (isa<rank::ZeroOp>(op)) {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
    linalg::FillOp::create(builder, loc, zero, target);
    return;
  }
  SmallVector<Value> inputs;
  Value count;
  if (hasSource) {
    inputs.push_back(mapping.lookup(op->getOperand(0)));
  } else {
    Value number = mapping.lookup(cast<rank::CombineOp>(op).getCount());
    number =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
    count = arith::UIToFPOp::create(builder, loc, element, number);
  }
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  linalg::GenericOp::create(
      builder, loc, TypeRange(), inputs, ValueRange{target}, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        Value result;
        if (count)
          result = arith::DivFOp::create(b, l, args[0], count);
        else if (isa<FloatType>(element))
          result = arith::AddFOp::create(b, l, args[1], args[0]);
        else
          result = arith::AddIOp::create(b, l, args[1], args[0]);
        linalg::YieldOp::create(b, l, result);
      });
}

struct HostOutlineKernelsPass
    : impl::HostOutlineKernelsBase<HostOutlineKernelsPass> {
  using HostOutlineKernelsBase::HostOutlineKernelsBase;

  llvm::StringMap<func::FuncOp> known;

  void runOnOperation() override {
    known.clear();
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> bodies;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isBody(function))
        bodies.push_back(function);
    for (func::FuncOp body : bodies)
      for (Operation &op : llvm::make_early_inc_range(body.front()))
        if (isKernel(op))
          outline(&op, symbols);
    SmallVector<Operation *> slotOps;
    for (auto program : getOperation().getOps<rank::ProgramOp>())
      program.walk([&](Operation *op) {
        if (isa<rank::ZeroOp, rank::CopyOp, rank::AddOp, rank::CombineOp>(op))
          slotOps.push_back(op);
      });
    for (Operation *op : slotOps) {
      auto combine = dyn_cast<rank::CombineOp>(op);
      if (combine && combine.getCombine() == rank::Combine::Sum)
        op->erase(); // a sum is what the buffer holds
      else
        outline(op, symbols);
    }
  }

  /// Collects what `op` reads from outside. Constants, and views that a bare
  /// pointer cannot describe, move inside.
  void collect(Operation *op, SetVector<Value> &arguments,
               SetVector<Operation *> &moved) {
    SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    for (Value value : used) {
      Operation *maker = value.getDefiningOp();
      auto type = dyn_cast<MemRefType>(value.getType());
      bool inside =
          maker &&
          (maker->hasTrait<OpTrait::ConstantLike>() ||
           (type && !isBarePointer(type) && isa<ViewLikeOpInterface>(maker)));
      if (!inside) {
        arguments.insert(value);
      } else if (!moved.contains(maker)) {
        collect(maker, arguments, moved);
        moved.insert(maker);
      }
    }
  }

  void outline(Operation *op, SymbolTable &symbols) {
    Location loc = op->getLoc();
    OpBuilder builder(op);
    SetVector<Value> arguments;
    SetVector<Operation *> moved;
    collect(op, arguments, moved);

    auto kernel = func::FuncOp::create(
        loc, "kernel",
        builder.getFunctionType(TypeRange(arguments.getArrayRef()), {}));
    kernel.setPrivate();
    kernel->setAttr("host.kernel", builder.getUnitAttr());
    promiseNoAlias(kernel, arguments.getArrayRef());
    Block *entry = kernel.addEntryBlock();
    IRMapping mapping;
    mapping.map(arguments.getArrayRef(), entry->getArguments());
    builder.setInsertionPointToStart(entry);
    for (Operation *maker : moved)
      builder.clone(*maker, mapping);
    if (auto copy = dyn_cast<memref::CopyOp>(op))
      linalg::makeMemRefCopyOp(builder, loc, mapping.lookup(copy.getSource()),
                               mapping.lookup(copy.getTarget()));
    else if (isa<rank::RankDialect>(op->getDialect()))
      writeSlotOp(builder, op, mapping);
    else
      builder.clone(*op, mapping);
    func::ReturnOp::create(builder, loc);
    ++numOutlined;

    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel->print(stream, OpPrintingFlags().useLocalScope().assumeVerified());
    func::FuncOp &shared = known[text];
    if (!shared) {
      kernel.setName("kernel." + std::to_string(known.size() - 1));
      symbols.insert(kernel);
      shared = kernel;
      ++numUnique;
    } else {
      kernel.erase();
    }
    builder.setInsertionPoint(op);
    func::CallOp::create(builder, loc, shared, arguments.getArrayRef());
    op->erase();
  }

  /// An argument whose buffer no other argument looks at cannot alias.
  void promiseNoAlias(func::FuncOp kernel, ArrayRef<Value> arguments) {
    DenseMap<Value, unsigned> views;
    for (Value argument : arguments)
      if (isa<MemRefType>(argument.getType()))
        ++views[rootOf(argument)];
    for (auto [i, argument] : llvm::enumerate(arguments))
      if (isa<MemRefType>(argument.getType()) && views[rootOf(argument)] == 1)
        kernel.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                          UnitAttr::get(kernel.getContext()));
  }
};

} // namespace
} // namespace stagewright::host
