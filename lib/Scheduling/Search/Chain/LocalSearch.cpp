//===- LocalSearch.cpp - improving orders by moves ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chain/LocalSearch.h"
#include "Search/Chain/Words.h"
#include "Search/Random.h"
#include <algorithm>

namespace stagewright::search {

namespace {

class LocalSearch {
public:
  LocalSearch(const FastProblem &problem, Best &best)
      : problem(problem), best(best),
        words(problem, best.options.objective == ScheduleObjective::Span),
        timer(problem),
        bound(Ticks(best.bound().value / problem.tick * (1 + 1e-9))) {}

  /// One round from `start`, of about `budget` letters timed; stores the best
  /// order in `found`.
  void round(const FastOrders &start, double threshold, int64_t budget);
  bool done() const { return foundValue.worst <= bound; }

  FastOrders found;
  WordValue foundValue;

private:
  bool propose(Move &move);
  bool proposeOnPath(Move &move);
  /// Combines worst and sum: if the worst end is equal, earlier ends of the
  /// other ranks leave more moves.
  Ticks weight(WordValue value) const {
    return value.worst * problem.ranks + value.sum;
  }
  void remember();

  const FastProblem &problem;
  Best &best;
  Words words;
  FastTimer timer;
  Ticks bound;
  Random random{1};
  std::vector<Place> path;
};

} // namespace

bool LocalSearch::proposeOnPath(Move &move) {
  Place place = path[random.below(int32_t(path.size()))];
  move.rank = place.rank;
  move.from = place.at;
  bool far = random.below(2) == 0;
  int32_t distance = 1;
  bool back = random.below(2) == 0;
  if (words.word(place.rank)[place.at].phase == W) {
    distance += random.below(far ? 40 : 4);
  } else {
    distance += random.below(far ? 6 : 2);
    back = random.below(3) != 0; // Mostly earlier: other ranks wait for it.
  }
  move.to = place.at + (back ? -distance : distance);
  return move.to >= 0 && move.to < words.length();
}

/// Proposes a move that changes a word and keeps it valid; false if the move
/// drawn does not.
bool LocalSearch::propose(Move &move) {
  if (random.below(8) != 0) {
    if (!proposeOnPath(move))
      return false;
  } else {
    move.rank = random.below(problem.ranks);
    move.from = random.below(words.length());
    int32_t distance = 1 + random.below(5);
    move.to = move.from + (random.below(2) == 0 ? distance : -distance);
    if (move.to < 0 || move.to >= words.length())
      return false;
  }
  const std::vector<Letter> &word = words.word(move.rank);
  auto [low, high] = std::minmax(move.from, move.to);
  bool changes = false;
  for (int32_t at = low; at <= high && !changes; ++at)
    changes = word[at].phase != word[move.from].phase;
  return changes && words.allowed(move);
}

void LocalSearch::remember() {
  foundValue = words.value();
  found = words.orders();
  if (timer.run(found))
    best.offer(found, timer, problem, "local search");
}

void LocalSearch::round(const FastOrders &start, double threshold,
                        int64_t budget) {
  if (!words.assign(start))
    return;
  remember();
  int64_t begin = words.steps();
  bool stale = true;
  Ticks slack = 0;
  // The cost of a try, in letters timed, even if it is rejected before timing.
  constexpr int64_t kTry = 20;
  for (int64_t tries = 0; !done(); ++tries) {
    int64_t spent = words.steps() - begin + kTry * tries;
    if (spent >= budget)
      return;
    if (tries % 64 == 0) {
      double left = 1 - double(spent) / double(budget);
      slack = Ticks(threshold * left * left);
    }
    if (stale)
      words.criticalPath(path, random.next());
    stale = false;
    Move move;
    if (!propose(move))
      continue;
    WordValue now = words.value();
    if (words.attempt(move, now.worst + slack) &&
        weight(words.attempted()) <= weight(now) + slack * problem.ranks) {
      words.keep();
      stale = true;
      if (words.value().worst < foundValue.worst)
        remember();
    } else {
      words.drop();
    }
  }
}

void searchLocally(const FastProblem &problem,
                   const std::vector<FastOrders> &starts, Best &best,
                   int64_t budget) {
  if (starts.empty() || problem.phases == 1)
    return;
  LocalSearch search(problem, best);
  Ticks forward = 0;
  for (int32_t rank = 0; rank < problem.ranks; ++rank)
    forward = std::max(forward, problem.lane(rank, F).duration);
  FastOrders from = starts.front();
  // By round: the threshold as a part of a forward, and the round's part of the
  // budget.
  constexpr double rounds[][2] = {{0.05, 0.2}, {0.5, 0.5}, {0.1, 0.3}};
  for (auto [threshold, part] : rounds) {
    search.round(from, threshold * double(forward),
                 int64_t(part * double(budget)));
    if (search.done())
      return;
    from = search.found;
  }
}

} // namespace stagewright::search
