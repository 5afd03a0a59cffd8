//===- Profile.h - measured seconds of nodes --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `pp-run --profile` writes: seconds of each node for one microbatch on
// one class of device.
//
//   {"device_class": "cpu-core", "nodes": {"h0.F": 0.00213, "h0.I": 0.0042}}
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_PROFILE_H
#define STAGEWRIGHT_COST_PROFILE_H

#include "stagewright/Support/Units.h"
#include <map>

namespace stagewright {

/// Measured seconds by the name of the node.
struct Profile {
  std::string deviceClass;
  std::map<std::string, Seconds> nodes;
};

/// Reads the JSON form above; `file` names it in errors.
Result<Profile> parseProfile(const std::string &json, const std::string &file);

/// Reads the file at `path`.
Result<Profile> loadProfile(const std::string &path);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_PROFILE_H
