//===- VRounds.h - V schedules by rounds of backwards -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The idea of the heuristic behind the published ZB-V figures (Qi et al.,
// arXiv 2401.10241, section 6; sail-sg/zero-bubble-pipeline-parallelism): fill
// the pipeline with forwards, then go round by round; in a round every rank
// runs one input gradient and one forward, the later chunk's before the other
// as soon as it is there, with weight gradients in the gaps. Only the rank that
// idles most decides the span, so a rank that has idled less may leave a gap
// open for which another would start a weight gradient that is too long. How
// much the ranks idle is known only afterwards: the whole is repeated, with the
// last idle times as what is approved, while that helps.
//
// For V placement with two chunks and backwards in two halves; each run takes
// time linear in the actions.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VROUNDS_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VROUNDS_H

#include "Search/FastTiming.h"

namespace stagewright::search {

/// The best of all variants by the span, and other ones on the way; none where
/// the memory is too small for this construction.
std::vector<FastOrders> buildByRounds(const FastProblem &problem);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VROUNDS_H
