//===- ManifestTest.cpp - manifests and layouts of buffers ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Artifact/Artifact.h"
#include "Files/MappedFile.h"
#include "Memory/HostTensors.h"
#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace stagewright::runtime;
using json = nlohmann::json;

namespace {

json pipelineManifest() {
  MappedFile file(FIXTURES "/pipeline.swx");
  return json::parse(manifestText(file.bytes()));
}

/// The error of parsing the fixture's manifest with `value` at `pointer`.
std::string errorWith(const char *pointer, const json &value) {
  json manifest = pipelineManifest();
  manifest[json::json_pointer(pointer)] = value;
  try {
    parseManifest(manifest.dump());
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Manifest, ParsesTheFixture) {
  Manifest manifest = parseManifest(pipelineManifest().dump());
  EXPECT_EQ(manifest.microbatches, 4);
  ASSERT_EQ(manifest.ranks.size(), 2u);
  EXPECT_EQ(manifest.ranks[0].buffers[4].kind, BufferKind::Stash);
  EXPECT_EQ(manifest.ranks[1].buffers[2].result, 0);
  EXPECT_EQ(manifest.arguments[0].bytes, 16);
}

TEST(Manifest, RatesOfFlowsAreOfPairsOfRanks) {
  json manifest = pipelineManifest();
  EXPECT_FALSE(parseManifest(manifest.dump()).flows);
  manifest["flows"] = json::array({{{"from", 0}, {"rate", 6.5e6}, {"to", 1}}});
  RankRates expected = {{{0, 1}, 6.5e6}};
  EXPECT_EQ(parseManifest(manifest.dump()).flows, expected);
  auto flow = [](int to, double rate) {
    return json{{"from", 0}, {"rate", rate}, {"to", to}};
  };
  EXPECT_EQ(errorWith("/flows", json::array({flow(1, 0)})),
            "malformed manifest: the flow from rank 0 to rank 1 has the rate "
            "0, expected more than 0");
  EXPECT_EQ(errorWith("/flows", json::array({flow(1, 1), flow(1, 2)})),
            "malformed manifest: two flows from rank 0 to rank 1");
  EXPECT_EQ(errorWith("/flows", json::array({flow(0, 1)})),
            "malformed manifest: a flow from rank 0 to itself");
  EXPECT_NE(errorWith("/flows", json::array({flow(2, 1)})), "");
}

/// The fixture's manifest with the joined result on both ranks.
json inTurn(json first, json second, int64_t period = 3) {
  json manifest = pipelineManifest();
  json &own = manifest["ranks"][1]["buffers"][3];
  own["turns"] = std::move(second);
  own["period"] = period;
  json other = own;
  other["id"] = 6;
  other["turns"] = std::move(first);
  other["period"] = 3;
  manifest["ranks"][0]["buffers"].push_back(other);
  return manifest;
}

TEST(Manifest, RanksHaveAResultInTurn) {
  Manifest manifest = parseManifest(inTurn({1}, {0, 2}).dump());
  const Buffer &own = manifest.ranks[1].buffers[3];
  EXPECT_TRUE(own.has(0) && own.has(5) && !own.has(4));
  auto errorOf = [](const json &text) {
    try {
      parseManifest(text.dump());
      return std::string();
    } catch (const Error &error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(errorOf(inTurn({1}, {2})),
            "malformed manifest: ranks have 2 of 3 turns of result 2 ('y')");
  EXPECT_EQ(errorOf(inTurn({1, 2}, {0, 2})),
            "malformed manifest: two ranks have turn 2 of result 2 ('y')");
  EXPECT_EQ(errorOf(inTurn({1}, {0}, 2)),
            "malformed manifest: result 2 ('y') has turns of 3 and of 2");
  EXPECT_NE(errorOf(inTurn({1}, {0, 3})), "");
  EXPECT_NE(errorOf(inTurn({1}, {2, 0})), "");
  EXPECT_NE(errorOf(inTurn({}, {0, 1, 2})), "");
  json alone = inTurn({1}, {0, 2});
  alone["ranks"][1]["buffers"][3].erase("period");
  EXPECT_NE(errorOf(alone), "");
  // A rank that has all microbatches beside one that has some.
  alone["ranks"][1]["buffers"][3].erase("turns");
  EXPECT_EQ(errorOf(alone), "malformed manifest: result 2 ('y') is owned by "
                            "rank 0 and by rank 1");
  // Only what is joined over microbatches.
  json loss = pipelineManifest();
  loss["ranks"][1]["buffers"][2]["turns"] = {0};
  loss["ranks"][1]["buffers"][2]["period"] = 1;
  EXPECT_EQ(errorOf(loss),
            "malformed manifest: buffer 'loss' has 1 turns of 1, expected some "
            "in increasing order, of a result that is joined from a slot for "
            "every microbatch");
}

json kernel() {
  return {{"name", "step.k0"},
          {"grid", {8, 2, 1}},
          {"block", {128, 1, 1}},
          {"shared", 1024},
          {"arguments", 3}};
}

/// The fixture's manifest, changed for a device with one kernel.
json deviceManifest() {
  json manifest = pipelineManifest();
  manifest["target"]["kind"] = "cuda";
  manifest["target"]["architectures"] = {"sm_90a"};
  manifest["kernels"] = json::array({kernel()});
  return manifest;
}

TEST(Manifest, ParsesTheWorkOfKernels) {
  json manifest = deviceManifest();
  // Without the optional fields, as in older artifacts.
  EXPECT_EQ(parseManifest(manifest.dump()).kernels[0].form, "");
  manifest["kernels"][0].update(
      {{"form", "rows"}, {"read", 4096}, {"written", 32}, {"flops", 1024}});
  Kernel kernel = parseManifest(manifest.dump()).kernels[0];
  EXPECT_EQ(kernel.form, "rows");
  EXPECT_EQ(kernel.read, 4096);
  EXPECT_EQ(kernel.written, 32);
  EXPECT_EQ(kernel.flops, 1024);
  manifest["kernels"][0]["read"] = -1;
  EXPECT_THROW(parseManifest(manifest.dump()), Error);
}

TEST(Manifest, ParsesKernelsOfADevice) {
  EXPECT_FALSE(parseManifest(pipelineManifest().dump()).cuda);
  Manifest manifest = parseManifest(deviceManifest().dump());
  EXPECT_TRUE(manifest.cuda);
  EXPECT_EQ(manifest.architectures, std::vector<std::string>{"sm_90a"});
  EXPECT_TRUE(manifest.ptx.empty()); // As older artifacts have none.
  ASSERT_EQ(manifest.kernels.size(), 1u);
  EXPECT_EQ(manifest.kernels[0].name, "step.k0");
  EXPECT_EQ(manifest.kernels[0].grid[1], 2);
  EXPECT_EQ(manifest.kernels[0].block[0], 128);
  EXPECT_EQ(manifest.kernels[0].shared, 1024);
  EXPECT_EQ(manifest.kernels[0].arguments, 3);
}

TEST(Manifest, KernelsHaveAsManyArgumentsAsALaunchTakes) {
  json manifest = deviceManifest();
  manifest["kernels"][0]["arguments"] = Kernel::maxArguments;
  EXPECT_EQ(parseManifest(manifest.dump()).kernels[0].arguments, 511);
  manifest["kernels"][0]["arguments"] = Kernel::maxArguments + 1;
  EXPECT_THROW(parseManifest(manifest.dump()), Error);
}

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

/// As errorOfSum(), of a gather of two parts of 64 bytes, and with `patch`
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

  // An average that would be right but for its collective.
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

TEST(Manifest, KernelsThatNoDeviceRunsAreNamed) {
  auto errorOf = [](const char *key, const json &value) -> std::string {
    json manifest = deviceManifest();
    manifest["kernels"][0][key] = value;
    try {
      parseManifest(manifest.dump());
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(errorOf("grid", {1, 2}),
            "malformed manifest: 'grid' is not a list of 3 extents");
  EXPECT_EQ(errorOf("grid", {0, 1, 1}), "malformed manifest: 'grid' holds 0, "
                                        "expected 1 to 2147483647");
  EXPECT_EQ(errorOf("grid", {"a", 1, 1}),
            "malformed manifest: 'grid' holds \"a\"");
  EXPECT_EQ(errorOf("grid", {1, 65536, 1}),
            "malformed manifest: kernel 'step.k0' has a grid of [1, 65536, 1], "
            "expected at most 65535 after the first");
  EXPECT_EQ(errorOf("block", {64, 32, 1}),
            "malformed manifest: kernel 'step.k0' has a block of [64, 32, 1], "
            "expected at most 1024 threads");
  EXPECT_EQ(errorOf("shared", 1 << 20), "malformed manifest: 'shared' is "
                                        "1048576, expected 0 to 232448");
  json manifest = deviceManifest();
  json &kernel = manifest["kernels"][0];
  kernel["arguments"] = 19;
  kernel["bytes"] = std::vector<int64_t>(19, 4);
  kernel["sums"] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  kernel["adds"] = {10, 11, 12, 13, 14, 15, 16};
  EXPECT_EQ(parseManifest(manifest.dump()).kernels[0].adds.size(), 7u);
  kernel["adds"].push_back(17);
  try {
    parseManifest(manifest.dump());
    ADD_FAILURE() << "17 sums";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "malformed manifest: kernel 'step.k0' has 17 "
                               "sums, expected at most 16");
  }
  kernel["adds"] = json::array();
  kernel["mean"] = true;
  try {
    parseManifest(manifest.dump());
    ADD_FAILURE() << "a mean without a count";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "malformed manifest: kernel 'step.k0' makes a "
                               "mean of 19 arguments, expected arrays with "
                               "bytes and a count");
  }
  EXPECT_EQ(errorWith("/target/kind", "abacus"),
            "malformed manifest: target kind 'abacus' is unknown");
}

TEST(Manifest, ContradictionsAreNamed) {
  EXPECT_EQ(errorWith("/stagewright", 7),
            "malformed manifest: 'stagewright' is 7, expected 1 to 6");
  EXPECT_EQ(errorWith("/arguments/0/dtype", "f31"),
            "malformed manifest: element type 'f31' is unknown");
  EXPECT_EQ(errorWith("/arguments/0/shape", {8}),
            "malformed manifest: buffer 'w' has 16 bytes, but its part of "
            "'params/w' has 32");
  EXPECT_EQ(errorWith("/arguments/1/position", 0),
            "malformed manifest: two arguments have position 0");
  EXPECT_EQ(errorWith("/channels/0/to", 2),
            "malformed manifest: 'to' is 2, expected 0 to 1");
  EXPECT_EQ(errorWith("/channels/1/to", 1),
            "malformed manifest: channel 'dy' joins rank 1 to itself");
  EXPECT_EQ(errorWith("/channels/1/id", 5),
            "malformed manifest: 'id' is 5, expected 1");
  EXPECT_EQ(errorWith("/ranks/0/buffers/4/kind", "attic"),
            "malformed manifest: buffer kind 'attic' is unknown");
  EXPECT_EQ(errorWith("/ranks/0/buffers/3/result", 7),
            "malformed manifest: buffer 'dw' belongs to position 7, which is "
            "not declared");
  EXPECT_EQ(errorWith("/ranks/0/buffers/3/result", -1),
            "malformed manifest: no rank owns result 1 ('params/w')");
  EXPECT_EQ(errorWith("/ranks/0/buffers/4/result", 1),
            "malformed manifest: result 1 ('params/w') is owned by rank 0 and "
            "by rank 0");
  EXPECT_EQ(errorWith("/channels/0/round", -1),
            "malformed manifest: 'round' is -1, expected 0 to 4");
  EXPECT_EQ(errorWith("/ranks/0/buffers/4/depth", 0),
            "malformed manifest: 'depth' is 0, expected 1 to 4294967296");
  EXPECT_EQ(errorWith("/ranks/0/buffers/0/kind", "batch"),
            "malformed manifest: buffer 'w' of kind 'batch' belongs to "
            "argument 0 ('params/w') of role 'parameter'");
  EXPECT_EQ(errorWith("/ranks/0/buffers/4/argument", 0),
            "malformed manifest: buffer 'stash.x' of kind 'stash' belongs to "
            "argument 0 ('params/w') of role 'parameter'");
  EXPECT_EQ(errorWith("/ranks/0/buffers/0/result", 1),
            "malformed manifest: buffer 'w' of kind 'parameter' belongs to "
            "result 1 ('params/w')");
  EXPECT_EQ(errorWith("/ranks/1/buffers/3/slice", 0),
            "malformed manifest: buffer 'y' is slice 0 of result 2 ('y'), "
            "which is concatenated");
  EXPECT_EQ(errorWith("/ranks", json::array()),
            "malformed manifest: 0 ranks, expected 1 to 4096");
}

TEST(Manifest, AxesOfAGridSplitTheSlicesOfARow) {
  Interface whole;
  whole.shape = {10, 6}, whole.bytes = 240, whole.rows = 2, whole.slices = 8;
  whole.axes.push_back({.parts = 2, .dim = 0});
  whole.axes.push_back({.parts = 2, .dim = 1, .outer = 3});
  EXPECT_EQ(whole.sliceBytes(0), 3 * 3 * 4);
  EXPECT_EQ(whole.sliceBytes(3), 2 * 3 * 4);
  Buffer buffer;
  buffer.slice = 7, buffer.bytes = whole.sliceBytes(3); // Of row 1.
  Ring ring;
  // Rows 8 and 9, of which it has columns 1, 3 and 5.
  std::vector<Strip> strips = stripsOf(buffer, ring, whole, 1);
  ASSERT_EQ(strips.size(), 1u);
  EXPECT_EQ(strips[0].whole, 8 * 24 + 4);
  EXPECT_EQ(strips[0].run, 4);
  EXPECT_EQ(strips[0].runs, 6);
  EXPECT_EQ(strips[0].stride, 8);
  // Columns 2 and 5: as those of two chunks of three over both axes.
  whole.axes[0] = {.parts = 2, .dim = 1, .outer = 2};
  whole.axes[1] = {.parts = 2, .dim = 0};
  strips = stripsOf(buffer, ring, whole, 1);
  ASSERT_EQ(strips.size(), 1u);
  EXPECT_EQ(strips[0].whole, 8 * 24 + 8);
  EXPECT_EQ(strips[0].runs, 4);
  EXPECT_EQ(strips[0].stride, 12);
  json argument = pipelineManifest()["arguments"][0];
  argument["slices"] = 4, argument["axes"] = {2, 0, 1, 1, 2, 1, 1, 1};
  EXPECT_EQ(errorWith("/arguments/0", argument),
            "malformed manifest: the axes of 'params/w' of shape [4] do not "
            "give it 4 slices");
  argument["axes"] = {2, 0, 1, 1, 2};
  EXPECT_EQ(errorWith("/arguments/0", argument),
            "malformed manifest: the axes of 'params/w' of shape [4] do not "
            "give it 4 slices");
}

TEST(Manifest, TheFirstSlicesOfARowHaveMoreUnits) {
  Interface whole;
  whole.bytes = 160, whole.slices = 4, whole.rows = 2, whole.runs = 2;
  whole.unit = 8;
  EXPECT_EQ(whole.slicesOfRow(), 2);
  EXPECT_EQ(whole.runBytes(), 40);
  EXPECT_EQ(whole.runStart(0), 0);
  EXPECT_EQ(whole.runStart(1), 24);
  EXPECT_EQ(whole.runStart(2), 40);
  EXPECT_EQ(errorWith("/arguments/0/slices", 5),
            "malformed manifest: 'params/w' of shape [4] cannot have 5 slices");
  json argument = pipelineManifest()["arguments"][0];
  argument["slices"] = 2, argument["unit"] = 3;
  EXPECT_EQ(errorWith("/arguments/0", argument),
            "malformed manifest: 'params/w' of shape [4] cannot have 2 slices");
}

TEST(Manifest, EveryMissingOrWronglyTypedMemberIsAnError) {
  json whole = pipelineManifest();
  json flat = whole.flatten();
  for (auto &[pointer, value] : flat.items()) {
    // Fields that only --info or only the compiler reads.
    if (pointer.starts_with("/plan") || pointer.starts_with("/grid") ||
        pointer.starts_with("/stages") || pointer.ends_with("/dtype") ||
        pointer.ends_with("/of") || pointer.find("/shape/") != pointer.npos ||
        pointer.find("/memory/") != pointer.npos || pointer.ends_with("/cpu") ||
        value.is_null())
      continue;
    if (value.is_array() || value.is_object()) // empty ones
      continue;
    EXPECT_NE(errorWith(pointer.c_str(), nullptr), "") << pointer;
  }
}

TEST(Manifest, RowsSayWhatARankWaitsFor) {
  json text = pipelineManifest(),
       row = json::parse(
           R"({"name": "0F0", "lane": 0, "turn": 1, "receives": [1, 0],
          "claims": [0, 2], "after": [1]})");
  auto parse = [&](const char *key = "", const json &value = {}) {
    json second = row;
    if (*key)
      second[key] = value;
    text["ranks"][0]["rows"] = json::array({row, second});
    return parseManifest(text.dump());
  };
  auto error = [&](const char *key, const json &value) {
    try {
      parse(key, value);
      return std::string();
    } catch (const Error &found) {
      return std::string(found.what());
    }
  };
  EXPECT_EQ(error("", {}), "malformed manifest: 'rows' in a program for any "
                           "number of microbatches");
  text["only"] = true;
  Manifest manifest = parse("lane", 1);
  const ReadyRow &found = manifest.ranks[0].rows[1];
  ASSERT_EQ(found.needs.size(), 2u);
  EXPECT_FALSE(found.needs[0].sends);
  EXPECT_EQ(found.needs[1].m, 2);
  EXPECT_EQ(found.lane, 1);
  EXPECT_EQ(error("lane", 2),
            "malformed manifest: 'lane' is 2, expected 0 to 1");
  EXPECT_EQ(error("after", json::array({2})),
            "malformed manifest: 'after' is 2, expected 0 to 1");
  EXPECT_EQ(error("claims", json::array({1, 0})),
            "malformed manifest: rank 0 is at no end of channel 1, for which "
            "it waits");
  EXPECT_EQ(error("receives", json::array({1})),
            "malformed manifest: a channel without a message in what rank 0 "
            "waits for");
}

TEST(Layout, RingsGrowWithMicrobatches) {
  Manifest manifest = parseManifest(pipelineManifest().dump());
  EXPECT_EQ(layOut(manifest, 0, 4).total, 832);
  EXPECT_EQ(layOut(manifest, 0, 1).total, 832 - 3 * 64 - 64 - 64);
  EXPECT_EQ(layOut(manifest, 0, 64).total, 832 + 60 * 64);
  Layout layout = layOut(manifest, 0, 4);
  for (const Ring &ring : layout.buffers)
    EXPECT_EQ(ring.offset % alignment, 0);
  EXPECT_EQ(layout.buffers[1].slots, 4);
  EXPECT_EQ(layout.channels[0].bytes(), 0);
  EXPECT_EQ(layout.channels[1].bytes(), 128);
}

TEST(Layout, APlacedStashTakesNoBytesOfItsOwn) {
  json text = pipelineManifest();
  json &stash = text["ranks"][0]["buffers"][4];
  stash["depth"] = 1;
  stash["place"] = 64;
  Manifest manifest = parseManifest(text.dump());
  Layout layout = layOut(manifest, 0, 4);
  EXPECT_EQ(layout.buffers[4].offset, layout.buffers[5].offset + 64);
  EXPECT_EQ(layout.buffers[4].stride, 64);
  EXPECT_EQ(layout.total, 832 - 128);
  stash["place"] = 128;
  EXPECT_THROW(layOut(parseManifest(text.dump()), 0, 4), Error);
  stash["place"] = 32;
  EXPECT_THROW(parseManifest(text.dump()), Error);
  // Both slots of a ring, or one slot if there is one microbatch.
  stash["place"] = 0;
  stash["depth"] = 2;
  manifest = parseManifest(text.dump());
  layout = layOut(manifest, 0, 4);
  EXPECT_EQ(layout.buffers[4].slots, 2);
  EXPECT_EQ(layout.buffers[4].offset, layout.buffers[5].offset);
  EXPECT_EQ(layOut(manifest, 0, 1).buffers[4].slots, 1);
  stash["place"] = 64;
  EXPECT_THROW(layOut(parseManifest(text.dump()), 0, 4), Error);
  stash["place"] = 0;
  stash["depth_all"] = true;
  EXPECT_THROW(parseManifest(text.dump()), Error);
}

TEST(Layout, AStashOnTheHostLiesBehindTheArena) {
  json text = pipelineManifest();
  json &stash = text["ranks"][0]["buffers"][4];
  stash["on_host"] = true;
  Layout layout = layOut(parseManifest(text.dump()), 0, 4);
  EXPECT_TRUE(layout.buffers[4].onHost);
  EXPECT_EQ(layout.total, 832 - 128);
  EXPECT_EQ(layout.buffers[4].offset, layout.total);
  EXPECT_EQ(layout.host, 128);
  stash["place"] = 0;
  EXPECT_THROW(parseManifest(text.dump()), Error);
  stash.erase("place");
  text["ranks"][0]["buffers"][0]["on_host"] = true;
  EXPECT_THROW(parseManifest(text.dump()), Error);
}

TEST(Layout, AStashMayMoveFromMicrobatchToMicrobatch) {
  json text = pipelineManifest();
  text["only"] = true;
  text["ranks"][0]["starts"] = {{64, 0, 64, 0}};
  json &stash = text["ranks"][0]["buffers"][4];
  stash["depth"] = 1;
  stash["place"] = 0;
  stash["starts"] = 0;
  Layout layout = layOut(parseManifest(text.dump()), 0, 4);
  const Ring &ring = layout.buffers[4], &workspace = layout.buffers[5];
  EXPECT_EQ(ring.at(0), workspace.offset + 64);
  EXPECT_EQ(ring.at(1), workspace.offset);
  EXPECT_EQ(ring.bytes(), 128);
  EXPECT_TRUE(ring.has(workspace.offset + 127));
  EXPECT_FALSE(ring.has(workspace.offset + 128));
  EXPECT_THROW(ring.at(4), Error);
  auto error = [&] {
    try {
      layOut(parseManifest(text.dump()), 0, 4);
      return std::string();
    } catch (const Error &found) {
      return std::string(found.what());
    }
  };
  stash["starts"] = 1;
  EXPECT_EQ(error(), "malformed manifest: 'starts' is 1, expected -1 to 0");
  stash["starts"] = 0;
  stash["place"] = 64; // The workspace has 128 bytes.
  EXPECT_EQ(error(), "stash 'stash.x' of rank 0 with 128 bytes lies at byte 64 "
                     "of a workspace of 128");
  stash["place"] = -1;
  EXPECT_EQ(error(), "malformed manifest: buffer 'stash.x' has starts, but no "
                     "place in the workspace");
  stash["place"] = 0;
  for (json bad : {json(32), json(-64), json("0"), json(int64_t(1) << 60)}) {
    text["ranks"][0]["starts"][0][1] = bad;
    EXPECT_EQ(error(), "malformed manifest: 'starts' holds " + bad.dump() +
                           ", expected multiples of 64");
  }
  text["ranks"][0]["starts"] = {{0, 0, 0, 0, 0}};
  EXPECT_EQ(error(), "malformed manifest: 'starts' of 5 microbatches, expected "
                     "1 to 4");
  text["only"] = false;
  EXPECT_EQ(error(), "malformed manifest: 'starts' of 5 microbatches in a "
                     "program for any number");
}

TEST(Layout, APartOfTheBatchIsNotEnough) {
  json text = pipelineManifest();
  text["ranks"][0]["buffers"][1]["depth_all"] = false;
  Manifest manifest = parseManifest(text.dump());
  EXPECT_THROW(layOut(manifest, 0, 4), Error);
}

} // namespace
