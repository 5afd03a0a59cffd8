//===- RowTeams.cpp - assignment of rows to threads -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowTeams.h"
#include "RowLoops.h"
#include "SplitSums.h"
#include "ThreadWriter.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {

/// Max threads of a team, and of a block that sums over rows.
constexpr int64_t kMostThreads = 512;
/// Max threads of other blocks with several teams.
constexpr int64_t kBlockThreads = 128;
/// Max elements of one value that a thread keeps in registers.
constexpr int64_t kMostKept = kLongestRow / kMostThreads;
/// Number of threads that keeps a device busy.
constexpr int64_t kBusyThreads = kBusyBlocks * kSumThreads;
/// Max and min blocks of a kernel that writes partial sums. Its blocks have up
/// to kMostThreads threads, twice kSumThreads, so half of kBusyBlocks keep a
/// device busy; if there are few rows, a quarter is enough.
constexpr int64_t kMostSumBlocks = kBusyBlocks / 2;
constexpr int64_t kFewestSumBlocks = kMostSumBlocks / 2;
/// Min rows of such a block, as its partial sum is written and read again.
constexpr int64_t kFewestSummed = 8;
/// Max bytes of shared memory for adding up the sums of a block's teams. Less
/// than the 48 KiB that a block has without an opt-in.
constexpr int64_t kMeetingBytes = 32 << 10;

/// The smallest team that keeps a row in registers; if there are few rows, a
/// larger one, so that the device is busy.
static int64_t teamFor(int64_t rows, int64_t longest) {
  int64_t team = kWarp;
  while (team < kMostThreads &&
         (longest > team * kMostKept ||
          (longest > team * kMostLanes && rows * team < kBusyThreads)))
    team *= 2;
  return team;
}

RowTeams dealRows(int64_t rows, int64_t longest) {
  int64_t team = teamFor(rows, longest);
  // Teams of one warp share a block. Larger teams need the block's barrier.
  int64_t teams = team == kWarp ? kBlockThreads / kWarp : 1;
  while (rows % teams != 0)
    teams /= 2;
  return {team, teams, 1, rows / teams, longest <= team * kMostKept};
}

/// The teams of a kernel that also sums over its rows; its largest result has
/// `sumBytes` bytes. None if a thread cannot keep its part of a row, if there
/// would be too few blocks, or if teams cannot have equally many rows.
static std::optional<RowTeams> dealSummedRows(int64_t rows, int64_t longest,
                                              int64_t sumBytes) {
  int64_t team = teamFor(rows, longest);
  if (longest > team * kMostKept)
    return std::nullopt;
  int64_t teams = kMostThreads / team;
  while (teams > 1 && (rows % teams != 0 || teams * sumBytes > kMeetingBytes))
    teams /= 2;
  int64_t all = rows / teams;
  for (int64_t each = llvm::divideCeil(kFewestSummed, teams);
       all / each >= kFewestSumBlocks; ++each)
    if (all % each == 0 && all / each <= kMostSumBlocks)
      return RowTeams{team, teams, each, all / each, /*keeps=*/true};
  return std::nullopt;
}

std::optional<RowTeams> dealSummedRows(ArrayRef<Operation *> group) {
  int64_t longest = 1, rows = 1, bytes = 0;
  for (Operation *op : group) {
    if (isa<linalg::FillOp>(op))
      continue;
    FailureOr<RowLoops> found = RowLoops::get(op);
    if (failed(found) || found->sumsRows != (op == group.back()))
      return std::nullopt;
    longest = std::max(longest, found->turns());
    if (!found->sumsRows)
      continue;
    rows = found->numRows();
    for (Value init : found->op.getDpsInits())
      bytes = std::max(
          bytes,
          found->turns() *
              int64_t(getElementTypeOrSelf(init).getIntOrFloatBitWidth()) / 8);
  }
  if (bytes == 0)
    return std::nullopt;
  return dealSummedRows(rows, longest, bytes);
}

} // namespace stagewright::device
