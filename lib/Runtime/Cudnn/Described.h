//===- Described.h - devices that are not there -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN builds plans for a device that is described only. Three are: one of
// each architecture that programs are compiled for unless the user says.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDNN_DESCRIBED_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDNN_DESCRIBED_H

#include <string>

namespace stagewright::runtime::cudnn {

/// The device of an architecture (90: an H100) as
/// CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION has it. Throws an `Error` for
/// others than 80, 90 and 100.
std::string describeDevice(int architecture);

} // namespace stagewright::runtime::cudnn

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDNN_DESCRIBED_H
