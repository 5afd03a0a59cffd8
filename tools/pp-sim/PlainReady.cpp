//===- PlainReady.cpp - ready-first execution and jitter ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainParts.h"
#include "ScheduleCosts.h"
#include "stagewright/Scheduling/Memory.h"
#include "stagewright/Scheduling/ReadyFirst.h"
#include "stagewright/Simulation/AssignCredits.h"
#include "stagewright/Support/Jitter.h"
#include "stagewright/Support/Limits.h"
#include "llvm/ADT/StringExtras.h"

namespace stagewright {

/// Reads MEAN or MEAN:SEED.
static Result<Jitter> readJitter(llvm::StringRef text) {
  Jitter jitter;
  auto [mean, seed] = text.split(':');
  if (text.empty() || (!mean.getAsDouble(jitter.mean) && jitter.mean >= 0 &&
                       jitter.mean <= 1e6 &&
                       (seed.empty() || !seed.getAsInteger(10, jitter.seed))))
    return jitter;
  return Error{"--jitter must be the mean delay as a multiple of the action's "
               "time, or MEAN:SEED, such as 0.5:7, but is '" +
               text.str() + "'"};
}

/// Reads the number of credits of each of `stages`, or one number for all.
static Result<std::vector<int64_t>> readCredits(llvm::StringRef text,
                                                int64_t stages) {
  std::vector<int64_t> credits;
  for (llvm::StringRef part : llvm::split(text, ',')) {
    int64_t credit = 0;
    if (part.getAsInteger(10, credit) || credit < 1 ||
        credit > kMostMicrobatches)
      return Error{"--credits must be positive numbers, unlimited or auto, but "
                   "is '" +
                   text.str() + "'"};
    credits.push_back(credit);
  }
  if (credits.size() == 1)
    credits.resize(stages, credits.front());
  if (int64_t(credits.size()) != stages)
    return Error{"--credits has " + std::to_string(credits.size()) +
                 " values, expected one, or " + std::to_string(stages) +
                 " for the stages"};
  return credits;
}

static StepTimes timesOf(const ScheduleProblem &problem) {
  StepTimes times;
  for (const StageCosts &stage : problem.stages)
    times.stages.push_back(stage.times());
  for (int64_t s = 0; s + 1 < problem.numStages(); ++s)
    times.hops.insert(times.hops.end(), problem.forwardOnly ? 1 : 2,
                      problem.hopAfter(s));
  return times;
}

/// The credits of the flags; none if they are unlimited.
static Result<std::vector<int64_t>> creditsOf(const ScheduleFlags &flags,
                                              const PlainSchedule &plain,
                                              const StageGraph &graph,
                                              const StepTimes &times) {
  if (flags.credits == "unlimited")
    return std::vector<int64_t>();
  if (!flags.credits.empty() && flags.credits != "auto")
    return readCredits(flags.credits, graph.stages);
  CreditMemory memory;
  memory.limits.assign(size_t(graph.stages), plain.problem.memory);
  for (int64_t s = 0; s < graph.stages && !graph.forwardOnly; ++s)
    memory.rings.push_back({{ActionKind::Forward, s},
                            {ActionKind::WeightGradient, s},
                            plain.problem.stages[size_t(s)].activation});
  Result<Credits> credits = assignCredits(plain.schedule, graph, times, memory);
  if (!credits)
    return credits.error();
  return credits->assigned;
}

Status execute(const ScheduleFlags &flags, PlainSchedule &plain) {
  bool ready = flags.execution == "ready";
  if (!ready && flags.execution != "ordered" && !flags.execution.empty())
    return Error{"--execution must be ordered or ready, but is '" +
                 flags.execution + "'"};
  if (!ready && !flags.credits.empty())
    return Error{"--credits is for --execution=ready; leave one of them out"};
  Result<Jitter> jitter = readJitter(flags.jitter);
  if (!jitter)
    return jitter.error();
  if (!ready && jitter->mean == 0)
    return {};
  if (plain.problem.overlap > 0)
    return Error{std::string("--overlap is for ordered execution without "
                             "--jitter; leave it or ") +
                 (ready ? "--execution=ready" : "--jitter") + " out"};
  // What is proved of a searched order holds for its planned times.
  plain.optimality = Optimality::Unknown;
  if (ready)
    plain.origin.clear();
  StageGraph graph =
      chainGraph(plain.problem.numStages(), plain.problem.forwardOnly);
  StepTimes times = timesOf(plain.problem);
  std::vector<int64_t> credits;
  if (ready) {
    Result<std::vector<int64_t>> found = creditsOf(flags, plain, graph, times);
    if (!found)
      return found.error();
    credits = *found;
    if (!credits.empty())
      graph = withCredits(graph, credits);
    times.hops.resize(graph.edges.size());
    plain.name += ", ready first, credits ";
    plain.name +=
        credits.empty()
            ? "unlimited"
            : llvm::join(llvm::map_range(credits,
                                         [](int64_t credit) {
                                           return std::to_string(credit);
                                         }),
                         ",");
  }
  if (jitter->mean > 0)
    times.delay = [&](const Action &action, int64_t rank) {
      return times.stages[action.stage].of(action.kind) *
             jitter->of(char(action.kind), action.microbatch, rank,
                        plain.problem.ranks);
    };
  if (ready) {
    Result<ReadyRun> run = simulateReady(plain.schedule, graph, times);
    if (!run)
      return run.error();
    plain.schedule = std::move(run->orders);
    plain.timing = std::move(run->timeline);
  } else {
    Result<Timeline> run = timeSchedule(plain.schedule, graph, times);
    if (!run)
      return run.error();
    plain.timing = std::move(*run);
  }
  for (const MemoryPeak &peak : memoryPeaks(plain.schedule, plain.problem))
    plain.timing.peaks.push_back(peak.value);
  return {};
}

} // namespace stagewright
