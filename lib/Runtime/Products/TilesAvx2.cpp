//===- TilesAvx2.cpp - AVX2 and FMA tiles, 12 of 16 registers have sums ---===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/TilesImpl.h"

namespace stagewright::runtime {

const Tiles<float> avx2TilesF32 = makeTiles<float, 32, 6>();
const Tiles<double> avx2TilesF64 = makeTiles<double, 32, 6>();

} // namespace stagewright::runtime
