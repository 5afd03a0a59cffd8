//===- Nccl.h - NCCL's messages and sums ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of NCCL that the runtime calls, declared as in Driver.h. Source:
// NCCL 2.32. Version 2.18 already has every function here and all members of
// `NcclConfig`, of which NCCL reads as many as its `size` covers. Older
// versions are rejected.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_NCCL_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_NCCL_H

#include "Driver.h"

struct ncclComm; // NOLINT(readability-identifier-naming): NCCL's name.

namespace stagewright::runtime::cuda {

using Communicator = ncclComm *;

/// The id by which ranks join a communicator; passed by value, as NCCL does.
struct NcclId {
  char bytes[128];
};

struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21800;
  int blocking = undefined, clusterSize = undefined;
  int minBlocks = undefined, maxBlocks = undefined; ///< of a kernel (CTAs)
  const char *network = nullptr;
  int splitShare = undefined;

  static constexpr int undefined = -2147483647 - 1;
};

enum : int { ncclDone = 0, ncclStillInProgress = 7 };
// Element types, and the operation that sums.
enum : int {
  ncclInt8 = 0,
  ncclBytes = 1, ///< unsigned, 8 bits
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9
};
enum : int { ncclSum = 0 };

// Versions, in the format of ncclGetVersion since 2.9.
enum : int {
  ncclOldest = 21800,
  ncclShares = 23000 ///< supports several ranks on one GPU
};

/// A version as text: "2.28.9".
std::string printNcclVersion(int version);
/// Where users can get NCCL: "the package libnccl2 of ...".
extern const char *const ncclPackage;

// NOLINTBEGIN(bugprone-macro-parentheses): types are among the arguments.
/// One line per function: the member, the symbol, the types of its parameters.
#define STAGEWRIGHT_NCCL(X)                                                    \
  X(version, ncclGetVersion, int *)                                            \
  X(uniqueId, ncclGetUniqueId, NcclId *)                                       \
  X(commInit, ncclCommInitRankConfig, Communicator *, int, NcclId, int,        \
    NcclConfig *)                                                              \
  X(commInitAll, ncclCommInitAll, Communicator *, int, const int *)            \
  X(groupStart, ncclGroupStart)                                                \
  X(groupEnd, ncclGroupEnd)                                                    \
  X(asyncError, ncclCommGetAsyncError, Communicator, int *)                    \
  X(commAbort, ncclCommAbort, Communicator)                                    \
  X(commFinalize, ncclCommFinalize, Communicator)                              \
  X(commDestroy, ncclCommDestroy, Communicator)                                \
  X(send, ncclSend, const void *, size_t, int, int, Communicator, Stream)      \
  X(receive, ncclRecv, void *, size_t, int, int, Communicator, Stream)         \
  X(allGather, ncclAllGather, const void *, void *, size_t, int, Communicator, \
    Stream)                                                                    \
  X(allReduce, ncclAllReduce, const void *, void *, size_t, int, int,          \
    Communicator, Stream)

struct NcclErrors {
  [[noreturn]] static void fail(const char *symbol, int status);
};

struct Nccl {
#define STAGEWRIGHT_MEMBER(member, function, ...)                              \
  Function<NcclErrors __VA_OPT__(, ) __VA_ARGS__> member{#function};
  STAGEWRIGHT_NCCL(STAGEWRIGHT_MEMBER)
#undef STAGEWRIGHT_MEMBER

  const char *(*errorString)(int) = nullptr;        ///< ncclGetErrorString
  const char *(*lastError)(Communicator) = nullptr; ///< ncclGetLastError
  std::string path;
  int release = 0; ///< the result of `version`
};
// NOLINTEND(bugprone-macro-parentheses)

/// The library, opened by the first call; throws an `Error` if it is missing
/// or too old.
const Nccl &nccl();

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_NCCL_H
