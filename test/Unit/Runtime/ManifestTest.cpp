//===- ManifestTest.cpp - arguments, results, buffers and rows ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/HostTensors.h"
#include "PipelineManifest.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime;
using json = nlohmann::json;

namespace {

TEST(Manifest, ParsesTheFixture) {
  Manifest manifest = parseManifest(pipelineManifest().dump());
  EXPECT_EQ(manifest.microbatches, 4);
  ASSERT_EQ(manifest.ranks.size(), 2u);
  EXPECT_EQ(manifest.ranks[0].buffers[4].kind, BufferKind::Stash);
  EXPECT_EQ(manifest.ranks[1].buffers[2].result, 0);
  EXPECT_EQ(manifest.arguments[0].bytes, 16);
}

TEST(Manifest, ChannelsSayHowManyMessagesAStepHas) {
  Channel channel;
  EXPECT_EQ(channel.count(4), 4);
  channel.once = true; // The number of microbatches does not matter.
  EXPECT_EQ(channel.count(4), 1);
  channel.once = false;
  channel.messages = 7; // Of several values in one ring.
  EXPECT_EQ(channel.count(4), 7);
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
  // Only results that are joined over microbatches have turns.
  json loss = pipelineManifest();
  loss["ranks"][1]["buffers"][2]["turns"] = {0};
  loss["ranks"][1]["buffers"][2]["period"] = 1;
  EXPECT_EQ(errorOf(loss),
            "malformed manifest: buffer 'loss' has 1 turns of 1, expected some "
            "in increasing order, of a result that is joined from a slot for "
            "every microbatch");
}

TEST(Manifest, ContradictionsAreNamed) {
  EXPECT_EQ(errorWith("/stagewright", 8),
            "malformed manifest: 'stagewright' is 8, expected 1 to 7");
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
  // Columns 2 and 5: the last one of each of two chunks of three columns.
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
  // Four rows do not divide a first dimension of two.
  json stack = argument;
  stack["shape"] = {2, 4}, stack["rows"] = 4, stack["slices"] = 8;
  stack["axes"] = {2, 1, 1, 1};
  EXPECT_EQ(errorWith("/arguments/0", stack),
            "malformed manifest: the axes of 'params/w' of shape [2, 4] do not "
            "give it 8 slices");
  argument["axes"] = {2, 0, 1, 1, 2};
  EXPECT_EQ(errorWith("/arguments/0", argument),
            "malformed manifest: the axes of 'params/w' of shape [4] do not "
            "give it 4 slices");
}

TEST(Manifest, StripsOfASliceOverAGridAreReadAtOnce) {
  // The first axis splits each of three chunks of columns. The second splits
  // the 9 columns of such a part into 3 of the first chunk and 2 of the second,
  // and the other 4.
  Manifest manifest;
  Interface whole;
  whole.shape = {15, 18}, whole.bytes = 15 * 18 * 4, whole.slices = 4;
  whole.axes.push_back({.parts = 2, .dim = 1, .outer = 3});
  whole.axes.push_back({.parts = 2, .dim = 1});
  manifest.results.push_back(whole);
  std::vector<Layout> layouts(4);
  for (int64_t slice = 0; slice < 4; ++slice) {
    Buffer buffer;
    buffer.kind = BufferKind::Gradient;
    buffer.result = 0, buffer.slice = slice;
    buffer.bytes = whole.sliceBytes(slice);
    manifest.ranks.emplace_back().buffers.push_back(buffer);
    layouts[size_t(slice)].buffers.emplace_back().stride = buffer.bytes;
  }
  // The value of an element is its number in the whole, which can be checked.
  std::vector<std::vector<float>> slices(4);
  for (int64_t row = 0; row < 15; ++row)
    for (int64_t column = 0; column < 18; ++column) {
      int64_t first = column % 6 / 3, place = column / 6 * 3 + column % 3;
      slices[size_t(first * 2 + (place >= 5))].push_back(
          float(row * 18 + column));
    }
  HostArenas arenas{manifest, layouts, {}, 1};
  for (std::vector<float> &slice : slices)
    arenas.bases.push_back(reinterpret_cast<std::byte *>(slice.data()));
  for (ByteRange range :
       {ByteRange{0, whole.bytes}, ByteRange{20 * 4, 200 * 4}}) {
    std::vector<float> found(15 * 18, -1);
    int64_t reads = 0, strips = 0;
    ReadBuffer read = readerOf(arenas);
    copyOut(arenas, 0, range, reinterpret_cast<std::byte *>(found.data()),
            [&](size_t rank, size_t buffer, int64_t at, int64_t bytes) {
              ++reads;
              return read(rank, buffer, at, bytes);
            });
    for (size_t rank = 0; rank < 4; ++rank)
      strips += int64_t(stripsOf(manifest.ranks[rank].buffers[0],
                                 layouts[rank].buffers[0], whole, 1)
                            .size());
    EXPECT_EQ(strips, 4 * 2 * 15);
    EXPECT_EQ(reads, 4);
    for (int64_t i = 0; i < (range.end - range.begin) / 4; ++i)
      EXPECT_EQ(found[size_t(i)], float(range.begin / 4 + i));
  }
}

TEST(Manifest, BytesBetweenPartsOfAResultAreReadUpToALimit) {
  // Four microbatches, joined along dimension 1 of two rows: each slot has a
  // half of its bytes in row 0. No memory is read.
  Manifest manifest;
  Interface &whole = manifest.results.emplace_back();
  whole.combine = "concat", whole.batchDim = 1, whole.shape = {2, 4};
  Buffer &buffer = manifest.ranks.emplace_back().buffers.emplace_back();
  buffer.kind = BufferKind::Gradient, buffer.result = 0;
  std::vector<Layout> layouts(1);
  Ring &ring = layouts[0].buffers.emplace_back();
  HostArenas arenas{manifest, layouts, {nullptr}, 4};
  auto readsWith = [&](int64_t half, ByteRange range) {
    buffer.bytes = ring.stride = 2 * half;
    whole.bytes = 4 * buffer.bytes;
    std::vector<std::pair<int64_t, int64_t>> reads;
    forParts(arenas, 0, range, [&](const BufferPart &part) {
      reads.push_back({part.at, part.bytes});
    });
    return reads;
  };
  using Reads = std::vector<std::pair<int64_t, int64_t>>;
  // At most the limit: the row at once, with the halves between that are not
  // of it. More: each half alone.
  int64_t most = pieceBytes / 7 / 64 * 64, more = most + 64;
  EXPECT_EQ(readsWith(most, {0, 4 * most}), (Reads{{0, 7 * most}}));
  EXPECT_EQ(
      readsWith(more, {0, 4 * more}),
      (Reads{{0, more}, {2 * more, more}, {4 * more, more}, {6 * more, more}}));
  // Slots without bytes between are read together, up to the limit.
  int64_t slot = pieceBytes / 2;
  EXPECT_EQ(readsWith(slot / 2, {0, 4 * slot}),
            (Reads{{0, 2 * slot}, {2 * slot, 2 * slot}}));
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
            "malformed manifest: rank 0 is not the sender of channel 1, for "
            "which it waits");
  EXPECT_EQ(error("receives", json::array({1})),
            "malformed manifest: a channel without a message in what rank 0 "
            "waits for");
}

} // namespace
