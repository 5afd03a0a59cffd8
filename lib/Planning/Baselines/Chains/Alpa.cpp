//===- Alpa.cpp - Alpa's planner with our stage costs ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Alpa.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include "stagewright/Planning/ChainCosts.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>
#include <tuple>

namespace stagewright {

namespace {
/// The cluster as a mesh: its hosts if all have the same power of two of
/// devices, else every device as a host of its own.
struct Mesh {
  std::vector<std::vector<size_t>> hosts;
  int64_t perHost = 1;
};

/// Stage costs by interval and mesh.
class Costs {
public:
  Costs(const Problem &problem, const Network &network, const Mesh &mesh,
        const std::vector<AlpaMesh> &meshes);

  double time(size_t first, size_t end, size_t mesh) const;
  int64_t mostBehind(size_t first, size_t end, size_t mesh);

private:
  const Problem &problem;
  const Network &network;
  ChainCosts chain;
  std::vector<std::vector<size_t>> devices; ///< Of one mesh of each shape.
  double leastMemory = kInfinity;
  /// The memory of the interval last asked for.
  size_t lastFirst = 0, lastEnd = 0;
  StageMemory memory;
};
} // namespace

static Mesh meshOf(const Network &network) {
  Mesh mesh;
  mesh.hosts.resize(network.numHosts());
  for (size_t device = 0; device < network.size(); ++device)
    mesh.hosts[network.hostOf(device)].push_back(device);
  size_t width = mesh.hosts.front().size();
  bool areAlike = (width & (width - 1)) == 0 &&
                  std::all_of(mesh.hosts.begin(), mesh.hosts.end(),
                              [&](auto &host) { return host.size() == width; });
  if (areAlike) {
    mesh.perHost = int64_t(width);
    return mesh;
  }
  std::vector<std::vector<size_t>> single;
  for (const std::vector<size_t> &host : mesh.hosts)
    for (size_t device : host)
      single.push_back({device});
  mesh.hosts = std::move(single);
  return mesh;
}

Costs::Costs(const Problem &problem, const Network &network, const Mesh &mesh,
             const std::vector<AlpaMesh> &meshes)
    : problem(problem), network(network), chain(problem, network) {
  for (const AlpaMesh &shape : meshes) {
    devices.emplace_back();
    for (int64_t host = 0; host < shape.hosts; ++host)
      for (int64_t i = 0; i < shape.devices; ++i)
        devices.back().push_back(mesh.hosts[host][i]);
  }
  for (const Device &device : problem.cluster.devices)
    leastMemory = std::min(leastMemory, double(device.memory.value));
}

/// Forward and backward on the slowest device class, split equally among
/// replicas, and the all-reduce divided by the number of microbatches. As in
/// Alpa, transfers between stages cost nothing.
double Costs::time(size_t first, size_t end, size_t mesh) const {
  size_t replicas = devices[mesh].size();
  if (problem.maxReplicas > 0 && replicas > size_t(problem.maxReplicas))
    return kInfinity;
  double work = 0;
  for (size_t c = 0; c < chain.forward.size(); ++c)
    work =
        std::max(work, chain.forward[c][end] - chain.forward[c][first] +
                           chain.backward[c][end] - chain.backward[c][first]);
  std::vector<double> shares = sharesOf(std::vector<double>(replicas, 1),
                                        problem.model, problem.samples);
  work *= *std::max_element(shares.begin(), shares.end());
  if (problem.forwardOnly)
    return work;
  double bytes = chain.gradientBytes[end] - chain.gradientBytes[first];
  return work +
         allReduceTime(network, devices[mesh], Bytes(int64_t(bytes))).value /
             double(problem.microbatches);
}

int64_t Costs::mostBehind(size_t first, size_t end, size_t mesh) {
  if (lastFirst != first || lastEnd != end) {
    std::vector<bool> isHere(problem.layers.size(), false);
    std::fill(isHere.begin() + first, isHere.begin() + end, true);
    memory = stageMemory(problem, isHere, false);
    lastFirst = first;
    lastEnd = end;
  }
  int64_t most = std::min<int64_t>(problem.layers.size(), network.size());
  double share = 1 / double(devices[mesh].size());
  auto fits = [&](int64_t behind) {
    int64_t inFlight = std::min(behind + 1, problem.microbatches);
    return double(memory.with(inFlight, problem.microbatches, share).value) <=
           leastMemory;
  };
  if (fits(most))
    return most;
  int64_t behind = -1;
  while (fits(behind + 1))
    ++behind;
  return behind;
}

/// The devices of each stage. Whole hosts are taken first, then parts of hosts,
/// larger ones first, so that powers of two leave no gaps.
static std::vector<std::vector<size_t>>
tile(Mesh mesh, const std::vector<AlpaMesh> &meshes,
     const std::vector<AlpaStage> &stages) {
  std::vector<std::tuple<bool, int64_t, size_t>> order;
  for (size_t i = 0; i < stages.size(); ++i) {
    int64_t size = meshes[stages[i].mesh].devices;
    order.emplace_back(size < mesh.perHost, -size, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::vector<size_t>> devices(stages.size());
  for (auto [isPart, size, i] : order) {
    const AlpaMesh &shape = meshes[stages[i].mesh];
    for (int64_t left = shape.hosts; left > 0; --left) {
      auto host =
          std::find_if(mesh.hosts.begin(), mesh.hosts.end(), [&](auto &free) {
            return int64_t(free.size()) >= shape.devices;
          });
      devices[i].insert(devices[i].end(), host->begin(),
                        host->begin() + shape.devices);
      host->erase(host->begin(), host->begin() + shape.devices);
    }
  }
  return devices;
}

Result<Plan> planAlpa(const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  Mesh mesh = meshOf(*network);
  AlpaInput input;
  input.layers = problem.layers.size();
  input.microbatches = problem.microbatches;
  input.devices = int64_t(network->size());
  input.stages = problem.stages;
  input.meshes = alpaMeshes(int64_t(mesh.hosts.size()), mesh.perHost);
  Costs costs(problem, *network, mesh, input.meshes);
  input.time = [&](size_t first, size_t end, size_t shape) {
    return costs.time(first, end, shape);
  };
  input.mostBehind = [&](size_t first, size_t end, size_t shape) {
    return costs.mostBehind(first, end, shape);
  };
  Result<AlpaAnswer> answer = solveAlpa(input);
  if (!answer)
    return answer.error();
  Plan plan;
  plan.planner = "alpa";
  plan.objective = "latency";
  plan.value = answer->time;
  std::vector<std::vector<size_t>> devices =
      tile(mesh, input.meshes, answer->stages);
  for (size_t s = 0; s < answer->stages.size(); ++s)
    plan.stages.push_back(stageOf(int64_t(answer->stages[s].first),
                                  int64_t(answer->stages[s].end), devices[s]));
  if (Status status = evaluate(problem, *network, plan); !status)
    return status.error();
  return plan;
}

} // namespace stagewright
