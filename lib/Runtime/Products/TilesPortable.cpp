//===- TilesPortable.cpp - tiles for any processor ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/TilesImpl.h"

namespace stagewright::runtime {

const Tiles<float> portableTilesF32 = makeTiles<float, 16, 6>();
const Tiles<double> portableTilesF64 = makeTiles<double, 16, 6>();

} // namespace stagewright::runtime
