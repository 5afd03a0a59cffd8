//===- PrototypeRows.h - rows of golden/spp_prototype.csv -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 20 plans of the SPP prototype and their problems: 16 V100s in the
// clusters A, B and C, in the prototype's cost model
// (all-reduce after the last backward, channels without shared NICs).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_PROTOTYPEROWS_H
#define STAGEWRIGHT_TEST_PROTOTYPEROWS_H

#include "PlanningData.h"
#include "stagewright/Planning/Evaluate.h"

namespace stagewright::testing {

struct PrototypeRow {
  std::string model, config;
  int64_t microbatches = 0;
  double time = 0, dappleLatency = 0;
  std::string plan;                    ///< "[0,19)x15 [19,26)x1".
  std::vector<double> orderTimes = {}; ///< Window, greedy, K_A, K_B, GPipe.
};

/// All rows of the file; a missing column fails the test.
inline std::vector<PrototypeRow> prototypeRows() {
  std::istringstream lines(sharedText("golden/spp_prototype.csv"));
  std::string line, field;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("model,cfg,M,T_spp_all,S,sched,T_window,"
                               "T_greedy,T_KA,T_KB,T_gpipe,dappleL"));
  std::vector<PrototypeRow> rows;
  while (std::getline(lines, line)) {
    std::istringstream fields(line.substr(0, line.find('"')));
    std::vector<std::string> row;
    while (std::getline(fields, field, ','))
      row.push_back(field);
    EXPECT_GE(row.size(), 12u) << line;
    if (row.size() < 12)
      continue;
    size_t quote = line.find('"') + 1;
    rows.push_back({row[0], row[1], std::stoll(row[2]), std::stod(row[3]),
                    std::stod(row[11]),
                    line.substr(quote, line.rfind('"') - quote)});
    for (size_t i = 6; i < 11; ++i)
      rows.back().orderTimes.push_back(std::stod(row[i]));
  }
  return rows;
}

/// 16 devices of configuration A, B, C or P4.
inline Cluster prototypeCluster(const std::string &config) {
  if (config == "A")
    return hostsOf({8, 8}, 25e9, 3.125e9);
  if (config == "P4")
    return hostsOf({4, 4, 4, 4}, 10e9, 1.25e9);
  return hostsOf(std::vector<int64_t>(16, 1), 25e9,
                 config == "B" ? 3.125e9 : 1.25e9);
}

inline Problem prototypeProblem(const PrototypeRow &row) {
  Problem problem = sharedProfile("chains/" + row.model + ".chain", "chain");
  problem.microbatches = row.microbatches;
  problem.model.overlapAllReduce = false;
  problem.model.sharedNics = false;
  EXPECT_TRUE(placeOn(problem, prototypeCluster(row.config)));
  return problem;
}

/// The plan with the stages in `text`, on the devices in order.
inline Plan fixedPlan(const Problem &problem, const std::string &text) {
  Plan plan;
  std::istringstream stages(text);
  char mark;
  int64_t first = 0, end = 0;
  size_t replicas = 0, used = 0;
  while (stages >> mark >> first >> mark >> end >> mark >> mark >> replicas) {
    std::vector<size_t> devices;
    for (size_t i = 0; i < replicas; ++i)
      devices.push_back(used++);
    plan.stages.push_back(stageOf(first, end, devices));
  }
  EXPECT_EQ(end, int64_t(problem.layers.size())) << text;
  EXPECT_EQ(used, problem.cluster.devices.size()) << text;
  return plan;
}

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_PROTOTYPEROWS_H
