//===- PipelineDialect.td - what is cut, where it lies, when it runs ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINE_DIALECT_TD
#define STAGEWRIGHT_PIPELINE_DIALECT_TD

include "mlir/IR/OpBase.td"

def PipelineDialect : Dialect {
  let name = "pipeline";
  let cppNamespace = "::stagewright::pipeline";
  let summary = "A model graph as layers, stages and schedules";
  let description = [{
    The dialect holds the four facts between an imported step and the programs of the ranks: the graph of layers
    (`pipeline.graph`), the machines (`pipeline.cluster`), which layer lies where (`pipeline.program`) and when each
    action runs (`pipeline.schedule`). How one rank runs is the `rank` dialect's matter.

    It also owns the attributes below. An importer writes most of them, on the arguments and results of the step function, and
    of the optimizer `@update` if the module has one; passes write the others.

    | attribute | on | meaning |
    |---|---|---|
    | `pipeline.role` | argument | `parameter`, `batch`, `constant`, `seed` or `microbatch` |
    | `pipeline.role` | result | `loss`, `gradient` or `output` |
    | `pipeline.role` | argument of `@update` | `parameter`, `gradient`, `state` or `constant` |
    | `pipeline.role` | result of `@update` | `parameter` or `state` |
    | `pipeline.of` | gradient result | number of the argument that it is the gradient of |
    | `pipeline.of` | parameter or gradient argument of `@update` | number of the step's parameter |
    | `pipeline.of` | state argument of `@update` that the step reads too | number of the step's argument |
    | `pipeline.of` | result of `@update` | number of its own argument that the result replaces |
    | `pipeline.combine` | result | `mean`, `sum`, `concat` or `last`: how microbatches are joined |
    | `pipeline.name` | both | path in the framework's tree |
    | `pipeline.batch_dim` | batch argument, joined output | dimension that counts the rows of the batch |
    | `pipeline.split_dim`, `pipeline.split_outer` | parameter | a hint for `pipeline-shard`: the dimension that the model's own file splits over devices, and the number of its chunks (default 1), each of which is split. Over a grid of shards both are lists with an entry for each axis, and a batch may have them too; dimension -1: the axis does not split it |
    | `pipeline.slices` | parameter, its gradient | read (the gradient: written) in this many static slices, one for each index of dimension 0 |
    | `pipeline.stash` | graph | a report by layer that no pass reads: bytes kept for the backward, what they are, what is repeated |
    | `pipeline.slice`, `pipeline.position` | both | which slice of which original position this is |
    | `pipeline.slice_dim`, `pipeline.slice_outer` | both, with `slice` | the slices are parts of this dimension, or of each of its `slice_outer` chunks (default 1); without `slice_dim`, they are rows of a stack |
    | `pipeline.slice_unit` | both, with `slice_dim` | number of consecutive indices (default 1) that stay in one slice; slices may differ by one such unit |
    | `pipeline.slice_parts` | both, with `slice_dim` | the slices are parts of the rows of a stack, N per row, where N is this number: slice s is part s mod N of row s div N |
    | `pipeline.slice_ways` | both, with `slice_dim` | on a grid of shards: the numbers of slices along its axes, outermost first; then `slice_dim`, `slice_outer` and `slice_unit` are lists too, and a later axis splits the parts of an earlier one |
    | `pipeline.grid` | `@step` | numbers of shards along the axes of a grid; `pipeline-form-graph` then takes the layers that locations name |
    | `pipeline.forward` | operation of `@step` | it belongs to the forward, even if only the backward reads it, as on all shards but the one that gives the loss |
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    static constexpr llvm::StringLiteral kRole = "pipeline.role";
    static constexpr llvm::StringLiteral kOf = "pipeline.of";
    static constexpr llvm::StringLiteral kCombine = "pipeline.combine";
    static constexpr llvm::StringLiteral kName = "pipeline.name";
    static constexpr llvm::StringLiteral kBatchDim = "pipeline.batch_dim";
    static constexpr llvm::StringLiteral kSplitDim = "pipeline.split_dim";
    static constexpr llvm::StringLiteral kSplitOuter = "pipeline.split_outer";
    static constexpr llvm::StringLiteral kSlices = "pipeline.slices";
    static constexpr llvm::StringLiteral kSlice = "pipeline.slice";
    static constexpr llvm::StringLiteral kSliceDim = "pipeline.slice_dim";
    static constexpr llvm::StringLiteral kSliceOuter = "pipeline.slice_outer";
    static constexpr llvm::StringLiteral kSliceUnit = "pipeline.slice_unit";
    static constexpr llvm::StringLiteral kSliceParts = "pipeline.slice_parts";
    static constexpr llvm::StringLiteral kSliceWays = "pipeline.slice_ways";
    static constexpr llvm::StringLiteral kGrid = "pipeline.grid";
    /// The number of axes of a grid of shards.
    static constexpr int64_t kGridAxes = 2;
    static constexpr llvm::StringLiteral kForward = "pipeline.forward";
    static constexpr llvm::StringLiteral kPosition = "pipeline.position";
    static constexpr llvm::StringLiteral kStash = "pipeline.stash";
    /// What follows the name of a layer in the names of nodes and layers that compute it again.
    static constexpr llvm::StringLiteral kAgainSuffix = ".again";
    /// Data of a parameter that was a dense constant of the imported graph.
    static constexpr llvm::StringLiteral kValue = "pipeline.value";
    /// Module attributes: cluster preset or file, and number of microbatches.
    static constexpr llvm::StringLiteral kCluster = "pipeline.cluster";
    static constexpr llvm::StringLiteral kMicrobatches = "pipeline.microbatches";
  }];
}

class Pipeline_Op<string mnemonic, list<Trait> traits = []>
    : Op<PipelineDialect, mnemonic, traits>;

#endif // STAGEWRIGHT_PIPELINE_DIALECT_TD
