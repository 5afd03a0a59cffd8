//===- ContractionCalls.cpp - products as calls of libraries --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Conversion/BodiesToKernels/ContractionCalls.h"
#include "Triangle.h"
#include "stagewright/Conversion/BodiesToKernels/LinearMap.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/ProductLoops.h"

namespace stagewright::bodies {
namespace {

/// The address of the first element of `buffer`, as an index.
Value indexOf(OpBuilder &builder, Value buffer) {
  Location loc = buffer.getLoc();
  auto type = cast<MemRefType>(buffer.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t size = type.getElementTypeBitWidth() / 8;
  Value base =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
  if (offset == 0)
    return base;
  Value start =
      ShapedType::isDynamic(offset)
          ? arith::MulIOp::create(
                builder, loc,
                memref::ExtractStridedMetadataOp::create(builder, loc, buffer)
                    .getOffset(),
                arith::ConstantIndexOp::create(builder, loc, size))
                .getResult()
          : arith::ConstantIndexOp::create(builder, loc, offset * size);
  return arith::AddIOp::create(builder, loc, base, start);
}

Value asPointer(OpBuilder &builder, Location loc, Value index) {
  Value integer =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
  return LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), integer);
}

/// The same call, but it adds to C.
ContractionDesc adding(ContractionDesc call) {
  std::visit([](auto &desc) { desc.beta = 1; }, call);
  return call;
}

class CallWriter {
public:
  CallWriter(rank::ContractOp op, EmitCall emitCall)
      : op(op), emitCall(emitCall), builder(op), loc(op.getLoc()) {}

  LogicalResult run() {
    Value operands[3] = {op.getLhs(), op.getRhs(), op.getWritten()};
    SmallVector<AffineMap> maps = op.getMaps();
    Loops loops(maps[0].getNumDims(), Loop{1, {0, 0, 0}});
    for (int i = 0; i < 3; ++i) {
      auto type = dyn_cast<MemRefType>(operands[i].getType());
      SmallVector<int64_t> strides;
      int64_t offset;
      auto steps = coefficientsOf(maps[i]);
      if (!type || !steps ||
          failed(type.getStridesAndOffset(strides, offset)) ||
          llvm::any_of(strides, ShapedType::isDynamic))
        return op->emitError()
               << "contraction needs buffers with static shapes and strides, "
                  "but got "
               << operands[i].getType();
      sizes[i] = type.getElementTypeBitWidth() / 8;
      for (unsigned dim = 0; dim < loops.size(); ++dim)
        for (auto [step, stride] : llvm::zip_equal(*steps, strides))
          loops[dim].stride[i] += step[dim] * stride;
    }
    Value base[3];
    for (int i = 0; i < 3; ++i)
      base[i] = indexOf(builder, operands[i]);
    for (const LoopBox &box : boxesOf(op))
      lowerBox(box, loops, base);
    op->erase();
    return success();
  }

private:
  /// Lowers the points in `box`. Only the strides of `loops` are used; `start`
  /// has the addresses of the elements at the first point of `op`.
  void lowerBox(const LoopBox &box, ArrayRef<Loop> loops,
                const Value (&start)[3]) {
    Value base[3];
    for (int i = 0; i < 3; ++i) {
      int64_t offset = 0;
      for (auto [loop, begin] : llvm::zip_equal(loops, box.begins))
        offset += begin * loop.stride[i];
      base[i] = offset == 0 ? start[i] : advance(start[i], offset * sizes[i]);
    }
    SmallVector<Loop> inside(loops);
    for (auto [loop, extent] : llvm::zip_equal(inside, box.extents))
      loop.extent = extent;
    Nest nest = Nest::get(ContractionDims::get(op.getMaps()), inside);
    // If `op` overwrites C, the first part of the sum does, and the others add.
    int32_t beta = !op.overwrites();
    bool matrix =
        !op.isConvolution() || (nest.m.size() <= 1 && nest.k.size() <= 1);
    Loops outer;
    ContractionDesc call =
        matrix ? gemm(nest, beta, outer) : convolution(nest, beta, base, outer);
    emit(call, base, outer);
    if (!nest.k.empty())
      emitRestOfSum(adding(call), base, outer, nest.k);
  }

  /// Creates a matrix product. Leaves the remaining loops of the sum in
  /// `nest.k`, and the others in `outer`.
  static ContractionDesc gemm(Nest &nest, int32_t beta, Loops &outer) {
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
    desc.beta = beta;
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
    return desc;
  }

  /// Creates a convolution. Swaps A and B if the rows of C, not its columns,
  /// are contiguous.
  static ContractionDesc convolution(Nest &nest, int32_t beta, Value (&base)[3],
                                     Loops &outer) {
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
    // The descriptor has the innermost three loops over rows and the innermost
    // three of the sum. The other loops of the sum are calls that add to C.
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
    desc.beta = beta;
    desc.columns = columns.extent;
    desc.b_col = columns.stride[1], desc.c_col = columns.stride[2];
    for (int i = 0; i < 3; ++i) {
      desc.rows[i] = rows[i].extent, desc.sum[i] = sum[i].extent;
      desc.a_row[i] = rows[i].stride[0], desc.c_row[i] = rows[i].stride[2];
      desc.a_sum[i] = sum[i].stride[0], desc.b_sum[i] = sum[i].stride[1];
    }
    return desc;
  }

  /// Emits calls for all points of the loops `k` but the origin, whose call has
  /// already been emitted.
  void emitRestOfSum(const ContractionDesc &call, Value (&base)[3],
                     ArrayRef<Loop> outer, ArrayRef<Loop> k) {
    for (auto [i, loop] : llvm::enumerate(k)) {
      // Loop i from 1, loops before it at 0, loops after it in full.
      Loops nest(outer);
      llvm::append_range(nest, k.drop_front(i + 1));
      Value first[3];
      for (int j = 0; j < 3; ++j)
        first[j] = advance(base[j], loop.stride[j] * sizes[j]);
      nest.push_back(
          {loop.extent - 1, {loop.stride[0], loop.stride[1], loop.stride[2]}});
      emit(call, first, nest);
    }
  }

  Value advance(Value base, int64_t bytes) {
    Value distance = arith::ConstantIndexOp::create(builder, loc, bytes);
    return arith::AddIOp::create(builder, loc, base, distance);
  }

  void emit(const ContractionDesc &call, const Value (&base)[3],
            ArrayRef<Loop> outer) {
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
      return emit(call, next, outer.drop_front());
    }
    SmallVector<Value> pointers;
    for (Value address : base)
      pointers.push_back(asPointer(builder, loc, address));
    emitCall(builder, call, pointers);
  }

  rank::ContractOp op;
  EmitCall emitCall;
  OpBuilder builder;
  Location loc;
  std::array<int64_t, 3> sizes; ///< bytes of an element of A, B and C
};

} // namespace

Value addressOf(OpBuilder &builder, Value buffer) {
  return asPointer(builder, buffer.getLoc(), indexOf(builder, buffer));
}

LogicalResult lowerToCalls(rank::ContractOp op, EmitCall emit) {
  return CallWriter(op, emit).run();
}

} // namespace stagewright::bodies
