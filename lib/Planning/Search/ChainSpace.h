//===- ChainSpace.h - contiguous stages as decisions ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the space of planBySearch(). A plan is
//   order, end_1, devices_1, end_2, devices_2, ...
// where `order` is the number of an order of all devices (`orders`), and stage
// s has the layers [end_{s-1}, end_s) and the next devices_s devices of that
// order. Devices may be left over. How far layers recompute or offload, and
// the execution order, are not decisions: evaluate() chooses them for a plan.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_CHAINSPACE_H
#define STAGEWRIGHT_LIB_PLANNING_CHAINSPACE_H

#include "stagewright/Planning/ChainCosts.h"
#include "stagewright/Planning/Search.h"
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

namespace stagewright {

class ChainSpace : public SearchSpace {
public:
  /// Offers the device orders of planSpp() (chooseLists()) and, if `start` is
  /// given and its stages share no devices, its order (listOf()).
  ChainSpace(const Problem &problem, const Network &network,
             const Plan *start = nullptr);

  std::vector<int64_t> choices(const Decisions &prefix) const override;
  long double count(const Decisions &prefix) const override;
  double bound(const Decisions &prefix) const override;
  Decisions stateOf(const Decisions &prefix) const override;
  std::vector<float> features(const Decisions &prefix) const override;
  size_t numFeatures() const override;
  Result<double> time(const Decisions &plan) const override;
  Decisions neighbour(const Decisions &plan,
                      SearchRandom &random) const override;
  std::vector<Decisions> references() const override;
  uint64_t digest() const override;

  /// The plan of these decisions, evaluated.
  Result<Plan> planOf(const Decisions &plan) const;
  /// The decisions of the plan `start` of the constructor; none if there is
  /// none, or if it is not in the space.
  std::optional<Decisions> decisionsOf(const Plan *start) const;

private:
  void indexOrders();
  /// What a prefix has decided.
  struct Decided {
    size_t order = 0, stages = 0;   ///< Stages with devices.
    size_t layers = 0, devices = 0; ///< Of these stages.
    size_t end = 0;                 ///< Of the next stage; 0: undecided.
  };
  Decided read(const Decisions &prefix) const;

  /// Seconds of a stage; a lower bound of each cost that later decisions, or
  /// evaluate(), still change.
  struct StageCosts {
    double forward = 0, backward = 0; ///< For one microbatch.
    double load = 0;   ///< Per microbatch if all devices are always busy.
    double reduce = 0; ///< To all-reduce all gradients of the stage.
  };
  /// Costs of the stage of the layers from `at.layers` to `end` on the next
  /// `count` devices of the order.
  StageCosts stageCosts(const Decided &at, size_t end, size_t count) const;
  /// Seconds for which one microbatch's transfers over a cut occupy its
  /// channel.
  struct CutCosts {
    double forward = 0, backward = 0;
    double load(bool halfDuplex) const;
  };
  /// A lower bound of the costs of a cut: its bytes cross in equal parts over
  /// `links` links, each with the largest bandwidth of the cluster. 0 unless
  /// `knowsTransfers`.
  CutCosts leastCut(size_t cut, size_t links) const;
  /// Costs of the cut before layer `at.layers`, from the last `senders` of the
  /// decided devices to the next `receivers`. `turns`: the replicas of the
  /// stage before or after the cut take microbatches in turn.
  CutCosts cutCosts(const Decided &at, size_t senders, size_t receivers,
                    bool turns) const;
  /// Whether replicas of a stage of layers [first, end) take turns.
  bool takesTurns(size_t first, size_t end) const;
  /// Whether the `count` devices of `order` from number `from` on are of one
  /// class, with equal memory.
  bool areEqual(size_t order, size_t from, size_t count) const {
    return from + count <= equalUntil[order][from];
  }
  /// The slowest pair of these devices.
  SlowestPair slowestPair(size_t order, size_t from, size_t count) const;
  /// A lower bound of the seconds per byte of a transfer from the `senders`
  /// devices before place `middle` of `order` to the `receivers` devices from
  /// it on, if all are equal and have equal shares; 0 if there are too many
  /// pairs to look at.
  double secondsPerByte(size_t order, size_t middle, size_t senders,
                        size_t receivers) const;

  /// Max devices of the stage that follows those decided in `at`. `isLast`: it
  /// ends with the last layer.
  size_t mostDevices(const Decided &at, bool isLast) const;
  /// Number of ways to make stages of `layers` layers on at most `devices`
  /// devices, after `stages` other stages.
  long double ways(size_t stages, size_t layers, size_t devices) const;

  /// Sums over a prefix, for bound() and features().
  struct Sums {
    Decided at;
    double fillForward = 0, fillBackward = 0; ///< Through the stages so far.
    double bound = 0;                         ///< Of the stages so far.
    double rest = 0;    ///< Load of the layers left, on all devices left.
    StageCosts last;    ///< Of the last stage.
    double cut = 0;     ///< Load of the last cut.
    size_t senders = 0; ///< Devices of the last stage.
    bool turns = false; ///< The replicas of the last stage take turns.
  };
  const Sums &sums(const Decisions &prefix) const;
  Sums computeSums(const Decisions &prefix) const;
  /// The sums over those stages of `prefix` whose devices are decided.
  const Sums &sumsOfStages(const Decisions &prefix) const;
  void addStage(Sums &sums, size_t end, size_t count) const;
  void addCut(Sums &sums, const CutCosts &cut) const;
  /// Raises the bound to the time of a resource that is busy for `load` seconds
  /// per microbatch, if at least `tail` seconds follow the last microbatch.
  void raise(Sums &sums, double load, double tail) const;

  const Problem &problem;
  const Network &network;
  ChainCosts costs;
  std::vector<std::vector<size_t>> orders;
  std::vector<size_t> classOf; ///< By device.
  /// By order and place in it: the first later place whose device differs in
  /// class or memory; the length of the order if there is none.
  std::vector<std::vector<size_t>> equalUntil;
  /// By order, class, and place in the order: how many devices before that
  /// place are of the class.
  std::vector<std::vector<std::vector<size_t>>> classCounts;
  /// Sums over layers [0, l) of the least seconds of any class.
  std::vector<double> leastWork;
  bool comes = true;   ///< Every layer sends a value to the next one.
  bool returns = true; ///< Every layer sends a gradient to the one before.
  bool allSliced;      ///< No stage takes turns.
  bool knowsTransfers; ///< No value states its seconds instead of bytes.
  size_t maxReplicas;
  double ideal; ///< Load of a microbatch spread evenly over all devices.
  /// By stages s and devices d: the number of ways to give each of s stages at
  /// least one and at most maxReplicas of d devices.
  std::vector<std::vector<long double>> sharings;
  struct Hash {
    size_t operator()(const Decisions &decisions) const {
      size_t hash = 0;
      for (int64_t decision : decisions)
        hash = (hash ^ size_t(decision)) * 0x9e3779b97f4a7c15;
      return hash ^ hash >> 29;
    }
  };
  mutable std::unordered_map<Decisions, Sums, Hash>
      memo; ///< Of sumsOfStages().
  mutable std::pair<Decisions, std::optional<Sums>> last; ///< Of sums().
  /// By order and place in it: slowestPair() of 1, 2, ... devices from there.
  mutable std::map<std::pair<size_t, size_t>, std::vector<SlowestPair>> pairs;
  mutable std::map<std::array<size_t, 4>, double> rates; ///< secondsPerByte().
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_CHAINSPACE_H
