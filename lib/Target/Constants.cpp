//===- Constants.cpp - constant arrays that kernels read ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Constants.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

namespace stagewright {

static std::string nameOf(memref::GlobalOp constant) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << constant.getType() << " " << constant.getInitialValueAttr();
  auto digest = llvm::BLAKE3::hash<8>(llvm::arrayRefFromStringRef(text));
  return "stagewright_constant_" + llvm::toHex(digest, /*LowerCase=*/true);
}

ArrayAttr exportConstants(ModuleOp module) {
  SmallVector<Attribute> list;
  SymbolTable symbols(module);
  for (auto it :
       llvm::make_early_inc_range(module.getOps<memref::GlobalOp>())) {
    if (!it.getInitialValueAttr() ||
        SymbolTable::symbolKnownUseEmpty(it, module))
      continue;
    StringAttr name = StringAttr::get(module.getContext(), nameOf(it));
    if (symbols.lookup(name)) { // A constant with equal elements.
      (void)SymbolTable::replaceAllSymbolUses(it, name, module);
      symbols.erase(it);
      continue;
    }
    (void)symbols.rename(it, name);
    it.setSymVisibility("public");
    list.push_back(rank::ConstantAttr::get(
        module.getContext(), rank::getSlotBytes(it.getType()), name));
  }
  return ArrayAttr::get(module.getContext(), list);
}

} // namespace stagewright
