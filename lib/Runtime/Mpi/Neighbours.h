//===- Neighbours.h - liveness of processes on the same host ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pidfd for every other process of the same kernel and PID namespace: the
// kernel reports at once when one has died, whoever started it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MPI_NEIGHBOURS_H
#define STAGEWRIGHT_LIB_RUNTIME_MPI_NEIGHBOURS_H

#include <cstdint>
#include <mpi.h>
#include <poll.h>
#include <string>
#include <vector>

namespace stagewright::runtime {

class Neighbours {
public:
  Neighbours() = default;
  ~Neighbours() { forget(); }
  Neighbours(const Neighbours &) = delete;
  Neighbours &operator=(const Neighbours &) = delete;

  /// Opens descriptors for the processes of `comm`; collective.
  void find(MPI_Comm comm);
  /// The rank of a process that has died, or -1.
  int64_t deadProcess();
  bool died(int64_t process) const { return dead[size_t(process)]; }
  /// "the process of rank 2 (1234)".
  std::string name(int64_t process) const;

private:
  void forget();

  std::vector<pollfd> looks; ///< by process; -1: no descriptor
  std::vector<int64_t> numbers;
  std::vector<std::string> hosts; ///< by process; empty if it can be watched
  std::vector<bool> dead;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MPI_NEIGHBOURS_H
