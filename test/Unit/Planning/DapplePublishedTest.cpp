//===- DapplePublishedTest.cpp - the plans in DAPPLE's paper --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tables 4 and 6 of the paper (PPoPP 2021) contain only plans of three kinds:
// data parallelism, two stages, or one device a stage. The published program
// searches these in addition to its dynamic program. So the test takes, for
// each row, the plan of least L among these kinds, on published profiles. Where
// our cost model gives another plan than the paper, one term is changed. Splits
// count the paper's layers (convolutions, fully connected; LSTMs; encoder
// layers; cells).
//
// For most rows the full search finds plans of more stages with a smaller L.
// BERT-Large of table 6 has no published profile here. No single term gives the
// paper's split of VGG-19 on C (13:6, ours is 16:3).
//
//===----------------------------------------------------------------------===//

#include "../Builds.h"
#include "PrototypeRows.h"
#include "stagewright/Planning/Dapple.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/Planners.h"
#include <cctype>
#include <cmath>
#include <cstdio>

using namespace stagewright;
using namespace stagewright::testing;

namespace {

/// A changed term of the cost model.
struct Term {
  const char *name = "";
  /// The all-reduce overlaps with all microbatches but the first.
  bool hidesAllReduce = false;
  /// Bytes per second between hosts for activations only, not the all-reduce;
  /// 0: those of the cluster. The published program has 1e9.
  double transfers = 0;
  int64_t samples = 0;    ///< Of a microbatch, if shares are whole samples.
  double perTransfer = 0; ///< Seconds that split and concat add.
};

struct PublishedPlan {
  const char *table, *chain, *profile, *config;
  int64_t microbatches;
  const char *plan;  ///< "DP", "straight", or "8:8 split 9:7".
  const char *found; ///< The plan under our unchanged cost model.
  Term term;
};

/// By node of a profile: the number of layers before it, as the paper counts.
std::vector<int> countedLayers(const std::string &profile) {
  std::vector<int> counts = {0};
  for (const Layer &layer :
       sharedProfile("hpgo/" + profile + ".txt", "pipedream").layers) {
    std::string name = layer.name.substr(layer.name.find(' ') + 1);
    bool counts1 = false;
    for (const char *word : {"Conv2d_", "FC", "Prediction", "layer_", "Layer_"})
      counts1 |= name.starts_with(word);
    counts1 |= name.find("LSTM") != std::string::npos;
    counts1 |= name.starts_with("cell_") && std::isdigit(name[5]);
    counts.push_back(counts.back() + counts1);
  }
  return counts;
}

/// DAPPLE's search over L with one term of the cost model changed.
class ChangedSearch {
public:
  ChangedSearch(const Problem &problem, const Term &term)
      : problem(problem), term(term),
        network(*Network::create(problem.cluster)), forward(1, 0),
        backward(1, 0), held(1, 0), cuts(problem.layers.size() + 1, 0) {
    Cluster slow = problem.cluster;
    if (term.transfers > 0)
      slow.fabric.between->bandwidth =
          *(slow.fabric.nic = Bandwidth(term.transfers));
    transfers = *Network::create(slow);
    for (const Layer &layer : problem.layers) {
      forward.push_back(forward.back() + layer.times[0].forward.value);
      backward.push_back(backward.back() + layer.times[0].inputGradient.value);
      held.push_back(0);
      least.push_back(layer.times[0].total().value);
    }
    for (const Resident &resident : problem.residents)
      if (resident.kind == ResidentKind::Gradient)
        held[resident.layers[0] + 1] += double(resident.bytes.value);
    for (size_t l = 1; l < held.size(); ++l)
      held[l] += held[l - 1];
    for (const LayerValue &value : problem.values)
      if (value.producer.phase == ActionKind::Forward)
        for (int64_t cut = value.producer.layer + 1; cut <= lastUse(value);
             ++cut)
          cuts[cut] += value.bytes.value;
  }

