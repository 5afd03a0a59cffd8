//===- graph.cpp - a step on a GPU beside one by hand ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps of an artifact whose ranks share one GPU take turns with the same work
// ordered by hand (HandWritten.h): as a graph, call by call on streams, and as
// a graph of one line. All run in one process on the same memory, so what each
// leaves there can be compared: it must be the results of the step.
//
//===----------------------------------------------------------------------===//

#include "HandWritten.h"

#include "DType.h"
#include "Files/MappedFile.h"
#include "Files/Safetensors.h"
#include "Memory/HostTensors.h"
#include "stagewright/Runtime/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>

using namespace stagewright::runtime;
using namespace stagewright::runtime::cuda;
using json = nlohmann::json;

namespace {

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Seconds of one step, and seconds that the host took to enqueue it.
struct Times {
  double step, host;
};

using Bytes = std::vector<std::vector<std::byte>>;

void setInputs(DeviceStep &step, const std::string &path) {
  MappedFile file(path);
  for (auto &[name, tensor] : parseSafetensors(file.bytes())) {
    sw_tensor given = {tensor.dtype, int32_t(tensor.shape.size()),
                       tensor.shape.data(),
                       const_cast<std::byte *>(tensor.bytes.data())};
    step.setInput(std::stoll(name), given);
  }
}

Bytes results(DeviceStep &step) {
  Bytes all;
  for (const Interface &it : step.manifest().results) {
    HostTensor tensor = hostResult(it, step.microbatches());
    std::vector<std::byte> &storage = all.emplace_back(
        size_t(tensorBytes(tensor.dtype, tensor.shape).value_or(0)));
    step.getOutput(it.position, {tensor.dtype, int32_t(tensor.shape.size()),
                                 tensor.shape.data(), storage.data()});
  }
  return all;
}

/// How many results differ in a bit.
size_t differences(const Bytes &a, const Bytes &b) {
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i)
    count += a[i] != b[i];
  return count;
}

double median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Times byHand(HandWritten &hand, bool graph) {
  double start = now();
  hand.start(graph);
  double enqueued = now();
  hand.wait();
  return {now() - start, enqueued - start};
}

int run(const std::string &artifact, const std::string &inputs, int64_t rounds,
        int64_t steps) {
  StepOptions options;
  auto program = std::make_shared<Artifact>(artifact, true);
  if (!program->manifest().cuda)
    raise("'", artifact, "' has no target CUDA");
  for (size_t r = 0; r < program->manifest().ranks.size(); ++r)
    options.devices += r ? ",0" : "0";
  DeviceStep step(program, options, nullptr);
  setInputs(step, inputs);
  step.run();
  Bytes expected = results(step);
  step.run();
  // Results that differ between two of our own runs, since they are summed in
  // any order, may also differ in the other sides.
  json different = {{"ours", differences(expected, results(step))}};

  HandWritten hand(step, false), line(step, true);
  std::map<std::string, std::function<Times()>> sides = {
      {"ours",
       [&] {
         step.run();
         return Times{step.seconds(), step.enqueueSeconds()};
       }},
      {"graph", [&] { return byHand(hand, true); }},
      {"streams", [&] { return byHand(hand, false); }},
      {"line", [&] { return byHand(line, true); }}};
  json seconds, host;
  for (auto &[name, side] : sides) {
    side();
    side();
    if (name != "ours")
      different[name] = differences(expected, results(step));
  }
  for (int64_t round = 0; round < rounds; ++round)
    for (auto &[name, side] : sides) {
      std::vector<double> whole, enqueue;
      for (int64_t i = 0; i < steps; ++i) {
        Times times = side();
        whole.push_back(times.step);
        enqueue.push_back(times.host);
      }
      seconds[name].push_back(median(whole));
      host[name].push_back(median(enqueue));
    }
  std::cout << json{{"seconds", seconds},
                    {"host_seconds", host},
                    {"different_results", different},
                    {"results", expected.size()},
                    {"nodes",
                     {{"ours", step.execution().graphNodes()},
                      {"graph", hand.nodes()},
                      {"line", line.nodes()}}}}
                   .dump()
            << "\n";
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    std::cerr << "usage: bench-graph STEP.swx INPUTS.safetensors ROUNDS STEPS\n"
                 "prints the seconds of a step in ROUNDS turns of STEPS steps, "
                 "and of the same work ordered by hand, as JSON\n";
    return 1;
  }
  try {
    return run(argv[1], argv[2], std::stoll(argv[3]), std::stoll(argv[4]));
  } catch (const std::exception &error) {
    std::cerr << "bench-graph: error: " << error.what() << "\n";
  }
  return 1;
}
