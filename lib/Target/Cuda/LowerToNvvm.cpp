//===- LowerToNvvm.cpp - the gpu dialect to NVVM --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace stagewright::cuda {

/// Replaces uses of dynamic shared memory by one external array, whose size is
/// set at launch.
static void nameSharedMemory(gpu::GPUModuleOp module) {
  constexpr unsigned sharedSpace = 3;
  OpBuilder builder(module.getBodyRegion());
  LLVM::GlobalOp global;
  SmallVector<gpu::DynamicSharedMemoryOp> uses;
  module.walk([&](gpu::DynamicSharedMemoryOp op) { uses.push_back(op); });
  for (gpu::DynamicSharedMemoryOp op : uses) {
    if (!global)
      global = LLVM::GlobalOp::create(
          builder, module.getLoc(),
          LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
          /*isConstant=*/false, LLVM::Linkage::External, "shared", Attribute(),
          /*alignment=*/16, sharedSpace);
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      OpBuilder here(user);
      user->getResult(0).replaceAllUsesWith(
          LLVM::AddressOfOp::create(here, op.getLoc(), global).getResult());
      user->erase();
    }
    op.erase();
  }
}

LogicalResult lowerToNvvm(Operation *kernels) {
  auto module = cast<gpu::GPUModuleOp>(kernels);
  nameSharedMemory(module);
  MLIRContext *context = module.getContext();
  context->loadDialect<NVVM::NVVMDialect, cf::ControlFlowDialect,
                       memref::MemRefDialect>();
  PassManager manager(context, gpu::GPUModuleOp::getOperationName());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertGpuOpsToNVVMOps());
  manager.addPass(createReconcileUnrealizedCastsPass());
  return manager.run(module);
}

} // namespace stagewright::cuda
