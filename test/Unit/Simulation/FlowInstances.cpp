//===- FlowInstances.cpp - tasks and flows on machines --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlowInstances.h"
#include <algorithm>
#include <deque>
#include <set>

namespace stagewright::testing {

FlowInstance randomFlows(Draw &draw) {
  FlowInstance instance;
  auto machines = size_t(draw.whole(2, 5));
  for (size_t m = 0; m < machines; ++m) {
    constexpr double kRates[] = {10, 25, 50};
    instance.out.push_back(kRates[draw.whole(0, 2)]);
    instance.in.push_back(draw.chance(0.7) ? instance.out.back()
                                           : kRates[draw.whole(0, 2)]);
  }
  instance.iterations = draw.whole(2, 5);
  auto add = [&](double time) {
    instance.tasks.push_back(
        {size_t(draw.whole(0, int64_t(machines) - 1)), time});
    return instance.tasks.size() - 1;
  };
  std::vector<size_t> stores, samplers, workers;
  for (int64_t i = draw.whole(1, int64_t(machines)); i > 0; --i)
    stores.push_back(add(draw.real(0.001, 0.01)));
  std::vector<std::pair<size_t, size_t>> feeds; // Sampler, number of worker.
  int64_t count = draw.whole(1, 4);
  for (int64_t worker = 0; worker < count; ++worker)
    for (int64_t i = draw.whole(1, 2); i > 0; --i)
      feeds.emplace_back(add(draw.real(0.1, 2)), size_t(worker));
  for (int64_t worker = 0; worker < count; ++worker)
    workers.push_back(add(draw.real(0.1, 3)));
  size_t server = add(draw.real(0.01, 0.5));
  for (auto [sampler, worker] : feeds) {
    for (size_t store : stores)
      instance.edges.push_back({store, sampler, draw.real(1, 40)});
    instance.edges.push_back({sampler, workers[worker], draw.real(1, 40)});
  }
  double bytes = draw.real(1, 20);
  for (size_t worker : workers) {
    instance.edges.push_back({worker, server, bytes});
    instance.edges.push_back({server, worker, bytes, 1});
  }
  return instance;
}

PipelineModel modelOf(const FlowInstance &instance, LinkSharing sharing) {
  PipelineModel model;
  model.microbatches = instance.iterations;
  model.forwardOnly = true;
  model.sharing = sharing;
  for (const FlowInstance::Task &task : instance.tasks) {
    PipelineStage stage;
    stage.times.forward = Seconds(task.time);
    stage.processors = {model.numProcessors++};
    model.stages.push_back(stage);
  }
  for (size_t m = 0; m < instance.out.size(); ++m)
    for (double rate : {instance.out[m], instance.in[m]})
      model.linkRates.push_back(rate);
  for (const FlowInstance::Edge &edge : instance.edges) {
    PipelineChannel channel;
    channel.from = edge.from;
    channel.to = edge.to;
    channel.distance = edge.distance;
    channel.forward = Seconds(instance.alone(edge));
    channel.forwardLanes = {model.linkRates.size()};
    model.linkRates.push_back(1);
    if (instance.crosses(edge))
      channel.forwardShared = {{2 * instance.tasks[edge.from].machine,
                                2 * instance.tasks[edge.to].machine + 1}};
    channel.hasBackward = false;
    model.channels.push_back(channel);
  }
  model.numLinks = model.linkRates.size();
  return model;
}

double referencePath(const FlowInstance &instance) {
  std::vector<std::vector<double>> done(instance.tasks.size()),
      arrived(instance.edges.size());
  for (int64_t k = 0; k < instance.iterations; ++k)
    for (size_t task = 0; task < instance.tasks.size(); ++task) {
      double start = k > 0 ? done[task].back() : 0;
      for (size_t e = 0; e < instance.edges.size(); ++e)
        if (int64_t from = k - instance.edges[e].distance;
            instance.edges[e].to == task && from >= 0)
          start = std::max(start, arrived[e][size_t(from)]);
      done[task].push_back(start + instance.tasks[task].time);
      for (size_t e = 0; e < instance.edges.size(); ++e)
        if (instance.edges[e].from == task)
          arrived[e].push_back(
              std::max(done[task].back(), k > 0 ? arrived[e].back() : 0) +
              instance.alone(instance.edges[e]));
    }
  double end = 0;
  for (const auto &list : {done, arrived})
    for (const std::vector<double> &times : list)
      end = std::max(end, times.back());
  return end;
}

namespace {

class Reference {
public:
  Reference(const FlowInstance &instance, LinkSharing sharing)
      : instance(instance), sharing(sharing), tasks(instance.tasks.size()),
        edges(instance.edges.size()) {
    for (size_t m = 0; m < instance.out.size(); ++m)
      for (double rate : {instance.out[m], instance.in[m]})
        capacity.push_back(rate);
  }

