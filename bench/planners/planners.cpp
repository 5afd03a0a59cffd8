//===- planners.cpp - how long planning takes -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the seconds of processor time that the planners take (one thread),
// those published for or measured with other programs (on other machines), and
// the limits.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Planners.h"
#include "Spp/Prm.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include "stagewright/Planning/Baselines/Formats.h"
#include "stagewright/Planning/DeviceOrder.h"
#include <cstdio>
#include <ctime>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <sys/resource.h>

using namespace stagewright;

/// Seconds of processor time, so that other programs do not count.
static double now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// The same numbers on every machine.
static double draw(std::mt19937_64 &engine, double low, double high) {
  return low + (high - low) * double(engine() >> 11) * 0x1p-53;
}

/// Hosts of `perHost` devices, 25 GB/s inside and NICs of 3.125 GB/s; or, with
/// `unequal` and one device per host, a link of 0.5 to 8 GB/s between any two.
static Cluster cluster(size_t devices, size_t perHost, bool unequal = false) {
  Cluster cluster;
  cluster.name = "bench";
  std::mt19937_64 engine(devices);
  for (size_t i = 0; i < devices; ++i) {
    Device device;
    device.name = "d" + std::to_string(i);
    device.deviceClass = "gpu";
    device.node = int64_t(i / perHost);
    device.flops = FlopRate(1e14);
    device.bandwidth = Bandwidth(1e12);
    device.memory = Bytes(int64_t(1) << 50);
    cluster.devices.push_back(device);
    for (size_t j = 0; unequal && j < i; ++j)
      cluster.links.push_back(
          {j, i, Bandwidth(1e9 * draw(engine, 0.5, 8)), Seconds(0)});
  }
  if (perHost > 1)
    cluster.fabric.inside = Joint{Bandwidth(25e9), Seconds(0)};
  if (!unequal) {
    cluster.fabric.between = Joint{Bandwidth(3.125e9), Seconds(0)};
    cluster.fabric.nic = Bandwidth(3.125e9);
  }
  return cluster;
}

/// Layers of 20 to 200 ms forward and 1 to 2.5 times that backward, cuts of up
/// to 100 MB, up to 200 MB of gradients.
static Problem chain(Cluster place, int64_t layers, int64_t microbatches) {
  Problem problem;
  std::mt19937_64 engine{uint64_t(layers)};
  problem.cluster = std::move(place);
  problem.microbatches = microbatches;
  constexpr ActionKind F = ActionKind::Forward, I = ActionKind::InputGradient;
  for (int64_t l = 0; l < layers; ++l) {
    double forward = draw(engine, 0.02, 0.2);
    problem.layers.push_back(
        {"l" + std::to_string(l),
         {{Seconds(forward), Seconds(forward * draw(engine, 1, 2.5)),
           Seconds(0)}}});
    Bytes held(int64_t(draw(engine, 0, 200e6)));
    problem.residents.push_back({held, ResidentKind::Gradient, {l}});
    Bytes cut(int64_t(draw(engine, 0, 100e6)));
    if (l == 0)
      continue;
    problem.values.push_back({cut, {l - 1, F}, {{l, F}, {l, I}}});
    problem.values.push_back({cut, {l, I}, {{l - 1, I}}});
  }
  return problem;
}

static void row(const char *what, double seconds, const char *other,
                const char *wanted) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-50s %9.3f s   %-28s %-14s %6.0f MiB peak so far\n", what,
              seconds, other, wanted, double(usage.ru_maxrss) / 1024);
  std::fflush(stdout);
}

/// The dynamic program alone: one list, every number of stages.
static void prm(const char *what, int64_t layers, size_t devices,
                const char *other, const char *wanted) {
  Problem problem = chain(cluster(devices, 1), layers, 64);
  Network network = *Network::create(problem.cluster);
  std::vector<size_t> order(devices);
  std::iota(order.begin(), order.end(), 0);
  double began = now();
  ChainCosts costs(problem, network);
  PrmBlocks blocks(problem, network, costs, order);
  PrmOptions options;
  options.byStages = std::min<int64_t>(layers, int64_t(devices));
  partitionReplicateMap(problem, costs, blocks, options);
  row(what, now() - began, other, wanted);
}

/// Plans, and prints what came out.
static void whole(const char *what, const Problem &problem, const char *planner,
                  const char *other, const char *wanted) {
  Result<Planner> found = findPlanner(planner);
  if (!found) {
    std::fprintf(stderr, "%s: %s\n", what, found.error().message.c_str());
    std::exit(1);
  }
  double began = now();
  Result<Plan> plan = found->plan(problem);
  double seconds = now() - began;
  row(what, seconds, other, wanted);
  if (!plan)
    std::printf("    %s\n", plan.error().message.c_str());
  else if (plan->time.value > 0)
    std::printf(
        "    step %.4f s on %zu stages, at least %.4f s for this plan\n",
        plan->time.value, plan->stages.size(), plan->planBound.value);
  if (plan && plan->objective != "time")
    std::printf("    %s %.6g\n", plan->objective.c_str(), plan->value);
}