  DapplePlan best(int64_t stages, int64_t maxReplicas) {
    DappleInput input;
    input.layers = problem.layers.size();
    input.microbatches = problem.microbatches;
    input.stages = stages;
    input.maxReplicas = maxReplicas;
    std::vector<size_t> sizes(network.numHosts(), 0);
    for (size_t device = 0; device < network.size(); ++device) {
      input.hostOf.push_back(network.hostOf(device));
      ++sizes[network.hostOf(device)];
    }
    input.kindOf = sizes;
    input.leastLoad = least;
    input.stage = [&](size_t first, size_t end, const DappleGroup &group) {
      return stage(first, end, group.devices);
    };
    input.channel = [&](size_t cut, const DappleGroup &from,
                        const DappleGroup &to) {
      return channel(cut, from.devices, to.devices);
    };
    std::vector<DapplePlan> plans = searchDapple(input);
    return plans.empty() ? DapplePlan{INFINITY, {}} : plans.front();
  }

private:
  static int64_t lastUse(const LayerValue &value) {
    int64_t last = 0;
    for (const LayerPhase &use : value.uses)
      last = std::max(last, use.layer);
    return last;
  }
  std::vector<double> shares(size_t replicas) const {
    return sharesOf(std::vector<double>(replicas, 1), problem.model,
                    term.samples);
  }
  DappleStage stage(size_t first, size_t end,
                    const std::vector<size_t> &devices) const {
    double share = shares(devices.size()).front();
    DappleStage stage;
    stage.forward = share * (forward[end] - forward[first]);
    stage.backward = share * (backward[end] - backward[first]);
    stage.allReduce =
        allReduceTime(network, devices, Bytes(int64_t(held[end] - held[first])))
            .value;
    if (term.hidesAllReduce)
      stage.allReduce =
          std::max(0.0, stage.allReduce -
                            double(problem.microbatches - 1) * stage.load());
    return stage;
  }
  DappleStage channel(size_t cut, const std::vector<size_t> &from,
                      const std::vector<size_t> &to) const {
    double seconds =
        term.perTransfer + transferTime(transfers, from, shares(from.size()),
                                        to, shares(to.size()), Bytes(cuts[cut]))
                               .value;
    return {seconds, seconds, 0};
  }

