//===- Problem.h - what a planner is asked ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain of layers, a cluster, a number of microbatches and what is allowed.
// It is plain data without IR, so that the same instances run under every
// algorithm, in unit tests and against published tables. Problem and algorithm
// apart, check() on the way in and verify() on the way out, as in CIRCT's
// scheduling.
//
// Layers are numbered in a topological order of the forward graph. Most
// planners cut that chain; the graph itself is in the values: a value is made
// by one phase of one layer and used by phases of layers, each microbatch anew.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PROBLEM_H
#define STAGEWRIGHT_PLANNING_PROBLEM_H

#include "stagewright/Cost/Cluster.h"
#include "stagewright/Scheduling/StageGraph.h"
#include "stagewright/Simulation/Pipeline.h"
#include "stagewright/Simulation/Simulate.h"
#include <map>

namespace stagewright {

/// Another way to run a layer: split over the devices of a tensor-parallel
/// group, or with its activations computed again (Piper's TMPC). Only the
/// planner `piper` chooses among them.
struct Alternative {
  std::string name;
  int64_t ways = 1;           ///< Devices that the layer is split over.
  bool recompute = false;     ///< Runs its forward again in the backward.
  Seconds time;               ///< Forward and backward of one sample.
  Bytes parameters;           ///< On each device; what a replica synchronises.
  double memoryPerSample = 0; ///< Bytes for each sample in flight.
  double memoryFixed = 0;     ///< Bytes once.
  /// Bytes more on edges from and to other layers (by their numbers) when the
  /// edge leaves the stage.
  std::map<int64_t, double> syncIn, syncOut;
};

/// A layer of the chain: seconds of one whole microbatch on one device, for
/// each device class, in the order of Cluster::classes().
/// A way of a layer to keep less for its backward and to compute more again.
struct RecomputeLevel {
  /// Of computing again, before the backward of a microbatch, by device class.
  std::vector<Seconds> seconds;
  /// Layer::temporaries and sampleTemporaries at this level.
  Bytes temporaries = {}, sampleTemporaries = {};
};

struct Layer {
  std::string name;
  std::vector<StageTimes> times;
  /// Whether a microbatch may be sliced over replicas. A stage with a layer
  /// that mixes rows of the batch is replicated by whole microbatches in turn.
  bool sliceable = true;
  std::vector<Alternative> alternatives = {};
  std::string mixes = {}; ///< How it mixes rows, for people; may be empty.
  /// What a phase of it needs while it runs on a whole microbatch, beside what
  /// is kept: what its body computes on the way, and what its neighbours on the
  /// same device hand over. 0: not known.
  Bytes temporaries = {};
  /// The same on one sample; 0: in proportion.
  Bytes sampleTemporaries = {};
  /// Levels 1 and up, each with fewer bytes and more seconds than the one
  /// before it; as the layer stands, at level 0, it keeps all. LayerPhase says
  /// which values are used at which level.
  std::vector<RecomputeLevel> levels = {};

  /// Seconds of computing again at `level` on a device of class `number`.
  Seconds again(int64_t level, size_t number) const {
    return level > 0 ? levels[level - 1].seconds[number] : Seconds();
  }
};

/// A phase of a layer.
struct LayerPhase {
  int64_t layer = 0;
  ActionKind phase = ActionKind::Forward; ///< Forward, InputGradient or
                                          ///< WeightGradient.
  /// Of a use: bit k says whether there is one where the layer is at level k.
  uint32_t levels = ~0u;

