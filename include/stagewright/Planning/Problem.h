//===- Problem.h - the input of a planner -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain of layers, a cluster, a number of microbatches and constraints. It is
// plain data without IR, so that the same instances run under every algorithm,
// in unit tests and against published tables. The problem is separate from the
// algorithms, with check() before and verify() after each, as in CIRCT's
// scheduling.
//
// Layers are numbered in a topological order of the forward graph. Most
// planners cut that chain. The values describe the graph: a value is made by
// one phase of one layer and used by phases of layers, once per microbatch.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PROBLEM_H
#define STAGEWRIGHT_PLANNING_PROBLEM_H

#include "stagewright/Cost/Cluster.h"
#include "stagewright/Scheduling/StageGraph.h"
#include "stagewright/Scheduling/Timing.h"
#include "stagewright/Simulation/Pipeline.h"
#include <map>

namespace stagewright {

/// Class of the device that a profile was measured on.
inline constexpr const char *kProfiledClass = "profiled";
/// Class of the host of the accelerators in dnn-partitioning. All transfers go
/// through its memory, so its load includes no transfer.
inline constexpr const char *kHostClass = "host";

/// Another way to run a layer: split over the devices of a tensor-parallel
/// group, or with recomputation (Piper's TMPC). Only the planner `piper`
/// chooses among them.
struct Alternative {
  std::string name;
  int64_t ways = 1;           ///< Devices that the layer is split over.
  bool recompute = false;     ///< Repeats its forward in the backward.
  Seconds time;               ///< Forward and backward of one sample.
  Bytes parameters;           ///< On each device; what a replica synchronises.
  double memoryPerSample = 0; ///< Bytes for each sample in flight.
  double memoryFixed = 0;     ///< Bytes once.
  /// Additional bytes on edges from and to other layers (by their numbers) that
  /// cross to another stage.
  std::map<int64_t, double> syncIn, syncOut;
};

/// A level of recomputation of a layer: it keeps less for its backward and
/// recomputes more.
struct RecomputeLevel {
  /// Recomputation before the backward of a microbatch, by device class.
  std::vector<Seconds> seconds;
  /// Layer::temporaries and sampleTemporaries at this level.
  Bytes temporaries = {}, sampleTemporaries = {};
};

/// A layer of the chain.
struct Layer {
  std::string name;
  /// Seconds of one whole microbatch on one device, for each device class, in
  /// the order of Cluster::classes().
  std::vector<StageTimes> times;
  /// Whether a microbatch may be sliced over replicas. A stage with a layer
  /// that mixes rows of the batch is replicated by whole microbatches in turn.
  bool sliceable = true;
  std::vector<Alternative> alternatives = {};
  std::string mixes = {}; ///< How it mixes rows, for people; may be empty.
  /// Bytes that a phase needs while it runs on a whole microbatch, in addition
  /// to kept values: intermediate values of its body, and values passed by its
  /// neighbours on the same device. 0: unknown.
  Bytes temporaries = {};
  /// The same for one sample; 0: in proportion.
  Bytes sampleTemporaries = {};
  /// Levels from 1 up, each with fewer bytes and more seconds than the one
  /// before it; at level 0 the layer keeps everything. LayerPhase states which
  /// values are used at which level.
  std::vector<RecomputeLevel> levels = {};

  /// Seconds of recomputation at `level` on a device of class `number`.
  Seconds again(int64_t level, size_t number) const {
    return level > 0 ? levels[level - 1].seconds[number] : Seconds();
  }
};

/// A phase of a layer.
struct LayerPhase {
  int64_t layer = 0;
  ActionKind phase = ActionKind::Forward; ///< Forward, InputGradient or
                                          ///< WeightGradient.
  /// For a use: bit k states whether it exists if the layer is at level k.
  uint32_t levels = ~0u;

