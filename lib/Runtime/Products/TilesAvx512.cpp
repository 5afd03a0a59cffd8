//===- TilesAvx512.cpp - tiles for AVX-512: 28 sums of 32 registers -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/TilesImpl.h"

namespace stagewright::runtime {

const Tiles<float> avx512TilesF32 = makeTiles<float, 64, 14>();
const Tiles<double> avx512TilesF64 = makeTiles<double, 64, 14>();

} // namespace stagewright::runtime
