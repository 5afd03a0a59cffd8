//===- Neighbours.h - whether processes of this host live -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A descriptor for every other process that this one can see: the kernel tells
// at once when one has died, whoever started it.
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

  /// Of all processes of `comm`; collective.
  void find(MPI_Comm comm);
  /// The number of one that has died; -1.
  int64_t gone();
  bool died(int64_t process) const { return dead[size_t(process)]; }
  /// "the process of rank 2 (1234)".
  std::string name(int64_t process) const;

private:
  void forget();

  std::vector<pollfd> looks; ///< by process; -1: another host's
  std::vector<int64_t> numbers;
  std::vector<std::string> hosts; ///< of those elsewhere
  std::vector<bool> dead;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MPI_NEIGHBOURS_H
