//===- ReportTest.cpp - traces and profiles -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>

namespace {

using json = nlohmann::json;

json written(int (*write)(sw_step *, const char *), Host &host,
             const char *name) {
  std::string path = testing::TempDir() + name;
  Host::check(write(host.step.get(), path.c_str()));
  std::ifstream in(path);
  return json::parse(in);
}

TEST(Report, TraceHasEveryActionAndAnArrowPerMessage) {
  sw_options options = Host::defaults();
  options.trace = 1;
  Host host = Host::pipeline(options);
  host.run();
  host.run(); // the trace has only the last step
  json trace = written(sw_step_write_trace, host, "t.json");
  EXPECT_EQ(trace["otherData"]["lost_events"], 0);
  json events = trace["traceEvents"];

  std::map<std::string, int> categories;
  std::map<int64_t, double> starts, ends;
  for (const json &event : events) {
    if (event["ph"] == "X") {
      ++categories[event["cat"]];
      EXPECT_GE(event["dur"].get<double>(), 0);
    } else if (event["ph"] == "s") {
      starts[event["id"]] = event["ts"];
    } else if (event["ph"] == "f") {
      ends[event["id"]] = event["ts"];
    }
  }
  EXPECT_EQ(categories["forward"], 8);
  EXPECT_EQ(categories["backward"], 8);
  EXPECT_EQ(categories["transfer"], 16); // Send and receive of 8 messages.
  ASSERT_EQ(starts.size(), 8u);
  ASSERT_EQ(ends.size(), 8u);
  for (auto [id, time] : starts)
    EXPECT_LE(time, ends.at(id));
}

// Both ranks run what is ready. Results are those of the order, the memory is
// within what was printed, and the trace has what was ready and what ranks
// waited for.
TEST(Report, TraceTellsWhatWasReadyAndWaitedFor) {
  sw_options options = Host::defaults();
  options.trace = options.check = 1;
  options.pace = "F:60ms";
  Host ordered = Host::pipeline();
  Host host = Host::pipeline(options, Fault::None, FIXTURES "/ready.swx");
  ordered.run();
  for (int step = 0; step < 2; ++step) {
    host.run();
    EXPECT_EQ(host.get(0, {}), ordered.get(0, {}));
    EXPECT_EQ(host.get(1, {4}), ordered.get(1, {4}));
    EXPECT_EQ(host.get(2, {16}), ordered.get(2, {16}));
  }
  json trace = written(sw_step_write_trace, host, "ready.json");
  std::map<int, std::vector<std::string>> names;
  for (const json &event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["pid"] != 0)
      continue;
    const json &args = event["args"];
    names[event["tid"]].push_back(event["name"]);
    if (event["tid"] == 0)
      EXPECT_NE(
          std::find(args["ready"].begin(), args["ready"].end(), event["name"]),
          args["ready"].end());
    if (event["name"] == "1F0") { // The first forward takes long.
      EXPECT_EQ(args["waited_for"], "microbatch 0 of channel 'y'");
      EXPECT_GE(args["waited_us"], 1000);
    }
  }
  EXPECT_EQ(names[0].size(), 8u);
  EXPECT_EQ(names[0][0], "0F0");
  EXPECT_EQ(names[1], (std::vector<std::string>{"1F0", "1B0", "1F1", "1B1",
                                                "1F2", "1B2", "1F3", "1B3"}));
}

TEST(Report, TraceHasAsManyOfTheLastStepsAsAreKept) {
  sw_options options = Host::defaults();
  options.trace = 3;
  Host host = Host::pipeline(options);
  for (int64_t run = 1; run <= 5; ++run) {
    host.run();
    int64_t actions = 0, arrows = 0;
    std::map<int64_t, double> ends; // By row; steps do not overlap.
    json trace = written(sw_step_write_trace, host, "steps.json");
    for (const json &event : trace["traceEvents"]) {
      arrows += event["ph"] == "s";
      if (event["ph"] != "X" || event["cat"] == "transfer")
        continue;
      ++actions;
      EXPECT_GE(event["ts"].get<double>(), ends[event["tid"]] - 1e-6);
      ends[event["tid"]] =
          event["ts"].get<double>() + event["dur"].get<double>();
    }
    EXPECT_EQ(actions, 16 * std::min<int64_t>(run, 3));
    EXPECT_EQ(arrows, 8 * std::min<int64_t>(run, 3));
  }
}

TEST(Report, ProfileHasTheTimeOfEveryNode) {
  sw_options options = Host::defaults();
  options.profile = 1;
  Host host = Host::pipeline(options);
  host.run();
  json profile = written(sw_step_write_profile, host, "p.json");
  EXPECT_EQ(profile["device_class"], "cpu-core");
  EXPECT_EQ(profile["nodes"].size(), 3u);
  for (const char *node : {"w.F", "w.B", "loss.F"})
    EXPECT_GT(profile["nodes"][node].get<double>(), 0) << node;
}

TEST(Report, IdleIsTheTimeInWhichNoActionRuns) {
  sw_options options = Host::defaults();
  options.profile = options.trace = 1;
  Host host = Host::pipeline(options);
  EXPECT_EQ(sw_step_idle_share(host.step.get(), 0), -1);
  EXPECT_STREQ(sw_error(), "no step has run");
  host.run();
  // With one step, the median is its value, which the trace also has.
  json trace = written(sw_step_write_trace, host, "idle.json");
  std::map<int64_t, double> busy;
  for (const json &event : trace["traceEvents"])
    if (event["ph"] == "X" && event["cat"] != "transfer")
      busy[event["tid"]] += event["dur"].get<double>() * 1e-6;
  ASSERT_EQ(busy.size(), 2u);
  for (auto [rank, seconds] : busy) {
    double share = sw_step_idle_share(host.step.get(), rank);
    EXPECT_GT(share, 0);
    EXPECT_NEAR(share, 1 - seconds / sw_step_seconds(host.step.get()), 0.02);
    double last[2];
    Host::check(sw_step_last_idle(host.step.get(), last));
    EXPECT_EQ(last[rank], share);
  }
  EXPECT_EQ(sw_step_idle_share(host.step.get(), 2), -1);
}

TEST(Report, WhatWasNotRecordedIsNotWritten) {
  Host host = Host::pipeline();
  host.run();
  EXPECT_EQ(sw_step_write_trace(host.step.get(), "t.json"), -1);
  EXPECT_STREQ(sw_error(), "the step was made without the option to trace");
  EXPECT_EQ(sw_step_write_profile(host.step.get(), "p.json"), -1);
  EXPECT_STREQ(sw_error(), "the step was made without the option to profile");
  EXPECT_EQ(sw_step_idle_share(host.step.get(), 0), -1);
  EXPECT_STREQ(sw_error(), "the step was made without the option to profile");
  double shares[2];
  EXPECT_EQ(sw_step_last_idle(host.step.get(), shares), -1);
  EXPECT_STREQ(sw_error(), "the step was made without the option to trace or "
                           "to profile");
}

TEST(Report, AnUnwritablePathIsAnError) {
  sw_options options = Host::defaults();
  options.trace = 1;
  Host host = Host::pipeline(options);
  host.run();
  EXPECT_EQ(sw_step_write_trace(host.step.get(), "/nowhere/t.json"), -1);
  EXPECT_STREQ(sw_error(),
               "cannot write '/nowhere/t.json': No such file or directory");
}

} // namespace
