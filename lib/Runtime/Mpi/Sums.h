//===- Sums.h - sums and gathers over processes by MPI ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each group of processes has its own communicator, created once. For types
// that MPI cannot add (float16, bfloat16), the functions of Sum.h are
// registered as MPI operations.
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
  /// Call before MPI_Init. By default Open MPI sums in place by a tree, for any
  /// size: every byte crosses a link once in each direction, never both at a
  /// time. Rabenseifner's algorithm (reduce-scatter, then all-gather) takes
  /// half the time on a link, and adds in the same order.
  static void chooseAlgorithm();
  /// Registers a sum over `ranks` of `all` and returns its number. All of these
  /// ranks must register their sums in the same order.
  int64_t prepare(MPI_Comm all, void *data, sw_dtype dtype, int64_t elements,
                  std::span<const int64_t> ranks);
  /// Registers a gather of parts of `bytes` bytes, in place at `data`, or an
  /// exchange, for which `data` has the parts to send, one per rank, then those
  /// received. Otherwise like `prepare`.
  int64_t prepareGather(MPI_Comm all, void *data, int64_t bytes,
                        std::span<const int64_t> ranks, bool exchanges);
  /// Starts sum or gather `number`.
  void start(int64_t number, MPI_Request &request);
  /// Forgets the communicators of groups: sums prepared later make new ones.
  /// Earlier sums keep theirs.
  void leave();

private:
  struct Sum {
    void *data;
    int count;
    MPI_Datatype type;
    MPI_Op operation; ///< MPI_OP_NULL: a gather
    MPI_Comm group;
    /// Of an exchange, by rank: how many blocks of 64 bytes to send, and the
    /// index of the first.
    std::vector<int> counts = {}, places = {};
  };

  MPI_Comm groupOf(MPI_Comm all, std::span<const int64_t> ranks);
  MPI_Op operationOf(sw_dtype dtype);

  std::vector<Sum> sums;
  std::map<std::vector<int>, MPI_Comm> groups;
  MPI_Datatype lines = MPI_DATATYPE_NULL; ///< a block of 64 bytes
  /// The sums of bfloat16 and of float16.
  MPI_Op brains = MPI_OP_NULL, halves = MPI_OP_NULL;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MPI_SUMS_H
