//===- LowerCalls.cpp - launches and contractions as calls ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogues.h"
#include "stagewright-rt/runtime.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include <cstring>

using namespace mlir;

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEPASSRANK
#define GEN_PASS_DEF_DEVICELOWERCALLS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

struct DevicePassRankPass : impl::DevicePassRankBase<DevicePassRankPass> {
  void runOnOperation() override {
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    for (auto body : getOperation().getOps<func::FuncOp>())
      if (host::isBody(body) &&
          failed(body.insertArgument(0, pointer, {}, body.getLoc())))
        return signalPassFailure();
  }
};

int32_t dtypeOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return SW_F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return SW_F8E5M2;
  return type.isF64()    ? SW_F64
         : type.isF16()  ? SW_F16
         : type.isBF16() ? SW_BF16
                         : SW_F32;
}

/// Writes the calls of one function. The arguments of launches are on the
/// stack, which is allocated once.
class Caller {
public:
  explicit Caller(func::FuncOp function)
      : function(function), builder(function.getContext()),
        pointer(LLVM::LLVMPointerType::get(function.getContext())) {}

  /// `sums`: the kernel has one more argument, an sw_sums.
  void launch(func::CallOp call, int64_t kernel, bool sums) {
    Location loc = call.getLoc();
    takeStack(loc);
    builder.setInsertionPoint(call);
    for (auto [i, operand] : llvm::enumerate(call.getOperands())) {
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
                            wordAt(loc, words, call.getNumOperands()));
    Value number = constant(kernel);
    invoke(loc, call->hasAttr(kOtherwise) ? "sw_otherwise" : "sw_launch",
           {function.getArgument(0), number, table});
    call.erase();
  }

  void contract(LLVM::CallOp call, StringRef descriptor,
                linalg::GenericOp epilogue) {
    Location loc = call.getLoc();
    builder.setInsertionPoint(call);
    Value desc = LLVM::AddressOfOp::create(builder, loc, pointer, descriptor);
    Value none = LLVM::ZeroOp::create(builder, loc, pointer);
    OperandRange operands = call.getArgOperands();
    Value result = operands[3], bias = none, aux = none;
    if (epilogue) {
      // Views that the epilogue uses are created before it.
      builder.setInsertionPoint(epilogue);
      EpilogueOperands of = operandsOf(epilogue);
      result = pointerOf(of.result);
      bias = of.bias ? pointerOf(of.bias) : none;
      aux = of.aux ? pointerOf(of.aux) : none;
    }
    invoke(loc, "sw_contract",
           {function.getArgument(0), desc, operands[1], operands[2], result,
            bias, aux});
    if (epilogue)
      epilogue.erase();
    call.erase();
  }

private:
  /// Allocates the arguments of the largest launch, and their address table.
  void takeStack(Location loc) {
    if (table)
      return;
    size_t most = 1;
    function.walk([&](func::CallOp call) {
      most = std::max<size_t>(most, call.getNumOperands() + 1);
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

  void invoke(Location loc, StringRef name, ArrayRef<Value> arguments) {
    auto module = function->getParentOfType<ModuleOp>();
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      OpBuilder top(module.getBodyRegion());
      callee = LLVM::LLVMFuncOp::create(
          top, loc, name,
          LLVM::LLVMFunctionType::get(
              LLVM::LLVMVoidType::get(module.getContext()),
              llvm::to_vector(ValueRange(arguments).getTypes())));
    }
    LLVM::CallOp::create(builder, loc, callee, arguments);
  }

  func::FuncOp function;
  OpBuilder builder;
  LLVM::LLVMPointerType pointer;
  Value words, table;
};

struct DeviceLowerCallsPass : impl::DeviceLowerCallsBase<DeviceLowerCallsPass> {
  using DeviceLowerCallsBase::DeviceLowerCallsBase;

  llvm::StringMap<std::string> descriptors; ///< by words and types

  void runOnOperation() override {
    descriptors.clear();
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Caller caller(function);
      SmallVector<Operation *> calls;
      function.walk([&](Operation *op) {
        if (isa<func::CallOp>(op) || op->hasAttr(host::kTypes))
          calls.push_back(op);
      });
      for (Operation *op : calls) {
        if (auto call = dyn_cast<LLVM::CallOp>(op)) {
          linalg::GenericOp epilogue = epilogueBehind(call);
          caller.contract(call, descriptorFor(call, epilogue, symbols),
                          epilogue);
          continue;
        }
        auto call = cast<func::CallOp>(op);
        auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
        if (auto number = callee->getAttrOfType<IntegerAttr>(kKernel))
          caller.launch(call, number.getInt(), callee->hasAttr(kSums));
      }
    }
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function->hasAttr(kKernel))
        function.erase();
    describeKernels(module);
  }