/// Plans 128 layers on 1,024 devices with spp, and with data parallelism,
/// balance and pipedream for comparison.
static void large() {
  Problem problem = chain(cluster(1024, 8), 128, 256);
  whole("spp, 128 layers, 1,024 devices in hosts of 8", problem, "spp", "-",
        "< 10 s");
  std::vector<size_t> devices(1024);
  std::iota(devices.begin(), devices.end(), 0);
  Network network = *Network::create(problem.cluster);
  Plan parallel;
  parallel.stages = {stageOf(0, 128, devices)};
  if (evaluate(problem, network, parallel))
    std::printf("    data parallel: step %.4f s\n", parallel.time.value);
  Problem straight = problem;
  straight.stages = 128;
  whole("balance, the same", straight, "balance", "-", "-");
  whole("pipedream, the same", problem, "pipedream", "-", "-");
}

/// A workload of dnn-partitioning on its own devices.
static void maxLoad(const std::string &name, const char *planner,
                    const char *other, const char *wanted) {
  std::string path = "data/dnn-partitioning/" + name + ".json";
  std::ifstream file(std::string(STAGEWRIGHT_SHARED "/") + path);
  if (!file.good()) {
    std::printf("%s is missing\n", path.c_str());
    return;
  }
  std::stringstream text;
  text << file.rdbuf();
  Result<Problem> problem = readDnnPartitioning(text.str(), path);
  if (!problem) {
    std::printf("%s\n", problem.error().message.c_str());
    return;
  }
  whole((planner + (", " + name)).c_str(), *problem, planner, other, wanted);
}

/// Plans workloads of dnn-partitioning; its public program was measured on one
/// core.
static void idealDp() {
  maxLoad("layers/bert24_training", "ideal-dp", "public program 0.01 s", "-");
  maxLoad("layers/gnmt_inference", "ideal-dp", "public program 27 s", "-");
  maxLoad("layers/gnmt_training", "ideal-dp", "public program 49 s", "< 10 s");
  maxLoad("operators/bert_l-3_inference", "ideal-dp", "public program 6 s",
          "-");
  maxLoad("operators/bert_l-3_training", "ideal-dp", "public program 50 s",
          "-");
  maxLoad("operators/resnet50_inference", "ideal-dp", "public program 1 s",
          "-");
  maxLoad("layers/gnmt_training", "ideal-dp-linear", "-", "-");
  maxLoad("layers/gnmt_training", "local-search", "-", "-");
}

int main() {
  registerBaselines();
  std::printf("%-50s %11s   %-28s %-14s\n", "on one core", "ours", "other",
              "wanted");
  prm("prm, one list, 64 layers, 16 devices", 64, 16, "prototype 0.01 s", "-");
  prm("prm, one list, 96 layers, 16 devices", 96, 16, "prototype 0.02 s", "-");
  prm("prm, one list, 64 layers, 32 devices", 64, 32, "prototype 0.07 s", "-");
  prm("prm, one list, 48 layers, 48 devices", 48, 48, "prototype 0.18 s", "-");
  prm("prm, one list, 64 layers, 64 devices", 64, 64,
      "prototype 0.69 to 0.80 s", "< 0.4 s");
  whole("spp, 96 layers, 16 devices in hosts of 8",
        chain(cluster(16, 8), 96, 64), "spp", "-", "< 0.3 s");
  whole("spp, 96 layers, 16 devices, unequal links",
        chain(cluster(16, 1, true), 96, 64), "spp", "Metis 1.7 s (16 GPUs)",
        "< 0.3 s");
  whole("spp, 64 layers, 64 devices in hosts of 8",
        chain(cluster(64, 8), 64, 64), "spp", "Metis 600 s (64 GPUs)", "< 2 s");
  whole("spp, 64 layers, 64 devices, unequal links",
        chain(cluster(64, 1, true), 64, 64), "spp", "Metis 600 s (64 GPUs)",
        "< 2 s");
  whole("spp, 1,000 layers, 64 devices in hosts of 8",
        chain(cluster(64, 8), 1000, 64), "spp", "Aceso about 200 s",
        "< 60 s, 2 GB");
  whole("dapple, 96 layers, 16 devices in hosts of 8",
        chain(cluster(16, 8), 96, 64), "dapple", "-", "-");
  whole("dapple, 48 layers, 32 devices in hosts of 8",
        chain(cluster(32, 8), 48, 64), "dapple", "seconds (its paper)", "-");
  whole("pipedream, 64 layers, 64 devices in hosts of 8",
        chain(cluster(64, 8), 64, 64), "pipedream", "under 8 s (its paper)",
        "-");
  whole("alpa, 48 layers, 64 devices in hosts of 8",
        chain(cluster(64, 8), 48, 64), "alpa", "1.65 s (64 GPUs, its DP)", "-");
  large();
  idealDp();
}
