//===- RankOps.td - programs, memory, transfers, calls --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_OPS_TD
#define STAGEWRIGHT_RANK_OPS_TD

include "Rank/RankArtifact.td"
include "Rank/RankCollectiveOps.td"
include "Rank/RankContractOp.td"
include "Rank/RankConvolveOp.td"
include "Rank/RankMemoryOps.td"
include "Rank/RankProgramOps.td"
include "Rank/RankTransferOps.td"
include "Rank/RankWorkOps.td"

#endif // STAGEWRIGHT_RANK_OPS_TD
