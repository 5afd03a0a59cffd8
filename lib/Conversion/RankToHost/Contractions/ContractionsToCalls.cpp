//===- ContractionsToCalls.cpp - products as calls of the runtime ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearMap.h"
#include "ProductLoops.h"
#include "Triangle.h"
#include "stagewright-rt/runtime.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include <cstring>

using namespace mlir;

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTCONTRACTIONSTOCALLS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

static_assert(sizeof(sw_gemm_desc) % sizeof(int64_t) == 0 &&
                  sizeof(sw_convolution_desc) % sizeof(int64_t) == 0,
              "a descriptor is written as 64-bit words");

/// A call of the runtime with a constant descriptor.
struct Call {
  StringRef function;
  SmallVector<int64_t> words;

  template <typename Desc>
  static Call get(StringRef function, const Desc &desc) {
    Call call{function, SmallVector<int64_t>(sizeof(desc) / sizeof(int64_t))};
    std::memcpy(call.words.data(), &desc, sizeof(desc));
    return call;
  }
  /// The same call with beta = 1, which adds to C.
  template <typename Desc> Call adding() const {
    Desc desc;
    std::memcpy(&desc, words.data(), sizeof(desc));
    desc.beta = 1;
    return get(function, desc);
  }
  Call adding() const {
    return function == "sw_gemm" ? adding<sw_gemm_desc>()
                                 : adding<sw_convolution_desc>();
  }
};

bool isOfThreeBuffers(linalg::LinalgOp op) {
  return op.getNumDpsInputs() == 2 && op.getNumDpsInits() == 1 &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return isa<MemRefType>(type); });
}

