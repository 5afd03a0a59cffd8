//===- Report.cpp - profiles as JSON --------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recorder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stagewright::runtime {

using json = nlohmann::json;

std::string profileJson(const Manifest &manifest,
                        const std::vector<const Recorder *> &ranks) {
  json nodes = json::object();
  for (size_t r = 0; r < ranks.size(); ++r)
    for (size_t n = 0; n < manifest.ranks[r].nodes.size(); ++n) {
      auto samples = ranks[r]->samples(int64_t(n));
      if (samples.empty())
        continue;
      std::vector<float> sorted(samples.begin(), samples.end());
      auto middle = sorted.begin() + sorted.size() / 2;
      std::nth_element(sorted.begin(), middle, sorted.end());
      nodes[manifest.ranks[r].nodes[n]] = *middle;
    }
  return json{{"device_class", "cpu-core"}, {"nodes", nodes}}.dump(1) + "\n";
}

} // namespace stagewright::runtime
