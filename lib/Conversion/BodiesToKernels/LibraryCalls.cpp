//===- LibraryCalls.cpp - calls with a descriptor -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Conversion/BodiesToKernels/LibraryCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright-rt/runtime.h"
#include "stagewright/Dialect/LLVM.h"
#include <cstring>

namespace stagewright::bodies {

int32_t dtypeOf(Type element) {
  if (isa<Float8E4M3FNType>(element))
    return SW_F8E4M3FN;
  if (isa<Float8E5M2Type>(element))
    return SW_F8E5M2;
  return element.isF64()    ? SW_F64
         : element.isF32()  ? SW_F32
         : element.isF16()  ? SW_F16
         : element.isBF16() ? SW_BF16
                            : -1;
}

void callRuntime(OpBuilder &builder, Location loc, ModuleOp module,
                 StringRef name, ValueRange arguments) {
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    OpBuilder top(module.getBodyRegion());
    callee = LLVM::LLVMFuncOp::create(
        top, loc, name,
        LLVM::LLVMFunctionType::get(
            LLVM::LLVMVoidType::get(module.getContext()),
            llvm::to_vector(arguments.getTypes())));
  }
  LLVM::CallOp::create(builder, loc, callee, arguments);
}

/// Address of the first element of a buffer. A constant index of a GEP has only
/// 29 bits, so the offset is passed as an SSA value.
static Value pointerTo(OpBuilder &builder, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto [strides, offset] = type.getStridesAndOffset();
  Value base = UnrealizedConversionCastOp::create(builder, buffer.getLoc(),
                                                  pointer, buffer)
                   .getResult(0);
  if (offset == 0)
    return base;
  int64_t bytes = offset * type.getElementTypeBitWidth() / 8;
  Value by = LLVM::ConstantOp::create(builder, buffer.getLoc(),
                                      builder.getI64IntegerAttr(bytes));
  return LLVM::GEPOp::create(builder, buffer.getLoc(), pointer,
                             builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{by});
}

Value LibraryCalls::rankOf(Operation *op) {
  return op->getParentOfType<func::FuncOp>().getArgument(0);
}

SmallVector<Value> LibraryCalls::pointersTo(OpBuilder &builder, Location loc,
                                            ValueRange buffers) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return llvm::map_to_vector(buffers, [&](Value buffer) -> Value {
    return buffer ? pointerTo(builder, buffer)
                  : LLVM::ZeroOp::create(builder, loc, pointer);
  });
}

StringRef LibraryCalls::nameOf(StringRef callee, StringRef desc, Location loc) {
  std::string &name = names[(callee + desc).str()];
  if (!name.empty())
    return name;
  name = callee.drop_front(3).str() + "." + std::to_string(names.size() - 1);
  SmallVector<int64_t> words(desc.size() / sizeof(int64_t));
  std::memcpy(words.data(), desc.data(), desc.size());
  OpBuilder builder(module.getBodyRegion());
  auto type =
      LLVM::LLVMArrayType::get(builder.getI64Type(), unsigned(words.size()));
  LLVM::GlobalOp::create(
      builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Private, name,
      DenseElementsAttr::get(
          RankedTensorType::get({int64_t(words.size())}, builder.getI64Type()),
          ArrayRef<int64_t>(words)),
      /*alignment=*/8);
  return name;
}

void LibraryCalls::write(OpBuilder &builder, Location loc, StringRef callee,
                         Value rank, StringRef desc, ValueRange pointers) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<Value> arguments;
  if (rank)
    arguments.push_back(rank);
  arguments.push_back(LLVM::AddressOfOp::create(builder, loc, pointer,
                                                nameOf(callee, desc, loc)));
  llvm::append_range(arguments, pointers);
  callRuntime(builder, loc, module, callee, arguments);
}

} // namespace stagewright::bodies
