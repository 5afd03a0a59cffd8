//===- StepTimeText.cpp - a step's times as text and as JSON --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/StepTime.h"
#include "stagewright/Support/Printed.h"
#include "stagewright/Support/Text.h"
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace stagewright {

using nlohmann::json;

namespace {

/// The titles of classes of calls in tables.
const std::map<std::string, std::string> kTitles = {
    {"product", "products"},
    {"convolution", "convolutions"},
    {"attention", "attention"},
    {"scores", "attention's array of scores"},
    {"elements", "our kernels: element by element"},
    {"rows", "our kernels: rows (softmax, norms, losses)"},
    {"sums", "our kernels: sums"},
    {"scatter", "our kernels: scatters"},
    {"loops", "our kernels: loops"},
    {"own attention", "our kernels: attention"},
    {"tensor attention", "our kernels: attention on tensor cores"},
    {"fill", "fills"},
    {"copy", "copies"},
    {"message", "messages, overlapped"},
    {"sum", "sums over ranks, overlapped"},
    {"stash", "stashes to and from the host, overlapped"}};

std::string classOf(const StepCall &call) {
  return call.kind == "attention" && call.isOurs() ? "own attention"
                                                   : call.kind;
}

struct ClassTime {
  int64_t count = 0;
  Bytes bytes;
  Flops flops;
  Seconds seconds;
  bool beside = false;
};

std::vector<std::pair<std::string, ClassTime>> classesOf(const RankTime &rank) {
  std::map<std::string, ClassTime> classes;
  for (const StepCall &call : rank.calls) {
    ClassTime &it = classes[classOf(call)];
    it.count += call.count;
    it.bytes += call.bytes();
    it.flops += call.flops * double(call.count);
    it.seconds += call.total();
    it.beside = call.isBeside();
  }
  std::vector<std::pair<std::string, ClassTime>> sorted(classes.begin(),
                                                        classes.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto &a, const auto &b) {
                     return a.second.seconds > b.second.seconds;
                   });
  return sorted;
}

/// `part` divided by the sum of `rank`; 0 if the sum is 0.
double shareOf(Seconds part, const RankTime &rank) {
  return rank.sum > Seconds() ? part.value / rank.sum.value : 0;
}

std::string share(Seconds part, const RankTime &rank, bool beside) {
  return beside ? "-" : printed("%.1f %%", 100 * shareOf(part, rank));
}

std::string giga(Flops flops) {
  return flops > Flops() ? printed("%.2f", flops.value * 1e-9) : "-";
}

std::string table(const RankTime &rank) {
  std::vector<std::vector<std::string>> rows = {
      {"class", "calls", "bytes", "GFLOP", "time", "share"}};
  for (const auto &[name, it] : classesOf(rank))
    rows.push_back({kTitles.count(name) ? kTitles.at(name) : name,
                    std::to_string(it.count), toString(it.bytes),
                    giga(it.flops), toString(it.seconds),
                    share(it.seconds, rank, it.beside)});
  Seconds nodes = kNodeSeconds * double(rank.nodes);
  rows.push_back(
      {"between CUDA graph nodes, " + toString(kNodeSeconds) + " each",
       std::to_string(rank.nodes), "-", "-", toString(nodes),
       share(nodes, rank, false)});
  rows.push_back({"sum", "", "", "", toString(rank.sum), ""});
  std::string text = alignColumns(rows) + "\n";
  rows = {{"class", "call", "first in", "calls", "blocks", "read of one",
           "written", "GFLOP", "time of all", "share"}};
  for (const StepCall &it : rank.calls)
    rows.push_back({classOf(it), it.name, it.node.empty() ? "-" : it.node,
                    std::to_string(it.count),
                    it.isOurs() ? std::to_string(it.blocks) : "-",
                    toString(it.read), toString(it.written), giga(it.flops),
                    toString(it.total()),
                    share(it.total(), rank, it.isBeside())});
  return text + alignColumns(rows);
}

std::string conclusions(const RankTime &rank) {
  Seconds least = rank.products + rank.attention;
  auto times = [&](Seconds step) {
    return plainly(double(int64_t(100 * step.value / least.value)) / 100);
  };
  std::string text = "\nour kernels move " + toString(rank.ours) + "\n";
  if (least > Seconds())
    text += "products and attention alone take " + toString(least) +
            " at 61 % and 40 % of the rate (600 and 400 TFLOP/s on an H100); "
            "the step takes " +
            times(rank.sum) + " times as long if products take " +
            toString(rank.expected) + ", the estimate for their sizes, or " +
            times(rank.sum - rank.expected + rank.products) +
            " times if they take " + toString(rank.products) +
            ", at 61 % of the rate\n";
  if (rank.scores > Bytes(0))
    text += "deterministic gradients of attention write and read an array of "
            "scores: " +
            toString(rank.scores) + ", " + toString(rank.scoreTime) +
            "; pp-run --any-order saves that and the memory, and results "
            "differ in their last bits from run to run\n";
  return text;
}

json toJson(const StepCall &call, const RankTime &rank) {
  json object = {
      {"class", classOf(call)},        {"name", call.name},
      {"nodes", call.nodes},           {"count", call.count},
      {"read_bytes", call.read.value}, {"written_bytes", call.written.value},
      {"flops", call.flops.value},     {"seconds", call.total().value}};
  if (!call.isBeside())
    object["share"] = shareOf(call.total(), rank);
  if (call.isOurs()) {
    object["blocks"] = call.blocks;
    object["threads"] = call.threads;
  }
  return object;
}

} // namespace

std::string toText(const std::vector<RankTime> &ranks) {
  if (ranks.empty())
    return "";
  auto longest = std::max_element(
      ranks.begin(), ranks.end(),
      [](const RankTime &a, const RankTime &b) { return a.sum < b.sum; });
  auto line = [&](size_t r) {
    return "rank " + std::to_string(r) + " of " + std::to_string(ranks.size()) +
           " (" + ranks[r].device + ", " + ranks[r].deviceClass +
           "): estimated " + toString(ranks[r].sum) + ", " +
           std::to_string(ranks[r].nodes) + " CUDA graph nodes";
  };
  std::string text = line(size_t(longest - ranks.begin())) + "\n" +
                     table(*longest) + conclusions(*longest);
  for (size_t r = 0; r < ranks.size(); ++r)
    if (&ranks[r] != &*longest)
      text += line(r) + "\n";
  return text;
}

std::string toJson(const std::vector<RankTime> &ranks) {
  json list = json::array();
  for (const RankTime &rank : ranks) {
    json calls = json::array(), classes = json::object();
    for (const StepCall &call : rank.calls)
      calls.push_back(toJson(call, rank));
    for (const auto &[name, it] : classesOf(rank))
      classes[name] = {{"count", it.count},
                       {"bytes", it.bytes.value},
                       {"flops", it.flops.value},
                       {"seconds", it.seconds.value}};
    list.push_back({{"device", rank.device},
                    {"device_class", rank.deviceClass},
                    {"seconds", rank.sum.value},
                    {"nodes", rank.nodes},
                    {"node_seconds", kNodeSeconds.value},
                    {"our_bytes", rank.ours.value},
                    {"score_bytes", rank.scores.value},
                    {"score_seconds", rank.scoreTime.value},
                    {"product_seconds", rank.products.value},
                    {"attention_seconds", rank.attention.value},
                    {"classes", std::move(classes)},
                    {"calls", std::move(calls)}});
  }
  return json{{"ranks", std::move(list)}}.dump(1) + "\n";
}

} // namespace stagewright
