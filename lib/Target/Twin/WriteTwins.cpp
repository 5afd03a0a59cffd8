//===- WriteTwins.cpp - kernels as code of the host -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteTwins.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "stagewright-rt/twins.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

using namespace mlir;

namespace stagewright {
namespace {

/// Writes the twin of one kernel.
class Twin {
public:
  Twin(gpu::GPUFuncOp kernel, ModuleOp module)
      : kernel(kernel), builder(module.getBodyRegion()), loc(kernel.getLoc()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {
    builder.setInsertionPointToEnd(module.getBody());
  }

  FailureOr<LLVM::LLVMFuncOp> write() {
    auto function = LLVM::LLVMFuncOp::create(
        builder, loc, ("twin." + kernel.getName()).str(),
        LLVM::LLVMFunctionType::get(
            LLVM::LLVMVoidType::get(builder.getContext()), {pointer, pointer}));
    function->setAttr("host.kernel", builder.getUnitAttr());
    Block *entry = function.addEntryBlock(builder);
    builder.setInsertionPointToStart(entry);
    thread = entry->getArgument(0);
    IRMapping mapping;
    for (BlockArgument argument : kernel.getBody().getArguments()) {
      Value slot = load(pointer, at(entry->getArgument(1),
                                    int64_t(argument.getArgNumber()) * 8));
      mapping.map(argument, load(argument.getType(), slot));
    }
    for (Operation &op : kernel.getBody().front().without_terminator())
      builder.clone(op, mapping);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
    SmallVector<Operation *> all;
    function.walk([&](Operation *op) { all.push_back(op); });
    for (Operation *op : all)
      if (failed(replace(op)))
        return failure();
    return function;
  }

  bool meets = false;

private:
  Value constant(int64_t value, unsigned width = 64) {
    return arith::ConstantIntOp::create(builder, loc,
                                        builder.getIntegerType(width), value);
  }
  Value at(Value base, int64_t bytes) {
    return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
  }
  Value load(Type type, Value address) {
    auto op = LLVM::LoadOp::create(builder, loc, type, address);
    own.insert(op);
    return op;
  }
  /// Calls a function of the thread.
  Value call(int64_t member, Type result, ArrayRef<Value> rest) {
    SmallVector<Value> operands = {load(pointer, at(thread, member)), thread};
    llvm::append_range(operands, rest);
    SmallVector<Type> types = {pointer};
    llvm::append_range(types, ValueRange(rest).getTypes());
    auto type = LLVM::LLVMFunctionType::get(
        result ? result : LLVM::LLVMVoidType::get(builder.getContext()), types);
    auto made = LLVM::CallOp::create(builder, loc, type, operands);
    return result ? made.getResult() : Value();
  }

  void give(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
  void giveIndex(Operation *op, int64_t member, gpu::Dimension dimension) {
    Value value =
        load(builder.getI64Type(), at(thread, member + 8 * int64_t(dimension)));
    give(op, arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        value));
  }

  void tell(Value address, Type type, bool writes) {
    int64_t bits = 0;
    if (auto vector = dyn_cast<VectorType>(type))
      bits = vector.getNumElements() * vector.getElementTypeBitWidth();
    else
      bits = type.getIntOrFloatBitWidth();
    call(offsetof(sw_thread, access), {},
         {address, constant((bits + 7) / 8), constant(writes, 32)});
  }

  LogicalResult replace(Operation *op) {
    builder.setInsertionPoint(op);
    // The host has one kind of memory.
    for (OpResult result : op->getResults())
      if (isa<LLVM::LLVMPointerType>(result.getType()))
        result.setType(pointer);
    if (auto id = dyn_cast<gpu::ThreadIdOp>(op)) {
      giveIndex(op, offsetof(sw_thread, thread), id.getDimension());
    } else if (auto id = dyn_cast<gpu::BlockIdOp>(op)) {
      giveIndex(op, offsetof(sw_thread, block), id.getDimension());
    } else if (isa<gpu::BarrierOp>(op)) {
      meets = true;
      call(offsetof(sw_thread, barrier), {}, {});
      op->erase();
    } else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
      replaceShuffle(shuffle);
    } else if (isa<gpu::DynamicSharedMemoryOp>(op)) {
      Value shared = load(pointer, at(thread, offsetof(sw_thread, shared)));
      for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
        // The cast to a pointer comes later in the walk: leave it in place.
        user->getResult(0).setType(pointer);
        user->setOperand(0, shared);
      }
      op->erase();
    } else if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op)) {
      if (cast.getInputs().size() == 1 &&
          cast.getInputs()[0].getType() == pointer)
        give(op, cast.getInputs()[0]);
    } else if (auto read = dyn_cast<LLVM::LoadOp>(op)) {
      if (!own.contains(op))
        tell(read.getAddr(), read.getType(), false);
    } else if (auto write = dyn_cast<LLVM::StoreOp>(op)) {
      tell(write.getAddr(), write.getValue().getType(), true);
    } else if (isa<gpu::GPUDialect>(op->getDialect()) ||
               op->getDialect()->getNamespace() == "nvvm") {
      return op->emitError()
             << "'" << op->getName() << "' has no meaning on the host";
    }
    return success();
  }

  void replaceShuffle(gpu::ShuffleOp shuffle) {
    meets = true;
    Type type = shuffle.getValue().getType(), word = builder.getI32Type();
    Value bits = shuffle.getValue();
    if (type != word)
      bits = arith::BitcastOp::create(builder, loc, word, bits);
    bits =
        call(offsetof(sw_thread, shuffle), word, {bits, shuffle.getOffset()});
    if (type != word)
      bits = arith::BitcastOp::create(builder, loc, type, bits);
    give(shuffle, bits);
  }

  gpu::GPUFuncOp kernel;
  OpBuilder builder;
  Location loc;
  Type pointer;
  Value thread;
  llvm::DenseSet<Operation *> own; ///< loads that the kernel does not have
};

