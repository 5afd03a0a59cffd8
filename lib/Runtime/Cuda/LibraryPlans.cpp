//===- LibraryPlans.cpp - library plans without a device ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryPlans.h"

#include "Graphs.h"
#include "Prepare.h"
#include "StepWork.h"
#include "stagewright/Runtime/Error.h"

#include <charconv>
#include <map>
#include <sstream>

namespace stagewright::runtime::cuda {

namespace {

/// The number in an architecture's name: 90 for "sm_90" and "sm_90a".
int numberOf(const std::string &name) {
  int number = 0;
  const char *end = name.data() + name.size();
  if (name.starts_with("sm_")) {
    auto [rest, status] = std::from_chars(name.data() + 3, end, number);
    if (status == std::errc() && (rest == end || rest + 1 == end))
      return number;
  }
  raise("'", name,
        "' is not an architecture; expected a list such as sm_80,sm_90");
}

/// The key of a call: its printed name, and the bytes of its description.
using Key = std::pair<std::string, std::string>;
template <typename Call> Key printedKeyOf(const Call &it) {
  return {nameOf(it),
          {reinterpret_cast<const char *>(&it.desc), sizeof(it.desc)}};
}

/// The distinct calls of all ranks.
struct Calls {
  std::map<Key, Attention> attentions;
  std::map<Key, Convolution> convolutions;
};

class Asked {
public:
  explicit Asked(std::string name)
      : name(std::move(name)),
        library(describeGraphLibrary(numberOf(this->name), false)) {}

  /// Adds the line of a call. `prepare` makes its plan and returns the number.
  template <typename Prepare>
  void add(const std::string &call, bool otherwise, Prepare prepare) {
    lines << name << "  " << call << ": ";
    try {
      size_t plan = prepare(*library);
      lines << library->name(plan) << ", workspace " << library->workspace(plan)
            << " bytes\n";
    } catch (const std::exception &problem) {
      lines << "no plan (" << problem.what() << "); "
            << (otherwise ? "fallback kernels of the artifact are used"
                          : "there are no fallback kernels")
            << '\n';
      missing += !otherwise;
    }
  }

  std::ostringstream lines;
  int64_t missing = 0;

private:
  std::string name;
  std::unique_ptr<GraphLibrary> library;
};

Calls callsOf(const Artifact &artifact, int64_t microbatches) {
  Calls calls;
  for (const RankProgram &program : recordStep(artifact, microbatches)) {
    for (const Attention &it : program.attentions)
      calls.attentions.emplace(printedKeyOf(it), it);
    for (const Convolution &it : program.convolutions)
      calls.convolutions.emplace(printedKeyOf(it), it);
  }
  return calls;
}

} // namespace

LibraryPlans libraryPlans(const Artifact &artifact, int64_t microbatches,
                          const std::string &architectures) {
  Calls calls = callsOf(artifact, microbatches);
  LibraryPlans result;
  if (calls.attentions.empty() && calls.convolutions.empty()) {
    result.text = "the step has no attention and no convolution that the "
                  "library is asked for\n";
    return result;
  }
  std::istringstream list(architectures);
  for (std::string name; std::getline(list, name, ',');) {
    Asked asked(name);
    for (const auto &entry : calls.attentions) {
      const Attention &it = entry.second;
      asked.add("attention " + entry.first.first, it.desc.otherwise,
                [&](GraphLibrary &library) {
                  return library.prepareAttention(it.desc, it.gradient,
                                                  it.stats != 0);
                });
    }
    for (const auto &entry : calls.convolutions)
      asked.add("convolution " + entry.first.first, false,
                [&](GraphLibrary &library) {
                  return library.prepareConvolution(entry.second.desc);
                });
    result.text += asked.lines.str();
    result.missing += asked.missing;
  }
  return result;
}

} // namespace stagewright::runtime::cuda
