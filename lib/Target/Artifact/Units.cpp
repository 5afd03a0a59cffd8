//===- Units.cpp - functions as separate modules --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Units.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

namespace stagewright {

namespace {

using llvm::Function;
using llvm::GlobalValue;
using llvm::GlobalVariable;

/// Whether each module may get its own copy of `variable`.
bool isCopied(const GlobalVariable &variable) {
  return variable.isConstant() && variable.hasInitializer() &&
         variable.hasLocalLinkage() && !variable.hasSection();
}

/// Adds declarations for the symbols that a function of another module uses.
class Declarer final : public llvm::ValueMaterializer {
public:
  Declarer(llvm::Module &target, llvm::ValueToValueMapTy &values,
           llvm::SetVector<Function *> &called)
      : target(target), values(values), called(called) {}

  llvm::Value *materialize(llvm::Value *value) override {
    if (auto *function = llvm::dyn_cast<Function>(value)) {
      auto *declaration = Function::Create(
          function->getFunctionType(), GlobalValue::ExternalLinkage,
          function->getAddressSpace(), function->getName(), &target);
      declaration->copyAttributesFrom(function);
      called.insert(function);
      return declaration;
    }
    auto *variable = llvm::dyn_cast<GlobalVariable>(value);
    if (!variable)
      return nullptr;
    // A copy is local to its module, so its name, which may contain a number,
    // can be replaced.
    bool copied = isCopied(*variable);
    auto *here = new GlobalVariable(
        target, variable->getValueType(), variable->isConstant(),
        copied ? variable->getLinkage() : GlobalValue::ExternalLinkage, nullptr,
        copied ? "data" : variable->getName(), nullptr,
        variable->getThreadLocalMode(), variable->getAddressSpace());
    here->copyAttributesFrom(variable);
    if (copied) {
      values[variable] = here;
      here->setInitializer(llvm::MapValue(variable->getInitializer(), values,
                                          llvm::RF_None, nullptr, this));
    }
    return here;
  }

private:
  llvm::Module &target;
  llvm::ValueToValueMapTy &values;
  llvm::SetVector<Function *> &called;
};

class Splitter {
public:
  explicit Splitter(llvm::Module &module) : module(module) {}

  std::vector<Unit> split() {
    // Units refer to each other's symbols, which the artifact does not export.
    for (GlobalValue &value : module.global_values()) {
      auto *variable = llvm::dyn_cast<GlobalVariable>(&value);
      if (!value.hasLocalLinkage() || (variable && isCopied(*variable)) ||
          value.getName().starts_with("llvm."))
        continue;
      value.setLinkage(GlobalValue::ExternalLinkage);
      value.setVisibility(GlobalValue::HiddenVisibility);
    }
    std::vector<Function *> functions;
    for (Function &function : module)
      if (!function.isDeclaration() && !isRuntimeCall(function))
        functions.push_back(&function);
    for (Function *function : functions)
      visit(*function);
    for (Function *function : functions)
      if (!function->isDeclaration())
        function->deleteBody();
    Unit &rest = units.emplace_back();
    write(module, rest.bitcode);
    return std::move(units);
  }

private:
  /// A jump through the runtime's table, too small for a unit of its own.
  static bool isRuntimeCall(const Function &function) {
    return function.getName().starts_with("sw_");
  }

  static void write(const llvm::Module &module, llvm::SmallString<0> &bitcode) {
    llvm::raw_svector_ostream stream(bitcode);
    llvm::WriteBitcodeToFile(module, stream);
  }

  /// Visits callees first, because a unit contains the final names of its
  /// callees.
  void visit(Function &function) {
    if (!visited.insert(&function).second)
      return;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      for (llvm::Value *operand : instruction.operands())
        if (auto *callee = llvm::dyn_cast<Function>(operand))
          if (!callee->isDeclaration() && !isRuntimeCall(*callee))
            visit(*callee);
    extract(function);
  }

  void extract(Function &function) {
    llvm::Module part("stagewright", module.getContext());
    part.setTargetTriple(module.getTargetTriple());
    part.setDataLayout(module.getDataLayout());
    llvm::SmallVector<llvm::Module::ModuleFlagEntry> flags;
    module.getModuleFlagsMetadata(flags);
    for (const auto &flag : flags)
      part.addModuleFlag(flag.Behavior, flag.Key->getString(), flag.Val);
    Unit unit;
    unit.isProgram = !function.hasHiddenVisibility();

    auto *copy =
        Function::Create(function.getFunctionType(), function.getLinkage(),
                         function.getAddressSpace(), kUnitName, &part);
    llvm::ValueToValueMapTy values;
    values[&function] = copy;
    for (auto [from, to] : llvm::zip_equal(function.args(), copy->args()))
      values[&from] = &to;
    llvm::SetVector<Function *> called;
    Declarer declarer(part, values, called);
    llvm::SmallVector<llvm::ReturnInst *> returns;
    llvm::CloneFunctionInto(copy, &function, values,
                            llvm::CloneFunctionChangeType::DifferentModule,
                            returns, "", nullptr, nullptr, &declarer);
    copy->setVisibility(function.getVisibility());
    copy->setDSOLocal(function.isDSOLocal());
    write(part, unit.bitcode);
    // A callee whose name is already in a unit must keep it.
    for (Function *callee : called)
      if (!named.contains(callee))
        pinned.insert(callee);

    named.insert(&function);
    if (name(function, unit))
      units.push_back(std::move(unit));
  }

  /// Replaces the numbers in the name of `function`, which only reflect its
  /// position (`kernel.7`, `h23.B`), by a hash of its code. Programs and pinned
  /// functions keep their names. Returns false, and replaces its uses, if there
  /// is an equal function already.
  bool name(Function &function, Unit &unit) {
    std::string stem = function.getName().str();
    llvm::erase_if(stem, llvm::isDigit);
    if (unit.isProgram || stem.size() == function.getName().size() ||
        pinned.contains(&function)) {
      unit.name = function.getName().str();
      return true;
    }
    auto digest =
        llvm::BLAKE3::hash<8>(llvm::arrayRefFromStringRef(unit.bitcode));
    unit.name = llvm::StringRef(stem).rtrim('.').str() + "." +
                llvm::toHex(digest, /*LowerCase=*/true);
    Function *&first = byName[unit.name];
    if (first) {
      function.replaceAllUsesWith(first);
      return false;
    }
    first = &function;
    function.setName(unit.name);
    return true;
  }

  llvm::Module &module;
  std::vector<Unit> units;
  llvm::SmallPtrSet<Function *, 32> visited, named, pinned;
  llvm::StringMap<Function *> byName;
};

} // namespace

std::vector<Unit> splitUnits(std::unique_ptr<llvm::Module> module) {
  return Splitter(*module).split();
}

} // namespace stagewright
