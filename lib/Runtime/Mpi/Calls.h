//===- Calls.h - error checks and counts for MPI calls ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MPI_CALLS_H
#define STAGEWRIGHT_LIB_RUNTIME_MPI_CALLS_H

#include "stagewright/Runtime/Error.h"

#include <climits>
#include <mpi.h>

namespace stagewright::runtime {

/// Throws an `Error` if a call failed.
inline void check(int code, const char *what) {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  raise("MPI cannot ", what, ": ", std::string(text, size_t(length)));
}

/// A message size as an MPI count and type. Counts are ints, so from 2 GiB on
/// the type is a block of 64 bytes; slots are padded to such blocks.
struct Extent {
  explicit Extent(int64_t bytes) {
    if (bytes <= INT_MAX) {
      count = int(bytes);
      return;
    }
    constexpr int64_t line = 64;
    int64_t lines = (bytes + line - 1) / line;
    if (lines > INT_MAX)
      raise("a message has ", bytes, " bytes; MPI carries at most ",
            INT_MAX * line);
    count = int(lines);
    check(MPI_Type_contiguous(int(line), MPI_BYTE, &type), "make a type");
    check(MPI_Type_commit(&type), "make a type");
  }
  ~Extent() {
    if (type != MPI_BYTE)
      MPI_Type_free(&type); // Requests keep the type alive.
  }
  Extent(const Extent &) = delete;
  Extent &operator=(const Extent &) = delete;

  int count = 0;
  MPI_Datatype type = MPI_BYTE;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MPI_CALLS_H