struct HostContractionsToCallsPass
    : impl::HostContractionsToCallsBase<HostContractionsToCallsPass> {
  using HostContractionsToCallsBase::HostContractionsToCallsBase;

  using Sizes = std::array<int64_t, 3>; ///< bytes of an element of A, B and C

  DenseMap<Attribute, LLVM::GlobalOp> descriptors;
  ArrayAttr typesOfCall;    ///< element types of A, B and C
  Attribute epilogueOfCall; ///< null: none

  void runOnOperation() override {
    descriptors.clear();
    SmallVector<linalg::LinalgOp> contractions;
    getOperation().walk([&](linalg::LinalgOp op) {
      // A canonicalized convolution may have fewer operands, and is none then.
      bool isConvolution = op->hasAttr(kConvolution) && isOfThreeBuffers(op);
      if (isa<linalg::ContractOp>(op) || isConvolution)
        contractions.push_back(op);
    });
    for (linalg::LinalgOp op : contractions)
      if (failed(lower(op)))
        return signalPassFailure();
  }

  LogicalResult lower(linalg::LinalgOp op) {
    Value operands[3] = {op->getOperand(0), op->getOperand(1),
                         op->getOperand(2)};
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    SmallVector<int64_t> strides[3];
    for (int i = 0; i < 3; ++i) {
      auto type = dyn_cast<MemRefType>(operands[i].getType());
      int64_t offset;
      if (!type || !type.hasStaticShape() ||
          failed(type.getStridesAndOffset(strides[i], offset)) ||
          llvm::any_of(strides[i], ShapedType::isDynamic))
        return op->emitError()
               << "contraction needs buffers with static shapes "
                  "and strides, but got "
               << operands[i].getType();
    }
    Type element = cast<MemRefType>(operands[2].getType()).getElementType();
    SmallVector<Attribute> types;
    Sizes sizes;
    for (auto [i, operand] : llvm::enumerate(operands)) {
      Type of = cast<MemRefType>(operand.getType()).getElementType();
      if (!mixed && (of != element || (!element.isF32() && !element.isF64())))
        return op->emitError()
               << "contraction must be in f32 or f64 throughout, but got "
               << operand.getType();
      types.push_back(TypeAttr::get(of));
      sizes[i] = of.getIntOrFloatBitWidth() / 8;
    }
    typesOfCall = ArrayAttr::get(&getContext(), types);
    epilogueOfCall = op->getAttr(kEpilogue);

    SmallVector<SmallVector<int64_t>> steps[3];
    for (int i = 0; i < 3; ++i)
      steps[i] = *coefficientsOf(maps[i]);
    SmallVector<Loop> loops(op.getNumLoops(), Loop{1, {0, 0, 0}});
    for (unsigned dim = 0; dim < loops.size(); ++dim)
      for (int i = 0; i < 3; ++i)
        for (auto [step, stride] : llvm::zip_equal(steps[i], strides[i]))
          loops[dim].stride[i] += step[dim] * stride;
    OpBuilder builder(op);
    Value base[3];
    for (int i = 0; i < 3; ++i)
      base[i] = address(builder, op.getLoc(), operands[i]);
    for (const LoopBox &box : boxesOf(op))
      lowerBox(builder, op, box, loops, base, sizes);
    op->erase();
    return success();
  }

  /// Lowers the points in `box`. Only the strides of `loops` are used; `start`
  /// has the addresses of the elements at the first point of `op`.
  void lowerBox(OpBuilder &builder, linalg::LinalgOp op, const LoopBox &box,
                ArrayRef<Loop> loops, const Value (&start)[3],
                const Sizes &sizes) {
    Location loc = op.getLoc();
    Type element = cast<MemRefType>(op->getOperandTypes()[2]).getElementType();
    Value base[3];
    for (int i = 0; i < 3; ++i) {
      int64_t offset = 0;
      for (auto [loop, begin] : llvm::zip_equal(loops, box.begins))
        offset += begin * loop.stride[i];
      base[i] = offset == 0
                    ? start[i]
                    : advance(builder, loc, start[i], offset * sizes[i]);
    }
    SmallVector<Loop> inside(loops);
    for (auto [loop, extent] : llvm::zip_equal(inside, box.extents))
      loop.extent = extent;
    Nest nest =
        Nest::get(ContractionDims::get(op.getIndexingMapsArray()), inside);
    int32_t dtype = element.isF32() ? SW_F32 : SW_F64;
    // The first part of the sum overwrites, the others add.
    int32_t beta = !op->hasAttr(kOverwrite);
    bool matrix = isa<linalg::ContractOp>(op) ||
                  (nest.m.size() <= 1 && nest.k.size() <= 1);
    Loops outer;
    Call call = matrix ? gemm(nest, dtype, beta, outer)
                       : convolution(nest, dtype, beta, base, outer);
    emit(builder, loc, call, base, outer, sizes);
    if (!nest.k.empty())
      emitRestOfSum(builder, loc, call.adding(), base, outer, nest.k, sizes);
  }

  /// Creates a matrix product. Leaves the remaining loops of the sum in
  /// `nest.k`, and the others in `outer`.
  static Call gemm(Nest &nest, int32_t dtype, int32_t beta, Loops &outer) {
    Loop rows = takeLongest(nest.m), columns = takeLongest(nest.n),
         sum = takeLongest(nest.k);
    // Remaining loops of rows and columns repeat the call like a batch;
    // remaining loops of the sum must add to C.
    Loops batch = nest.batch;
    llvm::append_range(batch, nest.m);
    llvm::append_range(batch, nest.n);
    if (batch.size() > 2) {
      // The library takes the longest two as batches.
      llvm::stable_sort(batch, [](const Loop &a, const Loop &b) {
        return a.extent > b.extent;
      });
      outer.assign(batch.begin() + 2, batch.end());
      batch.resize(2);
    }
    while (batch.size() < 2)
      batch.insert(batch.begin(), Loop{1, {0, 0, 0}});

    sw_gemm_desc desc = {};
    desc.dtype = dtype, desc.beta = beta;
    desc.m = rows.extent, desc.n = columns.extent, desc.k = sum.extent;
    desc.a_row = rows.stride[0], desc.a_col = sum.stride[0];
    desc.b_row = sum.stride[1], desc.b_col = columns.stride[1];
    desc.c_row = rows.stride[2], desc.c_col = columns.stride[2];
    for (int i = 0; i < 2; ++i) {
      desc.batch[i] = batch[i].extent;
      desc.a_batch[i] = batch[i].stride[0];
      desc.b_batch[i] = batch[i].stride[1];
      desc.c_batch[i] = batch[i].stride[2];
    }
    return Call::get("sw_gemm", desc);
  }

  /// Creates a convolution. Swaps A and B if the rows of C, not its columns,
  /// are contiguous.
  static Call convolution(Nest &nest, int32_t dtype, int32_t beta,
                          Value (&base)[3], Loops &outer) {
    auto hasUnit = [](const Loops &loops) {
      return llvm::any_of(loops, [](const Loop &loop) {
        return loop.stride[2] == 1 && loop.extent >= 4;
      });
    };
    if (!hasUnit(nest.n) && hasUnit(nest.m)) {
      std::swap(nest.m, nest.n);
      std::swap(base[0], base[1]);
      for (Loops *loops : {&nest.m, &nest.n, &nest.k, &nest.batch})
        for (Loop &loop : *loops)
          std::swap(loop.stride[0], loop.stride[1]);
    }
    Loop columns = takeLongest(nest.n);
    outer = nest.batch;
    llvm::append_range(outer, nest.n);
    // The descriptor has the innermost three; other loops of the sum add.
    auto takeInnermost = [](Loops &loops, Loops *rest) {
      Loops taken(loops.end() - std::min<size_t>(loops.size(), 3), loops.end());
      loops.resize(loops.size() - taken.size());
      if (rest)
        rest->append(loops.begin(), loops.end());
      while (taken.size() < 3)
        taken.insert(taken.begin(), Loop{1, {0, 0, 0}});
      return taken;
    };
    Loops rows = takeInnermost(nest.m, &outer),
          sum = takeInnermost(nest.k, nullptr);
    sw_convolution_desc desc = {};
    desc.dtype = dtype, desc.beta = beta;
    desc.columns = columns.extent;
    desc.b_col = columns.stride[1], desc.c_col = columns.stride[2];
    for (int i = 0; i < 3; ++i) {
      desc.rows[i] = rows[i].extent, desc.sum[i] = sum[i].extent;
      desc.a_row[i] = rows[i].stride[0], desc.c_row[i] = rows[i].stride[2];
      desc.a_sum[i] = sum[i].stride[0], desc.b_sum[i] = sum[i].stride[1];
    }
    return Call::get("sw_convolution", desc);
  }

  /// Emits calls for all points of the loops `k` but the origin, which is done.
  void emitRestOfSum(OpBuilder &builder, Location loc, const Call &call,
                     Value (&base)[3], ArrayRef<Loop> outer, ArrayRef<Loop> k,
                     const Sizes &sizes) {
    for (auto [i, loop] : llvm::enumerate(k)) {
      // Loop i from 1, loops before it at 0, loops after it in full.
      Loops nest(outer);
      llvm::append_range(nest, k.drop_front(i + 1));
      Value first[3];
      for (int j = 0; j < 3; ++j)
        first[j] = advance(builder, loc, base[j], loop.stride[j] * sizes[j]);
      nest.push_back(
          {loop.extent - 1, {loop.stride[0], loop.stride[1], loop.stride[2]}});
      emit(builder, loc, call, first, nest, sizes);
    }
  }

  Value advance(OpBuilder &builder, Location loc, Value base, int64_t bytes) {
    Value distance = arith::ConstantIndexOp::create(builder, loc, bytes);
    return arith::AddIOp::create(builder, loc, base, distance);
  }

  /// Address of the first element, as an index.
  Value address(OpBuilder &builder, Location loc, Value buffer) {
    auto type = cast<MemRefType>(buffer.getType());
    auto [strides, offset] = type.getStridesAndOffset();
    int64_t size = type.getElementTypeBitWidth() / 8;
    Value base =
        memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
    if (!ShapedType::isDynamic(offset))
      return offset == 0 ? base : advance(builder, loc, base, offset * size);
    Value start = memref::ExtractStridedMetadataOp::create(builder, loc, buffer)
                      .getOffset();
    Value scale = arith::ConstantIndexOp::create(builder, loc, size);
    return arith::AddIOp::create(
        builder, loc, base, arith::MulIOp::create(builder, loc, start, scale));
  }

  void emit(OpBuilder &builder, Location loc, const Call &call,
            const Value (&base)[3], ArrayRef<Loop> outer, const Sizes &sizes) {
    if (!outer.empty()) {
      OpBuilder::InsertionGuard guard(builder);
      auto constant = [&](int64_t value) {
        return arith::ConstantIndexOp::create(builder, loc, value);
      };
      auto loop = scf::ForOp::create(builder, loc, constant(0),
                                     constant(outer[0].extent), constant(1));
      builder.setInsertionPointToStart(loop.getBody());
      Value next[3];
      for (int i = 0; i < 3; ++i)
        next[i] = arith::AddIOp::create(
            builder, loc, base[i],
            arith::MulIOp::create(builder, loc, loop.getInductionVar(),
                                  constant(outer[0].stride[i] * sizes[i])));
      return emit(builder, loc, call, next, outer.drop_front(), sizes);
    }
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    SmallVector<Value> arguments = {LLVM::AddressOfOp::create(
        builder, loc, pointer, descriptorOf(call).getSymName())};
    for (Value value : base) {
      Value integer =
          arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
      arguments.push_back(
          LLVM::IntToPtrOp::create(builder, loc, pointer, integer));
    }
    auto made = LLVM::CallOp::create(builder, loc, functionOf(call), arguments);
    if (mixed)
      made->setAttr(kTypes, typesOfCall);
    if (epilogueOfCall)
      made->setAttr(kEpilogue, epilogueOfCall);
  }

  LLVM::GlobalOp descriptorOf(const Call &call) {
    OpBuilder builder(getOperation().getBodyRegion());
    int64_t words = int64_t(call.words.size());
    auto value = DenseElementsAttr::get(
        RankedTensorType::get({words}, builder.getI64Type()),
        ArrayRef<int64_t>(call.words));
    LLVM::GlobalOp &global = descriptors[value];
    if (!global)
      global = LLVM::GlobalOp::create(
          builder, getOperation().getLoc(),
          LLVM::LLVMArrayType::get(builder.getI64Type(), unsigned(words)),
          /*isConstant=*/true, LLVM::Linkage::Private,
          call.function.drop_front(3).str() + "." +
              std::to_string(descriptors.size() - 1),
          value, /*alignment=*/8);
    return global;
  }

  LLVM::LLVMFuncOp functionOf(const Call &call) {
    if (auto known =
            getOperation().lookupSymbol<LLVM::LLVMFuncOp>(call.function))
      return known;
    OpBuilder builder(getOperation().getBodyRegion());
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    {pointer, pointer, pointer, pointer});
    return LLVM::LLVMFuncOp::create(builder, getOperation().getLoc(),
                                    call.function, type);
  }
};

} // namespace
} // namespace stagewright::host
