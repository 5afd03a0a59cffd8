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
  let summary = "prove that the rank programs finish, and write down their memory";
  let description = [{
    **Why** What follows turns every transfer into code that waits. That no order of events makes the ranks wait for
    each other, and that no slot is written while it is still read, is proved here, once, on the programs themselves,
    however they were made.
    **Expects** `rank.program`s, one per rank.
    **Leaves** The programs as they were, each with `memory`: bytes by purpose, the arena and its live peak.
    **Never** guesses: loops are unrolled for the given number of microbatches, and every claim, send, receive and
    release is run in an abstract machine. The programs have no choices in them, so one run that ends proves that
    every run ends, and one that is stuck shows the cycle.
  }];
  let options = [
    Option<"microbatches", "microbatches", "int64_t", "0",
           "Number of microbatches to unroll for; 0 takes that of the programs">,
    Option<"forms", "forms", "bool", "false",
           "Prove it too for the numbers at which loops take another form, unless the programs are for one number only">];
  let statistics = [
    Statistic<"numEvents", "events", "Claims, sends, receives and releases that were run">];
  let dependentDialects = ["::stagewright::rank::RankDialect"];
}

def ShareRings : Pass<"rank-share-rings", "::mlir::ModuleOp"> {
  let summary = "let channels of one pair of ranks take turns in one ring";
  let description = [{
    **Why** Where layers are split over ranks, these exchange the parts of every layer, in the forward and in the backward,
    by channels of their own. A ring for each takes memory that grows with the depth of the model, though only the few
    last messages are ever under way.
    **Expects** `rank.program`s that are each for one number of microbatches, before they are verified.
    **Leaves** One channel for the messages of a type that one rank sends another, numbered as they are sent, where that takes
    fewer slots. It has two more than what is claimed and not released when all ranks go at one pace, so a sender may be
    ahead. What turns microbatches into numbers is arithmetic where that is linear, else a table beside that of the order.
    **Never** makes ranks wait for each other for ever: with that many slots the run that was looked at is possible, and
    if one run ends every one does.
  }];
  let statistics = [
    Statistic<"numMerged", "merged", "Channels that share the ring of another">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::stagewright::rank::RankDialect"];
}

#endif // STAGEWRIGHT_RANK_PASSES_TD
