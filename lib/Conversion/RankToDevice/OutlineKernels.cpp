//===- OutlineKernels.cpp - every group a kernel, equal ones once ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogues.h"
#include "RowLoops.h"
#include "SplitSums.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEOUTLINEKERNELS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

/// Most turns of the inner loops whose values fit into the registers of the
/// threads of a block.
constexpr int64_t kMostTurns = 8192;

/// Whether a pointer alone describes a buffer of this type.
bool isBarePointer(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return type.hasStaticShape() &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

/// Whether `op` moves freely: it only names memory or computes an index.
bool isFree(Operation &op) {
  return isa<memref::AllocOp, ViewLikeOpInterface>(op) ||
         op.hasTrait<OpTrait::ConstantLike>() ||
         isa<arith::ArithDialect>(op.getDialect());
}

/// Whether the library does `op`.
bool isContraction(Operation &op) {
  return isa<linalg::ContractOp>(op) || op.hasAttr(kEpilogue);
}

bool isKernel(Operation &op) {
  if (isContraction(op))
    return false;
  return op.getNumResults() == 0 &&
         isa<linalg::LinalgOp, memref::CopyOp, scf::ForOp, scf::IfOp,
             scf::WhileOp>(op);
}

using Group = SmallVector<Operation *>;

/// The operations of a body by kernel, in order; what lies between two of one
/// kernel and is free comes before them.
SmallVector<Group> collectGroups(Block &block) {
  SmallVector<Group> groups;
  std::optional<int64_t> open;
  SmallVector<Operation *> between;
  for (Operation &op : block) {
    auto number = op.getAttrOfType<IntegerAttr>(kGroup);
    if (number && open == number.getInt()) {
      for (Operation *free : between)
        free->moveBefore(groups.back().front());
      groups.back().push_back(&op);
      between.clear();
    } else if (isKernel(op)) {
      groups.push_back({&op});
      open = number ? std::optional(number.getInt()) : std::nullopt;
      between.clear();
    } else if (isFree(op)) {
      between.push_back(&op);
    } else {
      open.reset();
    }
  }
  return groups;
}

/// The allocations that only `group` uses and whose elements stay with the
/// thread that made them.
SetVector<Operation *> keptIn(const Group &group) {
  DenseMap<Operation *, RowLoops> loops;
  for (Operation *op : group) {
    if (isa<linalg::FillOp>(op))
      continue;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    FailureOr<RowLoops> found = failure();
    if (linalgOp && op->hasAttr(kRows))
      found = RowLoops::get(linalgOp);
    if (failed(found) || found->turns() > kMostTurns)
      return {};
    loops[op] = *found;
  }
  SetVector<Operation *> kept;
  SmallVector<Value> candidates;
  for (Operation *op : group)
    for (Value operand : op->getOperands())
      if (operand.getDefiningOp<memref::AllocOp>())
        candidates.push_back(operand);
  for (Value buffer : candidates) {
    std::optional<SmallVector<int>> places;
    bool keeps = true;
    for (Operation *user : buffer.getUsers()) {
      keeps &= llvm::is_contained(group, user);
      if (!keeps || isa<linalg::FillOp>(user))
        continue;
      RowLoops &of = loops[user];
      for (OpOperand &operand : user->getOpOperands()) {
        if (operand.get() != buffer)
          continue;
        AffineMap map = of.op.getMatchingIndexingMap(&operand);
        Access access = of.accessOf(map);
        keeps &= access != Access::Other;
        SmallVector<int> here = of.placesOf(map);
        keeps &= !places || *places == here;
        places = here;
      }
    }
    if (keeps && places)
      kept.insert(buffer.getDefiningOp());
  }
  return kept;
}

struct DeviceOutlineKernelsPass
    : impl::DeviceOutlineKernelsBase<DeviceOutlineKernelsPass> {
  llvm::StringMap<func::FuncOp> known;

  void runOnOperation() override {
    known.clear();
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> bodies;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (host::isBody(function))
        bodies.push_back(function);
    for (func::FuncOp body : bodies) {
      checkEpilogues(body.front());
      for (const Group &group : collectGroups(body.front())) {
        int64_t parts = partsOf(group);
        if (parts == 1) {
          outline(group, keptIn(group), {}, symbols);
          continue;
        }
        SplitSum split = splitSum(group, parts);
        SetVector<Operation *> forms(split.forms.begin(), split.forms.end());
        outline(split.parts, forms, split.partial, symbols);
        outline(split.whole, keptIn(split.whole), {}, symbols);
      }
    }
  }

  /// Collects what `op` reads from outside. Constants, views that a bare
  /// pointer cannot describe, and what is kept move inside.
  void collect(Operation *op, const Group &group,
               const SetVector<Operation *> &kept, SetVector<Value> &arguments,
               SetVector<Operation *> &moved) {
    SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    for (Value value : used) {
      Operation *maker = value.getDefiningOp();
      auto type = dyn_cast<MemRefType>(value.getType());
      bool inside =
          maker &&
          (maker->hasTrait<OpTrait::ConstantLike>() || kept.contains(maker) ||
           (type && !isBarePointer(type) && isa<ViewLikeOpInterface>(maker)));
      if (!inside) {
        arguments.insert(value);
      } else if (!moved.contains(maker)) {
        collect(maker, group, kept, arguments, moved);
        moved.insert(maker);
      }
    }
  }

  /// `more` are arguments that the kernel's operations do not name.
  void outline(const Group &group, const SetVector<Operation *> &kept,
               ValueRange more, SymbolTable &symbols) {
    Location loc = group.front()->getLoc();
    OpBuilder builder(group.front());
    SetVector<Value> arguments;
    SetVector<Operation *> moved;
    for (Operation *op : group)
      collect(op, group, kept, arguments, moved);
    arguments.insert(more.begin(), more.end());

    auto kernel = func::FuncOp::create(
        loc, "kernel",
        builder.getFunctionType(TypeRange(arguments.getArrayRef()), {}));
    kernel.setPrivate();
    kernel->setAttr("host.kernel", builder.getUnitAttr());
    Block *entry = kernel.addEntryBlock();
    IRMapping mapping;
    mapping.map(arguments.getArrayRef(), entry->getArguments());
    builder.setInsertionPointToStart(entry);
    for (Operation *maker : moved)
      builder.clone(*maker, mapping);
    for (Operation *op : group) {
      if (auto copy = dyn_cast<memref::CopyOp>(op)) {
        linalg::makeMemRefCopyOp(builder, loc, mapping.lookup(copy.getSource()),
                                 mapping.lookup(copy.getTarget()));
        continue;
      }
      builder.clone(*op, mapping)->removeAttr(kGroup);
    }
    func::ReturnOp::create(builder, loc);
    ++numOutlined;
    numKept += kept.size();

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
    builder.setInsertionPoint(group.front());
    func::CallOp::create(builder, loc, shared, arguments.getArrayRef());
    for (Operation *op : llvm::reverse(group))
      op->erase();
    for (Operation *op : kept)
      op->erase();
  }
};

} // namespace
} // namespace stagewright::device
