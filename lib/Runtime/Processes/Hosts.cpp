//===- Hosts.cpp - which processes share a host ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/Hosts.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace stagewright::runtime {

bool HostSite::operator==(const HostSite &other) const {
  return std::strcmp(name, other.name) == 0 &&
         std::strcmp(boot, other.boot) == 0;
}

std::string readBoot() {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  return text;
}

HostSite ownHost() {
  HostSite site;
  if (const char *name = std::getenv("STAGEWRIGHT_HOST")) {
    std::strncpy(site.name, name, sizeof(site.name) - 1);
    return site;
  }
  gethostname(site.name, sizeof(site.name) - 1);
  std::strncpy(site.boot, readBoot().c_str(), sizeof(site.boot) - 1);
  return site;
}

std::vector<std::string> namesOf(const std::vector<HostSite> &sites) {
  std::vector<std::string> names;
  for (const HostSite &site : sites) {
    bool shared =
        std::any_of(sites.begin(), sites.end(), [&](const HostSite &other) {
          return std::strcmp(site.name, other.name) == 0 && !(site == other);
        });
    names.push_back(shared
                        ? std::string(site.name) + " (boot " + site.boot + ")"
                        : site.name);
  }
  return names;
}

} // namespace stagewright::runtime
