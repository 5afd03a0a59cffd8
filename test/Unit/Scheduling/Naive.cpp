//===- Naive.cpp - schedules by brute force -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Naive.h"
#include <algorithm>
#include <map>
#include <set>

namespace stagewright::testing {

namespace {
/// Stage and microbatch.
using Cell = std::pair<int64_t, int64_t>;
/// What a cell has done: 'F', 'R', 'I' and 'W', by when.
using Done = std::map<std::pair<char, Cell>, double>;
} // namespace

static char letter(const Action &action) { return char(action.kind); }
static Cell cellOf(const Action &action) {
  return {action.stage, action.microbatch};
}

/// Every cell has its actions, on one rank, and pairs are pairs.
static bool isComplete(const Schedule &schedule, bool forwardOnly) {
  std::map<Cell, std::string> letters;
  std::map<Cell, std::set<size_t>> ranks;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const Order &order = schedule.ranks[rank];
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i].paired) {
        if (i == 0 || order[i - 1].paired || letter(order[i - 1]) != 'F' ||
            cellOf(order[i]) == cellOf(order[i - 1]) ||
            (letter(order[i]) != 'B' && letter(order[i]) != 'I'))
          return false;
      }
      letters[cellOf(order[i])] += letter(order[i]);
      ranks[cellOf(order[i])].insert(rank);
    }
  }
  if (int64_t(letters.size()) != schedule.stages * schedule.microbatches)
    return false;
  for (auto &[cell, text] : letters) {
    if (cell.first < 0 || cell.first >= schedule.stages || cell.second < 0 ||
        cell.second >= schedule.microbatches || ranks[cell].size() != 1)
      return false;
    std::sort(text.begin(), text.end());
    bool right = forwardOnly ? text == "F"
                             : text == "BF" || text == "FIW" || text == "BFR" ||
                                   text == "FIRW";
    if (!right)
      return false;
  }
  return true;
}

std::optional<NaiveTiming> runNaively(const Schedule &schedule,
                                      const ScheduleProblem &problem) {
  if (!isComplete(schedule, problem.forwardOnly))
    return std::nullopt;
  std::map<Cell, size_t> rankOf;
  std::set<Cell> recomputed;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const Action &action : schedule.ranks[rank]) {
      rankOf[cellOf(action)] = rank;
      if (letter(action) == 'R')
        recomputed.insert(cellOf(action));
    }
  Done done;
  // When `action` may start as far as others go; nothing if not yet.
  auto ready = [&](const Action &action) -> std::optional<double> {
    Cell cell = cellOf(action);
    double at = 0;
    bool possible = true;
    auto need = [&](char what, Cell from) {
      if (!done.contains({what, from})) {
        possible = false;
        return;
      }
      double hop = rankOf[from] == rankOf[cell]
                       ? 0
                       : problem.hops[std::min(from.first, cell.first)].value;
      at = std::max(at, done[{what, from}] + hop);
    };
    char kind = letter(action);
    if (kind == 'F' && cell.first > 0)
      need('F', {cell.first - 1, cell.second});
    if (kind != 'F')
      need('F', cell);
    if (kind == 'W')
      need('I', cell);
    if (kind == 'B' || kind == 'I') {
      if (recomputed.contains(cell))
        need('R', cell);
      if (cell.first + 1 < schedule.stages)
        need('I', {cell.first + 1, cell.second});
    }
    return possible ? std::optional<double>(at) : std::nullopt;
  };
  auto lengthOf = [&](const Action &action) {
    const StageCosts &stage = problem.stages[action.stage];
    double i = stage.inputGradient.value, w = stage.weightGradient.value;
    switch (letter(action)) {
    case 'B':
      return i + w;
    case 'I':
      return i;
    case 'W':
      return w;
    default:
      return stage.forward.value;
    }
  };

  NaiveTiming timing;
  timing.times.resize(schedule.ranks.size());
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      const Order &order = schedule.ranks[rank];
      auto &times = timing.times[rank];
      size_t first = times.size();
      if (first == order.size())
        continue;
      size_t last =
          first + (first + 1 < order.size() && order[first + 1].paired);
      double start = first == 0 ? 0 : times[first - 1].second, length = 0;
      bool possible = true;
      std::vector<double> at;
      for (size_t i = first; i <= last; ++i) {
        std::optional<double> now = ready(order[i]);
        possible = possible && now;
        at.push_back(now.value_or(0));
        length += lengthOf(order[i]);
      }
      if (!possible)
        continue;
      progress = true;
      bool together = last > first && problem.overlap > 0;
      if (together) {
        start = std::max({start, at[0], at[1]});
        length *= problem.overlap;
      }
      for (size_t i = first; i <= last; ++i) {
        if (!together) {
          start = std::max(start, at[i - first]);
          length = lengthOf(order[i]);
        }
        times.push_back({start, start + length});
        char kind = letter(order[i]);
        for (char what : {kind, kind == 'B' ? 'I' : kind})
          done[{what, cellOf(order[i])}] = start + length;
        if (!together)
          start += length;
      }
    }
  }
  double low = 1e300, high = -1e300;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    if (timing.times[rank].size() != schedule.ranks[rank].size())
      return std::nullopt;
    // What each cell holds, summed up anew for every action.
    std::map<Cell, double> held;
    double peak = 0;
    for (const Action &action : schedule.ranks[rank]) {
      const StageCosts &stage = problem.stages[action.stage];
      double &now = held[cellOf(action)];
      char kind = letter(action);
      if (kind == 'F' || kind == 'R')
        now = stage.activation;
      double sum = 0;
      for (auto &[cell, amount] : held)
        sum += amount;
      peak = std::max(peak, sum);
      if (kind == 'F' && recomputed.contains(cellOf(action)))
        now = stage.recomputeInput;
      if (kind == 'I')
        now = stage.kept;
      if (kind == 'B' || kind == 'W' || problem.forwardOnly)
        now = 0;
    }
    timing.peaks.push_back(peak);
    if (timing.times[rank].empty())
      continue;
    double start = timing.times[rank].front().first;
    double end = timing.times[rank].back().second;
    low = std::min(low, start);
    high = std::max(high, end);
    timing.span = std::max(timing.span, end - start);
  }
  timing.makespan = std::max(0., high - low);
  return timing;
}

