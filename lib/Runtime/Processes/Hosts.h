//===- Hosts.h - which processes share a host -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A host is identified by its name and the boot ID of its kernel, as in NCCL
// (getHostHash in its src/misc/utils.cc): containers on two machines often have
// the same name, and two containers on one machine, with different names, may
// see different GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_HOSTS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_HOSTS_H

#include <string>
#include <vector>

namespace stagewright::runtime {

/// Sent between processes as plain bytes.
struct HostSite {
  char name[256] = {};
  char boot[64] = {}; ///< boot ID of the kernel; empty if it cannot be read

  bool operator==(const HostSite &other) const;
};

/// The host of this process. The environment variable STAGEWRIGHT_HOST replaces
/// the name and the boot ID.
HostSite ownHost();

/// The boot ID of the kernel, from /proc, which is the same in all containers
/// of a machine; empty if it cannot be read.
std::string readBoot();

/// One name for each site, equal if and only if the hosts are. If different
/// hosts have the same name, the boot ID is appended: "worker (boot
/// 3f1c9a52-8d4e-4b1f-9b6a-2c5d7e8f9a0b)".
std::vector<std::string> namesOf(const std::vector<HostSite> &sites);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_HOSTS_H
