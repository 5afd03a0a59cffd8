//===- Passes.td - passes over the rank dialect ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_PASSES_TD
#define STAGEWRIGHT_RANK_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyRankPrograms : Pass<"verify-rank-programs", "::mlir::ModuleOp"> {
  let summary = "prove that the rank programs finish, and compute their memory";
  let description = [{
    **Why** Later passes turn every transfer into code that waits. This pass proves on the programs themselves, however they
    were made, that the ranks cannot deadlock and that no slot is overwritten while it is read.
    **Expects** `rank.program`s, one per rank.
    **Leaves** The programs as they were, each with `memory`: bytes by purpose, the arena and its live peak.
    **Never** approximates: loops are unrolled for the given number of microbatches, and every claim, send, receive and release
    is run in an abstract machine. Programs with an order have no branches that depend on data or on time, so one run that ends
    proves that every run ends, and a run that is stuck shows the cycle. There must be one order of all collectives that suits
    every rank: the pass rejects ranks that begin collectives in a cycle, for example x before y on one rank, y before z on
    another and z before x on a third. Programs with ready-first execution are marked graphs (a class of Petri nets), for which
    a single run is a proof in the same way.
  }];
  let options = [
    Option<"microbatches", "microbatches", "int64_t", "0",
           "Number of microbatches to unroll for; 0: that of the programs">,
    Option<"forms", "forms", "bool", "false",
           "Also verify the numbers of microbatches at which loops take another form, unless the programs are for "
           "one number only">];
  let statistics = [
    Statistic<"numEvents", "events", "Events run: on channels, stashes and sums, and calls">];
  let dependentDialects = ["::stagewright::rank::RankDialect"];
}

def ShareRings : Pass<"rank-share-rings", "::mlir::ModuleOp"> {
  let summary = "let channels between two ranks share one ring of slots";
  let description = [{
    **Why** If layers are split over ranks, the ranks exchange the parts of every layer, forward and backward, over separate
    channels. A ring for each takes memory that grows with the depth of the model, though only the last few messages are in
    flight.
    **Expects** `rank.program`s that are each for one number of microbatches, before they are verified.
    **Leaves** One channel for the messages of a type from one rank to another, numbered as they are claimed, if that takes
    fewer slots. Programs with ready-first execution keep their rings: without an order, one lane must fill each ring, since
    messages of several lanes would not have one order. The slots that a shared ring needs are found in a run of all ranks in
    lockstep: the max number of messages from the oldest one that is not released to the newest one that is claimed. The ring
    gets two more, so that a sender may run ahead, but no more slots than messages. Microbatches are mapped to message numbers
    by arithmetic if the mapping is linear, else by a table.
    **Never** causes a deadlock: with these slots the simulated run is possible, and if one run ends, every run does.
  }];
  let statistics = [
    Statistic<"numMerged", "merged", "Channels saved by sharing rings">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::stagewright::rank::RankDialect"];
}

#endif // STAGEWRIGHT_RANK_PASSES_TD