bool finishesNaively(const CommSchedule &schedule, bool forwardOnly,
                     int64_t room) {
  // A message by its text: phase, from stage, to stage, microbatch.
  using Name = std::tuple<char, int64_t, int64_t, int64_t>;
  auto nameOf = [](const CommAction &entry) {
    bool receive = entry.kind == CommKind::Receive;
    return Name(
        char(entry.action.kind), receive ? entry.peer : entry.action.stage,
        receive ? entry.action.stage : entry.peer, entry.action.microbatch);
  };
  std::map<Cell, size_t> rankOf;
  Schedule compute{"", schedule.stages, schedule.microbatches, {}};
  for (const CommOrder &order : schedule.ranks) {
    compute.ranks.emplace_back();
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i].kind != CommKind::Compute)
        continue;
      if (order[i].action.paired &&
          (i == 0 || order[i - 1].kind != CommKind::Compute))
        return false;
      compute.ranks.back().push_back(order[i].action);
      rankOf[cellOf(order[i].action)] = compute.ranks.size() - 1;
    }
  }
  if (!isComplete(compute, forwardOnly))
    return false;
  // What must be sent, received and waited for: once each, on its rank.
  std::map<std::pair<CommKind, Name>, std::vector<size_t>> wanted, found;
  for (auto [cell, rank] : rankOf)
    for (int64_t to : {cell.first - 1, cell.first + 1}) {
      bool back = to < cell.first;
      if (to < 0 || to >= schedule.stages || (back && forwardOnly) ||
          rankOf[{to, cell.second}] == rank)
        continue;
      Name name(back ? 'I' : 'F', cell.first, to, cell.second);
      wanted[{CommKind::Send, name}] = {rank};
      wanted[{CommKind::WaitSend, name}] = {rank};
      wanted[{CommKind::Receive, name}] = {rankOf[{to, cell.second}]};
    }
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const CommAction &entry : schedule.ranks[rank])
      if (entry.kind != CommKind::Compute)
        found[{entry.kind, nameOf(entry)}].push_back(rank);
  if (wanted != found)
    return false;

  std::set<Name> sent, received;
  std::map<std::pair<size_t, size_t>, std::vector<Name>> sends, receives;
  std::set<std::pair<char, Cell>> done;
  std::map<std::tuple<char, int64_t, int64_t, size_t>, int64_t> held;
  std::set<Cell> recomputed;
  for (const Order &order : compute.ranks)
    for (const Action &action : order)
      if (letter(action) == 'R')
        recomputed.insert(cellOf(action));
  auto inputOf = [&](const Action &action) -> std::optional<Name> {
    auto [stage, m] = cellOf(action);
    char kind = letter(action);
    if (kind == 'F' && stage > 0)
      return Name('F', stage - 1, stage, m);
    if ((kind == 'B' || kind == 'I') && stage + 1 < schedule.stages)
      return Name('I', stage + 1, stage, m);
    return std::nullopt;
  };
  auto ready = [&](const Action &action) {
    Cell cell = cellOf(action);
    char kind = letter(action);
    bool local = kind == 'F' || done.contains({'F', cell});
    if (kind == 'W')
      local = local && done.contains({'I', cell});
    if ((kind == 'B' || kind == 'I') && recomputed.contains(cell))
      local = local && done.contains({'R', cell});
    std::optional<Name> input = inputOf(action);
    if (!local || !input)
      return local;
    auto [what, from, to, m] = *input;
    if (rankOf[{from, m}] == rankOf[{to, m}])
      return done.contains({what, Cell(from, m)});
    return sent.contains(*input) && received.contains(*input);
  };
  std::vector<size_t> next(schedule.ranks.size(), 0);
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t rank = 0; rank < next.size(); ++rank) {
      const CommOrder &order = schedule.ranks[rank];
      if (next[rank] == order.size())
        continue;
      const CommAction &entry = order[next[rank]];
      if (entry.kind == CommKind::Compute) {
        size_t last =
            next[rank] + (next[rank] + 1 < order.size() &&
                          order[next[rank] + 1].action.paired &&
                          order[next[rank] + 1].kind == CommKind::Compute);
        bool possible = true;
        for (size_t i = next[rank]; i <= last; ++i)
          possible = possible && ready(order[i].action);
        if (!possible)
          continue;
        for (size_t i = next[rank]; i <= last; ++i) {
          char kind = letter(order[i].action);
          done.insert({kind, cellOf(order[i].action)});
          if (kind == 'B')
            done.insert({'I', cellOf(order[i].action)});
          if (std::optional<Name> input = inputOf(order[i].action)) {
            auto [what, from, to, m] = *input;
            --held[{what, from, to, rankOf[{from, m}]}];
          }
        }
        next[rank] = last;
      } else {
        Name name = nameOf(entry);
        auto [what, from, to, m] = name;
        std::pair channel(rankOf[{from, m}], rankOf[{to, m}]);
        if (entry.kind == CommKind::Send) {
          if (!done.contains({what, Cell(from, m)}))
            continue;
          sent.insert(name);
          sends[channel].push_back(name);
        } else if (entry.kind == CommKind::Receive) {
          if (++held[{what, from, to, channel.first}] > room && room > 0)
            return false;
          received.insert(name);
          receives[channel].push_back(name);
        } else if (!sent.contains(name) || !received.contains(name)) {
          continue;
        }
      }
      ++next[rank];
      progress = true;
    }
  }
  for (size_t rank = 0; rank < next.size(); ++rank)
    if (next[rank] != schedule.ranks[rank].size())
      return false;
  return sends == receives;
}

