//===- ConvertHostToLLVM.cpp - one conversion to the LLVM dialect ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::host {
#define GEN_PASS_DEF_CONVERTHOSTTOLLVM
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

/// Converts a cast from a pointer of the runtime to a buffer: builds a
/// descriptor with the static shape of the type.
struct PointerAsBuffer : ConvertOpToLLVMPattern<UnrealizedConversionCastOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(UnrealizedConversionCastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1 || op.getOutputs().size() != 1)
      return failure();
    auto type = dyn_cast<MemRefType>(op.getOutputs()[0].getType());
    if (!type || !isa<LLVM::LLVMPointerType>(op.getInputs()[0].getType()))
      return failure();
    Value descriptor = MemRefDescriptor::fromStaticShape(
        rewriter, op.getLoc(), *getTypeConverter(), type,
        adaptor.getInputs()[0]);
    rewriter.replaceOp(op, descriptor);
    return success();
  }
};

/// Converts rank.rebase: the descriptor of a buffer that begins where the view
/// does.
struct RebasedBuffer : ConvertOpToLLVMPattern<rank::RebaseOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(rank::RebaseOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getSource().getType());
    MemRefDescriptor source(adaptor.getSource());
    Value pointer = source.alignedPtr(rewriter, loc);
    // A constant index of a GEP has only 29 bits, so the offset is passed as an
    // SSA value.
    Value offset = LLVM::ConstantOp::create(
        rewriter, loc,
        rewriter.getI64IntegerAttr(type.getStridesAndOffset().second));
    Value first = LLVM::GEPOp::create(
        rewriter, loc, pointer.getType(),
        getTypeConverter()->convertType(type.getElementType()), pointer,
        ArrayRef<LLVM::GEPArg>{offset});
    Value descriptor = MemRefDescriptor::fromStaticShape(
        rewriter, loc, *getTypeConverter(), cast<MemRefType>(op.getType()),
        first);
    rewriter.replaceOp(op, descriptor);
    return success();
  }
};

/// The pointer that `buffer` is cast from, if there is one.
Value pointerOf(Value buffer) {
  auto cast = buffer.getDefiningOp<UnrealizedConversionCastOp>();
  bool isPointer = cast && cast.getInputs().size() == 1 &&
                   isa<LLVM::LLVMPointerType>(cast.getInputs()[0].getType());
  return isPointer ? cast.getInputs()[0] : Value();
}

/// Replaces buffers of the runtime, as arguments of calls, by their pointers.
/// The general conversion would build a descriptor for each, with a dozen
/// operations, and only extract the pointer from it; rank programs would have
/// ten times as much code.
void passPointers(ModuleOp module) {
  module.walk([](func::CallOp call) {
    SmallVector<Value> pointers;
    for (Value operand : call.getOperands()) {
      pointers.push_back(isa<MemRefType>(operand.getType()) ? pointerOf(operand)
                                                            : operand);
      if (!pointers.back() ||
          !LLVM::isCompatibleType(pointers.back().getType()))
        return;
    }
    if (call.getNumResults())
      return;
    OpBuilder builder(call);
    LLVM::CallOp::create(builder, call.getLoc(), TypeRange(), call.getCallee(),
                         pointers);
    call.erase();
  });
  module.walk([](UnrealizedConversionCastOp cast) {
    if (cast.use_empty())
      cast.erase();
  });
}

/// Converts a cast from a buffer to its pointer, for code that computes
/// addresses itself.
struct BufferAsPointer : ConvertOpToLLVMPattern<UnrealizedConversionCastOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(UnrealizedConversionCastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1 || op.getOutputs().size() != 1 ||
        !isa<MemRefType>(op.getInputs()[0].getType()) ||
        !isa<LLVM::LLVMPointerType>(op.getOutputs()[0].getType()))
      return failure();
    rewriter.replaceOp(op, MemRefDescriptor(adaptor.getInputs()[0])
                               .alignedPtr(rewriter, op.getLoc()));
    return success();
  }
};

