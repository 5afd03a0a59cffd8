//===- Generators.cpp - the list of generators ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Support/Names.h"
#include <array>

namespace stagewright {

std::span<const Generator> allGenerators() {
  using enum Placement;
  static constexpr std::array<Generator, 21> generators = {{
      {"gpipe", "gpipe", Linear, 1, 1, true, false,
       "all forwards, then all backwards", generateGPipe},
      {"1f1b", "one_f_one_b", Linear, 1, 1, true, false,
       "rank r of p runs p - r forwards, then a backward and a forward in turn",
       generateOneFOneB},
      {"eager-1f1b", "eager_one_f_one_b", Linear, 1, 1, true, false,
       "1F1B with more forwards first, as many as hide the hops",
       generateEagerOneFOneB},
      {"early-backward", "early_backward", Linear, 1, 1, true, false,
       "1F1B with 2 (p - r) - 1 forwards first (P_B of DAPPLE)",
       generateEarlyBackward},
      {"window", "window", Linear, 1, 1, true, false,
       "SPP's window order, whose time has an upper bound: 4 (p - 1 - r) "
       "forwards first, at least 1",
       generateWindow},
      {"zb-h1", "zb_h1", Linear, 1, 1, false, true,
       "1F1B with I and W apart, in the memory of 1F1B", generateZbH1},
      {"zb-h2", "zb_h2", Linear, 1, 1, false, true,
       "no bubble in the span, in twice the memory of 1F1B", generateZbH2},
      {"zb-h2-latency", "zb_h2_latency", Linear, 1, 1, false, true,
       "ZB-H2 with more forwards first, for the hops", generateZbH2Latency},
      {"interleaved", "interleaved", Loop, 2, 0, false, false,
       "1F1B with several chunks per rank, depth first", generateInterleaved},
      {"breadth-first", "breadth_first", Loop, 2, 0, false, false,
       "all microbatches through one chunk after another", generateBreadthFirst,
       true},
      {"looped-bfs", "looped_bfs", Loop, 2, 0, false, false,
       "breadth first, backwards from the last microbatch to the first",
       generateLoopedBreadthFirst, true},
      {"interleaved-zb", "interleaved_zb", Loop, 2, 0, false, true,
       "interleaved 1F1B with I and W apart", generateInterleavedZb},
      {"looped-zb", "looped_zb", Loop, 2, 0, false, true,
       "chunks in the order in which they arrive, any number of microbatches, "
       "in about the memory of 1F1B",
       generateLoopedZb, true},
      {"looped-zb-wide", "looped_zb_wide", Loop, 2, 0, false, true,
       "looped-zb in an eighth more memory", generateLoopedZbWide, true},
      {"zb-v", "zb_v", V, 2, 2, false, true,
       "no bubble in the span, in the memory of 1F1B", generateZbV},
      {"v-half", "v_half", V, 2, 2, false, true,
       "two chunks on a V in half the memory of 1F1B", generateVHalf},
      {"v-min", "v_min", V, 2, 2, false, true,
       "two chunks on a V in the least memory", generateVMin},
      {"dualpipe", "dualpipe", Twin, 1, 1, false, true,
       "two directions at once, forwards paired with backwards",
       generateDualPipe},
      {"dualpipe-v", "dualpipe_v", V, 2, 2, false, true,
       "DualPipe on half the ranks, the weights of a stage on one rank only",
       generateDualPipeV},
      {"chimera", "chimera", Twin, 1, 1, false, false,
       "two 1F1B pipelines in opposite directions", generateChimera},
      {"forward-only", "forward_only", Loop, 1, 0, false, false,
       "inference: groups of microbatches through all chunks",
       generateForwardOnly},
  }};
  return generators;
}

/// Generators that the planner or the compiler chooses for a plan;
/// allGenerators() does not have them.
static constexpr Generator kOfPlans[] = {
    {"levels", "levels", Placement::Loop, 1, 0, false, false,
     "shards: two microbatches at a time, level by level", generateLevels,
     false, false, true},
    {"searched", "searched", Placement::Linear, 1, 0, false, false,
     "the best order found for a plan", generateSearched, false, true},
    {"searched-zb", "searched_zb", Placement::Linear, 1, 0, false, true,
     "the best order found for a plan, I and W apart", generateSearchedZb,
     false, true}};

const Generator &searchedGenerator(bool splitsBackward) {
  return kOfPlans[splitsBackward ? 2 : 1];
}

Result<Generator> findGenerator(std::string_view name) {
  for (const Generator &generator : kOfPlans)
    if (name == generator.name)
      return generator;
  // DAPPLE's names for two orders that have other names here.
  if (name == "dapple-a")
    name = "1f1b";
  if (name == "dapple-b")
    name = "early-backward";
  return findNamed(allGenerators(), "schedule", name);
}

ScheduleFamily familyOf(const Generator &generator, int64_t ranks,
                        bool forwardOnly) {
  return [=](int64_t microbatches) {
    return *generator.generate({ranks, microbatches, forwardOnly});
  };
}

} // namespace stagewright
