//===- PipelineToRankPasses.td - from a scheduled program to rank programs --===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_PIPELINETORANKPASSES_TD
#define STAGEWRIGHT_CONVERSION_PIPELINETORANKPASSES_TD

include "mlir/Pass/PassBase.td"

def LowerPipelineToRank : Pass<"lower-pipeline-to-rank", "::mlir::ModuleOp"> {
  let summary = "write the program of every rank";
  let description = [{
    **Why** A schedule says which action runs when; here every value gets a place, every transfer a channel, and every
    repeating part of an order a loop.
    **Expects** One `pipeline.schedule` with its program and graph, whose nodes have bodies; what is missing is made
    first, by the passes before this one with their defaults. The schedule is verified, however it was made: several
    stages per rank, I and W apart, forwards run again, pairs (which run one after the other), a stage on several ranks.
    A stage whose I and W are apart for some microbatches needs a graph with them apart.
    An `@update` beside the graph is the optimizer, a function of all parameters, their gradients, state and constants.
    **Leaves** A `rank.step`, the channels and one `rank.program` per rank. A value lives in the workspace when it is
    used in the action that makes it, in a stash when it is used later on the rank, and in the slot of a channel when
    another rank uses it, from its receive to its last use. What the forward of a layer keeps that its stage offloads waits
    in a stash of the host, and comes back to a stash of its own a microbatch ahead of its backward. Sums over microbatches have become accumulator arguments
    of the bodies. The schedule, the program and the graph are gone; the bodies are those that are called. Where the
    order is that of a generator defined for every number of microbatches, with one stage per rank, loops take their
    bounds from the argument of the entry; else the program runs the order as it stands, as loops or as a table, and
    says `only`. Of `@update` every rank has the part for the parameters that it owns, `@update.R`, called at the end of
    its program, which replaces parameters and state in place. Numbers made of several ranks' values, such as the norm
    of all gradients, every rank makes from what `@update.sums.R` of the others sent; a rank that reads a parameter of
    another is sent the new one. State of no rank in particular, such as a count of steps, lies on every rank.
    Gradients of a stage that lies on several ranks those ranks sum together, in buckets: a bucket begins behind the last
    node that adds to it, and is awaited at the end of the step. Parts of other gradients go to the owner once per step.
    **Never** grows in code with the number of microbatches, and never changes the order of a rank.
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"1048576",
           "bytes of gradients that ranks sum at once; 0: parts go to the owner of the parameter, which adds them">];
  let statistics = [
    Statistic<"numChannels", "channels", "Values that travel between ranks, once per receiving stage">,
    Statistic<"numStashes", "stashes", "Values kept from one action to a later one of the rank">,
    Statistic<"numOffloaded", "stashes-offloaded", "Of these, those that wait on the host">,
    Statistic<"numCopies", "copies", "Copies of a value per microbatch into a channel or an output">,
    Statistic<"numAccumulated", "accumulated", "Results that a body adds to an accumulator">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::stagewright::pipeline::PipelineDialect", "::stagewright::rank::RankDialect"];
}

#endif // STAGEWRIGHT_CONVERSION_PIPELINETORANKPASSES_TD
