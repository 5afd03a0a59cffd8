//===- ManifestCollectivesTest.cpp - sums and gathers in a manifest -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineManifest.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime;
using json = nlohmann::json;

namespace {

/// The error of the fixture's manifest with a sum of rank 0's gradient and rank
/// 1's loss, 64 bytes each, and `value` at `pointer` of that sum.
std::string errorOfSum(const char *pointer = nullptr, const json &value = {}) {
  json manifest = pipelineManifest();
  json sum = {{"id", 0}, {"name", "sum"}, {"dtype", "f32"}, {"elements", 16}};
  sum["buckets"] = {{{"rank", 0}, {"first", 3}, {"buffers", 1}},
                    {{"rank", 1}, {"first", 2}, {"buffers", 1}}};
  if (pointer)
    sum[json::json_pointer(pointer)] = value;
  manifest["collectives"] = json::array({sum});
  try {
    Manifest parsed = parseManifest(manifest.dump());
    EXPECT_EQ(parsed.collective(0).placeOf(1), 1u);
    EXPECT_THROW(parsed.collective(1), Error);
    EXPECT_THROW(parsed.collective(0).placeOf(2), Error);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Manifest, SumsOverRanksAreChecked) {
  EXPECT_EQ(errorOfSum(), "");
  EXPECT_EQ(errorOfSum("/elements", 32),
            "malformed manifest: collective 'sum' has 64 bytes on rank 0 and "
            "32 elements of type f32");
  EXPECT_EQ(errorOfSum("/dtype", "bool"),
            "malformed manifest: collective 'sum' sums elements of 'bool'");
  EXPECT_EQ(errorOfSum("/buckets/1/first", 3),
            "malformed manifest: collective 'sum' sums buffer 'y', which is "
            "not a gradient, accumulator or state");
  EXPECT_EQ(errorOfSum("/buckets/1/rank", 2),
            "malformed manifest: 'rank' is 2, expected 0 to 1");
  EXPECT_EQ(errorOfSum("/buckets/0/buffers", 4),
            "malformed manifest: 'buffers' is 4, expected 1 to 3");
  EXPECT_EQ(
      errorOfSum("/buckets/1", {{"rank", 0}, {"first", 3}, {"buffers", 1}}),
      "malformed manifest: the ranks of collective 'sum' do not increase");
  EXPECT_EQ(errorOfSum("/buckets", json::array()),
            "malformed manifest: collective 'sum' has 0 ranks, expected 2 or "
            "more");
}

/// Like errorOfSum(), for a gather of two parts of 64 bytes, and with `patch`
/// applied to the manifest.
std::string errorOfGather(const char *pointer = nullptr, const json &value = {},
                          const json &patch = json::array()) {
  json manifest = pipelineManifest();
  manifest["stagewright"] = 6;
  json gather = {{"id", 0},
                 {"name", "join"},
                 {"dtype", "bool"},
                 {"elements", 64},
                 {"gathers", true}};
  for (json &rank : manifest["ranks"]) {
    json &buffers = rank["buffers"];
    json stash = buffers[0];
    int64_t number = int64_t(buffers.size());
    stash.update({{"id", number},
                  {"name", "join"},
                  {"kind", "stash"},
                  {"bytes", 128},
                  {"depth", 2},
                  {"argument", -1},
                  {"result", -1}});
    buffers.push_back(stash);
    gather["buckets"].push_back({{"rank", rank["rank"]},
                                 {"first", number},
                                 {"buffers", 1},
                                 {"slot", 1}});
  }
  if (pointer)
    gather[json::json_pointer(pointer)] = value;
  manifest["collectives"] = json::array({gather});
  manifest = manifest.patch(patch);
  try {
    Manifest parsed = parseManifest(manifest.dump());
    EXPECT_EQ(parsed.collective(0).describe(), "gather 'join'");
    EXPECT_EQ(parsed.collective(0).bytes(), 64);
    EXPECT_EQ(parsed.collective(0).buckets[1].slot, 1);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Manifest, GathersAreChecked) {
  EXPECT_EQ(errorOfGather(), "");
  auto noSlot = [](int64_t bytes, const std::string &buffer) {
    return "malformed manifest: gather 'join' has 2 parts of " +
           std::to_string(bytes) + " bytes, and no slot for them in buffer '" +
           buffer + "' on rank 0";
  };
  EXPECT_EQ(errorOfGather("/elements", 128), noSlot(128, "join"));
  for (int elements : {0, 32, 65})
    EXPECT_EQ(errorOfGather("/elements", elements),
              "malformed manifest: gather 'join' has parts of " +
                  std::to_string(elements) +
                  " bytes, expected a multiple of 64");
  EXPECT_EQ(
      errorOfGather("/exchanges", true),
      "malformed manifest: exchange 'join' has 4 parts of 64 bytes, and no "
      "slot for them in buffer 'join' on rank 0");
  EXPECT_EQ(
      errorOfGather("/exchanges", true,
                    {{{"op", "remove"}, {"path", "/collectives/0/gathers"}}}),
      "malformed manifest: collective 'join' exchanges parts that it does "
      "not gather");
  json bucket = {{"rank", 0}, {"first", 0}, {"buffers", 1}, {"slot", 0}};
  size_t ranks = pipelineManifest()["ranks"].size();
  EXPECT_EQ(errorOfGather("/buckets", json(ranks + 1, bucket)),
            "malformed manifest: collective 'join' has " +
                std::to_string(ranks + 1) + " ranks of " +
                std::to_string(ranks));
  for (int slot : {-1, 2})
    EXPECT_EQ(errorOfGather("/buckets/0/slot", slot), noSlot(64, "join"));
  EXPECT_EQ(errorOfGather("/buckets/0/first", 0),
            noSlot(64, pipelineManifest()["ranks"][0]["buffers"][0]["name"]));
  json buffers = pipelineManifest()["ranks"][0]["buffers"];
  size_t stash = buffers.size();
  auto add = [](const std::string &path, const json &value) {
    return json{{"op", "add"}, {"path", "/ranks/0/" + path}, {"value", value}};
  };
  EXPECT_EQ(errorOfGather(
                nullptr, {},
                json::array({add(
                    "buffers/" + std::to_string(stash) + "/depth_all", true)})),
            noSlot(64, "join"));

  // An average that is valid except for its collective.
  json step = buffers[0];
  step.update({{"id", stash + 1},
               {"name", "step"},
               {"kind", "stash"},
               {"bytes", 8},
               {"argument", -1}});
  json average = {
      {"collective", 0}, {"every", 1},           {"delay", 0},
      {"xi", 0.0},       {"weight", 1.0},        {"corrected", false},
      {"turns", 1},      {"step", stash + 1},    {"sum", stash},
      {"snapshot", -1},  {"parameters", {stash}}};
  EXPECT_EQ(errorOfGather(nullptr, {},
                          {add("buffers/-", step),
                           add("averages", json::array({average}))}),
            "malformed manifest: an average of gather 'join'");
}

} // namespace
