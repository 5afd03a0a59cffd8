//===- Sums.h - sums over processes by MPI ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each group of processes has a communicator of its own, made once. Sums of
// elements that MPI does not know are those of Sum.h, as operations of MPI.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MPI_SUMS_H
#define STAGEWRIGHT_LIB_RUNTIME_MPI_SUMS_H

#include "stagewright-rt/runtime.h"

#include <mpi.h>

#include <map>
#include <span>
#include <vector>

namespace stagewright::runtime {

class MpiSums {
public:
  /// Before MPI begins. Open MPI sums in place by a tree, whatever the size:
  /// every byte goes up and down once, and never both ways at a time. Halves
  /// that are summed apart and then gathered take half the time on a link, and
  /// add in the same order.
  static void chooseAlgorithm();
  /// Describes a sum over `ranks` of `all`; all of them do so in one order.
  int64_t prepare(MPI_Comm all, void *data, sw_dtype dtype, int64_t elements,
                  std::span<const int64_t> ranks);
  /// Begins sum `number`.
  void start(int64_t number, MPI_Request &request);
  /// Frees the groups.
  void leave();

private:
  struct Sum {
    void *data;
    int count;
    MPI_Datatype type;
    MPI_Op operation;
    MPI_Comm group;
  };

  MPI_Comm groupOf(MPI_Comm all, std::span<const int64_t> ranks);
  MPI_Op operationOf(sw_dtype dtype);

  std::vector<Sum> sums;
  std::map<std::vector<int>, MPI_Comm> groups;
  MPI_Op brains = MPI_OP_NULL, halves = MPI_OP_NULL;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MPI_SUMS_H
