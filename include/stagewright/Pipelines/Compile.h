//===- Compile.h - the pipeline from a step to an artifact ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers an imported step to the module from which an artifact is written, and
// can stop at every level: one list of passes, built by `buildCompilePipeline`.
// pp-compile adds a command line; `pp-opt --stagewright-pipeline` runs the same
// list; a program that embeds the compiler calls `compileTo` and
// `writeArtifact`.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINES_COMPILE_H
#define STAGEWRIGHT_PIPELINES_COMPILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

#include <memory>
#include <optional>
#include <string>

namespace mlir {
class OpPassManager;
class PassManager;
} // namespace mlir

namespace stagewright {

class DeviceTarget;

/// Levels at which a module may leave the pipeline, in order. Only GPU targets
/// have kernels; for the host, Kernels is the same as Host.
enum class Level {
  Layers, ///< A graph whose backwards have no form yet
          ///< (`CompileOptions::formed`).
  Graph,
  Program,
  Schedule,
  Rank,
  Host,
  Kernels,
  LLVM
};

/// The level of a module that enters the pipeline: it has at most a program
/// (Step), a schedule, or rank programs.
enum class From { Step, Schedule, Rank };

/// A number of shards that stands for the one whose plan has the shortest step.
inline constexpr int64_t kChooseShards = 0;

/// How a GPU library multiplies float32.
enum class Float32Products {
  Exact,
  Tf32,  ///< operands rounded to TF32 (10 bits of mantissa)
  Tf32x3 ///< contractions as three products of TF32 parts
};

/// How a rank runs its actions: in the order of the schedule, or as they become
/// ready, within credits.
enum class Execution { Ordered, Ready };

/// The options of a compilation. Empty or absent: the module's attribute, else
/// the default of the pass.
struct CompileOptions {
  std::string cluster;           ///< `local:N` or a file
  std::optional<int64_t> stages; ///< at most one per device and chunk
  std::optional<int64_t> microbatches;
  std::optional<int64_t> chunks; ///< stages per device; absent: as scheduled
  std::string placement;         ///< of the chunks; empty: as scheduled
  std::string memory;            ///< limit per device, such as `4GiB`
  std::string planner;           ///< name of a planner
  /// Max devices of one stage; 0 or absent: no limit.
  std::optional<int64_t> maxReplicas;
  /// Level of recomputation of every layer; 0 repeats no more than `stash`
  /// says. Absent: as low as the devices' memory allows.
  std::optional<int64_t> recomputeLevel;
  /// Whether values kept for backwards are offloaded to the host: auto, none or
  /// all, as for pipeline-partition; empty: auto.
  std::string offload;
  /// Shards of every layer, each on its own device, and the parameters that
  /// they split, as for pipeline-shard. Absent: layers are not sharded;
  /// kChooseShards: the fastest number, with stages and copies to match.
  std::optional<int64_t> shards;
  /// Numbers of shards along the two axes of a grid, such as `2x2`; their
  /// product is `shards`. Empty: shards form one axis.
  std::string shardGrid;
  /// Numbers of shards of each stage, such as `4,2`, the max of which is
  /// `shards`. Empty: all stages have `shards`.
  std::string stageShards;
  /// The devices of these stages, such as `0-2;1,3`, by number in the cluster.
  /// Stages may share devices. Empty: the devices of each stage follow those of
  /// the stage before it.
  std::string stageDevices;
  std::string shardHints;
  /// Copies of all shards and stages, which take microbatches in turn. Absent:
  /// one with shards, else chosen by the planner.
  std::optional<int64_t> dataParallel;
  bool sequenceParallel = true;  ///< A shard keeps its rows of large sums.
  bool shardCollectives = false; ///< Shards join values by gathers.
  /// Whether layers over shards keep only their inputs, and their backwards
  /// repeat their forwards (ShardedLayers::repeats). These are all layers but
  /// the last or, if the number of shards is chosen, those that the plan names.
  bool recomputeLayers = false;
  /// File, or text, of annotations, as for pipeline-annotate. `compileTo` sets
  /// `shards` if annotations ask for them.
  std::string annotate;
  std::string plan; ///< stages with their replicas, as for pp-plan --plan
  /// Name of a generator; `plan`: the fastest that the planner finds; `auto`:
  /// the fastest that a search finds for the plan; or a PyTorch file `….csv`.
  std::string schedule = "plan";
  /// Whether backwards are split into I and W under the schedule `plan`. False:
  /// only if the given plan runs I and W apart or, if the planner is free to
  /// choose, the best plan does. Other schedules determine it themselves.
  bool halves = false;
  /// Whether the module is one that was compiled to `Level::Layers`: the next
  /// step merges I and W of its backwards, or leaves them split.
  bool formed = false;
  std::string objective; ///< of `auto`: makespan or span
  Execution execution = Execution::Ordered;
  std::optional<int64_t> spareCredits; ///< for each stage; absent: 0
  /// How transfers share NICs, as for pipeline-schedule-flows; empty: the
  /// artifact has no rates of flows.
  std::string policy;
  std::string layers;  ///< as for pipeline-form-graph; empty: auto
  std::string profile; ///< file that `pp-run --profile` wrote
  /// Min ratio of the bytes of a contraction's result to those of its operands
  /// for backwards to repeat it; 0: they repeat none.
  std::optional<int64_t> repeatRatio;
  /// What forwards keep, as for pipeline-form-graph; empty: `least` on the host
  /// or if repeatRatio is given, else `written`, which is fastest.
  std::string stash;
  /// Target of stage functions: `host`, or a device as named for
  /// `createDeviceTarget`.
  std::string target = "host";
  std::string ptx;         ///< for a device, as for `createDeviceTarget`
  std::string cacheFolder; ///< of a device's machine code; empty: none
  Float32Products float32 = Float32Products::Exact; ///< on a device
  /// Max bytes of scores (one microbatch, float32) for which attention on a
  /// device is not raised to one operation; as for pipeline-raise-attention.
  std::optional<int64_t> scoreBytes;
  /// Bytes of gradients that ranks of a shared stage sum in one bucket, as for
  /// lower-pipeline-to-rank; absent: its default, on GPUs 25 MiB.
  std::optional<int64_t> bucketBytes;
  /// Steps from one average over replicas to the next, and how it is merged, as
  /// for pipeline-delay-averaging. Absent: gradients are summed in every step.
  std::optional<int64_t> averageEvery;
  std::string averageDelay; ///< empty: auto
  std::optional<double> averageXi;
  std::string averageMerge;
};

/// Reports on the decisions of a compilation, as text.
struct CompileReport {
  std::string plan;   ///< stages with their layers, predicted time and bound
  std::string grid;   ///< the schedule, one row per rank, its times and bounds
  std::string memory; ///< bytes per rank by purpose
  std::string stash;  ///< what forwards keep and backwards repeat, by layer
};

/// The device target of `options`, null for the host. If its name is invalid,
/// fails and describes the error in `problem`.
mlir::FailureOr<std::shared_ptr<DeviceTarget>>
createTarget(const CompileOptions &options, std::string &problem);

/// Appends the passes that take a module from `from` to `to`. `report`, if it
/// is not null, must live until they have run.
void buildCompilePipeline(mlir::OpPassManager &manager,
                          const CompileOptions &options, Level to, From from,
                          std::shared_ptr<DeviceTarget> device,
                          CompileReport *report = nullptr);

/// Marks the parameters that `options.annotate` names, and sets the number of
/// shards and the number of stages for which annotations with split(n) ask.
/// Emits an error if annotations or options contradict each other. Does nothing
/// without annotations; if the layers are formed already, `options.annotate` is
/// an error.
mlir::LogicalResult applyAnnotations(mlir::ModuleOp module,
                                     CompileOptions &options);

/// Runs the passes of buildCompilePipeline() on `module`, from its current
/// level. Their times are added to `timing`; `configure` may set up the pass
/// manager as a command line asks, for example to print the IR.
mlir::LogicalResult compileTo(
    Level to, mlir::ModuleOp module, const CompileOptions &options,
    mlir::TimingScope &timing, CompileReport *report = nullptr,
    llvm::function_ref<mlir::LogicalResult(mlir::PassManager &)> configure =
        nullptr);

} // namespace stagewright

#endif // STAGEWRIGHT_PIPELINES_COMPILE_H