/// Describes a kernel to the runtime, as `sw_twin` lies in memory.
LLVM::GlobalOp describe(OpBuilder &builder, gpu::GPUFuncOp kernel,
                        StringRef code, bool meets) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = kernel.getLoc();
  MLIRContext *context = builder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type word = builder.getI64Type();
  auto data = [&](StringRef kind, Attribute value, Type type) {
    std::string name = (kind + "." + kernel.getName()).str();
    LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name, value,
                           /*alignment=*/8);
    return name;
  };
  auto numbers = [&](StringRef name) {
    return kernel->getAttrOfType<DenseI64ArrayAttr>(name).asArrayRef();
  };
  ArrayRef<int64_t> extents = numbers(device::kExtents);
  std::string bytes =
      data("extents", builder.getI64TensorAttr(extents),
           LLVM::LLVMArrayType::get(word, unsigned(extents.size())));
  std::string text = kernel.getName().str() + '\0';
  std::string name = data(
      "name", builder.getStringAttr(text),
      LLVM::LLVMArrayType::get(builder.getI8Type(), unsigned(text.size())));

  SmallVector<Type> members = {pointer, pointer, pointer};
  members.append(9, word);
  auto type = LLVM::LLVMStructType::getLiteral(context, members);
  auto global = LLVM::GlobalOp::create(
      builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
      ("about." + kernel.getName()).str(), Attribute(), /*alignment=*/8);
  builder.createBlock(&global.getInitializerRegion());
  Value about = LLVM::UndefOp::create(builder, loc, type);
  int64_t member = 0;
  auto append = [&](Value value) {
    about = LLVM::InsertValueOp::create(builder, loc, about, value,
                                        ArrayRef<int64_t>{member++});
  };
  for (StringRef symbol : {code, StringRef(name), StringRef(bytes)})
    append(LLVM::AddressOfOp::create(builder, loc, pointer, symbol));
  SmallVector<int64_t> words = {int64_t(extents.size()), meets};
  llvm::append_range(words, numbers(device::kGrid));
  llvm::append_range(words, numbers(device::kBlock));
  words.push_back(kernel->getAttrOfType<IntegerAttr>(device::kShared).getInt());
  for (int64_t number : words)
    append(LLVM::ConstantOp::create(builder, loc, word,
                                    builder.getI64IntegerAttr(number)));
  LLVM::ReturnOp::create(builder, loc, about);
  return global;
}

/// Launches say which kernel by its address.
void nameKernels(ModuleOp module, ArrayRef<LLVM::GlobalOp> twins) {
  module.walk([&](LLVM::CallOp call) {
    if (call.getCallee() != "sw_launch" && call.getCallee() != "sw_otherwise")
      return;
    OpBuilder builder(call);
    Value number = call.getArgOperands()[1];
    APInt value;
    matchPattern(number, m_ConstantInt(&value));
    Value address = LLVM::AddressOfOp::create(builder, call.getLoc(),
                                              twins[value.getZExtValue()]);
    call.getArgOperandsMutable()[1].set(LLVM::PtrToIntOp::create(
        builder, call.getLoc(), builder.getI64Type(), address));
  });
}

} // namespace

LogicalResult writeTwins(ModuleOp module, gpu::GPUModuleOp kernels) {
  OpBuilder builder(module.getBodyRegion());
  SmallVector<LLVM::GlobalOp> twins;
  for (auto kernel : kernels.getOps<gpu::GPUFuncOp>()) {
    Twin twin(kernel, module);
    FailureOr<LLVM::LLVMFuncOp> function = twin.write();
    if (failed(function))
      return failure();
    builder.setInsertionPointToEnd(module.getBody());
    twins.push_back(describe(builder, kernel, function->getName(), twin.meets));
  }
  nameKernels(module, twins);
  return success();
}

} // namespace stagewright
