//===- ShardFlags.cpp - flags that split layers over shards ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlagGroups.h"

using namespace mlir;
using namespace stagewright;
namespace cl = llvm::cl;

namespace {
cl::opt<std::string> shards(
    "tensor-parallel",
    cl::desc("Split every layer over this many devices. The compiler chooses "
             "the parameters whose split saves the most time, unless --shard "
             "or the model's file specifies them. auto: the fastest number, "
             "with matching --stages and --data-parallel unless given. "
             "ROWSxCOLUMNS: a grid of devices, along both axes of which "
             "parameters are split as --shard, as in */w=0;1, or shardings "
             "over two axes in the model's file specify; nothing is chosen. "
             "WAYS,WAYS,...: the stages of a pipeline have these numbers of "
             "devices, as 4,2; layers are cut into stages before the split"),
    cl::value_desc("ways|auto|rowsxcolumns|ways,ways"), cl::cat(category()));
cl::opt<std::string> stageDevices(
    "stage-devices",
    cl::desc("Devices of the stages of --tensor-parallel=WAYS,WAYS by their "
             "number in the cluster, as 0-2;1,3. Stages may share devices: "
             "these then run the layers of both (default: no two share any)"),
    cl::value_desc("devices;devices"), cl::cat(category()));
cl::opt<std::string> shardHints(
    "shard",
    cl::desc(
        "How to split parameters: comma-separated GLOB=DIM, or "
        "GLOB=DIM:CHUNKS if the dimension holds several arrays side by "
        "side, such as '*/qkv=1:3,*/o=0,*/fc=1,*/proj=0', "
        "GLOB=DIM:CHUNKS:UNIT to keep UNIT consecutive elements on one shard, "
        "GLOB=whole, or "
        "GLOB=auto for the split that saves the most time. The first matching "
        "glob decides; parameters without one follow the model's file, if it "
        "has hints. With neither, all are auto. The exact name of a batch, as "
        "in ids=0, splits that batch over the shards. Over a grid of shards: "
        "GLOB=whole, or DIM, DIM:CHUNKS, DIM:CHUNKS:UNIT or whole for each "
        "axis, separated by semicolons, as '*/qkv=1:3;0,*/o=0;whole'"),
    cl::value_desc("glob=dim,..."), cl::cat(category()));
cl::opt<std::string> dataParallel(
    "data-parallel",
    cl::desc("Copies of all shards and stages of --tensor-parallel, each on "
             "its own devices. They take microbatches in turn (default: 1). "
             "Without shards use --max-replicas or --plan"),
    cl::value_desc("copies"), cl::cat(category()));
cl::opt<bool> sequenceParallel(
    "sequence-parallel",
    cl::desc("After a sum over the shards of --tensor-parallel, each shard "
             "keeps only its rows until a layer needs all rows, so norms and "
             "the like are split too (default: true)"),
    cl::init(true), cl::cat(category()));
cl::opt<bool> shardCollectives(
    "shard-collectives",
    cl::desc("Where the parts are equal, the shards of --tensor-parallel join "
             "a value by a single all-gather, and redistribute one by a single "
             "all-to-all, instead of a message from each to all others "
             "(default: false)"),
    cl::cat(category()));
cl::opt<bool> recomputeLayers(
    "recompute-layers",
    cl::desc("Layers of --tensor-parallel keep only their inputs, and their "
             "backwards repeat their forwards, messages between the shards "
             "included: all layers but the last, or, with "
             "--tensor-parallel=auto, those for which the plan saves time. "
             "Has no effect on steps without a backward, nor on --emit=graph"),
    cl::cat(category()));

} // namespace

/// Reads the numbers of shards of each stage, such as 4,2.
static LogicalResult readStageShards(CompileOptions &options) {
  SmallVector<StringRef> texts;
  StringRef(shards).split(texts, ',');
  std::optional<int64_t> least, most;
  for (StringRef text : texts) {
    int64_t number;
    if (text.getAsInteger(10, number) || number < 1) {
      llvm::errs() << "error: --tensor-parallel must be a number of shards for "
                      "each stage, such as 4,2, but is '"
                   << shards << "'\n";
      return failure();
    }
    least = std::min(least.value_or(number), number);
    most = std::max(most.value_or(number), number);
  }
  options.shards = most;
  if (least != most || !stageDevices.empty())
    options.stageShards = shards;
  else if (!options.stages) // As many stages with one number.
    options.stages = int64_t(texts.size());
  if (options.stages && *options.stages != int64_t(texts.size())) {
    llvm::errs() << "error: --tensor-parallel=" << shards << " has numbers for "
                 << texts.size() << " stages, but --stages is "
                 << *options.stages << "; give one number for each stage\n";
    return failure();
  }
  return success();
}

/// Reads a number of shards, those of each stage, or the numbers along the axes
/// of a grid, such as 2x2.
static LogicalResult readShards(CompileOptions &options) {
  std::optional<int64_t> &number = options.shards;
  std::string &grid = options.shardGrid;
  if (StringRef(shards).contains(','))
    return readStageShards(options);
  auto [first, second] = StringRef(shards).split('x');
  int64_t rows, columns;
  if (!second.empty() && !first.getAsInteger(10, rows) &&
      !second.getAsInteger(10, columns) && rows > 1 && columns > 1 &&
      rows < 1 << 16 && columns < 1 << 16) { // Their product is checked later.
    number = rows * columns;
    grid = shards;
    return success();
  }
  if (shards != "auto")
    return readNumber(shards, number, /*min=*/1,
                      "auto, a grid such as 2x2, a number for each stage such "
                      "as 4,2, or ");
  number = kChooseShards;
  return success();
}

LogicalResult readShardFlags(CompileOptions &options) {
  options.stageDevices = stageDevices;
  options.shardHints = shardHints;
  options.sequenceParallel = sequenceParallel;
  options.shardCollectives = shardCollectives;
  options.recomputeLayers = recomputeLayers;
  return success(succeeded(readShards(options)) &&
                 succeeded(readNumber(dataParallel, options.dataParallel)));
}
