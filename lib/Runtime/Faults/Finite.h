//===- Finite.h - numbers that are none -------------------------*- C++ -*-===//
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

/// The first of `count` elements that is infinite or not a number; -1 where
/// there is none, as always for integers. As fast as memory is read.
int64_t findNotFinite(sw_dtype dtype, const std::byte *data, int64_t count);

/// What is wrong with the results of a step that a rank holds: its loss, and
/// its parameters after the update (without an update, its gradients). Empty
/// where every number is one.
std::string describeNotFinite(const Manifest &manifest, const sw_rank &rank);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FAULTS_FINITE_H
