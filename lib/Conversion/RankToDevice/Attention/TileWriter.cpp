//===- TileWriter.cpp - scores of attention and arithmetic ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileWriter.h"
#include "stagewright/Conversion/BodiesToKernels/Elementary.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

namespace stagewright::device {

TileWriter::Values TileWriter::zeros(int64_t width) {
  return Values(
      size_t(r * int64_t(llvm::alignTo(width, layout.chunk)) / layout.threads),
      constant(0));
}

Value TileWriter::overRow(Value value,
                          llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t offset = layout.threads / 2; offset > 0; offset /= 2)
    value = combine(value, writer.shuffle(value, offset));
  return value;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value TileWriter::rowOf(Value first, int64_t i) {
  Value row = writer.add(down, i * layout.rowStep);
  return first ? writer.add(first, row) : row;
}

Value TileWriter::columnOf(Value first, int64_t j) {
  int64_t side = layout.scoreSide;
  Value column = writer.add(writer.times(across, side),
                            j / side * side * layout.threads + j % side);
  return first ? writer.add(first, column) : column;
}

Value TileWriter::isKey(Value key) {
  int64_t keys = attention.keys();
  return keys % columns() == 0 && keys % rows() == 0 ? Value()
                                                     : writer.isLess(key, keys);
}

Value TileWriter::elementOf(const Strided &from, Value base, Value query,
                            Value key, Value otherwise) {
  Value inside = both(isKey(key), writer.isLess(query, attention.queries()));
  Value at = writer.add(
      base, writer.add(writer.times(query, from.strides[attention.queryDim()]),
                       writer.times(key, from.strides[attention.keyDim()])));
  return writer.where(inside, otherwise, [&]() -> SmallVector<Value> {
    Value read = writer.load(from.memory, at);
    return {from.memory.element.isInteger(1) ? read : widen(read)};
  })[0];
}

TileWriter::Masked TileWriter::mask(Value score, Value query, Value key,
                                    const std::optional<Strided> &mask,
                                    Value maskBase) {
  OpBuilder &builder = writer.builder;
  Location loc = writer.loc;
  auto times = [&](Value a, Value b) -> Value {
    return arith::MulFOp::create(builder, loc, a, b);
  };
  Masked of{times(score, constant(attention.scale)), {}, {}};
  if (attention.cap) {
    Value part = tanh(times(of.score, constant(1 / *attention.cap)));
    of.score = times(part, constant(*attention.cap));
    of.slope =
        arith::SubFOp::create(builder, loc, constant(1), times(part, part));
  }
  // Keys past the last one, or later than a causal query, get weight 0.
  Value seen = isKey(key);
  if (attention.causal)
    seen = both(seen, arith::CmpIOp::create(
                          builder, loc, arith::CmpIPredicate::sle, key, query));
  if (mask && mask->memory.element.isInteger(1)) {
    of.passes = elementOf(*mask, maskBase, query, key, truth());
    of.score = arith::SelectOp::create(builder, loc, of.passes, of.score,
                                       constant(*attention.fill));
  } else if (mask) {
    of.score = arith::AddFOp::create(
        builder, loc, of.score,
        elementOf(*mask, maskBase, query, key, constant(0)));
  }
  if (seen)
    of.score = arith::SelectOp::create(builder, loc, seen, of.score,
                                       constant(-INFINITY));
  return of;
}

Value TileWriter::keep(Value query, Value key, const Strided &keep,
                       Value base) {
  return arith::SelectOp::create(writer.builder, writer.loc,
                                 elementOf(keep, base, query, key, truth()),
                                 constant(*attention.kept), constant(0));
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value TileWriter::constant(float value) {
  return arith::ConstantOp::create(writer.builder, writer.loc,
                                   writer.builder.getF32FloatAttr(value));
}

Value TileWriter::zeroOf(Type type) {
  return arith::ConstantOp::create(writer.builder, writer.loc,
                                   writer.builder.getZeroAttr(type));
}

Value TileWriter::truth() {
  return arith::ConstantOp::create(writer.builder, writer.loc,
                                   writer.builder.getBoolAttr(true));
}

Value TileWriter::exp(Value x) {
  bodies::Lanes lanes(writer.builder, writer.loc, x.getType());
  return bodies::expandExp(lanes, x);
}

Value TileWriter::log(Value x) {
  bodies::Lanes lanes(writer.builder, writer.loc, x.getType());
  return bodies::expandLog(lanes, x);
}

Value TileWriter::tanh(Value x) {
  bodies::Lanes lanes(writer.builder, writer.loc, x.getType());
  return bodies::expandTanh(lanes, x);
}

} // namespace stagewright::device
