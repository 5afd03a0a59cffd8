//===- DeviceGroups.h - devices of stages, as text --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_DEVICEGROUPS_H
#define STAGEWRIGHT_SUPPORT_DEVICEGROUPS_H

#include "stagewright/Support/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace stagewright {

/// The groups of device numbers in a text such as `0-2,5;1,3`: groups are
/// separated by semicolons, and consist of numbers and ranges; no groups if it
/// is empty. Fails if it is malformed, if a group has a device twice, or if the
/// groups are not as large as `sizes`.
Result<std::vector<std::vector<int64_t>>>
parseDeviceGroups(const std::string &text, const std::vector<int64_t> &sizes);

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_DEVICEGROUPS_H
