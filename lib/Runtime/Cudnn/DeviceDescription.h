//===- DeviceDescription.h - descriptions of absent devices -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN can build plans for a device that is absent, from a description. There
// is a description for each architecture for which programs are compiled by
// default: sm_80, sm_90a and sm_100.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDNN_DEVICEDESCRIPTION_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDNN_DEVICEDESCRIPTION_H

#include <string>

namespace stagewright::runtime::cudnn {

/// The device of an architecture (90: an H100), in the JSON format of
/// CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION. Throws an `Error` if the
/// architecture is not 80, 90 or 100.
std::string describeDevice(int architecture);

} // namespace stagewright::runtime::cudnn

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDNN_DEVICEDESCRIPTION_H
