//===- Finite.h - finds infinities and NaNs ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FAULTS_FINITE_H
#define STAGEWRIGHT_LIB_RUNTIME_FAULTS_FINITE_H

#include "stagewright-rt/runtime.h"

#include <cstddef>
#include <cstdint>
#include <string>

struct sw_rank;

namespace stagewright::runtime {

struct Manifest;

/// The index of the first of `count` elements that is infinite or NaN; -1 if
/// there is none. Integers and 8-bit floats are not searched: -1. Takes about
/// as long as reading the data from memory.
int64_t findNotFinite(sw_dtype dtype, const std::byte *data, int64_t count);

/// Text on the first infinity or NaN in a rank's results of a step: its loss,
/// and its parameters after the update (without an update, its gradients).
/// Empty if all numbers are finite.
std::string describeNotFinite(const Manifest &manifest, const sw_rank &rank);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FAULTS_FINITE_H
