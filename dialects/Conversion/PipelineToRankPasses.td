//===- PipelineToRankPasses.td - from a scheduled program to rank programs --===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_PIPELINETORANKPASSES_TD
#define STAGEWRIGHT_CONVERSION_PIPELINETORANKPASSES_TD

include "Pipeline/StepPass.td"

def LowerPipelineToRank : StepPass<"lower-pipeline-to-rank"> {
  let summary = "lower a scheduled program to one program per rank";
  let description = [{
    **Why** A schedule orders actions; this pass gives every value a buffer and every transfer a channel, and turns the
    repeating parts of an order into loops.
    **Expects** One `pipeline.schedule` with its program and graph, whose nodes have bodies; the earlier passes, with their
    defaults, make whatever is missing. Every schedule is verified. It may have several stages per rank, I and W apart,
    recomputed forwards, pairs (which run one after the other) and a stage on several ranks. A stage whose I and W are apart for
    some microbatches needs a graph with them apart. An `@update` beside the graph is the optimizer, a function of parameters,
    their gradients, state and constants.
    **Leaves** A `rank.step`, the channels and one `rank.program` per rank. A value is in the workspace if only the action that
    makes it uses it, in a stash if a later action of the rank uses it, and in a slot of a channel, from its receive to its last
    use, if another rank uses it. Offloaded stashes wait on the host, and return to a stash of their own, one microbatch ahead
    of their backward if the order allows it. Sums over microbatches become accumulator arguments of the bodies. Schedule,
    program, graph and bodies without callers are erased. If the order is that of a generator defined for every number of
    microbatches, with one stage per rank, loop bounds come from the argument of the entry; else the program runs the order as
    it is, as loops or as a table, and is marked `only`. With credits the rank chooses at run time: a lane of rows for each kind
    and stage, and rings as deep as the credits require.
    Every rank has the part of `@update` for the parameters that it owns, `@update.R`, called at the end of its program, which
    replaces parameters and state in place. Numbers computed from the values of several ranks, such as the norm of all
    gradients, are computed on every rank from what `@update.sums.R` of the others sent; a rank that reads a parameter of
    another is sent the new one. Of equal functions only the first is kept, which several ranks then call. State that belongs to
    no single rank, such as a step count, is on every rank. The ranks of a replicated stage sum its gradients together, in
    buckets: a bucket starts after the last node that adds to it, and is awaited at the end of the step. Parts of other
    gradients go to the owner once per step. With `gathers`, values that all shards of a group join are gathered.
    **Never** grows in code with the number of microbatches, and never changes the order of a rank.
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"1048576",
           "bytes of gradients that ranks sum in one bucket; 0: parts go to the owner of the parameter, which adds "
           "them">,
    Option<"gathers", "gathers", "bool", /*default=*/"false",
           "let shards join a value by one gather, not by a message from each to every other, where their parts are of one "
           "type with a multiple of 64 bytes and their orders are alike; shards that send a different part to each of the "
           "others do so by one exchange">];
  let statistics = [
    Statistic<"numChannels", "channels", "Values sent between ranks, once per receiving stage">,
    Statistic<"numGathers", "gathers", "Gathers and exchanges of parts that the ranks of a group make">,
    Statistic<"numStashes", "stashes", "Values kept for a later action of the rank">,
    Statistic<"numOffloaded", "stashes-offloaded", "Stashes that wait on the host">,
    Statistic<"numCopies", "copies", "Copies of a value into a channel, a stash or an output, per microbatch">,
    Statistic<"numAccumulated", "accumulated", "Results that a body adds to an accumulator">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::stagewright::pipeline::PipelineDialect", "::stagewright::rank::RankDialect"];
}

#endif // STAGEWRIGHT_CONVERSION_PIPELINETORANKPASSES_TD
