//===- Hosts.h - which processes share a host -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A host is a name and a boot of a kernel, as NCCL has it (getHostHash in its
// src/misc/utils.cc): containers of two machines often have one name, and two
// containers of one machine, with names of their own, may see different GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_HOSTS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_HOSTS_H

#include <string>
#include <vector>

namespace stagewright::runtime {

/// Crosses between processes as it is.
struct HostSite {
  char name[256] = {};
  char boot[64] = {}; ///< of the kernel; empty where it cannot be read

  bool operator==(const HostSite &other) const;
};

/// Of this process. The variable STAGEWRIGHT_HOST of the environment stands for
/// the name and the boot.
HostSite ownHost();

/// What /proc says of this boot of the kernel, which is the same in all
/// containers of a machine; empty where it cannot be read.
std::string readBoot();

/// One name for each site, the same where and only where the hosts are. Where
/// different hosts have one name, the boot follows it: "worker (boot
/// 3f1c9a52-8d4e-4b1f-9b6a-2c5d7e8f9a0b)".
std::vector<std::string> namesOf(const std::vector<HostSite> &sites);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_HOSTS_H