  double run() {
    for (;;) {
      while (begin()) {
      }
      setRates();
      double next = 1e300;
      for (const Task &task : tasks)
        if (task.runs)
          next = std::min(next, task.end);
      for (const Edge &edge : edges)
        if (edge.rate > 0)
          next = std::min(next, now + edge.left / edge.rate);
      if (next == 1e300)
        return now;
      advance(next);
    }
  }

private:
  struct Task {
    int64_t done = 0; ///< Iterations.
    bool runs = false;
    double end = 0;
  };
  struct Edge {
    int64_t waiting = 0, arrived = 0; ///< Iterations.
    bool runs = false;
    double left = 0, rate = 0, since = 0;
  };
  std::vector<size_t> nicsOf(size_t e) const {
    return {2 * instance.tasks[instance.edges[e].from].machine,
            2 * instance.tasks[instance.edges[e].to].machine + 1};
  }

  /// Starts what can start; false if nothing could.
  bool begin() {
    bool any = false;
    for (size_t t = 0; t < tasks.size(); ++t) {
      bool ready = !tasks[t].runs && tasks[t].done < instance.iterations;
      for (size_t e = 0; e < edges.size(); ++e)
        if (instance.edges[e].to == t)
          ready = ready &&
                  edges[e].arrived + instance.edges[e].distance > tasks[t].done;
      if (ready) {
        tasks[t].runs = any = true;
        tasks[t].end = now + instance.tasks[t].time;
      }
    }
    for (size_t e = 0; e < edges.size(); ++e) {
      if (edges[e].runs || edges[e].waiting == 0)
        continue;
      any = true;
      --edges[e].waiting;
      if (instance.crosses(instance.edges[e])) {
        edges[e].runs = true;
        edges[e].left = instance.edges[e].bytes;
        edges[e].since = now;
      } else {
        ++edges[e].arrived;
      }
    }
    return any;
  }

  void advance(double next) {
    for (Edge &edge : edges) {
      edge.left -= edge.rate * (next - now);
      if (edge.runs && edge.rate > 0 && edge.left <= 1e-9) {
        edge.runs = false;
        edge.rate = 0;
        ++edge.arrived;
      }
    }
    for (size_t t = 0; t < tasks.size(); ++t)
      if (tasks[t].runs && tasks[t].end <= next + 1e-12) {
        tasks[t].runs = false;
        ++tasks[t].done;
        for (size_t e = 0; e < edges.size(); ++e)
          edges[e].waiting += instance.edges[e].from == t;
      }
    now = next;
  }

  void setRates() {
    std::vector<size_t> active;
    for (size_t e = 0; e < edges.size(); ++e)
      if (edges[e].runs)
        active.push_back(e);
    std::vector<double> left = capacity;
    for (size_t e : active) {
      edges[e].rate = 0;
      if (sharing == LinkSharing::Oes || sharing == LinkSharing::Guaranteed) {
        edges[e].rate = 1e300;
        for (size_t nic : nicsOf(e)) {
          double degree = 0;
          for (size_t other = 0; other < edges.size(); ++other)
            if (instance.crosses(instance.edges[other]))
              degree += double(std::ranges::count(nicsOf(other), nic));
          edges[e].rate = std::min(edges[e].rate, capacity[nic] / degree);
        }
        for (size_t nic : nicsOf(e))
          left[nic] -= edges[e].rate;
      }
    }
    if (sharing == LinkSharing::Fifo) {
      std::sort(active.begin(), active.end(), [&](size_t a, size_t b) {
        return std::pair(edges[a].since, a) < std::pair(edges[b].since, b);
      });
      for (size_t e : active) {
        edges[e].rate = std::min(left[nicsOf(e)[0]], left[nicsOf(e)[1]]);
        if (edges[e].rate < 1e-9)
          edges[e].rate = 0;
        for (size_t nic : nicsOf(e))
          left[nic] -= edges[e].rate;
      }
    }
    if (sharing == LinkSharing::Oes || sharing == LinkSharing::Fair)
      fill(active, left);
  }

  /// Level by level: the NIC with the least share per flow fixes its flows.
  void fill(std::vector<size_t> active, std::vector<double> left) {
    while (!active.empty()) {
      size_t least = 0;
      double share = 1e300;
      auto uses = [&](size_t e, size_t nic) {
        return std::ranges::count(nicsOf(e), nic) > 0;
      };
      for (size_t nic = 0; nic < left.size(); ++nic) {
        auto flows = std::ranges::count_if(
            active, [&](size_t e) { return uses(e, nic); });
        if (flows > 0 && left[nic] / double(flows) < share) {
          share = left[nic] / double(flows);
          least = nic;
        }
      }
      std::vector<size_t> open;
      for (size_t e : active) {
        if (!uses(e, least)) {
          open.push_back(e);
          continue;
        }
        edges[e].rate += std::max(0.0, share);
        for (size_t nic : nicsOf(e))
          left[nic] -= share;
      }
      active = open;
    }
  }

  const FlowInstance &instance;
  LinkSharing sharing;
  std::vector<Task> tasks;
  std::vector<Edge> edges;
  std::vector<double> capacity;
  double now = 0;
};

} // namespace

double referenceMakespan(const FlowInstance &instance, LinkSharing sharing) {
  return Reference(instance, sharing).run();
}

} // namespace stagewright::testing
