//===- ParallelKernels.cpp - run loops of kernels on a rank's threads -----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop becomes two functions. The part, `(values..., lower, upper)`, is the
// loop over a range of its iterations; its arguments keep the kernel's
// attributes about aliasing. The body, `(pointers, lower, upper)`, is what the
// runtime can call: it unpacks the values from a list of pointers.
//
//===----------------------------------------------------------------------===//

#include "LoopCost.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTPARALLELKERNELS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

/// Whether a pointer can hold a value of this type: a buffer with static layout
/// and no offset, or a number of at most 64 bits.
bool fitsPointer(Type type) {
  if (auto buffer = dyn_cast<MemRefType>(type)) {
    SmallVector<int64_t> strides;
    int64_t offset;
    return buffer.hasStaticShape() &&
           succeeded(buffer.getStridesAndOffset(strides, offset)) &&
           offset == 0 && llvm::none_of(strides, ShapedType::isDynamic);
  }
  return isa<LLVM::LLVMPointerType, IndexType>(type) ||
         (type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 64);
}

struct HostParallelKernelsPass
    : impl::HostParallelKernelsBase<HostParallelKernelsPass> {
  using HostParallelKernelsBase::HostParallelKernelsBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr("host.kernel"))
        for (auto loop : kernel.front().getOps<scf::ForOp>())
          if (loop->hasAttr(bodies::kParallel) && loop.getNumResults() == 0)
            loops.push_back(loop);
    SymbolTable symbols(getOperation());
    for (scf::ForOp loop : loops)
      share(loop, symbols);
  }

  void share(scf::ForOp loop, SymbolTable &symbols) {
    std::optional<int64_t> turns = turnsOf(loop);
    if (!turns)
      return;
    double turn = nanosecondsOf(*loop.getBody(), symbols);
    if (turn * double(*turns) < double(minTime))
      return;
    SetVector<Value> values;
    SetVector<Operation *> moved;
    collect(loop, values, moved);
    if (!llvm::all_of(values, [](Value v) { return fitsPointer(v.getType()); }))
      return;
    auto grain = int64_t(std::ceil(double(minTime) / 2 / turn));
    grain = std::min(grain, (*turns + 1) / 2);
    func::FuncOp part = makePart(loop, values, moved, symbols);
    LLVM::LLVMFuncOp body = makeBody(part, symbols);
    call(loop, values.getArrayRef(), body, *turns, grain);
    loop.erase();
    ++numShared;
  }

  /// Collects the values that the loop reads from outside, and the pure
  /// operations (`moved`), such as constants and addresses, to clone into the
  /// part.
  void collect(Operation *op, SetVector<Value> &values,
               SetVector<Operation *> &moved) {
    SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    for (Value value : used) {
      Operation *maker = value.getDefiningOp();
      if (!maker || !isPure(maker) || maker->getNumRegions() != 0) {
        values.insert(value);
      } else if (!moved.contains(maker)) {
        collect(maker, values, moved);
        moved.insert(maker);
      }
    }
  }

  /// Creates a kernel with the iterations of the loop from `lower` to `upper`.
  func::FuncOp makePart(scf::ForOp loop, const SetVector<Value> &values,
                        const SetVector<Operation *> &moved,
                        SymbolTable &symbols) {
    auto kernel = loop->getParentOfType<func::FuncOp>();
    Location loc = loop.getLoc();
    OpBuilder builder(&getContext());
    SmallVector<Type> types =
        llvm::to_vector(TypeRange(ValueRange(values.getArrayRef())));
    types.append(2, builder.getI64Type());
    auto part = func::FuncOp::create(loc, (kernel.getName() + ".part").str(),
                                     builder.getFunctionType(types, {}));
    part.setPrivate();
    part->setAttr("host.kernel", builder.getUnitAttr());
    for (auto [i, value] : llvm::enumerate(values))
      if (auto argument = dyn_cast<BlockArgument>(value))
        if (DictionaryAttr attributes =
                kernel.getArgAttrDict(argument.getArgNumber()))
          part.setArgAttrs(unsigned(i), attributes);
    Block *entry = part.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    IRMapping mapping;
    mapping.map(values.getArrayRef(), entry->getArguments().drop_back(2));
    for (Operation *maker : moved)
      builder.clone(*maker, mapping);
    auto copy = cast<scf::ForOp>(builder.clone(*loop, mapping));
    builder.setInsertionPoint(copy);
    auto bound = [&](Value turn) -> Value {
      turn = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        turn);
      Value distance =
          arith::MulIOp::create(builder, loc, turn, copy.getStep());
      return arith::AddIOp::create(builder, loc, copy.getLowerBound(),
                                   distance);
    };
    Value lower = bound(part.getArgument(part.getNumArguments() - 2));
    Value upper = bound(part.getArgument(part.getNumArguments() - 1));
    upper = arith::MinSIOp::create(builder, loc, upper, copy.getUpperBound());
    copy.setLowerBound(lower);
    copy.setUpperBound(upper);
    copy->removeAttr(bodies::kParallel);
    builder.setInsertionPointToEnd(entry);
    func::ReturnOp::create(builder, loc);
    symbols.insert(part);
    return part;
  }

  LLVM::LLVMPointerType pointer() {
    return LLVM::LLVMPointerType::get(&getContext());
  }

  /// Creates the function that the runtime calls with a list of pointers.
  LLVM::LLVMFuncOp makeBody(func::FuncOp part, SymbolTable &symbols) {
    Location loc = part.getLoc();
    OpBuilder builder(&getContext());
    Type i64 = builder.getI64Type();
    builder.setInsertionPointToEnd(getOperation().getBody());
    auto body = LLVM::LLVMFuncOp::create(
        builder, loc, (part.getName() + ".body").str(),
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    {pointer(), i64, i64}),
        LLVM::Linkage::Internal);
    symbols.insert(body);
    Block *entry = body.addEntryBlock(builder);
    builder.setInsertionPointToStart(entry);
    SmallVector<Value> arguments;
    for (unsigned i = 0; i + 2 < part.getNumArguments(); ++i) {
      Value at = LLVM::GEPOp::create(builder, loc, pointer(), pointer(),
                                     entry->getArgument(0), LLVM::GEPArg(i));
      Value given = LLVM::LoadOp::create(builder, loc, pointer(), at);
      arguments.push_back(
          fromPointer(builder, loc, given, part.getArgument(i).getType()));
    }
    for (unsigned i : {1, 2})
      arguments.push_back(entry->getArgument(i));
    func::CallOp::create(builder, loc, part, arguments);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
    return body;
  }

  Value fromPointer(OpBuilder &builder, Location loc, Value value, Type type) {
    if (isa<LLVM::LLVMPointerType>(type))
      return value;
    if (isa<MemRefType>(type))
      return UnrealizedConversionCastOp::create(builder, loc, type, value)
          .getResult(0);
    value = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), value);
    if (isa<IndexType>(type))
      return arith::IndexCastOp::create(builder, loc, type, value);
    unsigned width = type.getIntOrFloatBitWidth();
    Type integer = builder.getIntegerType(width);
    if (width < 64)
      value = arith::TruncIOp::create(builder, loc, integer, value);
    return isa<FloatType>(type)
               ? arith::BitcastOp::create(builder, loc, type, value).getResult()
               : value;
  }

  Value toPointer(OpBuilder &builder, Location loc, Value value) {
    Type type = value.getType(), i64 = builder.getI64Type();
    if (isa<LLVM::LLVMPointerType>(type))
      return value;
    if (isa<MemRefType>(type))
      value =
          memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, value);
    if (isa<FloatType>(type))
      value = arith::BitcastOp::create(
          builder, loc, builder.getIntegerType(type.getIntOrFloatBitWidth()),
          value);
    if (isa<IndexType>(value.getType()))
      value = arith::IndexCastOp::create(builder, loc, i64, value);
    if (value.getType() != i64)
      value = arith::ExtUIOp::create(builder, loc, i64, value);
    return LLVM::IntToPtrOp::create(builder, loc, pointer(), value);
  }

  /// Calls the runtime in place of the loop.
  void call(scf::ForOp loop, ArrayRef<Value> values, LLVM::LLVMFuncOp body,
            int64_t turns, int64_t grain) {
    Location loc = loop.getLoc();
    OpBuilder builder(loop);
    auto number = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                      builder.getI64IntegerAttr(value));
    };
    Value list = LLVM::AllocaOp::create(
        builder, loc, pointer(), pointer(),
        number(std::max<int64_t>(1, int64_t(values.size()))));
    for (auto [i, value] : llvm::enumerate(values)) {
      Value at = LLVM::GEPOp::create(builder, loc, pointer(), pointer(), list,
                                     LLVM::GEPArg(int32_t(i)));
      LLVM::StoreOp::create(builder, loc, toPointer(builder, loc, value), at);
    }
    Value function = LLVM::AddressOfOp::create(builder, loc, body);
    LLVM::CallOp::create(builder, loc, runtimeFunction(),
                         {function, list, number(turns), number(grain)});
  }

  LLVM::LLVMFuncOp runtimeFunction() {
    ModuleOp module = getOperation();
    if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>("sw_parallel"))
      return known;
    OpBuilder builder(module.getBodyRegion());
    Type i64 = builder.getI64Type();
    return LLVM::LLVMFuncOp::create(
        builder, module.getLoc(), "sw_parallel",
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    {pointer(), pointer(), i64, i64}));
  }
};

} // namespace
} // namespace stagewright::host