/// Moves stack allocations to the start of the function, so that loops do not
/// allocate in every iteration.
void hoistStack(func::FuncOp function) {
  if (function.isExternal())
    return;
  SmallVector<memref::AllocaOp> tiles;
  function.walk([&](memref::AllocaOp tile) { tiles.push_back(tile); });
  for (memref::AllocaOp tile : llvm::reverse(tiles))
    if (tile->getNumOperands() == 0)
      tile->moveBefore(&function.front(), function.front().begin());
}

bool isEmpty(MemRefType type) {
  return type.hasStaticShape() && type.getNumElements() == 0;
}

/// Gives buffers without elements strides of 1: with a stride of 0 the
/// conversion cannot pass an argument as a pointer. Constants without elements
/// are erased, and reads of them replaced by empty allocations.
void stepThroughEmpty(ModuleOp module) {
  module.walk([](memref::GetGlobalOp constant) {
    if (!isEmpty(constant.getType()))
      return;
    OpBuilder builder(constant);
    Location loc = constant.getLoc();
    auto none = MemRefType::get({0}, constant.getType().getElementType());
    Value nothing = memref::AllocaOp::create(builder, loc, none);
    SmallVector<int64_t> ones(size_t(constant.getType().getRank()), 1);
    auto cast = memref::ReinterpretCastOp::create(
        builder, loc, constant.getType(), nothing, /*offset=*/0,
        constant.getType().getShape(), ones);
    constant.replaceAllUsesWith(cast.getResult());
    constant.erase();
  });
  for (auto global :
       llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
    if (isEmpty(global.getType()))
      global.erase();
  AttrTypeReplacer replacer;
  replacer.addReplacement([](MemRefType type) -> std::optional<Type> {
    if (!isEmpty(type) || type.getRank() < 2 || !type.getLayout().isIdentity())
      return std::nullopt;
    SmallVector<int64_t> ones(size_t(type.getRank()), 1);
    return MemRefType::get(
        type.getShape(), type.getElementType(),
        StridedLayoutAttr::get(type.getContext(), /*offset=*/0, ones),
        type.getMemorySpace());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

struct ConvertHostToLLVMPass
    : impl::ConvertHostToLLVMBase<ConvertHostToLLVMPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    stepThroughEmpty(module);
    passPointers(module);
    for (auto function : module.getOps<func::FuncOp>())
      hoistStack(function);
    LowerToLLVMOptions options(&getContext());
    options.useBarePtrCallConv = true;
    LLVMTypeConverter converter(&getContext(), options);
    LLVMConversionTarget target(getContext());
    target.addIllegalOp<UnrealizedConversionCastOp>();
    target.addLegalOp<ModuleOp, rank::ArtifactOp>();

    RewritePatternSet patterns(&getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    // Intrinsics first: only functions without an LLVM intrinsic become calls.
    populateMathToLLVMConversionPatterns(converter, patterns,
                                         /*approximateLog1p=*/false,
                                         /*benefit=*/2);
    populateMathToLibmConversionPatterns(patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    patterns.add<BufferAsPointer, PointerAsBuffer, RebasedBuffer>(converter);
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    markKernels(module);
  }

  /// Kernels are not inlined: that would lose what their argument attributes
  /// state.
  void markKernels(ModuleOp module) {
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal())
        continue;
      if (function->hasAttr("host.kernel"))
        function.setNoInline(true);
      if (!function.isPublic()) // The entries of ranks are public.
        function.setLinkage(LLVM::Linkage::Internal);
      function->removeAttr("host.kernel");
      function->removeAttr(bodies::kWorkspace);
      // LLVM does not know the attributes of the levels above.
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        auto attributes = function_interface_impl::getArgAttrDict(function, i);
        for (NamedAttribute attr :
             attributes ? attributes.getValue() : ArrayRef<NamedAttribute>())
          if (!attr.getName().getValue().starts_with("llvm."))
            function.removeArgAttr(i, attr.getName());
      }
    }
  }
};

} // namespace
} // namespace stagewright::host