  bool isAt(int64_t level) const { return (levels >> level) & 1; }
};

/// Max levels of a layer, including level 0, for which LayerPhase has bits.
inline constexpr size_t kMostLevels = 32;

/// A value that one phase of a layer makes for others, once per microbatch.
struct LayerValue {
  Bytes bytes;
  LayerPhase producer;
  std::vector<LayerPhase> uses;
  /// Seconds of a transfer, if the input states them; else they are bytes over
  /// bandwidth.
  std::optional<Seconds> transfer = {};
};

enum class ResidentKind {
  Parameter,
  Gradient,     ///< Summed over the replicas of a stage at the end of a step.
  Constant,     ///< Anything else that is held once.
  PerMicrobatch ///< Inputs and concatenated outputs, held per microbatch.
};

/// Memory that every stage with one of `layers` needs.
struct Resident {
  Bytes bytes;
  ResidentKind kind = ResidentKind::Constant;
  std::vector<int64_t> layers; ///< Increasing; the first one is the owner.
};

/// Settings of the model of a step's time. The defaults match a real step;
/// other settings reproduce published tables.
struct CostModel {
  /// A layer's gradients are reduced as soon as its last backward is done,
  /// while earlier layers of the stage still run theirs. Otherwise all
  /// gradients of a stage are reduced after its last backward.
  bool overlapAllReduce = true;
  /// A channel carries one transfer at a time, in either direction.
  bool halfDuplex = true;
  /// Channels that leave or enter one host take turns on its NIC.
  bool sharedNics = true;
  /// How channels between hosts share NICs. Except under Turns, each pair of
  /// hosts of two stages has a connection in each direction; a host without a
  /// NIC has one as fast as its fastest link to another host. Only for
  /// pipelineOf(): planners and their bounds assume Turns.
  LinkSharing sharing = LinkSharing::Turns;
  /// Bytes of optimizer state for each byte of parameters.
  double optimizerState = 0;
  /// Replicas of unequal speed get unequal slices; otherwise equal ones.
  bool unevenSlices = true;
  /// A value used beyond the next stage goes there directly; otherwise it goes
  /// through every stage on its way.
  bool directSkips = true;
  /// Channels between one pair of ranks share one ring, as those of shards do
  /// (rank-share-rings).
  bool sharesRings = false;
};

/// Whether values kept for backwards are offloaded to host memory, for devices
/// with a known bandwidth to it.
enum class OffloadChoice {
  None,
  Auto, ///< If a stage does not fit and it costs the least time.
  All   ///< Whenever it reduces the bytes on the device.
};

/// "none", "auto", "all".
const char *toString(OffloadChoice choice);
Result<OffloadChoice> parseOffloadChoice(std::string_view name);

/// Consecutive layers [first, end) that the user wants as one stage with this
/// number of replicas (AskedStages.h).
struct AskedStage {
  int64_t first = 0, end = 0;
  int64_t replicas = 1;
  std::string source; ///< For errors: "replicate(2) at model.py:12".
};

struct Problem {
  Cluster cluster;
  /// Devices that share each layer; each device of `cluster` stands for this
  /// many devices (GangProblem.h).
  int64_t shards = 1;
  std::vector<Layer> layers;
  std::vector<LayerValue> values;
  std::vector<Resident> residents;
  bool forwardOnly = false;
  /// Whether the backward of a layer is one body, which cannot be split into I
  /// and W.
  bool wholeBackward = false;
  /// Samples of a microbatch, its max number of slices; 0: unknown, no limit.
  int64_t samples = 0;

  /// Whether replicas can share a microbatch on `layer`.
  bool slices(size_t layer) const {
    return samples != 1 && layers[layer].sliceable;
  }

  /// Bytes of all gradients, each once.
  Bytes gradients() const;

  /// Sizes of held values are rounded up to a multiple of this, in bytes.
  int64_t slotAlignment = 1;
  /// The highest level of all layers.
  int64_t mostLevels() const;
  Bytes slotOf(Bytes bytes) const {
    return Bytes((bytes.value + slotAlignment - 1) / slotAlignment *
                 slotAlignment);
  }

  int64_t microbatches = 1;
  /// Requested stages; 0: the planner chooses.
  int64_t stages = 0;
  /// Stages that every plan must have, in the order of their layers.
  std::vector<AskedStage> askedStages = {};
  /// Max devices of one stage; 0: no limit.
  int64_t maxReplicas = 0;
  /// Whether a stage short of memory may keep only its inputs and repeat its
  /// forward before the backward, or raise the levels of its layers.
  bool recompute = true;
  /// Level of every layer, limited to its highest; -1: the lowest that fits.
  int64_t level = -1;
  OffloadChoice offload = OffloadChoice::Auto;
  /// Whether offloading is possible on any device.
  bool mayOffload() const;
  /// Execution orders to choose from.
  std::vector<ExecutionOrder> orders = allExecutionOrders();
  /// The plan for planner `fixed`: ranges of layers (Planners.h) or the JSON of
  /// planToJson().
  std::string fixedPlan;
  CostModel model;

  /// Checks everything that algorithms rely on: at least one layer, positive
  /// microbatches, no fewer layers and devices than stages, finite costs that
  /// are not negative, numbers of layers in range, and no forward value from a
  /// later layer to an earlier one. Network::create() checks that links connect
  /// the devices.
  Status check() const;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PROBLEM_H
