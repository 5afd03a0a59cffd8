//===- KernelOutliner.cpp - outline kernels, share equal ones -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Conversion/BodiesToKernels/KernelOutliner.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::bodies {

/// Whether a bare pointer is enough to pass a buffer of this type.
static bool isBarePointer(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return type.hasStaticShape() &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

/// What the call passes for `argument`: a view whose static offset keeps the
/// alignment is rebased, so that equal work on different views is one kernel.
static Value passedFor(Value argument, int64_t alignment, OpBuilder &builder) {
  auto type = dyn_cast<MemRefType>(argument.getType());
  if (!type || !type.getElementType().isIntOrFloat())
    return argument;
  int64_t offset = type.getStridesAndOffset().second;
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  if (ShapedType::isDynamic(offset) || offset == 0 ||
      offset * bytes % alignment != 0)
    return argument;
  return rank::RebaseOp::create(builder, argument.getLoc(), argument);
}

SmallVector<func::FuncOp> KernelOutliner::bodies() const {
  SmallVector<func::FuncOp> found;
  for (auto function : cast<ModuleOp>(symbols.getOp()).getOps<func::FuncOp>())
    if (isBody(function))
      found.push_back(function);
  return found;
}

/// Collects the values from outside that `op` needs: those that become
/// arguments of the kernel, and operations that are cloned into it (`moved`).
void KernelOutliner::collect(Operation *op, const Request &request,
                             SetVector<Value> &arguments,
                             SetVector<Operation *> &moved) {
  SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value value : used) {
    Operation *maker = value.getDefiningOp();
    auto type = dyn_cast<MemRefType>(value.getType());
    bool inside =
        maker &&
        (maker->hasTrait<OpTrait::ConstantLike>() ||
         request.kept.contains(maker) ||
         (request.readsScalars && !type &&
          (isa<memref::LoadOp>(maker) ||
           (isPure(maker) && maker->getNumRegions() == 0))) ||
         (type && !isBarePointer(type) && isa<ViewLikeOpInterface>(maker)));
    if (!inside) {
      arguments.insert(value);
    } else if (!moved.contains(maker)) {
      collect(maker, request, arguments, moved);
      moved.insert(maker);
    }
  }
}

bool KernelOutliner::outline(const Request &request) {
  Operation *first = request.ops.front();
  Location loc = first->getLoc();
  OpBuilder builder(first);
  SetVector<Value> arguments;
  SetVector<Operation *> moved;
  for (Operation *op : request.ops)
    collect(op, request, arguments, moved);
  arguments.insert(request.more.begin(), request.more.end());
  SmallVector<Value> passed;
  for (Value argument : arguments)
    passed.push_back(passedFor(argument, request.alignment, builder));

  auto kernel = func::FuncOp::create(
      loc, "kernel", builder.getFunctionType(TypeRange(passed), {}));
  kernel.setPrivate();
  kernel->setAttr("host.kernel", builder.getUnitAttr());
  if (request.describe)
    request.describe(kernel, arguments.getArrayRef());
  Block *entry = kernel.addEntryBlock();
  IRMapping mapping;
  mapping.map(arguments.getArrayRef(), entry->getArguments());
  builder.setInsertionPointToStart(entry);
  for (Operation *maker : moved)
    builder.clone(*maker, mapping);
  request.write(builder, mapping);
  func::ReturnOp::create(builder, loc);

  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().useLocalScope().assumeVerified());
  func::FuncOp &shared = known[text];
  bool isNew = !shared;
  if (isNew) {
    kernel.setName("kernel." + std::to_string(known.size() - 1));
    symbols.insert(kernel);
    shared = kernel;
  } else {
    kernel.erase();
  }
  builder.setInsertionPoint(first);
  func::CallOp::create(builder, loc, shared, passed);
  return isNew;
}

} // namespace stagewright::bodies
