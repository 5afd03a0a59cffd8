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
  Row room;
  const uint64_t *addresses = read(warp, from.parts[0], room);
  uint16_t elements[matrices][side][side];
  Request request;
  request.bytes = rowBytes;
  for (int lane = 0; lane < warpSize; ++lane) {
    uint64_t address = addresses[lane] + uint64_t(from.offset);
    if (address % rowBytes != 0)
      refuse(warp, lane, it, "names a row that begins at no multiple of 16");
    try {
      std::memcpy(elements[lane / side][lane % side],
                  shared.access(threadOf(warp, lane), address, rowBytes,
                                barriers, /*writes=*/false),
                  rowBytes);
    } catch (const Violation &error) {
      refuse(warp, lane, it, error.what());
    }
    request.address[request.lanes++] = address;
  }
  counters.shared.add(request);
  for (int m = 0; m < matrices; ++m) {
    uint64_t *out = registerOf(warp, to.parts[size_t(m)]);
    for (int lane = 0; lane < warpSize; ++lane) {
      int i = lane / 4, j = lane % 4 * 2;
      auto element = [&](int at) -> uint32_t {
        return transposed ? elements[m][at][i] : elements[m][i][at];
      };
      out[lane] = element(j) | element(j + 1) << 16;
    }
  }
}

/// D = A B + C with 16 x 16, 16 x 8 and 16 x 8 numbers, sums in float32. How a
/// device rounds within a sum is not specified; here each sum is rounded once.
void BlockRunner::multiply(Warp &warp, uint32_t mask, const Instruction &it) {
  requireAll(warp, mask, it);
  constexpr int rows = 16, columns = 8, terms = 16;
  bool half = it.has("f16");
  auto number = [&](uint64_t bits) {
    return half ? float(get<Half>(bits)) : float(get<Bfloat16>(bits));
  };
  double a[rows][terms], b[terms][columns], c[rows][columns];
  Row room;
  for (size_t part = 0; part < 4; ++part) {
    const uint64_t *left = read(warp, it.operands[1].parts[part], room);
    // Parts: rows y, rows y + 8, then the same rows 8 terms further.
    for (int lane = 0; lane < warpSize; ++lane)
      for (int k = 0; k < 2; ++k)
        a[lane / 4 + 8 * int(part % 2)][lane % 4 * 2 + 8 * int(part / 2) + k] =
            number(left[lane] >> (16 * k));
  }
  for (size_t part = 0; part < 2; ++part) {
    const uint64_t *right = read(warp, it.operands[2].parts[part], room);
    for (int lane = 0; lane < warpSize; ++lane)
      for (int k = 0; k < 2; ++k)
        b[lane % 4 * 2 + 8 * int(part) + k][lane / 4] =
            number(right[lane] >> (16 * k));
  }
  auto place = [](int lane, size_t part) {
    return std::pair(lane / 4 + 8 * int(part / 2),
                     lane % 4 * 2 + int(part % 2));
  };
  for (size_t part = 0; part < 4; ++part) {
    const uint64_t *sums = read(warp, it.operands[3].parts[part], room);
    for (int lane = 0; lane < warpSize; ++lane) {
      auto [row, column] = place(lane, part);
      c[row][column] = get<float>(sums[lane]);
    }
  }
  for (size_t part = 0; part < 4; ++part) {
    uint64_t *out = registerOf(warp, it.operands[0].parts[part]);
    for (int lane = 0; lane < warpSize; ++lane) {
      auto [row, column] = place(lane, part);
      double sum = c[row][column];
      for (int k = 0; k < terms; ++k)
        sum += a[row][k] * b[k][column];
      out[lane] = put(float(sum));
    }
  }
}

} // namespace emulator::ptx