  const Problem &problem;
  Term term;
  Network network, transfers;
  std::vector<double> forward, backward, held, least;
  std::vector<int64_t> cuts;
};

/// The best plan of the three kinds, in the paper's notation.
std::string planOf(const Problem &problem, const Term &term,
                   const std::vector<int> &counted) {
  ChangedSearch search(problem, term);
  DapplePlan parallel = search.best(1, 0), two = search.best(2, 0),
             straight = search.best(16, 1);
  if (parallel.latency <= std::min(two.latency, straight.latency))
    return "DP";
  if (straight.latency < two.latency)
    return "straight";
  int before = counted[two.stages[0].end];
  return std::to_string(two.stages[0].devices.size()) + ":" +
         std::to_string(two.stages[1].devices.size()) + " split " +
         std::to_string(before) + ":" + std::to_string(counted.back() - before);
}

Term hiddenAllReduce() {
  Term term{"all-reduce hidden behind all microbatches"};
  term.hidesAllReduce = true;
  return term;
}
Term transfersAt(const char *name, double bandwidth) {
  Term term{name};
  term.transfers = bandwidth;
  return term;
}
Term wholeSamples(const char *name, int64_t samples) {
  Term term{name};
  term.samples = samples;
  return term;
}
Term perTransfer(const char *name, double seconds) {
  Term term{name};
  term.perTransfer = seconds;
  return term;
}

std::vector<PublishedPlan> publishedPlans() {
  return {
      {"4", "vgg19", "vgg19", "A", 64, "DP", "15:1 split 14:5",
       hiddenAllReduce()},
      {"4", "vgg19", "vgg19", "B", 64, "DP", "15:1 split 14:5",
       hiddenAllReduce()},
      {"4",
       "vgg19",
       "vgg19",
       "C",
       64,
       "15:1 split 13:6",
       "15:1 split 16:3",
       {}},
      {"4", "gnmt16", "gnmt_16", "A", 16, "8:8 split 9:7", "8:8 split 10:6",
       transfersAt("transfers at 1 GB/s", 1e9)},
      {"4", "gnmt16", "gnmt_16", "B", 16, "8:8 split 9:7", "6:10 split 8:8",
       transfersAt("transfers at 0.125 GB/s", 0.125e9)},
      {"4", "gnmt16", "gnmt_16", "C", 16, "straight", "straight", {}},
      {"4", "bert48", "bert_48", "A", 32, "8:8 split 23:25", "8:8 split 24:24",
       perTransfer("split and concat of 10 ms", 0.01)},
      {"4", "bert48", "bert_48", "B", 32, "straight", "straight", {}},
      {"4", "bert48", "bert_48", "C", 32, "straight", "straight", {}},
      {"4",
       "xlnet36",
       "xlnet_36",
       "A",
       128,
       "8:8 split 18:18",
       "8:8 split 18:18",
       {}},
      {"4", "xlnet36", "xlnet_36", "B", 128, "8:8 split 18:18",
       "7:9 split 16:20", wholeSamples("eight rows a microbatch", 8)},
      {"4", "xlnet36", "xlnet_36", "C", 128, "straight", "straight", {}},
      {"4", "amoeba36", "amoebanet_36", "A", 128, "8:8 split 24:12",
       "8:8 split 21:15", transfersAt("transfers at 1.6 GB/s", 1.6e9)},
      {"4", "amoeba36", "amoebanet_36", "B", 128, "11:5 split 27:9", "straight",
       hiddenAllReduce()},
      {"4",
       "amoeba36",
       "amoebanet_36",
       "C",
       128,
       "11:5 split 27:9",
       "11:5 split 27:9",
       {}},
      {"6",
       "vgg19",
       "vgg19",
       "A",
       32,
       "14:2 split 12:7",
       "14:2 split 12:7",
       {}},
      {"6", "amoeba36", "amoebanet_36", "A", 128, "8:8 split 25:11",
       "8:8 split 21:15", transfersAt("transfers at 1 GB/s", 1e9)},
      {"6",
       "xlnet36",
       "xlnet_36",
       "A",
       128,
       "8:8 split 18:18",
       "8:8 split 18:18",
       {}},
  };
}

} // namespace

TEST(DapplePublished, PlansAreFoundOrOneTermGivesThem) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  int found = 0, changed = 0;
  for (const PublishedPlan &row : publishedPlans()) {
    SCOPED_TRACE(std::string("table ") + row.table + ", " + row.chain + " on " +
                 row.config);
    Problem problem =
        sharedProfile(std::string("chains/") + row.chain + ".chain", "chain");
    problem.microbatches = row.microbatches;
    ASSERT_TRUE(placeOn(problem, prototypeCluster(row.config)));
    std::vector<int> counted = countedLayers(row.profile);
    ASSERT_EQ(counted.size(), problem.layers.size() + 1);
    std::string ours = planOf(problem, {}, counted);
    std::string other =
        *row.term.name ? planOf(problem, row.term, counted) : ours;
    std::printf("table %s %-8s %s  published %-16s ours %-16s %s%s%s\n",
                row.table, row.chain, row.config, row.plan, ours.c_str(),
                row.term.name, *row.term.name ? ": " : "",
                *row.term.name ? other.c_str() : "");
    EXPECT_EQ(ours, row.found);
    found += ours == row.plan;
    changed += ours != row.plan && other == row.plan;
  }
  EXPECT_EQ(found, 8);
  EXPECT_EQ(changed, 9);
}

TEST(DapplePublished, ResNetIsDataParallelWithTheAllReduceHidden) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  for (const char *config : {"A", "B", "C"}) {
    Problem problem = sharedProfile("pipedream/resnet50.txt", "pipedream");
    problem.microbatches = 16; // 2,048 images, 128 each.
    ASSERT_TRUE(placeOn(problem, prototypeCluster(config)));
    EXPECT_EQ(planOf(problem, hiddenAllReduce(), {}), "DP") << config;
  }
}
