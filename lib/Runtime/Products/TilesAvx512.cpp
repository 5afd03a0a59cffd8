//===- TilesAvx512.cpp - AVX-512 tiles, 28 of 32 registers have sums ------===//
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
