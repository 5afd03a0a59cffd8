//===- RefineMoves.h - local moves of a plan --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. The moves of one stage of a plan:
//
//   layers      its first or last 1, 2, 4, ... layers, or a layer whose
//               producers and consumers allow it, go to another stage
//   replicas    it gets a device from another stage or an idle one, gives one
//               away, exchanges one, or all, with another stage
//   stages      it is split in two, or merged with the one before or after it
//   recompute   on or off
//   apart       its first or last layers become a stage of their own on the
//               devices of another stage, or the whole stage moves there, so
//               that stages share devices
//
// If a cluster lists no links, devices of one class in one host with equal
// memory are interchangeable, and only one of them is tried. Every resulting
// plan has each layer once and keeps the order of the graph; memory is not
// checked. Source: the reconfiguration primitives of Aceso (EuroSys 2024).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_REFINEMOVES_H
#define STAGEWRIGHT_PLANNING_REFINEMOVES_H

#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// A changed plan and a description of the change.
struct Move {
  std::string what;
  std::vector<StagePlan> stages;
};

/// "stage 3".
std::string stageName(size_t stage);

class MoveMaker {
public:
  explicit MoveMaker(const Problem &problem);

  /// Moves of layers out of stage `s`, and into it from its neighbours.
  std::vector<Move> layers(const std::vector<StagePlan> &plan, size_t s);
  /// All other moves.
  std::vector<Move> others(const std::vector<StagePlan> &plan, size_t s);

private:
  using Stages = std::vector<StagePlan>;

  void moveBlock(const Stages &plan, size_t from, size_t to, size_t count,
                 bool fromFront);
  void moveSingle(const Stages &plan, size_t s);
  void addDevices(const Stages &plan, size_t s);
  void exchangeDevices(const Stages &plan, size_t s);
  void splitStage(const Stages &plan, size_t s);
  void mergeStages(const Stages &plan, size_t s);
  void toggleRecompute(const Stages &plan, size_t s);
  void placeApart(const Stages &plan, size_t s);

  /// Adds `plan` to `moves` if it is allowed.
  void offer(std::string what, Stages plan);
  bool isAllowed(const Stages &plan) const;
  /// One of each kind of interchangeable devices.
  std::vector<size_t> differentOf(const std::vector<size_t> &devices) const;
  std::vector<size_t> idleOf(const Stages &plan) const;

  const Problem &problem;
  std::vector<size_t> kindOf;           ///< By device.
  std::vector<double> secondsOf;        ///< By layer, on the first class.
  std::vector<std::vector<int64_t>> in; ///< Producers of each layer.
  std::vector<std::vector<int64_t>> out;
  std::vector<Move> moves;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_REFINEMOVES_H
