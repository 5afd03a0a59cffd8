//===- Compile.h - the whole pipeline ---------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From an imported step to what an artifact is made of, with a stop at every
// level: one list of passes, declared in `buildCompilePipeline`. pp-compile is
// this and a command line; `pp-opt --stagewright-pipeline` is the same list; a
// program that embeds the compiler calls `compileTo` and `writeArtifact`.
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

/// Levels at which a module may leave the pipeline, in order. Only devices have
/// kernels; for the host that level is the one before.
enum class Level { Graph, Program, Schedule, Rank, Host, Kernels, LLVM };

/// What a module has when it enters: at most a program, a schedule, or rank
/// programs.
enum class From { Step, Schedule, Rank };

/// As a number of shards: the one that plans the step fastest.
inline constexpr int64_t kChooseShards = 0;

/// What a user may decide. Empty or absent: the module's attribute, else the
/// default that the pass names.
struct CompileOptions {
  std::string cluster;           ///< `local:N` or a file
  std::optional<int64_t> stages; ///< at most one per device and chunk
  std::optional<int64_t> microbatches;
  std::optional<int64_t> chunks; ///< stages per device; what the schedule needs
  std::string placement;         ///< of the chunks; what the schedule needs
  std::string memory;            ///< limit per device, as `4GiB`
  std::string planner;           ///< name of a planner
  /// Most devices of one stage, 0: no limit. Absent: no limit.
  std::optional<int64_t> maxReplicas;
  /// Level of every layer of computing again what its backward reads; 0 keeps
  /// all. Absent: what the devices need.
  std::optional<int64_t> recomputeLevel;
  /// Whether what forwards keep waits on the host: auto, none or all, as
  /// pipeline-partition says; empty: auto.
  std::string offload;
  /// Shards of every layer, each on a device of its own, and which parameters
  /// they split, as pipeline-shard says. Absent: layers are whole;
  /// kChooseShards: as many as are fastest, with stages and copies to match.
  std::optional<int64_t> shards;
  std::string shardHints;
  /// Copies of all shards and stages, which take microbatches in turn. Absent:
  /// one, or what the planner finds where there are no shards.
  std::optional<int64_t> dataParallel;
  bool sequenceParallel = true; ///< Shards go on with rows of large sums.
  std::string plan; ///< stages with their replicas, as pp-plan --plan takes it
  /// Name of a generator; `plan`: what the planner finds fastest; `auto`: what
  /// a search finds fastest for the plan; a file `….csv` as PyTorch writes it.
  std::string schedule = "plan";
  /// Whether the halves of backwards stay apart whatever the schedule. Absent:
  /// where the schedule, or a better plan, runs them apart.
  bool halves = false;
  std::string objective; ///< of `auto`: makespan or span
  std::string layers;    ///< as pipeline-form-graph takes them; empty: auto
  std::string profile;   ///< file that `pp-run --profile` wrote
  /// How many times larger than its operands the result of a contraction that
  /// backwards repeat must be; 0: none is.
  std::optional<int64_t> repeatRatio;
  /// What forwards keep, as pipeline-form-graph says; empty: `least` on the
  /// host and where repeatRatio is given, else `written`, which is fastest.
  std::string stash;
  /// Where stage functions run: `host`, or a device as `createDeviceTarget`
  /// names it.
  std::string target = "host";
  std::string ptx;         ///< of a device, as `createDeviceTarget` takes it
  std::string cacheFolder; ///< of a device's machine code; empty: none
  bool tf32 = false; ///< a device may round float32 operands of contractions
  /// Bytes of scores, of one microbatch in float32, up to which attention on a
  /// device stays as it is written; as pipeline-raise-attention says.
  std::optional<int64_t> scoreBytes;
  /// Bytes of gradients that ranks which share a stage sum at once, as
  /// lower-pipeline-to-rank says; absent: its default, on GPUs 25 MiB.
  std::optional<int64_t> bucketBytes;
};

/// What was decided on the way, as text for people.
struct CompileReport {
  std::string plan;   ///< stages with their layers, predicted time and bound
  std::string grid;   ///< the schedule, one row per rank, its times and bounds
  std::string memory; ///< bytes per rank by purpose
  std::string stash;  ///< what forwards keep and backwards repeat, by layer
};

/// The device of `options`, null for the host; fails with what is wrong about
/// its name in `problem`.
mlir::FailureOr<std::shared_ptr<DeviceTarget>>
createTarget(const CompileOptions &options, std::string &problem);

/// Appends the passes that take a module from `from` to `to`. `report`, if it
/// is not null, must live until they have run.
void buildCompilePipeline(mlir::OpPassManager &manager,
                          const CompileOptions &options, Level to, From from,
                          std::shared_ptr<DeviceTarget> device,
                          CompileReport *report = nullptr);

/// Runs them on `module`, from where it is. Shares of the passes are added to
/// `timing`; `configure` may add to the pass manager what a command line asks
/// for, such as printing.
mlir::LogicalResult compileTo(
    Level to, mlir::ModuleOp module, const CompileOptions &options,
    mlir::TimingScope &timing, CompileReport *report = nullptr,
    llvm::function_ref<mlir::LogicalResult(mlir::PassManager &)> configure =
        nullptr);

} // namespace stagewright

#endif // STAGEWRIGHT_PIPELINES_COMPILE_H
