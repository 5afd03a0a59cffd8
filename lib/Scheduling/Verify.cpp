//===- Verify.cpp - proof that a schedule finishes ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Verify.h"
#include "OrderGrid.h"
#include "stagewright/Scheduling/Dependences.h"
#include "stagewright/Scheduling/Memory.h"

namespace stagewright {

namespace {

/// A deadlocked schedule, after all actions that can run have run.
class Standstill {
public:
  Standstill(const Schedule &schedule, const Dependences &dependences,
             const std::vector<size_t> &ran)
      : schedule(schedule), dependences(dependences) {
    for (int64_t rank = 0; rank < dependences.numRanks(); ++rank)
      next.push_back(dependences.begin(rank));
    for (size_t number : ran)
      ++next[dependences.rank(number)];
  }

  Error describe() const;

private:
  struct Wait {
    size_t action; ///< Waiting: the rank's next, or the second of its pair.
    const Dependence *dependence;
  };
  Wait pending(int64_t rank) const;
  Error describeOwn(int64_t rank, const Wait &wait) const;
  std::string describe(int64_t rank, const Dependence &wait) const;
  std::string textOf(size_t number) const {
    return toString(dependences.action(number));
  }
  OrderMark markOf(size_t number) const {
    return {dependences.rank(number), dependences.step(number)};
  }

  const Schedule &schedule;
  const Dependences &dependences;
  std::vector<size_t> next; ///< By rank: number of its next action.
};

} // namespace

/// The first unmet dependence of `rank`'s next action or pair: the action
/// waited for has not run, so it is not before the next action of its own rank.
Standstill::Wait Standstill::pending(int64_t rank) const {
  for (size_t n = next[rank]; n < dependences.blockEnd(next[rank]); ++n)
    for (const Dependence &wait : dependences.of(n))
      if (wait.on >= next[dependences.rank(wait.on)])
        return {n, &wait};
  return {next[rank], nullptr};
}

/// The error if `rank` waits for an action it runs later, or in the same pair.
Error Standstill::describeOwn(int64_t rank, const Wait &wait) const {
  size_t on = wait.dependence->on;
  std::string name = "rank " + std::to_string(rank) + " runs ";
  bool pair = on < dependences.blockEnd(next[rank]);
  std::string message = pair ? name + textOf(next[rank]) + " and " +
                                   textOf(next[rank] + 1) + " as a pair, but " +
                                   textOf(wait.action) + " waits for " +
                                   textOf(on)
                             : name + textOf(wait.action) + " before " +
                                   textOf(on) + ", which it waits for";
  return errorAt(message, schedule, {markOf(wait.action), markOf(on)});
}

/// "rank 1 waits for 2B0 from rank 2".
std::string Standstill::describe(int64_t rank, const Dependence &wait) const {
  std::string text = "rank " + std::to_string(rank) + " waits for ";
  text += wait.slot ? "a slot that " : "";
  text += textOf(wait.on) + (wait.slot ? " frees on rank " : " from rank ");
  return text + std::to_string(dependences.rank(wait.on));
}

/// Follows waits from rank to rank until a rank repeats, and reports the cycle.
Error Standstill::describe() const {
  int64_t rank = 0;
  while (next[rank] == dependences.begin(rank + 1))
    ++rank;
  std::vector<std::string> chain;
  std::vector<OrderMark> marks;
  std::vector<int64_t> seenAt(dependences.numRanks(), -1);
  while (seenAt[rank] < 0) {
    seenAt[rank] = static_cast<int64_t>(chain.size());
    Wait wait = pending(rank);
    int64_t other = dependences.rank(wait.dependence->on);
    if (other == rank)
      return describeOwn(rank, wait);
    chain.push_back(describe(rank, *wait.dependence));
    marks.push_back(markOf(wait.action));
    rank = other;
  }
  std::string message = "schedule deadlocks: ";
  for (size_t i = seenAt[rank]; i < chain.size(); ++i)
    message += (i == size_t(seenAt[rank]) ? "" : ", ") + chain[i];
  marks.erase(marks.begin(), marks.begin() + seenAt[rank]);
  return errorAt(message, schedule, marks);
}

Status verify(const Schedule &schedule, const StageGraph &graph) {
  Result<Dependences> dependences = Dependences::create(schedule, graph);
  if (!dependences)
    return dependences.error();
  std::vector<size_t> ran = dependences->executionOrder();
  if (ran.size() == dependences->size())
    return {};
  return Standstill(schedule, *dependences, ran).describe();
}

Status checkSize(const Schedule &schedule, const ScheduleProblem &problem) {
  if (int64_t(schedule.ranks.size()) == problem.ranks &&
      schedule.stages == problem.numStages() &&
      schedule.microbatches == problem.microbatches)
    return {};
  return Error{"the schedule is for " + std::to_string(schedule.ranks.size()) +
               " ranks, " + std::to_string(schedule.stages) + " stages and " +
               std::to_string(schedule.microbatches) +
               " microbatches, the costs for " + std::to_string(problem.ranks) +
               ", " + std::to_string(problem.numStages()) + " and " +
               std::to_string(problem.microbatches)};
}

static Status verifyPlacement(const Schedule &schedule,
                              const ScheduleProblem &problem) {
  for (int64_t rank = 0; rank < problem.ranks; ++rank)
    for (size_t step = 0; step < schedule.ranks[rank].size(); ++step) {
      const Action &action = schedule.ranks[rank][step];
      int64_t home = problem.rankOf(action.stage);
      bool twin = problem.placement == Placement::Twin;
      if (rank == home || (twin && rank == problem.ranks - 1 - home))
        continue;
      return errorAt(
          "rank " + std::to_string(rank) + " runs " + toString(action) +
              ", but placement " + toString(problem.placement) + " has stage " +
              std::to_string(action.stage) + " on rank " +
              std::to_string(home) +
              (twin ? " or " + std::to_string(problem.ranks - 1 - home) : ""),
          schedule, {{rank, step}});
    }
  return {};
}

Status verify(const Schedule &schedule, const StageGraph &graph,
              const ScheduleProblem &problem) {
  if (Status status = problem.check(); !status)
    return status;
  if (Status status = checkSize(schedule, problem); !status)
    return status;
  if (Status status = verify(schedule, graph); !status)
    return status;
  if (Status status = verifyPlacement(schedule, problem); !status)
    return status;
  return verifyMemory(schedule, problem);
}

} // namespace stagewright