  bool isAt(int64_t level) const { return (levels >> level) & 1; }
};

/// Levels of a layer, that of keeping all included, for which LayerPhase has
/// bits.
inline constexpr size_t kMostLevels = 32;

/// A value that one phase of a layer makes for others, once per microbatch.
struct Value {
  Bytes bytes;
  LayerPhase producer;
  std::vector<LayerPhase> uses;
  /// Seconds of a transfer, where an input states them instead of bytes over a
  /// bandwidth.
  std::optional<Seconds> transfer = {};
};

enum class ResidentKind {
  Parameter,
  Gradient,     ///< Summed over the replicas of a stage at the end of a step.
  Constant,     ///< Anything else that is held once.
  PerMicrobatch ///< Inputs and joined outputs, held for every microbatch.
};

/// Memory that every stage needs which holds one of `layers`.
struct Resident {
  Bytes bytes;
  ResidentKind kind = ResidentKind::Constant;
  std::vector<int64_t> layers; ///< Increasing; the first one is the owner.
};

/// What the model of a step's time takes into account. The defaults are what a
/// real step does; tables of others are reproduced with other settings.
struct CostModel {
  /// A layer's gradients are reduced as soon as its last backward is done,
  /// while earlier layers of the stage still run theirs. Otherwise all of a
  /// stage after its last backward.
  bool overlapAllReduce = true;
  /// A channel carries one transfer at a time, whichever way it goes.
  bool halfDuplex = true;
  /// Channels that leave or enter one host share its NIC in time.
  bool sharedNics = true;
  /// Bytes of optimizer state for each byte of parameters.
  double optimizerState = 0;
  /// Replicas of unequal speed get unequal slices; otherwise equal ones.
  bool unevenSlices = true;
  /// A value used beyond the next stage goes there directly; otherwise it goes
  /// through every stage on its way.
  bool directSkips = true;
  /// Channels of one pair of ranks take turns in one ring, as those of shards
  /// do (rank-share-rings).
  bool sharesRings = false;
};

/// Whether what stages keep for their backwards waits in the memory of their
/// devices' hosts, where these say how fast they reach it.
enum class OffloadChoice {
  None,
  Auto, ///< Where a stage does not fit and it costs the least time.
  All   ///< Wherever that takes fewer bytes of the device.
};

/// "none", "auto", "all".
const char *toString(OffloadChoice choice);
Result<OffloadChoice> parseOffloadChoice(std::string_view name);

struct Problem {
  Cluster cluster;
  std::vector<Layer> layers;
  std::vector<Value> values;
  std::vector<Resident> residents;
  bool forwardOnly = false;
  /// Whether the backward of a layer is one body, so that its halves cannot run
  /// apart.
  bool wholeBackward = false;
  /// Whether results of microbatches are joined, which keeps them in one
  /// pipeline.
  bool joinsResults = false;
  /// Rows of a microbatch, the most slices of it; 0: not known, no limit.
  int64_t samples = 0;

  /// Whether replicas can share a microbatch on `layer`.
  bool slices(size_t layer) const {
    return samples != 1 && layers[layer].sliceable;
  }

  /// What is held takes a multiple of so many bytes.
  int64_t slotAlignment = 1;
  /// The highest level that some layer has.
  int64_t mostLevels() const;
  Bytes slotOf(Bytes bytes) const {
    return Bytes((bytes.value + slotAlignment - 1) / slotAlignment *
                 slotAlignment);
  }

  int64_t microbatches = 1;
  /// Stages asked for; 0: what the planner finds best.
  int64_t stages = 0;
  /// Most devices of one stage; 0: no limit.
  int64_t maxReplicas = 0;
  /// Whether a stage short of memory may run its forward again before the
  /// backward, keeping only its inputs, or its layers go up in level.
  bool recompute = true;
  /// The level of every layer, or its highest; -1: the lowest that fits.
  int64_t level = -1;
  OffloadChoice offload = OffloadChoice::Auto;
  /// Whether anything may be offloaded on some device.
  bool mayOffload() const;
  /// Execution orders to choose from.
  std::vector<ExecutionOrder> orders = allExecutionOrders();
  /// The plan that planner `fixed` takes: ranges of layers (Planners.h) or the
  /// JSON that planToJson() writes.
  std::string fixedPlan;
  CostModel model;

  /// Everything an algorithm relies on: at least one layer, microbatches
  /// positive, as many layers and devices as stages, costs finite and not
  /// negative, numbers of layers in range, no value that goes backwards in the
  /// forward. Network::create() checks that links join the devices.
  Status check() const;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PROBLEM_H
