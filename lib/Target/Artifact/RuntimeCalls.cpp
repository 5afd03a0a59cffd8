//===- RuntimeCalls.cpp - calls through the runtime's table ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission.h"
#include "stagewright-rt/runtime.h"
#include "stagewright/Support/Text.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Endian.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <cstddef>

namespace stagewright {

/// Position of a member in the table, or -1. One line per member of sw_api.
static int64_t memberOf(llvm::StringRef name) {
#define MEMBER(member)                                                         \
  if (name == #member)                                                         \
    return offsetof(sw_api, member) / sizeof(void *);
  MEMBER(slot)
  MEMBER(acquire)
  MEMBER(release)
  MEMBER(claim)
  MEMBER(send)
  MEMBER(recv)
  MEMBER(release_channel)
  MEMBER(action_begin)
  MEMBER(action_end)
  MEMBER(node_begin)
  MEMBER(node_end)
  MEMBER(gemm)
  MEMBER(fail)
  MEMBER(parallel)
  MEMBER(convolution)
  MEMBER(launch)
  MEMBER(fill)
  MEMBER(copy)
  MEMBER(contract)
  MEMBER(attend)
  MEMBER(attend_gradient)
  MEMBER(convolve)
  MEMBER(all_reduce)
  MEMBER(await_reduced)
  MEMBER(otherwise)
  MEMBER(offload)
  MEMBER(fetch)
  MEMBER(fetched)
  MEMBER(choose)
  MEMBER(average)
#undef MEMBER
  return -1;
}

llvm::Error defineRuntimeCalls(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *api = new llvm::GlobalVariable(
      module, pointer, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
      llvm::ConstantPointerNull::get(pointer), "stagewright_api");
  // Exported so that the runtime can set it; protected, so that no other
  // object's symbol replaces it.
  api->setVisibility(llvm::GlobalValue::ProtectedVisibility);

  for (llvm::Function &function : module) {
    llvm::StringRef name = function.getName();
    if (!function.isDeclaration() || !name.consume_front("sw_"))
      continue;
    int64_t member = memberOf(name);
    if (member < 0)
      return llvm::createStringError("the runtime has no function 'sw_%s'",
                                     name.str().c_str());
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    llvm::IRBuilder<> builder(
        llvm::BasicBlock::Create(context, "entry", &function));
    llvm::Value *table = builder.CreateLoad(pointer, api);
    llvm::Value *address =
        builder.CreateConstGEP1_64(pointer, table, uint64_t(member));
    llvm::Value *target = builder.CreateLoad(pointer, address);
    llvm::SmallVector<llvm::Value *> arguments;
    for (llvm::Argument &argument : function.args())
      arguments.push_back(&argument);
    llvm::CallInst *call =
        builder.CreateCall(function.getFunctionType(), target, arguments);
    call->setTailCallKind(llvm::CallInst::TCK_Tail);
    if (call->getType()->isVoidTy())
      builder.CreateRetVoid();
    else
      builder.CreateRet(call);
  }
  return llvm::Error::success();
}

void embedManifest(llvm::Module &module, llvm::StringRef json) {
  std::string section = "SWX1";
  auto append = [&](auto number) {
    char bytes[sizeof(number)];
    llvm::support::endian::write(bytes, number, llvm::endianness::little);
    section.append(bytes, sizeof(number));
  };
  append(uint32_t(SW_ABI_VERSION));
  append(uint64_t(json.size()));
  append(fnv1a(json));
  section += json;
  auto *data = llvm::ConstantDataArray::getString(module.getContext(), section,
                                                  /*AddNull=*/false);
  auto *global = new llvm::GlobalVariable(
      module, data->getType(), /*isConstant=*/true,
      llvm::GlobalValue::PrivateLinkage, data, "stagewright.manifest");
  global->setSection(".stagewright");
  global->setAlignment(llvm::Align(8));
  llvm::appendToUsed(module, {global});
}

} // namespace stagewright