void drawCosts(ScheduleProblem &problem, Draw &draw) {
  for (StageCosts &stage : problem.stages) {
    auto time = [&] {
      return Seconds(draw.chance(0.1) ? 0 : draw.real(0.1, 2));
    };
    stage.forward = time();
    stage.inputGradient = time();
    stage.weightGradient = time();
    stage.activation = draw.real(1, 3);
    stage.kept = draw.real(0, stage.activation);
    stage.recomputeInput = draw.real(0, stage.activation);
  }
  for (Seconds &hop : problem.hops)
    hop = Seconds(draw.real(0, 1));
}

void recomputeSome(Schedule &schedule, Draw &draw) {
  for (Order &order : schedule.ranks) {
    Order with;
    for (const Action &action : order) {
      bool backward = action.kind == ActionKind::Backward ||
                      action.kind == ActionKind::InputGradient;
      if (backward && !action.paired && draw.chance(0.3))
        with.push_back(
            {ActionKind::Recompute, action.stage, action.microbatch});
      with.push_back(action);
    }
    order = with;
  }
}

ScheduleProblem unitProblem(const Generator &generator,
                            const ScheduleShape &shape,
                            const Schedule &schedule) {
  ScheduleProblem problem;
  problem.placement = generator.placement;
  problem.ranks = shape.ranks;
  problem.chunks = shape.chunks;
  problem.microbatches = shape.microbatches;
  problem.forwardOnly = shape.forwardOnly;
  problem.stages.assign(schedule.stages,
                        {Seconds(1), Seconds(1), Seconds(1), 1, 1, 0});
  problem.hops.assign(schedule.stages - 1, Seconds());
  return problem;
}

std::vector<Sample> sampleSchedules() {
  std::vector<Sample> samples;
  for (const Generator &generator : allGenerators())
    for (auto [ranks, microbatches] :
         {std::pair<int64_t, int64_t>{1, 3}, {2, 4}, {3, 6}, {4, 8}})
      for (bool forwardOnly : {false, true}) {
        ScheduleShape shape{ranks, microbatches, forwardOnly};
        shape.chunks = generator.leastChunks;
        Result<Schedule> schedule = generator.generate(shape);
        if (!schedule) // Out of its domain.
          continue;
        samples.push_back(
            {std::string(generator.name) + ", p = " + std::to_string(ranks) +
                 ", m = " + std::to_string(microbatches) +
                 (forwardOnly ? ", forward only" : ""),
             *schedule, unitProblem(generator, shape, *schedule)});
      }
  return samples;
}

} // namespace stagewright::testing
