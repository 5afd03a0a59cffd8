//===- Options.cpp - what pp-run is asked for -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "Error.h"

namespace stagewright::runtime {

void declare(CLI::App &app, Options &options) {
  app.add_option("artifact", options.artifact, "What pp-compile wrote")
      ->required()
      ->type_name("STEP.swx");
  app.add_option("--inputs", options.inputs,
                 "Arguments by position; batch arguments have the "
                 "microbatches as their first dimension")
      ->type_name("FILE.safetensors");
  app.add_option("--init", options.init,
                 "Make up what the inputs lack, for tries: parameters normal "
                 "with deviation 0.02, those with one dimension 1, or 0 where "
                 "their name says bias; state 0; batches normal, or 0 where "
                 "they are whole numbers")
      ->type_name("SEED");
  app.add_option("--outputs", options.outputs, "Where to write the results")
      ->type_name("FILE.safetensors");
  app.add_option("--microbatches", options.microbatches,
                 "Number of microbatches, if not the compiled one");
  app.add_flag("--repeat-microbatch", options.repeat,
               "The batch arguments hold one microbatch, used for all");
  app.add_option("--steps", options.steps, "How many steps to run");
  app.add_option("--trace", options.trace,
                 "Where to write the last step for ui.perfetto.dev or "
                 "chrome://tracing; steps=10:12 writes these, to trace.json "
                 "if no file is given too")
      ->type_name("FILE.json|steps=A:B")
      ->allow_extra_args(false);
  app.add_option("--profile", options.profile,
                 "Where to write the median time of every node, for "
                 "pipeline-estimate-cost; also prints how idle ranks were")
      ->type_name("FILE.json");
  app.add_flag("--check-memory", options.check,
               "Check the life of every buffer and the printed live bytes");
  app.add_option("--threads-per-rank", options.threads,
                 "Threads that share the work of each rank (default: 1)")
      ->type_name("N");
  app.add_flag("--pin", options.pin,
               "Pin the threads of rank r to the processors from r * N on");
  app.add_option("--devices", options.devices,
                 "The GPU of every rank, as in 0,0,1,1 (default: in order)")
      ->type_name("LIST");
  app.add_flag("--no-graph", options.direct,
               "Enqueue every step anew instead of replaying a CUDA graph");
  CLI::Option *dry = app.add_flag(
      "--dry-run", options.dry,
      "Record, order and verify a step for GPUs without running it; "
      "needs no GPU");
  app.add_option("--plans", options.plans,
                 "With --dry-run: ask cuDNN, which must be installed, for its "
                 "plans of all attention and convolutions on these "
                 "architectures, as sm_80,sm_90,sm_100. Needs no GPU")
      ->needs(dry)
      ->type_name("LIST");
  app.add_option("--explain-time", options.explainTime,
                 "Print what a step is estimated to take on the GPUs of this "
                 "cluster, as h100 or a file: every kernel and call of a "
                 "library, the most expensive first; with --json as JSON. "
                 "Needs no GPU")
      ->type_name("CLUSTER");
  app.add_flag("--processes", options.processes,
               "Every rank on GPUs in a process of its own, started here, with "
               "messages by NCCL (default where ranks sum gradients)");
  app.add_option("--transport", options.transport,
                 "'threads': all ranks are this process; 'mpi': each is a "
                 "process that mpirun or srun started (default: as started)")
      ->type_name("NAME");
  app.add_flag("--any-hosts", options.anyHosts,
               "Give process i rank i, whatever hosts the plan was made for");
  app.add_flag("--any-order", options.anyOrder,
               "Let the GPU's libraries add up in another order at every run: "
               "faster, with less memory, and other last bits each time");
  app.add_option("--deadline", options.deadline,
                 "Seconds that a rank may stand still, and a step on GPUs may "
                 "take (default: 10 times the median of the steps before, at "
                 "least 2)")
      ->type_name("SECONDS");
  app.add_flag("--json", options.json,
               "Print loss, seconds of the last 1024 steps, of all with what "
               "is between them, and bytes as JSON");
  app.add_flag("--info{text}", options.info,
               "Print what the artifact is, and stop; --info=json prints its "
               "manifest");
  app.add_option("--nan", options.nan,
                 "What a loss or parameter that is infinite or no number does: "
                 "'stop' the run or 'ignore' (default: steps with an "
                 "optimizer stop)")
      ->type_name("WHAT")
      ->group("Faults");
  declareMeeting(app, options.meeting);
  declareSupervisor(app, options.supervisor);
  declareTraining(app, options.training);
}

void check(const Options &options) {
  if (options.microbatches && *options.microbatches < 1)
    raise("the number of microbatches is ", *options.microbatches,
          ", expected at least 1");
  if (options.steps < 1)
    raise("the number of steps is ", options.steps, ", expected at least 1");
  if (options.threads < 1 || options.threads > 1024)
    raise("the number of threads per rank is ", options.threads,
          ", expected 1 to 1024");
  if (!(options.deadline >= 0))
    raise("--deadline is ", options.deadline, ", expected more than 0 seconds");
  if (!options.nan.empty() && options.nan != "stop" && options.nan != "ignore")
    raise("--nan is '", options.nan, "', expected 'stop' or 'ignore'");
  checkTraining(options.training);
}

} // namespace stagewright::runtime
