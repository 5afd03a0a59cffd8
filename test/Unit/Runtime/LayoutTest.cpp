//===- LayoutTest.cpp - layouts of buffers in the arena -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/Layout.h"
#include "PipelineManifest.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime;
using json = nlohmann::json;

namespace {

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
