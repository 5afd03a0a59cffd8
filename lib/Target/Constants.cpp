//===- Constants.cpp - constant arrays that kernels read ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Constants.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "stagewright/Support/Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace stagewright {

/// Size of an array in memory, in bytes; a boolean takes 1 byte.
static int64_t bytesOf(MemRefType type) {
  Type element = type.getElementType();
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return type.getNumElements() * ((bits + 7) / 8);
}

static std::string nameOf(memref::GlobalOp constant) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << constant.getType() << " " << constant.getInitialValueAttr();
  auto digest = llvm::BLAKE3::hash<8>(llvm::arrayRefFromStringRef(text));
  return "stagewright_constant_" + llvm::toHex(digest, /*LowerCase=*/true);
}

void exportConstants(ModuleOp module) {
  llvm::json::Array list;
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
    list.push_back(llvm::json::Object{{"symbol", name.getValue()},
                                      {"bytes", bytesOf(it.getType())}});
  }
  auto text = module->getAttrOfType<StringAttr>("rank.manifest");
  std::string more;
  llvm::raw_string_ostream(more)
      << llvm::json::Value(llvm::json::Object{{"constants", std::move(list)}});
  module->setAttr(
      "rank.manifest",
      StringAttr::get(module.getContext(), withMembers(text.getValue(), more)));
}

} // namespace stagewright
