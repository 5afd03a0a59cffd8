//===- ExactTree.h - depth-first search under a value -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_EXACTTREE_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_EXACTTREE_H

#include "Bounds/Counting.h"
#include "stagewright/Scheduling/Schedule.h"
#include <map>

namespace stagewright::search {

enum class TreeResult { Found, None, Limit };

class ExactTree {
public:
  /// For schedules whose makespan or span, whichever `window` is for, is at
  /// most `value`. Needs one stage per rank and an eager window.
  ExactTree(const bounds::Chain &chain, const bounds::Window &window,
            double value);

  /// Which of several choices is tried first.
  enum Preference { Slack, Deadline, InputFirst, ForwardFirst, Start };

  TreeResult search(int64_t nodeLimit, Preference preference);
  int64_t nodes() const { return visited; }
  /// Number of actions of a schedule.
  int64_t actions() const {
    return 3 * chain.problem.ranks * chain.problem.microbatches;
  }
  /// The schedule found, and its value.
  Schedule schedule() const;
  double value() const;

private:
  enum Kind { F, I, W };

  /// The state of a rank.
  struct Rank {
    int64_t done[3] = {0, 0, 0};
    double free = 0;
    bool putOff = false;         ///< The next action must not be a forward.
    std::vector<double> ends[2]; ///< Of F and I, by microbatch.
    std::vector<Kind> order;
  };
  /// An action that could be the next one of its rank.
  struct Choice {
    int64_t rank = 0;
    Kind kind = F;
    double start = 0, end = 0;
    double slack = 0; ///< How much later it may end for the value to be met.
  };

  /// By rank: the number of F, I and W done, and whether it delays forwards.
  using Progress = std::vector<int32_t>;
  /// All times that the remaining actions depend on: when each rank is free,
  /// and when each result that is still to be used was made.
  using Moment = std::vector<double>;

  /// A node: its choices, and the one being tried.
  struct Level {
    Progress progress;
    Moment moment;
    std::vector<Choice> choices;
    size_t next = 0;
    bool mayPutOff = false; ///< Try delaying the forward, too.
    int64_t rank = 0;
    /// While a choice is tried: the state of the rank before it.
    bool tried = false, puttingOff = false, putOff = false;
    double free = 0;
  };

  void standing(Level &level) const;
  bool isHopeless(const Level &level) const;
  void remember(Level &level);
  bool open(Level &level);
  bool tryNext(Level &level);
  void undo(Level &level);
  bool descend();
  bool arrived(int64_t rank, Kind kind, double &ready) const;
  double latestAfter(int64_t rank, Kind kind) const;
  bool collect(std::vector<Choice> &choices) const;
  double key(const Choice &choice) const;

  const bounds::Chain &chain;
  bounds::Window window;
  double tolerance;
  bounds::Counting counting;
  bool possible;
  std::vector<bounds::Walk::Scratch> tables; ///< By rank.
  std::vector<bool> tight; ///< By rank: M activations do not fit.
  std::vector<Rank> ranks;
  /// By progress: moments from which there is no schedule; then there is none
  /// from later moments either.
  std::map<Progress, std::vector<Moment>> hopeless;
  size_t remembered = 0; ///< Numbers stored in `hopeless`.
  Preference preference = Slack;
  int64_t visited = 0, nodeLimit = 0, remaining = 0;
};

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_EXACTTREE_H
