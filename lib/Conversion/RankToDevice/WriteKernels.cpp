//===- WriteKernels.cpp - kernels as code of one thread -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelWork.h"
#include "ThreadWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEWRITEKERNELS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

/// Bytes from the pointer of a buffer to the end of its last element; 0 for
/// other types.
int64_t extentOf(Type type) {
  auto buffer = dyn_cast<MemRefType>(type);
  if (!buffer)
    return 0;
  auto [strides, offset] = buffer.getStridesAndOffset();
  int64_t last = offset;
  for (auto [extent, stride] : llvm::zip_equal(buffer.getShape(), strides))
    last += (extent - 1) * stride;
  Type element = buffer.getElementType();
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return std::max<int64_t>(last + 1, 0) * ((bits + 7) / 8);
}

/// Whether a kernel divides all numbers of its buffers by its only other
/// argument, a count, and does nothing else.
bool makesMeans(func::FuncOp kernel) {
  auto ops = kernel.front().getOps<linalg::LinalgOp>();
  SmallVector<Value> buffers, numbers;
  for (BlockArgument argument : kernel.getArguments())
    (isa<MemRefType>(argument.getType()) ? buffers : numbers)
        .push_back(argument);
  if (buffers.empty() || numbers.size() != 1 || !llvm::hasSingleElement(ops))
    return false;
  linalg::LinalgOp op = *ops.begin();
  if (op.getNumDpsInputs() != 0 ||
      !llvm::equal(op.getDpsInits(), buffers) || // each of them once
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  for (auto [buffer, quotient, element] :
       llvm::zip_equal(buffers, op.getBlock()->getTerminator()->getOperands(),
                       op.getBlock()->getArguments())) {
    auto division = quotient.getDefiningOp<arith::DivFOp>();
    if (!division || division.getLhs() != element || !buffer.hasOneUse() ||
        !cast<MemRefType>(buffer.getType()).getLayout().isIdentity())
      return false;
    auto count = division.getRhs().getDefiningOp<arith::UIToFPOp>();
    auto index = count ? count.getIn().getDefiningOp<arith::IndexCastOp>()
                       : arith::IndexCastOp();
    if (!index || index.getIn() != numbers[0])
      return false;
  }
  return true;
}

/// Checks that a sum whose results nothing reads still has kParts: its kernel
/// stores that number of partial sums instead, and needs the results only for
/// their shapes.
LogicalResult verifyParts(func::FuncOp kernel) {
  WalkResult walk = kernel.walk([](linalg::GenericOp op) {
    bool isSum = op.getNumReductionLoops() != 0 && !op->hasAttr(kParts);
    if (!isSum || !llvm::all_of(op.getDpsInits(), [](Value init) {
          return init.getDefiningOp<memref::AllocOp>() && init.hasOneUse();
        }))
      return WalkResult::advance();
    op->emitError() << "nothing reads this sum; it has lost its '" << kParts
                    << "'";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Reports that no device code can be written for `kernel`, and lists its
/// operations other than arithmetic.
LogicalResult refuse(func::FuncOp kernel) {
  llvm::SetVector<StringRef> names;
  kernel.walk([&](Operation *op) {
    if (op != kernel.getOperation() && !op->hasTrait<OpTrait::IsTerminator>() &&
        !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
      names.insert(op->getName().getStringRef());
  });
  return kernel.emitError()
         << "no code for a GPU can be written for these operations, which must "
            "be one kernel: "
         << llvm::join(names, ", ")
         << "; arrays that a loop keeps for itself may have at most "
         << kUsualShared << " bytes; the target 'host' compiles this step";
}

/// The kinds of kernels, by name; the first that applies is taken.
constexpr std::pair<const char *,
                    LogicalResult (*)(ThreadWriter &, func::FuncOp)>
    kWriters[] = {{"tensor attention", writeTensorAttention},
                  {"attention", writeAttention},
                  {"rows", writeRows},
                  {"sums", writeSums},
                  {"elements", writeElementwise},
                  {"scatter", writeScatter},
                  {"loops", writeLoops}};

} // namespace

std::string nameOfKernel(StringRef function) {
  std::string name = function.str();
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

namespace {

struct DeviceWriteKernelsPass
    : impl::DeviceWriteKernelsBase<DeviceWriteKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr("host.kernel") && !function.isExternal())
        kernels.push_back(function);
    OpBuilder builder(module.getBodyRegion());
    builder.setInsertionPointToEnd(module.getBody());
    auto target = gpu::GPUModuleOp::create(builder, module.getLoc(), kKernels);
    for (func::FuncOp kernel : kernels)
      if (failed(verifyParts(kernel)) || failed(write(kernel, target)))
        return signalPassFailure();
  }

  LogicalResult write(func::FuncOp kernel, gpu::GPUModuleOp module) {
    OpBuilder builder(module.getBodyRegion());
    builder.setInsertionPointToEnd(module.getBody());
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    SmallVector<Type> types;
    for (Type type : kernel.getArgumentTypes()) {
      if (!isa<MemRefType>(type) && !isa<IndexType>(type) &&
          !type.isInteger(64))
        return kernel.emitError() << "kernel takes a " << type
                                  << "; only buffers and 64-bit numbers can be "
                                     "given to a device";
      types.push_back(isa<MemRefType>(type) ? Type(pointer)
                                            : builder.getI64Type());
    }
    std::string name = nameOfKernel(kernel.getSymName());
    if (module.lookupSymbol(name))
      return kernel.emitError()
             << "two kernels would be named '" << name << "'";
    auto function = gpu::GPUFuncOp::create(builder, kernel.getLoc(), name,
                                           builder.getFunctionType(types, {}));
    function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                      builder.getUnitAttr());
    ThreadWriter writer(kernel, function);
    KernelWork work = workOfKernel(kernel);
    const auto *form = llvm::find_if(kWriters, [&](const auto &it) {
      return succeeded(it.second(writer, kernel));
    });
    if (form == std::end(kWriters))
      return refuse(kernel);
    writer.builder.setInsertionPointToEnd(&function.getBody().front());
    gpu::ReturnOp::create(writer.builder, kernel.getLoc());
    SmallVector<int64_t> extents =
        llvm::map_to_vector(kernel.getArgumentTypes(), extentOf);
    if (!writer.sums.empty() || !writer.adds.empty())
      extents.push_back(0); // of the last argument, an sw_sums
    function->setAttr(rank::RankDialect::kKernel,
                      rank::KernelAttr::get(
                          &getContext(), writer.adds,
                          int64_t(function.getNumArguments()),
                          writer.shape.block, extents, int64_t(work.flops),
                          builder.getStringAttr(form->first), writer.shape.grid,
                          makesMeans(kernel), function.getNameAttr(), work.read,
                          writer.shape.shared, writer.sums, work.written));
    function.setKnownBlockSizeAttr(builder.getDenseI32ArrayAttr(
        llvm::to_vector_of<int32_t>(writer.shape.block)));
    kernel.eraseBody();
    return success();
  }
};

} // namespace
} // namespace stagewright::device
