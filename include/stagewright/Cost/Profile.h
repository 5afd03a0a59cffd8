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
//   {"device_class": "cpu-core", "nodes": {"h0.F": 0.00213, "h0.I": 0.0042},
//    "actions": {"0F": 0.00431, "0B": 0.0089}, "hops": {"0>1": 0.00002},
//    "step": {"seconds": 0.105, "before": 0.0001, "after": 0.0004}}
//
// Actions are whole ones by stage and kind, with what lies between their nodes
// but without waiting; hops are from the send to the end of its receive, by
// ranks. All but the nodes may be missing.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_PROFILE_H
#define STAGEWRIGHT_COST_PROFILE_H

#include "stagewright/Support/Units.h"
#include <map>
#include <optional>

namespace stagewright {

/// A whole step, and what of it no action runs in.
struct ProfiledStep {
  Seconds seconds;
  Seconds before, after; ///< The first action and the last one.
};

/// Measured seconds by the name of the node.
struct Profile {
  std::string deviceClass;
  std::map<std::string, Seconds> nodes;
  std::map<std::string, Seconds> actions; ///< By stage and kind, as in "0F".
  std::map<std::string, Seconds> hops;    ///< By ranks, as in "0>1".
  std::optional<ProfiledStep> step;
};

/// Reads the JSON form above; `file` names it in errors.
Result<Profile> parseProfile(const std::string &json, const std::string &file);

/// Reads the file at `path`.
Result<Profile> loadProfile(const std::string &path);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_PROFILE_H
