//===- Neighbours.cpp - liveness of processes on the same host ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mpi/Neighbours.h"

#include "Processes/Hosts.h"

#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace stagewright::runtime {

namespace {

/// Where a process runs; sent as plain bytes. Processes can watch each other if
/// they run on the same boot of a kernel and in the same PID namespace.
struct Site {
  char boot[64] = {}, space[64] = {}, host[128] = {};
  int64_t process = 0;

  bool sees(const Site &other) const {
    return boot[0] && space[0] && std::strcmp(boot, other.boot) == 0 &&
           std::strcmp(space, other.space) == 0;
  }
};

Site ownSite() {
  Site site;
  std::strncpy(site.boot, readBoot().c_str(), sizeof(site.boot) - 1);
  if (readlink("/proc/self/ns/pid", site.space, sizeof(site.space) - 1) < 0)
    site.space[0] = 0;
  gethostname(site.host, sizeof(site.host) - 1);
  site.process = getpid();
  return site;
}

} // namespace

void Neighbours::find(MPI_Comm comm) {
  forget();
  int count = 0, self = 0;
  MPI_Comm_size(comm, &count);
  MPI_Comm_rank(comm, &self);
  Site mine = ownSite();
  std::vector<Site> sites;
  sites.resize(size_t(count));
  MPI_Allgather(&mine, int(sizeof(Site)), MPI_BYTE, sites.data(),
                int(sizeof(Site)), MPI_BYTE, comm);
  for (int p = 0; p < count; ++p) {
    const Site &site = sites[size_t(p)];
    bool near = p != self && mine.sees(site);
    int descriptor = -1;
    if (near)
      descriptor = int(syscall(SYS_pidfd_open, pid_t(site.process), 0));
    looks.push_back({descriptor, POLLIN, 0});
    numbers.push_back(site.process);
    hosts.emplace_back(mine.sees(site) ? "" : site.host);
  }
  dead.assign(size_t(count), false);
}

void Neighbours::forget() {
  for (pollfd &look : looks)
    if (look.fd >= 0)
      ::close(look.fd);
  looks.clear(), numbers.clear(), hosts.clear(), dead.clear();
}

int64_t Neighbours::deadProcess() {
  int64_t found = -1;
  if (::poll(looks.data(), nfds_t(looks.size()), 0) > 0)
    for (size_t p = 0; p < looks.size(); ++p)
      if (looks[p].fd >= 0 && looks[p].revents) {
        dead[p] = true;
        found = int64_t(p);
      }
  return found;
}

std::string Neighbours::name(int64_t process) const {
  const std::string &host = hosts[size_t(process)];
  return "the process of rank " + std::to_string(process) + " (" +
         std::to_string(numbers[size_t(process)]) +
         (host.empty() ? ")" : " on " + host + ")");
}

} // namespace stagewright::runtime
