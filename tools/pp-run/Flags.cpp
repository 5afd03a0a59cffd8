//===- Flags.cpp - the command line of pp-run -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"

namespace stagewright::runtime {

void declare(CLI::App &app, Options &options) {
  app.add_option("artifact", options.run.artifact,
                 "Artifact written by pp-compile")
      ->required()
      ->type_name("STEP.swx");
  app.add_option("--inputs", options.run.inputs,
                 "Arguments by position; the first dimension of batch "
                 "arguments is the microbatch")
      ->type_name("FILE.safetensors");
  app.add_option(
         "--init", options.run.init,
         "Initialise what the inputs lack, for trials: parameters normal with "
         "standard deviation 0.02, one-dimensional ones 1, or 0 if the last "
         "part of their name contains bias or is b, beta or offset; state 0; "
         "batches normal, or 0 if integers")
      ->type_name("SEED");
  app.add_option("--outputs", options.run.outputs,
                 "Write the results to this file")
      ->type_name("FILE.safetensors");
  app.add_option("--microbatches", options.run.microbatches,
                 "Number of microbatches (default: the compiled one)");
  app.add_flag("--repeat-microbatch", options.run.repeat,
               "Batch arguments hold one microbatch; use it for all");
  app.add_option("--steps", options.run.steps, "Number of steps to run");
  app.add_option("--trace", options.run.trace,
                 "Write a trace of the last step, for ui.perfetto.dev or "
                 "chrome://tracing. steps=10:12 selects steps; without a file "
                 "they go to trace.json")
      ->type_name("FILE.json|steps=A:B")
      ->allow_extra_args(false);
  app.add_option("--profile", options.run.profile,
                 "Write the median time of every node, for "
                 "pipeline-estimate-cost, and print the idle time of the ranks")
      ->type_name("FILE.json");
  app.add_flag("--check-memory", options.run.check,
               "Check the lifetime of every buffer and the printed live bytes");
  app.add_option("--threads-per-rank", options.run.threads,
                 "Threads per rank (default: 1)")
      ->type_name("N");
  app.add_flag("--pin", options.run.pin,
               "Pin the N threads of rank r to processors r * N and up");
  app.add_option(
         "--dilate", options.run.dilate,
         "Slow down the nodes of a rank on a CPU by this factor, to try "
         "a plan for unequal devices: it sleeps in proportion to its "
         "own CPU time, or to the time that --pace sets. More ranks with "
         "commas, or repeat the flag")
      ->type_name("RANK:FACTOR")
      ->join(',')
      ->allow_extra_args(false);
  app.add_option("--pace", options.run.pace,
                 "Let every action of a kind take this time on a CPU, to try "
                 "schedules: the rank sleeps. jitter:MEAN delays the action of "
                 "one random rank for each kind and microbatch, by a random "
                 "part of its time with this mean (exponential); seed:NUMBER "
                 "gives other random numbers. hop:TIME delays messages between "
                 "threads. Example: F:5ms,B:10ms,hop:1ms,jitter:0.5,seed:7. "
                 "sends: messages between hosts keep to the rates that they "
                 "are guaranteed (pp-compile --policy)")
      ->type_name("KIND:TIME|sends")
      ->join(',')
      ->allow_extra_args(false);
  app.add_option("--devices", options.run.devices,
                 "GPU of every rank, such as 0,0,1,1 (default: in order)")
      ->type_name("LIST");
  app.add_flag("--no-graph", options.run.direct,
               "Enqueue every step anew instead of replaying a CUDA graph");
  CLI::Option *dry = app.add_flag(
      "--dry-run", options.dry,
      "Record, order and verify a step for GPUs without running it; "
      "needs no GPU");
  app.add_option("--plans", options.plans,
                 "With --dry-run: print cuDNN's plans for all attention and "
                 "convolutions on these architectures, such as sm_80,sm_90. "
                 "Needs cuDNN, but no GPU")
      ->needs(dry)
      ->type_name("LIST");
  app.add_option("--explain-time", options.explainTime,
                 "Print the estimated time of a step on the GPUs of this "
                 "cluster, a preset such as h100 or a file: every kernel and "
                 "library call, most expensive first; with --json as JSON. "
                 "Needs no GPU")
      ->type_name("CLUSTER");
  app.add_flag("--processes", options.processes,
               "Start a process for every rank on GPUs, with messages by NCCL "
               "(default if ranks sum gradients)");
  app.add_option("--transport", options.transport,
                 "'threads': all ranks run in this process; 'mpi': each is a "
                 "process started by mpirun or srun (default: depends on how "
                 "it was started)")
      ->type_name("NAME");
  app.add_flag("--any-hosts", options.run.anyHosts,
               "Run rank i in process i, whatever hosts the plan was made for");
  app.add_flag("--any-order", options.run.anyOrder,
               "Let GPU libraries sum in any order: faster and smaller, but "
               "results are not reproducible bit for bit");
  app.add_flag(
      "--exact", options.run.exact,
      "Refuse an artifact whose replicas average their parameters (pp-compile "
      "--average-every) instead of training synchronously");
  app.add_option("--deadline", options.run.deadline,
                 "Max seconds that a rank may make no progress or a step on "
                 "GPUs may take (default: 60 for the first step, then 10 times "
                 "the median step, at least 2)")
      ->type_name("SECONDS");
  app.add_flag("--json", options.json,
               "Print as JSON: loss, seconds of the last 1024 steps, total "
               "seconds with the time between steps, and bytes");
  app.add_flag("--info{text}", options.info,
               "Print a summary of the artifact and exit; --info=json prints "
               "its manifest");
  app.add_option("--nan", options.run.nan,
                 "If a loss or parameter is infinite or NaN: 'stop' the run or "
                 "'ignore' it (default: steps with an optimizer stop)")
      ->type_name("WHAT")
      ->group("Faults");
  declareRendezvous(app, options.rendezvous);
  declareSupervisor(app, options.supervisor);
  declareTraining(app, options.run.training);
}

} // namespace stagewright::runtime