  /// Whether a kernel can do the work of the library call.
  static bool hasAlternative(LLVM::CallOp call) {
    auto next = dyn_cast_or_null<func::CallOp>(call->getNextNode());
    return next && next->hasAttr(kOtherwise);
  }

  /// The epilogue of a call, or null.
  static linalg::GenericOp epilogueBehind(LLVM::CallOp call) {
    Operation *op = call->hasAttr(kEpilogue) ? call->getNextNode() : nullptr;
    while (op && !op->hasAttr(kEpilogue))
      op = op->getNextNode();
    return cast_or_null<linalg::GenericOp>(op);
  }

  /// The descriptor of a call of `sw_gemm`, with the types of its operands.
  StringRef descriptorFor(LLVM::CallOp call, linalg::GenericOp epilogue,
                          SymbolTable &symbols) {
    auto address = call.getArgOperands()[0].getDefiningOp<LLVM::AddressOfOp>();
    auto old = symbols.lookup<LLVM::GlobalOp>(address.getGlobalName());
    auto words = cast<DenseElementsAttr>(old.getValueOrNull());
    SmallVector<int64_t> numbers(words.getValues<int64_t>());
    sw_contraction_desc desc = {};
    std::memcpy(&desc.gemm, numbers.data(), sizeof(desc.gemm));
    auto types = call->getAttrOfType<ArrayAttr>(host::kTypes);
    auto dtype = [&](unsigned i) {
      return dtypeOf(cast<TypeAttr>(types[i]).getValue());
    };
    desc.a_dtype = dtype(0);
    desc.b_dtype = dtype(1);
    desc.gemm.dtype = dtype(2);
    bool wide = desc.a_dtype == SW_F32 && desc.b_dtype == SW_F32;
    desc.tf32 = tf32 && wide && desc.gemm.dtype == SW_F32;
    desc.epilogue = SW_EPILOGUE_NONE;
    desc.otherwise = epilogue || hasAlternative(call);
    if (epilogue) {
      EpilogueOperands of = operandsOf(epilogue);
      desc.epilogue =
          epilogueOf(epilogue->getAttrOfType<StringAttr>(kEpilogue).getValue());
      if (of.bias)
        desc.bias_dtype = dtypeOf(getElementTypeOrSelf(of.bias.getType()));
      if (of.aux) {
        desc.aux_dtype = dtypeOf(getElementTypeOrSelf(of.aux.getType()));
        desc.aux_row = desc.gemm.n;
      }
    }
    SmallVector<int64_t> out(sizeof(desc) / sizeof(int64_t));
    std::memcpy(out.data(), &desc, sizeof(desc));
    std::string &name = descriptors[StringRef(
        reinterpret_cast<const char *>(&desc), sizeof(desc))];
    if (name.empty()) {
      name = "contract." + std::to_string(descriptors.size() - 1);
      OpBuilder builder(getOperation().getBodyRegion());
      LLVM::GlobalOp::create(
          builder, call.getLoc(),
          LLVM::LLVMArrayType::get(builder.getI64Type(), unsigned(out.size())),
          /*isConstant=*/true, LLVM::Linkage::Private, name,
          DenseElementsAttr::get(RankedTensorType::get({int64_t(out.size())},
                                                       builder.getI64Type()),
                                 ArrayRef<int64_t>(out)),
          /*alignment=*/8);
    }
    return name;
  }

  /// Adds the kernels to the artifact.
  void describeKernels(ModuleOp module) {
    auto artifacts = module.getOps<rank::ArtifactOp>();
    auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(kKernels);
    if (artifacts.empty() || !kernels)
      return;
    SmallVector<Attribute> list;
    for (auto kernel : kernels.getOps<gpu::GPUFuncOp>())
      if (Attribute launch = kernel->getAttr(rank::RankDialect::kKernel))
        list.push_back(launch);
    (*artifacts.begin()).setKernelsAttr(ArrayAttr::get(&getContext(), list));
  }
};

} // namespace
} // namespace stagewright::device
