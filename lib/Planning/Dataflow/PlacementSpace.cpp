//===- PlacementSpace.cpp - placements as sequences of decisions ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dataflow/PlacementSpace.h"
#include "stagewright/Support/Text.h"
#include <algorithm>
#include <bit>

namespace stagewright {

/// Max number of moves tried until one fits.
static constexpr int kTries = 32;

PlacementSpace::PlacementSpace(const Dataflow &dataflow, LinkSharing sharing)
    : dataflow(dataflow), sharing(sharing), machinesOf(dataflow.tasks.size()) {
  for (size_t task = 0; task < dataflow.tasks.size(); ++task) {
    for (size_t machine = 0; machine < dataflow.machines.size(); ++machine)
      if (dataflow.allows(task, machine))
        machinesOf[task].push_back(int64_t(machine));
    if (machinesOf[task].size() > 1)
      movable.push_back(task);
  }
  // On one machine nothing is sent.
  least = simulator
              .makespanOf(pipelineOf(dataflow,
                                     TaskPlacement(dataflow.tasks.size(), 0),
                                     sharing),
                          ExecutionOrder::OneFOneB)
              .value;
  double bytes = 0, rate = 0;
  for (const DataflowEdge &edge : dataflow.edges)
    bytes += double(edge.bytes.value);
  for (const DataflowMachine &machine : dataflow.machines)
    rate += machine.out.value;
  loadSeconds = std::max(bytes / rate, 1e-30);
}

std::vector<int64_t> PlacementSpace::choices(const Decisions &prefix) const {
  return prefix.size() == machinesOf.size() ? std::vector<int64_t>()
                                            : machinesOf[prefix.size()];
}

long double PlacementSpace::count(const Decisions &prefix) const {
  long double plans = 1;
  for (size_t task = prefix.size(); task < machinesOf.size(); ++task)
    plans *= (long double)machinesOf[task].size();
  return plans;
}

double PlacementSpace::bound(const Decisions &) const { return least; }

/// The fraction of the tasks that are decided, and the load of each NIC
/// relative to an even share.
std::vector<float> PlacementSpace::features(const Decisions &prefix) const {
  std::vector<float> result = {float(prefix.size()) / float(machinesOf.size())};
  std::vector<double> out(dataflow.machines.size(), 0), in = out;
  for (const DataflowEdge &edge : dataflow.edges)
    if (std::max(edge.from, edge.to) < prefix.size() &&
        prefix[edge.from] != prefix[edge.to]) {
      out[size_t(prefix[edge.from])] += double(edge.bytes.value);
      in[size_t(prefix[edge.to])] += double(edge.bytes.value);
    }
  for (size_t m = 0; m < out.size(); ++m)
    for (double seconds : {out[m] / dataflow.machines[m].out.value,
                           in[m] / dataflow.machines[m].in.value})
      result.push_back(float(std::min(3.0, seconds / loadSeconds)));
  return result;
}

static TaskPlacement placementOf(const Decisions &plan) {
  return {plan.begin(), plan.end()};
}

Result<double> PlacementSpace::time(const Decisions &plan) const {
  TaskPlacement placement = placementOf(plan);
  if (Status status = checkPlacement(dataflow, placement); !status)
    return status.error();
  return simulator
      .makespanOf(pipelineOf(dataflow, placement, sharing),
                  ExecutionOrder::OneFOneB)
      .value;
}

/// checkPlacement() without a message, which takes most of its time.
bool PlacementSpace::fits(const Decisions &plan) const {
  std::vector<std::array<double, 3>> left;
  for (const DataflowMachine &machine : dataflow.machines)
    left.push_back(machine.slots.all());
  for (size_t task = 0; task < plan.size(); ++task) {
    auto needs = dataflow.tasks[task].slots.all();
    for (size_t i = 0; i < needs.size(); ++i)
      if ((left[size_t(plan[task])][i] -= needs[i]) < 0)
        return false;
  }
  return true;
}

std::optional<size_t> PlacementSpace::heaviestProducer(size_t task) const {
  std::optional<size_t> producer;
  int64_t most = 0;
  for (const DataflowEdge &edge : dataflow.edges)
    if (edge.to == task && edge.bytes.value > most) {
      most = edge.bytes.value;
      producer = edge.from;
    }
  return producer;
}

void PlacementSpace::shift(Decisions &plan, SearchRandom &random) const {
  size_t task = movable[random.pick(movable.size())];
  plan[task] = machinesOf[task][random.pick(machinesOf[task].size())];
}

void PlacementSpace::swap(Decisions &plan, SearchRandom &random) const {
  size_t a = movable[random.pick(movable.size())],
         b = movable[random.pick(movable.size())];
  if (dataflow.allows(a, size_t(plan[b])) &&
      dataflow.allows(b, size_t(plan[a])))
    std::swap(plan[a], plan[b]);
}

void PlacementSpace::pull(Decisions &plan, SearchRandom &random) const {
  size_t task = movable[random.pick(movable.size())];
  if (std::optional<size_t> producer = heaviestProducer(task);
      producer && dataflow.allows(task, size_t(plan[*producer])))
    plan[task] = plan[*producer];
}

Decisions PlacementSpace::neighbour(const Decisions &plan,
                                    SearchRandom &random) const {
  for (int i = 0; i < kTries && !movable.empty(); ++i) {
    Decisions next = plan;
    switch (random.pick(4)) {
    case 0:
    case 1:
      shift(next, random);
      break;
    case 2:
      swap(next, random);
      break;
    default:
      pull(next, random);
    }
    if (next != plan && fits(next))
      return next;
  }
  return plan;
}

std::vector<Decisions> PlacementSpace::references() const {
  std::vector<Decisions> plans;
  for (const TaskPlacement &placement : {colocate(dataflow), spread(dataflow)})
    plans.emplace_back(placement.begin(), placement.end());
  return plans;
}

uint64_t PlacementSpace::digest() const {
  std::string bytes; // Of all numbers on which times depend.
  auto add = [&](double number) {
    bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
  };
  add(double(sharing));
  add(double(dataflow.iterations));
  for (const DataflowMachine &machine : dataflow.machines) {
    add(machine.out.value);
    add(machine.in.value);
    for (double slots : machine.slots.all())
      add(slots);
  }
  for (const DataflowTask &task : dataflow.tasks) {
    add(task.time.value);
    add(task.machine ? double(*task.machine) : -1);
    for (double slots : task.slots.all())
      add(slots);
  }
  for (const DataflowEdge &edge : dataflow.edges)
    for (double number : {double(edge.from), double(edge.to),
                          double(edge.bytes.value), double(edge.distance)})
      add(number);
  return fnv1a(bytes);
}

Result<PlacedDataflow>
explorePlacements(const Dataflow &dataflow, LinkSharing sharing,
                  const std::vector<std::string> &drivers,
                  const SearchOptions &options) {
  PlacementSpace space(dataflow, sharing);
  std::vector<SearchOutcome> searches;
  for (const std::string &driver : drivers) {
    SearchOptions asked = options;
    asked.driver = driver;
    Result<SearchOutcome> outcome = search(space, asked);
    if (!outcome)
      return outcome.error();
    searches.push_back(std::move(*outcome));
  }
  auto best = std::min_element(
      searches.begin(), searches.end(),
      [](const auto &a, const auto &b) { return a.time < b.time; });
  Result<PlacedDataflow> placed =
      evaluatePlacement(dataflow, placementOf(best->plan), sharing);
  if (placed)
    placed->searches = std::move(searches);
  return placed;
}

} // namespace stagewright
