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
  Request request = {rowBytes};
  forLanes(active, [&] {
    uint64_t address = addressIn(from);
    REQUIRE(address % rowBytes == 0,
            "names a row that begins at no multiple of 16");
    notice(sharedPlace(address, rowBytes, false), rowBytes);
    request.add(address);
  });
  block->counters.shared.add(request);
  bool transposed = it->has("trans");
  for (Plane plane : used())
    for (size_t element = 0; element < 8; ++element) // Two of each matrix.
      forLanes(active, [&] {
        size_t i = lane / 4, j = lane % 4 * 2 + element % 2, m = element / 2;
        if (transposed)
          std::swap(i, j);
        uint64_t address = request.address[side * m + i] + 2 * j;
        uint64_t bits = bitsOf(block->shared.at(address), plane, 2);
        uint64_t &to = row(it->operands[0].parts[m], plane)[lane];
        to = element % 2 ? to | bits << 16 : bits;
        if (plane == unwritten && bits && !gathered[lane].load)
          gathered[lane] = {address, it};
      });
}

/// D = A B + C with 16 x 16, 16 x 8 and 16 x 8 numbers, sums in float32. How a
/// device rounds within a sum is not specified; here each sum is rounded once.
/// In the plane `unwritten` a number is 1 if one of its bits is unwritten, and
/// so is a sum unless all its terms are 0.
void Warp::multiply() {
  requireAll();
  constexpr size_t rows = 16, columns = 8, terms = 16;
  bool half = it->has("f16");
  double a[rows][terms], b[columns][terms];
  // The first part has lines 0 to 7 (rows of A or columns of B) of terms 0 to
  // 7, the next ones have the lines from 8 on, then come terms 8 to 15.
  auto take = [&](size_t operand, double (*numbers)[terms], size_t lines,
                  Plane plane) {
    for (size_t part = 0; part < 2 * lines; ++part) {
      const Row &from = read(it->operands[operand].parts[part], plane);
      for (size_t i = 0; i < 2 * warpSize; ++i) { // Two numbers in each lane.
        uint64_t bits = from[i / 2] >> (16 * (i % 2)) & 0xffff;
        numbers[i / 8 + 8 * (part % lines)][i % 8 + 8 * (part / lines)] =
            plane == unwritten ? bits != 0
            : half             ? double(get<Half>(bits))
                               : double(get<Bfloat16>(bits));
      }
    }
  };
  for (Plane plane : used()) {
    take(1, a, rows / 8, plane);
    take(2, b, columns / 8, plane);
    Row sums[4];
    for (size_t part = 0; part < 4; ++part)
      sums[part] = read(it->operands[3].parts[part], plane);
    for (size_t part = 0; part < 4; ++part)
      for (size_t i = 0; i < warpSize; ++i) {
        size_t line = i / 4 + 8 * (part / 2), column = i % 4 * 2 + part % 2;
        uint64_t &to = row(it->operands[0].parts[part], plane)[i];
        const double *x = a[line], *y = b[column];
        double sum =
            plane == values ? get<float>(sums[part][i]) : sums[part][i] != 0;
        for (size_t k = 0; k < terms; ++k)
          sum += plane == values ? x[k] * y[k] : x[k] + y[k];
        to = plane == values ? put(float(sum)) : sum != 0 ? ~uint64_t(0) : 0;
      }
  }
}

} // namespace emulator::ptx
