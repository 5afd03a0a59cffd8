//===- BFloat16AsWords.cpp - bf16 as 16-bit integers ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTBFLOAT16ASWORDS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

struct HostBFloat16AsWordsPass
    : impl::HostBFloat16AsWordsBase<HostBFloat16AsWordsPass> {
  /// Whether `function` has values of bf16. Most have none, and replacing types
  /// is slow because it visits every attribute.
  bool uses(LLVM::LLVMFuncOp function) {
    auto holds = [&](Type type) {
      auto [slot, isNew] = known.try_emplace(type, false);
      if (isNew)
        type.walk([&](BFloat16Type) { slot->second = true; });
      return slot->second;
    };
    auto inner = [&](Operation *op) {
      bool found = llvm::any_of(op->getResultTypes(), holds);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          found |= llvm::any_of(block.getArgumentTypes(), holds);
      return found ? WalkResult::interrupt() : WalkResult::advance();
    };
    return holds(function.getFunctionType()) ||
           function.walk(inner).wasInterrupted();
  }

  void runOnOperation() override {
    Type word = IntegerType::get(&getContext(), 16);
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](BFloat16Type) { return word; });
    replacer.addReplacement([&](FloatAttr number) -> std::optional<Attribute> {
      if (!number.getType().isBF16())
        return std::nullopt;
      return IntegerAttr::get(word, number.getValue().bitcastToAPInt());
    });
    replacer.addReplacement(
        [&](DenseElementsAttr table) -> std::optional<Attribute> {
          if (!table.getElementType().isBF16())
            return std::nullopt;
          return table.bitcast(word);
        });
    replacer.addReplacement(
        [&](DenseResourceElementsAttr table) -> std::optional<Attribute> {
          if (!table.getElementType().isBF16())
            return std::nullopt;
          return DenseResourceElementsAttr::get(table.getType().clone(word),
                                                table.getRawHandle());
        });
    for (Operation &op : *getOperation().getBody()) {
      auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
      if (isa<LLVM::GlobalOp>(op) || (function && uses(function)))
        replacer.recursivelyReplaceElementsIn(&op, /*replaceAttrs=*/true,
                                              /*replaceLocs=*/false,
                                              /*replaceTypes=*/true);
    }
  }

  llvm::DenseMap<Type, bool> known;
};

} // namespace
} // namespace stagewright::host
