//===- Alpa.h - Alpa's dynamic program over stages --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inter-operator pass of Alpa (Zheng et al., OSDI 2022, section 5) on given
// stage costs: it cuts a chain into stages, and a mesh of N hosts with M
// devices each into submeshes, to minimise sum t_i + (B - 1) max t_i for stages
// of t_i seconds and B microbatches. Submeshes of (1, 2^p) and (n, M) devices
// always tile the mesh if M is a power of two.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_ALPA_H
#define STAGEWRIGHT_PLANNING_ALPA_H

#include "stagewright/Support/Result.h"
#include <cstdint>
#include <functional>

namespace stagewright {

/// `hosts` x `devices` devices.
struct AlpaMesh {
  int64_t hosts = 1, devices = 1;
  int64_t size() const { return hosts * devices; }
};

/// (1, 1), (1, 2), (1, 4), … up to (1, perHost), then (2, perHost), …,
/// (hosts, perHost).
std::vector<AlpaMesh> alpaMeshes(int64_t hosts, int64_t perHost);

struct AlpaInput {
  size_t layers = 0;
  int64_t microbatches = 1;
  int64_t devices = 0; ///< All of them are used.
  int64_t stages = 0;  ///< Requested number; 0: any number.
  std::vector<AlpaMesh> meshes;
  /// Seconds of a microbatch in layers [first, end) on mesh number `mesh`;
  /// infinite if that is impossible.
  std::function<double(size_t first, size_t end, size_t mesh)> time;
  /// Max number of later stages with which these layers fit in memory: each
  /// later stage adds one microbatch in flight. Not called for infinite times.
  std::function<int64_t(size_t first, size_t end, size_t mesh)> mostBehind;
};

struct AlpaStage {
  size_t first = 0, end = 0, mesh = 0;
};

struct AlpaAnswer {
  double time = 0; ///< sum t_i + (B - 1) max t_i.
  std::vector<AlpaStage> stages;
};

/// The optimum. For each bound on max t_i, in increasing order from the first
/// with a plan, a dynamic program finds the least sum; it stops when no larger
/// bound can be better. Of equal optima it takes the one with the smaller
/// maximum. Fails if no plan fits. Time O(K S L^2 D G) for K bounds, S stages,
/// L layers, D devices, G meshes; without the factor S if memory and stages are
/// unlimited.
Result<AlpaAnswer> solveAlpa(const AlpaInput &input);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_ALPA_H
