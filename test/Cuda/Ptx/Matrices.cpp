//===- Matrices.cpp - loads and products of tensor cores ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of elements over lanes is specified in NVIDIA's "PTX ISA": "Matrix
// Fragments for mma.m16n8k16" and "ldmatrix".
//
//===----------------------------------------------------------------------===//

#include "Block.h"

namespace emulator::ptx {

void BlockRunner::requireAll(const Warp &warp, uint32_t mask,
                             const Instruction &it) const {
  if (uint32_t absent = ~mask)
    refuse(warp, std::countr_zero(absent), it,
           "is not there for an instruction of the whole warp");
}

/// Four matrices of 8 x 8 numbers: lane 8 m + i has the address of row i of
/// matrix m; lane 4 i + j gets elements 2 j and 2 j + 1 of row i (trans: column
/// i).
void BlockRunner::loadMatrices(Warp &warp, uint32_t mask,
                               const Instruction &it) {
  requireAll(warp, mask, it);
  constexpr int side = 8, matrices = 4, rowBytes = 16;
  const Operand &to = it.operands[0], &from = it.operands[1];
  bool transposed = it.has("trans");
  requireWritten(warp, mask, from, it, "an address");
  Row room;
  const Row &addresses = read(warp, from, room);
  uint16_t elements[2][matrices][side][side];
  Request request;
  request.bytes = rowBytes;
  for (int lane = 0; lane < warpSize; ++lane) {
    uint64_t address = addresses[size_t(lane)] + uint64_t(from.offset);
    if (address % rowBytes != 0)
      refuse(warp, lane, it, "names a row that begins at no multiple of 16");
    inLane(warp, lane, it, [&] {
      Place row = sharedPlace(threadOf(warp, lane), address, rowBytes, false);
      warp.notice(row, rowBytes);
      Place::Bits bits;
      for (Plane plane : {values, unwritten})
        std::memcpy(elements[plane][lane / side][lane % side],
                    row.in(plane, rowBytes, bits), rowBytes);
    });
    request.address[request.lanes++] = address;
  }
  counters.shared.add(request);
  for (Plane plane : warp.used())
    for (int m = 0; m < matrices; ++m)
      for (int lane = 0; lane < warpSize; ++lane) {
        const Operand &part = to.parts[size_t(m)];
        int i = lane / 4, j = lane % 4 * 2;
        auto element = [&](int at) -> uint32_t {
          return transposed ? elements[plane][m][at][i]
                            : elements[plane][m][i][at];
        };
        warp.row(part, plane)[size_t(lane)] = element(j) | element(j + 1) << 16;
        if (plane == unwritten)
          warp.origins[size_t(part.number)][size_t(lane)] = {
              (request.address[side * m + (transposed ? j : i)] | sharedWindow),
              &it};
      }
}

/// D = A B + C with 16 x 16, 16 x 8 and 16 x 8 numbers, sums in float32. How a
/// device rounds within a sum is not specified; here each sum is rounded once.
void BlockRunner::multiply(Warp &warp, uint32_t mask, const Instruction &it) {
  requireAll(warp, mask, it);
  constexpr int rows = 16, columns = 8, terms = 16;
  bool half = it.has("f16");
  double a[rows][terms], b[terms][columns];
  // Rows of A and columns of B with unwritten bits.
  bool unwrittenA[rows] = {}, unwrittenB[columns] = {};
  // Calls `use(number, is it unwritten, part, lane, k)` for both halves of each
  // register of an operand.
  auto forNumbers = [&](size_t operand, auto use) {
    int count = 0;
    for (const Operand &part : it.operands[operand].parts) {
      Row room, more;
      const Row &row = read(warp, part, room);
      const Row &bits = read(warp, part, more, unwritten);
      for (size_t lane = 0; lane < warpSize; ++lane)
        for (int k = 0; k < 2; ++k) {
          uint64_t number = row[lane] >> (16 * k);
          use(half ? float(get<Half>(number)) : float(get<Bfloat16>(number)),
              (bits[lane] >> (16 * k) & 0xffff) != 0, count, int(lane), k);
        }
      ++count;
    }
  };
  // Parts: rows y, rows y + 8, then the same rows 8 terms further.
  forNumbers(1, [&](float number, bool bits, int part, int lane, int k) {
    int row = lane / 4 + 8 * (part % 2);
    a[row][lane % 4 * 2 + 8 * (part / 2) + k] = double(number);
    unwrittenA[row] |= bits;
  });
  forNumbers(2, [&](float number, bool bits, int part, int lane, int k) {
    b[lane % 4 * 2 + 8 * part + k][lane / 4] = double(number);
    unwrittenB[lane / 4] |= bits;
  });
  std::optional<Spread> spread;
  if (warp.hasUnwritten())
    spread.emplace(warp, mask, it);
  Row sums[2][4], room;
  for (Plane plane : warp.used())
    for (size_t part = 0; part < 4; ++part)
      sums[plane][part] = read(warp, it.operands[3].parts[part], room, plane);
  for (size_t part = 0; part < 4; ++part)
    for (size_t lane = 0; lane < warpSize; ++lane) {
      size_t row = lane / 4 + 8 * (part / 2), column = lane % 4 * 2 + part % 2;
      double sum = double(get<float>(sums[values][part][lane]));
      for (int k = 0; k < terms; ++k)
        sum += a[row][k] * b[k][column];
      const Operand &to = it.operands[0].parts[part];
      warp.row(to)[lane] = put(float(sum));
      if (warp.hasUnwritten())
        warp.row(to, unwritten)[lane] =
            unwrittenA[row] || unwrittenB[column] || sums[unwritten][part][lane]
                ? ~uint64_t(0)
                : 0;
    }
}

} // namespace emulator::ptx
