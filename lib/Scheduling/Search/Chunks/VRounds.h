//===- VRounds.h - V schedules by rounds of backwards -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Based on the heuristic behind the published ZB-V figures (Qi et al., arXiv
// 2401.10241, section 6; sail-sg/zero-bubble-pipeline-parallelism): fill the
// pipeline with forwards, then run rounds; in a round every rank runs one input
// gradient and one forward, that of the later chunk first if it has arrived,
// with weight gradients in the gaps. Only the rank with the most idle time
// decides the span, so a rank with less may leave a gap open in which another
// would start a weight gradient longer than the gap. The idle times are known
// only afterwards: the construction is repeated with the last idle times as
// allowances, while that improves the result.
//
// For V placement with two chunks and split backwards; each run is linear in
// the number of actions.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VROUNDS_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VROUNDS_H

#include "Search/FastTiming.h"

namespace stagewright::search {

/// The best of all variants by span, and others found on the way; none if the
/// memory is too small for this construction.
std::vector<FastOrders> buildByRounds(const FastProblem &problem);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VROUNDS_H
