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

void Warp::requireAll() {
  forLanes(~active, [] {
    throw Violation("is not there for an instruction of the whole warp");
  });
}

/// Four matrices of 8 x 8 numbers: lane 8 m + i has the address of row i of
/// matrix m; lane 4 i + j gets elements 2 j and 2 j + 1 of row i (trans: column
/// i).
void Warp::loadMatrices() {
  requireAll();
  constexpr size_t side = 8, rowBytes = 16;
  const Operand &from = it->operands[1];
  requireWritten(from, "an address");
  Row room;
  const Row &addresses = read(from, room);
  Request request = {rowBytes};
  forLanes(active, [&] {
    if (addresses[lane] % rowBytes != 0)
      throw Violation("names a row that begins at no multiple of 16");
    notice(sharedPlace(addresses[lane], rowBytes, false), rowBytes);
    request.add(addresses[lane]);
  });
  block->counters.shared.add(request);
  bool transposed = it->has("trans");
  for (Plane plane : used())
    for (size_t element = 0; element < 8; ++element) // Two of each matrix.
      forLanes(active, [&] {
        size_t i = lane / 4, j = lane % 4 * 2 + element % 2, m = element / 2;
        if (transposed)
          std::swap(i, j);
        uint64_t address = request.address[side * m + i] + 2 * j, bits = 0;
        std::byte marks[2];
        std::memcpy(&bits, bitsOf(block->shared.at(address), plane, 2, marks),
                    2);
        size_t number = it->operands[0].parts[m].number;
        uint64_t &to = planes[plane][number][lane];
        to = element % 2 ? to | bits << 16 : bits;
        if (plane == unwritten && bits)
          origins[number][lane] = {address, it};
      });
}

/// D = A B + C with 16 x 16, 16 x 8 and 16 x 8 numbers, sums in float32. How a
/// device rounds within a sum is not specified; here each sum is rounded once.
void Warp::multiply() {
  requireAll();
  constexpr size_t rows = 16, columns = 8, terms = 16;
  bool half = it->has("f16");
  double a[rows][terms], b[columns][terms];
  // Rows of A and columns of B with unwritten bits.
  bool unwrittenA[rows] = {}, unwrittenB[columns] = {};
  // The first part has lines 0 to 7 (rows of A or columns of B) of terms 0 to
  // 7, the next ones have the lines from 8 on, then come terms 8 to 15.
  auto take = [&](size_t operand, auto &numbers, auto &unknown) {
    constexpr size_t lines =
        std::extent_v<std::remove_reference_t<decltype(numbers)>> / 8;
    Row room;
    for (size_t part = 0; part < 2 * lines; ++part) {
      const Operand &from = it->operands[operand].parts[part];
      const Row &row = read(from, room), &bits = read(from, room, unwritten);
      for (size_t i = 0; i < 2 * warpSize; ++i) { // Two numbers in each lane.
        size_t line = i / 8 + 8 * (part % lines), shift = 16 * (i % 2);
        uint64_t number = row[i / 2] >> shift;
        numbers[line][i % 8 + 8 * (part / lines)] = double(
            half ? float(get<Half>(number)) : float(get<Bfloat16>(number)));
        unknown[line] |= (bits[i / 2] >> shift & 0xffff) != 0;
      }
    }
  };
  take(1, a, unwrittenA);
  take(2, b, unwrittenB);
  gatherOrigins();
  Row sums[2][4], room;
  for (Plane plane : used())
    for (size_t part = 0; part < 4; ++part)
      sums[plane][part] = read(it->operands[3].parts[part], room, plane);
  for (size_t part = 0; part < 4; ++part)
    for (size_t i = 0; i < warpSize; ++i) {
      size_t row = i / 4 + 8 * (part / 2), column = i % 4 * 2 + part % 2;
      auto sum = double(get<float>(sums[values][part][i]));
      for (size_t k = 0; k < terms; ++k)
        sum += a[row][k] * b[column][k];
      size_t to = it->operands[0].parts[part].number;
      planes[values][to][i] = put(float(sum));
      if (hasUnwritten())
        planes[unwritten][to][i] =
            unwrittenA[row] || unwrittenB[column] || sums[unwritten][part][i]
                ? ~uint64_t(0)
                : 0;
    }
  spreadOrigins();
}

} // namespace emulator::ptx
