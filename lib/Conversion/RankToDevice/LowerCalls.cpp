//===- LowerCalls.cpp - launches as calls of the runtime ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Conversion/BodiesToKernels/LibraryCalls.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEPASSRANK
#define GEN_PASS_DEF_DEVICELOWERCALLS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

struct DevicePassRankPass : impl::DevicePassRankBase<DevicePassRankPass> {
  void runOnOperation() override {
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    for (auto body : getOperation().getOps<func::FuncOp>())
      if (bodies::isBody(body) &&
          failed(body.insertArgument(0, pointer, {}, body.getLoc())))
        return signalPassFailure();
  }
};

bool isLaunch(Operation *op) {
  return isa<func::CallOp, rank::OtherwiseOp>(op);
}

/// Writes the calls of one function. All launches share one allocation on the
/// stack for their arguments.
class Caller {
public:
  explicit Caller(func::FuncOp function)
      : function(function), builder(function.getContext()),
        pointer(LLVM::LLVMPointerType::get(function.getContext())) {}

  /// `sums`: the kernel has one more argument, an sw_sums.
  void launch(Operation *call, int64_t kernel, bool sums) {
    Location loc = call->getLoc();
    takeStack(loc);
    builder.setInsertionPoint(call);
    for (auto [i, operand] : llvm::enumerate(call->getOperands())) {
      Value value = operand;
      if (isa<MemRefType>(value.getType()))
        value = pointerOf(value);
      else if (isa<IndexType>(value.getType()))
        value = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                           value);
      LLVM::StoreOp::create(builder, loc, value, wordAt(loc, words, i));
    }
    auto constant = [&](int64_t value) {
      return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(),
                                          value);
    };
    if (sums) // The runtime sets the bits.
      LLVM::StoreOp::create(builder, loc, constant(0),
                            wordAt(loc, words, call->getNumOperands()));
    Value number = constant(kernel);
    bodies::callRuntime(builder, loc, function->getParentOfType<ModuleOp>(),
                        isa<rank::OtherwiseOp>(call) ? "sw_otherwise"
                                                     : "sw_launch",
                        {function.getArgument(0), number, table});
    call->erase();
  }

private:
  /// Allocates the arguments of the largest launch, and their address table.
  void takeStack(Location loc) {
    if (table)
      return;
    size_t most = 1;
    function.walk([&](Operation *op) {
      if (isLaunch(op))
        most = std::max<size_t>(most, op->getNumOperands() + 1);
    });
    builder.setInsertionPointToStart(&function.front());
    Value count = arith::ConstantIntOp::create(
        builder, loc, builder.getI64Type(), int64_t(most));
    words = LLVM::AllocaOp::create(builder, loc, pointer, builder.getI64Type(),
                                   count);
    table = LLVM::AllocaOp::create(builder, loc, pointer, pointer, count);
    for (size_t i = 0; i < most; ++i)
      LLVM::StoreOp::create(builder, loc, wordAt(loc, words, i),
                            wordAt(loc, table, i));
  }

  Value wordAt(Location loc, Value base, size_t index) {
    return LLVM::GEPOp::create(builder, loc, pointer, builder.getI64Type(),
                               base, ArrayRef<LLVM::GEPArg>{int32_t(index)});
  }

  Value pointerOf(Value buffer) {
    if (auto cast = buffer.getDefiningOp<UnrealizedConversionCastOp>())
      if (cast.getInputs().size() == 1 &&
          cast.getInputs()[0].getType() == pointer)
        return cast.getInputs()[0];
    return UnrealizedConversionCastOp::create(builder, buffer.getLoc(), pointer,
                                              buffer)
        .getResult(0);
  }

  func::FuncOp function;
  OpBuilder builder;
  LLVM::LLVMPointerType pointer;
  Value words, table;
};

/// A kernel that was written.
struct Kernel {
  int64_t number; ///< its place among the kernels
  unsigned arguments;
};
using Kernels = llvm::StringMap<Kernel>; ///< by name

/// The kernels that DeviceWriteKernels wrote. Fails if a kernel has lost the
/// attribute that describes it to the runtime.
FailureOr<Kernels> kernelsOf(ModuleOp module) {
  Kernels found;
  auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(kKernels);
  if (!kernels)
    return found;
  for (auto kernel : kernels.getOps<gpu::GPUFuncOp>()) {
    if (StringRef name = rank::RankDialect::kKernel; !kernel->hasAttr(name))
      return kernel.emitError() << "kernel has lost its '" << name << "'";
    int64_t number = int64_t(found.size());
    found[kernel.getName()] = {number, kernel.getNumArguments()};
  }
  return found;
}

struct DeviceLowerCallsPass : impl::DeviceLowerCallsBase<DeviceLowerCallsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Kernels> kernels = kernelsOf(module);
    if (failed(kernels))
      return signalPassFailure();
    SymbolTable symbols(module);
    // DeviceWriteKernels has left only declarations of the functions of
    // kernels.
    auto kernelOf = [&](StringRef name) -> const Kernel * {
      auto callee = symbols.lookup<func::FuncOp>(name);
      auto kernel = kernels->find(nameOfKernel(name));
      bool isKernel = callee && callee.isExternal() && kernel != kernels->end();
      return isKernel ? &kernel->second : nullptr;
    };
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Caller caller(function);
      SmallVector<Operation *> calls;
      function.walk([&](Operation *op) {
        if (isLaunch(op))
          calls.push_back(op);
      });
      for (Operation *call : calls) {
        auto otherwise = dyn_cast<rank::OtherwiseOp>(call);
        const Kernel *kernel =
            kernelOf(otherwise ? otherwise.getKernel()
                               : cast<func::CallOp>(call).getCallee());
        if (kernel)
          caller.launch(call, kernel->number,
                        kernel->arguments > call->getNumOperands());
      }
    }
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (kernelOf(function.getSymName()))
        function.erase();
    describeKernels(module);
  }

  /// Adds the kernels to the artifact.
  void describeKernels(ModuleOp module) {
    auto artifacts = module.getOps<rank::ArtifactOp>();
    auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(kKernels);
    if (artifacts.empty() || !kernels)
      return;
    SmallVector<Attribute> list;
    for (auto kernel : kernels.getOps<gpu::GPUFuncOp>())
      list.push_back(kernel->getAttr(rank::RankDialect::kKernel));
    (*artifacts.begin()).setKernelsAttr(ArrayAttr::get(&getContext(), list));
  }
};

} // namespace
} // namespace stagewright::device
