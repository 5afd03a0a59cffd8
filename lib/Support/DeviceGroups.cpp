//===- DeviceGroups.cpp - devices of stages, as text ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/DeviceGroups.h"
#include "stagewright/Support/ParseNumber.h"
#include <optional>
#include <set>
#include <sstream>

namespace stagewright {

/// Max number of a device.
static constexpr int64_t kMostDevice = (1 << 20) - 1;

/// The error if `groups`, read from `text`, are not as large as `sizes`.
static Status checkSizes(const std::string &text,
                         const std::vector<std::vector<int64_t>> &groups,
                         const std::vector<int64_t> &sizes) {
  bool fits = groups.size() == sizes.size();
  std::string wanted;
  for (size_t i = 0; i < sizes.size(); ++i) {
    fits = fits && int64_t(groups[i].size()) == sizes[i];
    wanted += (i ? "," : "") + std::to_string(sizes[i]);
  }
  if (fits)
    return {};
  return Error{"the stages have " + wanted +
               " shards, but their devices are '" + text +
               "'; give a device for each shard"};
}

Result<std::vector<std::vector<int64_t>>>
parseDeviceGroups(const std::string &text, const std::vector<int64_t> &sizes) {
  std::vector<std::vector<int64_t>> groups;
  if (text.empty())
    return groups;
  if (text.back() == ';' || text.back() == ',')
    return Error{"'" + text +
                 "' ends with a separator; write the devices of "
                 "each stage, such as 0-2;1,3"};
  std::istringstream all(text);
  for (std::string group; std::getline(all, group, ';');) {
    std::vector<int64_t> &own = groups.emplace_back();
    std::set<int64_t> seen;
    std::istringstream parts(group);
    for (std::string part; std::getline(parts, part, ',');) {
      size_t dash = part.find('-');
      std::optional<int64_t> first = parseNumber(part.substr(0, dash)),
                             last = dash == std::string::npos
                                        ? first
                                        : parseNumber(part.substr(dash + 1));
      if (!first || !last || *first < 0 || *last < *first ||
          *last > kMostDevice)
        return Error{"'" + part + "' in '" + text +
                     "' is neither a device nor a range of devices; write "
                     "the devices of each stage, such as 0-2;1,3"};
      for (int64_t device = *first; device <= *last; ++device) {
        if (!seen.insert(device).second)
          return Error{"device " + std::to_string(device) +
                       " is twice in the group '" + group +
                       "'; a device has one shard of a stage"};
        own.push_back(device);
      }
    }
    if (own.empty())
      return Error{"a group in '" + text +
                   "' has no devices; write the devices of each stage, such "
                   "as 0-2;1,3"};
  }
  if (Status status = checkSizes(text, groups, sizes); !status)
    return status.error();
  return groups;
}

} // namespace stagewright
