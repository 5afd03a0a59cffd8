//===- PiperStage.h - Piper's model of one stage ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. A stage of layers X on d replicas of t devices each
// takes, for every sample (microbatch),
//
//   TPS = 1/d sum p + 1/beta ( 1/d sum over edges that leave or enter X of
//         2 (c + sync) + 4 (d-1)/(d N) sum w )
//
// and holds sum ( a ceil(s/d) + b ) bytes on each device, with s replicas in
// this and all later stages. N is the number of microbatches, beta the
// bandwidth and c the bytes of an edge. The alternative chosen for a layer
// gives p (seconds), w (bytes of parameters), a and b (bytes per sample in
// flight, and once) and sync (additional bytes of an edge). Choosing them is a
// knapsack problem: start from the fastest ones; while memory is exceeded, make
// the swap that saves the most memory per second added (the heuristic of the
// published program).
//
// Source: Tarnawski, Narayanan, Phanishayee: Piper, NeurIPS 2021, section 4.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PIPERSTAGE_H
#define STAGEWRIGHT_PLANNING_PIPERSTAGE_H

#include "stagewright/Cost/Network.h"
#include "stagewright/Planning/Problem.h"

namespace stagewright {

/// The problem in Piper's terms. A layer without alternatives has two choices:
/// as it is and, if the problem allows it, with its forward recomputed.
class PiperModel {
public:
  PiperModel(const Problem &problem, const Network &network);

  /// One way to run a layer, in seconds and bytes.
  struct Choice {
    /// Index among the layer's alternatives; for a layer without, 1 if its
    /// forward is recomputed, else 0.
    size_t number = 0;
    bool recompute = false;
    double seconds = 0, parameters = 0, perSample = 0, fixed = 0;
    const Alternative *alternative = nullptr; ///< Of the problem, if any.
  };

  /// An edge between a layer and the layer `other`.
  struct Edge {
    int64_t other = 0;
    double seconds = 0; ///< One way, without `sync` of alternatives.
  };

  /// Choices of `layer` on `ways` devices.
  const std::vector<Choice> &choices(int64_t layer, int64_t ways) const;
  const std::vector<Edge> &edges(int64_t layer, bool incoming) const {
    return (incoming ? in : out)[layer];
  }
  /// All numbers of tensor-parallel ways, increasing.
  const std::vector<int64_t> &ways() const { return allWays; }

  int64_t numLayers = 0;
  int64_t microbatches = 1; ///< N.
  double memory = 0;        ///< Of the smallest device.
  double bandwidth = 0;     ///< Of the slowest pair of devices.

private:
  void addLayer(const Problem &problem, int64_t layer, double slowest);
  void addEdges(const Problem &problem);

  std::vector<std::map<int64_t, std::vector<Choice>>> byWays;
  std::vector<std::vector<Edge>> in, out;
  std::vector<int64_t> allWays;
};

/// The knapsack of one set of layers on d replicas of t devices.
class PiperStage {
public:
  /// `isHere`: by layer, whether it is in the stage; `layers`: those, as a
  /// list.
  PiperStage(const PiperModel &model, const std::vector<int64_t> &layers,
             const std::vector<bool> &isHere, int64_t ways, int64_t replicas);

  /// Whether every layer can run on `ways` devices.
  bool isPossible() const { return possible; }
  /// Seconds of the fastest choices, however much memory they take.
  double fastest() const { return fastestSeconds; }
  /// Seconds per sample of the heuristic's choices if the stage holds ceil(s/d)
  /// samples, by that number from 1 to `most`; infinite if nothing fits. Index
  /// 0 is unused.
  std::vector<double> secondsUpTo(int64_t most) const;
  /// Min bytes if the stage holds 1 to `most` samples, by that number.
  std::vector<double> bytesUpTo(int64_t most) const;
  /// The choice of every layer that gives secondsUpTo()[inFlight]; empty if
  /// nothing fits.
  std::vector<const PiperModel::Choice *> pick(int64_t inFlight) const;
  /// Seconds with the alternatives of `numbers`; infinite if they do not fit.
  double secondsOf(const std::vector<size_t> &numbers, int64_t inFlight) const;

private:
  struct Item {
    const PiperModel::Choice *choice;
    double seconds; ///< Its part of TPS.
    double bytes(int64_t inFlight) const {
      return choice->perSample * double(inFlight) + choice->fixed;
    }
  };
  /// The index of every layer's chosen item; empty if nothing fits.
  std::vector<size_t> fill(int64_t inFlight) const;
  double bytesOf(const std::vector<size_t> &chosen, int64_t inFlight) const;
  double secondsOf(const std::vector<size_t> &chosen) const;

  const PiperModel &model;
  bool possible = true;
  std::vector<std::vector<Item>> items; ///< By layer of the stage.
  std::vector<size_t> fastestOf;
  double fastestSeconds = 0;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PIPERSTAGE_H
