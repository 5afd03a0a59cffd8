//===- ManifestParts.h - parsers of the parts of a manifest -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsers of the parts of a manifest, from JSON. They check all values: an
// artifact may be damaged, and its values are used as indices and sizes. They
// throw `Error`, or what the JSON library throws for a missing member.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_MANIFESTPARTS_H
#define STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_MANIFESTPARTS_H

#include "Artifact/Manifest.h"

#include <nlohmann/json.hpp>

namespace stagewright::runtime {

using json = nlohmann::json;

/// Upper bound of integers that have no other one.
constexpr int64_t maxDepth = int64_t(1) << 32;

/// An integer member within [low, high].
int64_t integer(const json &object, const char *key, int64_t low, int64_t high);
/// A list of integers within [low, high].
std::vector<int64_t> integers(const json &object, const char *key, int64_t low,
                              int64_t high);
std::string string(const json &object, const char *key);
/// The depth of a channel or a buffer.
void parseSize(const json &object, RingSize &ring);

Interface parseInterface(const json &object, bool isResult);
/// The rows of rank `number`; `channels` are those of the manifest.
std::vector<ReadyRow> parseRows(const json &list,
                                const std::vector<Channel> &channels,
                                int64_t number);
Channel parseChannel(const json &object, int64_t ranks);
RankRates parseFlows(const json &list, int64_t ranks);
std::vector<int64_t> parseStarts(const json &list, const Manifest &manifest);
/// `manifest` must have its arguments, results and channels. The buffer's rank
/// has `starts` lists of starts.
Buffer parseBuffer(const json &object, const Manifest &manifest,
                   int64_t starts);
/// `rank` must have its buffers.
Averaging parseAveraging(const json &object, const RankManifest &rank);
/// Checks the largest limits of any device of compute capability 8.0 or later.
/// Source: CUDA C++ Programming Guide, "Compute Capabilities".
Kernel parseKernel(const json &object);
/// `manifest` must have its ranks.
Collective parseCollective(const json &object, const Manifest &manifest);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_MANIFESTPARTS_H
