//===- RowTeams.cpp - how rows are dealt out to threads -------------------===//
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

using namespace mlir;

namespace stagewright::device {

/// Most threads of a team, and threads of a block of several.
constexpr int64_t kMostThreads = 512;
constexpr int64_t kBlockThreads = 128;
/// Most elements of one value that a thread keeps.
constexpr int64_t kMostKept = kLongestRow / kMostThreads;
/// Threads that keep a device busy.
constexpr int64_t kBusyThreads = kBusyBlocks * kSumThreads;
/// Blocks that leave partial sums: they have the most threads that a block may
/// have, so half as many keep a device busy, and a quarter does for few rows.
constexpr int64_t kMostSumBlocks = kBusyBlocks / 2;
constexpr int64_t kFewestSumBlocks = kMostSumBlocks / 2;
/// Fewest rows of such a block: what it leaves is written and read once more.
constexpr int64_t kFewestSummed = 8;
/// Bytes of shared memory in which the sums of its teams may meet, of those
/// that a block has without asking for more.
constexpr int64_t kMeetingBytes = 32 << 10;

/// As few threads as hold a row; of few rows more, so that the device is busy.
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
  // Only warps share a block: a larger team meets at the block's barriers.
  int64_t teams = team == kWarp ? kBlockThreads / kWarp : 1;
  while (rows % teams != 0)
    teams /= 2;
  return {team, teams, 1, rows / teams, longest <= team * kMostKept};
}

/// Over which sums are added up, the largest of `sumBytes` bytes.
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
    auto member = dyn_cast<linalg::LinalgOp>(op);
    FailureOr<RowLoops> found = failure();
    if (member && op->hasAttr(kRows))
      found = RowLoops::get(member);
    if (failed(found) || found->sumsRows != (op == group.back()))
      return std::nullopt;
    longest = std::max(longest, found->turns());
    if (!found->sumsRows)
      continue;
    rows = found->numRows();
    for (Value init : member.getDpsInits())
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
