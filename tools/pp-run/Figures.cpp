//===- Figures.cpp - the figures of a run ---------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Figures.h"

#include "stagewright/Runtime/Launch.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <numeric>

using nlohmann::json;
using stagewright::runtime::FetchedBytes;
using stagewright::runtime::raiseLastError;

std::vector<double> RecentTimes::values() const {
  std::vector<double> kept;
  for (int64_t i = std::max<int64_t>(0, count - limit); i < count; ++i)
    kept.push_back(ring[size_t(i % limit)]);
  return kept;
}

/// The share of idle time by rank, over all steps.
static std::vector<double> idleShares(sw_step *step, const json &manifest) {
  std::vector<double> shares;
  for (size_t r = 0; r < manifest.at("ranks").size(); ++r) {
    shares.push_back(sw_step_idle_share(step, int64_t(r)));
    if (shares.back() < 0)
      raiseLastError();
  }
  return shares;
}

/// The planned share of idle time by rank, from the costs at compile time;
/// empty if there were none.
static std::vector<double> plannedIdle(const json &manifest) {
  auto plan = manifest.find("plan");
  return plan != manifest.end() && plan->is_object()
             ? plan->value("idle", std::vector<double>())
             : std::vector<double>();
}

static std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f ms", seconds * 1e3);
  return text;
}

/// Prints the share of the ranks' time that was idle, and the planned share.
static void reportIdle(sw_step *step, const json &manifest) {
  std::vector<double> idle = idleShares(step, manifest);
  auto percent = [](const std::vector<double> &shares) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f %%",
                  100 * std::accumulate(shares.begin(), shares.end(), 0.0) /
                      double(shares.size()));
    return std::string(text);
  };
  std::cout << "idle   " << percent(idle);
  for (size_t r = 0; idle.size() > 1 && r < idle.size(); ++r)
    std::cout << (r == 0 ? " (" : ", ") << "rank " << r << " "
              << percent({idle[r]}) << (r + 1 == idle.size() ? ")" : "");
  if (auto planned = plannedIdle(manifest); !planned.empty())
    std::cout << ", planned " << percent(planned);
  std::cout << "\n";
}

void report(const Figures &figures, sw_step *step, const json &manifest) {
  size_t ranks = manifest.at("ranks").size();
  std::vector<double> seconds = figures.seconds.values();
  std::sort(seconds.begin(), seconds.end());
  std::cout << "step   " << milliseconds(seconds[seconds.size() / 2]);
  if (seconds.size() > 1)
    std::cout << " (median of "
              << (figures.seconds.steps() > int64_t(seconds.size())
                      ? "the last "
                      : "")
              << seconds.size() << ", fastest " << milliseconds(seconds[0])
              << ")";
  std::cout << "\narena  " << sw_step_arena_bytes(step, -1) << " bytes on "
            << ranks << (ranks == 1 ? " rank\n" : " ranks\n");
  for (const FetchedBytes &it : figures.fetched)
    std::cout << "fetched " << it.bytes << " bytes of '" << it.table
              << "' for '" << it.list << "', padding " << it.padding
              << ", repeated " << it.repeated << "\n";
  if (figures.idle)
    reportIdle(step, manifest);
  if (!figures.memory)
    return;
  for (size_t r = 0; r < ranks; ++r)
    std::cout << "rank " << r << ": live bytes "
              << sw_step_peak_bytes(step, int64_t(r)) << ", printed "
              << sw_step_predicted_bytes(step, int64_t(r)) << ", arena "
              << sw_step_arena_bytes(step, int64_t(r)) << "\n";
}

json sentBytes(sw_step *step, const json &manifest) {
  std::vector<sw_traffic> traffic(manifest.at("ranks").size());
  int64_t ranks = sw_step_sent_bytes(step, traffic.data());
  if (ranks < 0)
    raiseLastError();
  json found = json::array();
  for (int64_t r = 0; r < ranks; ++r)
    found.push_back({{"microbatches", traffic[size_t(r)].microbatches},
                     {"once", traffic[size_t(r)].once},
                     {"sums", traffic[size_t(r)].sums}});
  return found;
}

void reportJson(const Figures &figures, sw_step *step, const json &manifest,
                std::optional<double> loss) {
  json found = {{"loss", nullptr},
                {"seconds", figures.seconds.values()},
                {"arena_bytes", sw_step_arena_bytes(step, -1)},
                {"sent_bytes", figures.sent},
                {"wall_seconds", figures.wall}};
  for (const FetchedBytes &it : figures.fetched)
    found["fetched_bytes"].push_back({{"list", it.list},
                                      {"table", it.table},
                                      {"bytes", it.bytes},
                                      {"padding", it.padding},
                                      {"repeated", it.repeated}});
  if (figures.enqueue.steps() > 0)
    found["enqueue_seconds"] = figures.enqueue.values();
  if (loss)
    found["loss"] = *loss;
  if (figures.idle) {
    found["idle"] = idleShares(step, manifest);
    found["planned_idle"] = plannedIdle(manifest);
  }
  std::cout << found.dump() << "\n";
}
