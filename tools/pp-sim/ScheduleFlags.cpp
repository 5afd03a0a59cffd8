//===- ScheduleFlags.cpp - flags for schedules without a model ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleFlags.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Support/Text.h"

namespace cl = llvm::cl;

namespace stagewright {

namespace {

cl::OptionCategory category(
    "options without a model",
    "There are chunks * ranks stages, numbered along the forward. Costs are "
    "for one microbatch on one stage:\none VALUE for all stages or one for "
    "each, such as 1,1,1,2. Times may have any unit.");

cl::opt<std::string> schedule(
    "schedule",
    cl::desc("Name (--list-schedules), auto (search), or PyTorch's CSV"),
    cl::value_desc("NAME|auto|file.csv"), cl::cat(category));
cl::opt<std::string> ranks("ranks", cl::desc("Number of ranks"),
                           cl::value_desc("P"), cl::cat(category));
cl::opt<std::string>
    chunks("chunks",
           cl::desc("Stages per rank (default: the min for NAME; auto: 1, or 2 "
                    "if --placement is not linear)"),
           cl::value_desc("V"), cl::cat(category));
cl::opt<std::string> group(
    "group",
    cl::desc("interleaved, interleaved-zb and forward-only: microbatches of a "
             "chunk before the next chunk"),
    cl::value_desc("G"), cl::cat(category));
cl::opt<std::string> forward("forward",
                             cl::desc("Time of F, the forward (default: 1)"),
                             cl::value_desc("VALUE,..."), cl::cat(category));
cl::opt<std::string>
    inputGrad("input-grad",
              cl::desc("Time of I, the input gradient (default: that of F)"),
              cl::value_desc("VALUE,..."), cl::cat(category));
cl::opt<std::string>
    weightGrad("weight-grad",
               cl::desc("Time of W, the weight gradient (default: that of F). "
                        "The whole backward, B, takes I + W"),
               cl::value_desc("VALUE,..."), cl::cat(category));
cl::opt<std::string> hop(
    "hop",
    cl::desc("Delay between neighbouring stages on different ranks, in "
             "both directions (default: 0). One VALUE for all hops, or one "
             "for the hop after each stage; that after the last is ignored"),
    cl::value_desc("VALUE,..."), cl::cat(category));
cl::opt<std::string>
    activation("activation",
               cl::desc("Memory held from F to I, in any unit (default: 1)"),
               cl::value_desc("VALUE,..."), cl::cat(category));
cl::opt<std::string>
    weightGradActivation("weight-grad-activation",
                         cl::desc("Memory still held from I to W (default: "
                                  "that of --activation)"),
                         cl::value_desc("VALUE,..."), cl::cat(category));
cl::opt<std::string>
    memory("memory",
           cl::desc("Memory limit per rank, in the unit of --activation"),
           cl::value_desc("VALUE"), cl::cat(category));
cl::opt<std::string>
    placement("placement",
              cl::desc("linear, loop or v; for auto also any (default: that of "
                       "NAME; auto: linear, or any with several chunks)"),
              cl::cat(category));
cl::opt<std::string>
    objective("objective",
              cl::desc("What auto minimises: makespan (default) or span"),
              cl::cat(category));
cl::opt<std::string> overlap(
    "overlap",
    cl::desc("An overlapped pair of F and B takes this share of the sum "
             "of their times, at most 1 (default: 0, no overlap)"),
    cl::value_desc("VALUE"), cl::cat(category));
cl::opt<std::string> execution(
    "execution",
    cl::desc("ordered (default), or ready: ranks run the actions as they "
             "become ready, backwards first, like pp-compile "
             "--execution=ready"),
    cl::value_desc("ordered|ready"), cl::cat(category));
cl::opt<std::string> credits(
    "credits",
    cl::desc("With --execution=ready: microbatches in flight on a stage, "
             "unlimited, or auto (default): as many as its round trip needs"),
    cl::value_desc("N,...|unlimited|auto"), cl::cat(category));
cl::opt<std::string> jitter(
    "jitter",
    cl::desc("For each kind and microbatch, delay the action of one random "
             "rank by a random part of its time, with this mean (exponential), "
             "like jitter:MEAN of pp-run --pace"),
    cl::value_desc("MEAN[:SEED]"), cl::cat(category));
cl::opt<bool> forwardOnly("forward-only", cl::desc("Inference: no backward"),
                          cl::cat(category));
cl::opt<bool>
    noSplit("no-split",
            cl::desc("With auto: do not split backwards into I and W"),
            cl::cat(category));
cl::opt<bool>
    recompute("recompute",
              cl::desc("With auto: allow recomputing forwards to save memory"),
              cl::cat(category));
cl::opt<std::string> recomputeInput(
    "recompute-input",
    cl::desc("Memory held for a recomputed forward (default: 0)"),
    cl::value_desc("VALUE,..."), cl::cat(category));
cl::opt<std::string> csv("csv",
                         cl::desc("Write the order in PyTorch's CSV format"),
                         cl::value_desc("file.csv"), cl::cat(category));
cl::opt<bool> communication(
    "communication",
    cl::desc(
        "Include sends, receives and waits in --csv (torch's compute_comms)"),
    cl::cat(category));
cl::opt<bool> list("list-schedules", cl::desc("List the schedules and exit"),
                   cl::cat(category));

} // namespace

cl::OptionCategory &scheduleCategory() { return category; }

ScheduleFlags scheduleFlags() {
  ScheduleFlags flags;
  flags.schedule = schedule;
  flags.ranks = ranks;
  flags.chunks = chunks;
  flags.group = group;
  flags.forward = forward;
  flags.inputGradient = inputGrad;
  flags.weightGradient = weightGrad;
  flags.hop = hop;
  flags.activation = activation;
  flags.weightGradActivation = weightGradActivation;
  flags.recomputeInput = recomputeInput;
  flags.memory = memory;
  flags.placement = placement;
  flags.objective = objective;
  flags.overlap = overlap;
  flags.execution = execution;
  flags.credits = credits;
  flags.jitter = jitter;
  flags.csv = csv;
  flags.communication = communication;
  flags.recompute = recompute;
  flags.noSplit = noSplit;
  flags.forwardOnly = forwardOnly;
  return flags;
}

std::string firstScheduleFlag() {
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &schedule,    &ranks,
           &chunks,      &group,
           &forward,     &inputGrad,
           &weightGrad,  &hop,
           &activation,  &weightGradActivation,
           &memory,      &placement,
           &objective,   &overlap,
           &forwardOnly, &noSplit,
           &recompute,   &recomputeInput,
           &csv,         &communication,
           &execution,   &credits,
           &jitter})
    if (option->getNumOccurrences() > 0)
      return "--" + option->ArgStr.str();
  return "";
}

std::string firstEmptyScheduleFlag() {
  for (const cl::opt<std::string> *option :
       {&schedule, &ranks, &chunks, &group, &forward, &inputGrad, &weightGrad,
        &hop, &activation, &weightGradActivation, &memory, &placement,
        &objective, &overlap, &recomputeInput, &csv, &execution, &credits,
        &jitter})
    if (option->getNumOccurrences() > 0 && option->getValue().empty())
      return "--" + option->ArgStr.str() + "=";
  return "";
}

bool listsSchedules() { return list; }

std::string listOfSchedules() {
  std::vector<std::vector<std::string>> rows = {
      {"name", "chunks", "placement", ""}};
  for (const Generator &generator : allGenerators()) {
    std::string chunks = std::to_string(generator.leastChunks);
    if (generator.mostChunks == 0)
      chunks += " or more";
    rows.push_back({generator.name, chunks, toString(generator.placement),
                    generator.summary});
  }
  rows.push_back({"auto", "any", "any but twin",
                  "the best of all these and of a search (AutoSchedule.h)"});
  return alignColumns(rows);
}

} // namespace stagewright
