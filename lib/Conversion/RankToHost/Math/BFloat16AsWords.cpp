//===- BFloat16AsWords.cpp - bf16 as integers of 16 bits ------------------===//
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

using namespace mlir;

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTBFLOAT16ASWORDS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

struct HostBFloat16AsWordsPass
    : impl::HostBFloat16AsWordsBase<HostBFloat16AsWordsPass> {
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
    for (Operation &op : *getOperation().getBody())
      if (isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op))
        replacer.recursivelyReplaceElementsIn(&op, /*replaceAttrs=*/true,
                                              /*replaceLocs=*/false,
                                              /*replaceTypes=*/true);
  }
};

} // namespace
} // namespace stagewright::host
