//===- TrainingTest.cpp - samples, batches, checkpoints -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files/BackgroundWriter.h"
#include "Training/Checkpoint.h"
#include "Training/Feed.h"
#include "stagewright/Runtime/Error.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

using namespace stagewright::runtime;
namespace fs = std::filesystem;

namespace {

/// Each test has its own folder.
struct Training : testing::Test {
  fs::path folder =
      fs::path(testing::TempDir()) /
      ("training-" + std::to_string(getpid()) + "-" +
       testing::UnitTest::GetInstance()->current_test_info()->name());
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::string write(const std::string &name, const void *data, size_t size) {
    std::ofstream(folder / name, std::ios::binary)
        .write(static_cast<const char *>(data), std::streamsize(size));
    return (folder / name).string();
  }
  /// Tokens 0, 1, 2, … as a .bin file.
  std::string tokens(uint16_t count) {
    std::vector<uint16_t> all;
    for (uint16_t i = 0; i < count; ++i)
      all.push_back(i);
    return write("tokens.bin", all.data(), all.size() * 2);
  }
};

std::string errorOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

std::vector<int32_t> numbers(const std::vector<std::byte> &bytes) {
  std::vector<int32_t> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Permutation, HoldsEverySampleOnce) {
  for (int64_t count : {1, 2, 3, 5, 64, 65, 1000}) {
    std::set<int64_t> seen;
    for (int64_t place = 0; place < count; ++place)
      seen.insert(permuted(place, count, 7));
    EXPECT_EQ(int64_t(seen.size()), count);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), count - 1);
  }
}

TEST(Permutation, DependsOnTheOrder) {
  int64_t same = 0, still = 0;
  for (int64_t place = 0; place < 1000; ++place) {
    same += permuted(place, 1000, 1) == permuted(place, 1000, 2);
    still += permuted(place, 1000, 1) == place;
  }
  EXPECT_LT(same, 20); // random orders: 1 of 1000 expected
  EXPECT_LT(still, 20);
}

TEST_F(Training, CutsTokensIntoWindows) {
  std::string path = tokens(11);
  SampleFile now(parseSampleSource("x=" + path), SW_I32, {5});
  SampleFile next(parseSampleSource("y=" + path + "+1"), SW_I32, {5});
  EXPECT_EQ(now.count(), 2);
  EXPECT_EQ(next.count(), 2);
  std::vector<std::byte> bytes(size_t(now.bytes()));
  now.read(1, bytes.data());
  EXPECT_EQ(numbers(bytes), (std::vector<int32_t>{5, 6, 7, 8, 9}));
  next.read(1, bytes.data());
  EXPECT_EQ(numbers(bytes), (std::vector<int32_t>{6, 7, 8, 9, 10}));
}

/// An .npy file of float32 0, 1, ..., 5 with this header.
std::string npyOf(std::string header) {
  header.resize(128 - 10 - 1, ' ');
  std::string file =
      std::string("\x93NUMPY\x01\x00", 8) + char(118) + '\0' + header + "\n";
  float values[6] = {0, 1, 2, 3, 4, 5};
  return file.append(reinterpret_cast<char *>(values), sizeof(values));
}

TEST_F(Training, ReadsWhatNumpyWrites) {
  std::string file =
      npyOf("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  std::string path = write("x.npy", file.data(), file.size());
  SampleFile samples(parseSampleSource("x=" + path), SW_F32, {3});
  ASSERT_EQ(samples.count(), 2);
  float read[3];
  samples.read(1, reinterpret_cast<std::byte *>(read));
  EXPECT_EQ(std::vector<float>(read, read + 3), (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(
      errorOf([&] { SampleFile(parseSampleSource("x=" + path), SW_F32, {4}); }),
      "'" + path + "' has samples of shape [3], argument 'x' takes [4]");
  EXPECT_EQ(
      errorOf([&] { SampleFile(parseSampleSource("x=" + path), SW_I32, {3}); }),
      "'" + path + "' has elements of type f32, argument 'x' takes i32");
  // Every truncated file is rejected without reading beyond its end.
  for (size_t size = 0; size < file.size(); ++size) {
    std::string part = write("part.npy", file.data(), size);
    EXPECT_NE(errorOf([&] {
                SampleFile(parseSampleSource("x=" + part), SW_F32, {3});
              }),
              "no error");
  }
}

TEST_F(Training, RefusesWhatNumpyDoesNotWrite) {
  std::string type = "'descr': '<f4', ", order = "'fortran_order': False, ",
              shape = "'shape': (2, 3), ";
  auto errorWith = [&](const std::string &file) {
    std::string path = write("wrong.npy", file.data(), file.size());
    std::string error = errorOf(
        [&] { SampleFile(parseSampleSource("x=" + path), SW_F32, {3}); });
    return error.substr(error.find(": ") + 2);
  };
  EXPECT_EQ(errorWith("these are no numbers"),
            "it does not begin as an .npy file does");
  EXPECT_EQ(errorWith(npyOf("").substr(0, 100)),
            "its header ends after the file");
  EXPECT_EQ(errorWith(npyOf("{'descr': '<c8', " + order + shape + "}")),
            "its elements have a type that no step takes");
  EXPECT_EQ(
      errorWith(npyOf("{" + type + "'fortran_order': True, " + shape + "}")),
      "it is in Fortran's order; save numpy.ascontiguousarray of it");
  EXPECT_EQ(errorWith(npyOf("{" + type + order + "}")),
            "its header has no shape");
  EXPECT_EQ(errorWith(npyOf("{" + type + order +
                            "'shape': (99999999999999999999, 3), }")),
            "its shape is too large");
  EXPECT_EQ(errorWith(npyOf("{" + type + order + "'shape': (3, 3), }")),
            "it has 24 bytes of elements, its header says 36");
  EXPECT_EQ(errorWith(npyOf("{" + type + order +
                            "'shape': (9223372036854775807, 3), }")),
            "it has 24 bytes of elements, its header says more than there can "
            "be");
  std::string empty = npyOf("{" + type + order + "'shape': (0, 3), }");
  std::string path = write("none.npy", empty.data(), empty.size());
  EXPECT_EQ(
      errorOf([&] { SampleFile(parseSampleSource("x=" + path), SW_F32, {3}); }),
      "'" + path + "' has no sample of shape [3] for argument 'x'");
}

TEST_F(Training, FeedsTheSameSamplesWhereverItBegins) {
  std::string path = tokens(21);
  auto make = [&] {
    std::vector<std::unique_ptr<SampleFile>> files;
    files.push_back(std::make_unique<SampleFile>(
        parseSampleSource("x=" + path), SW_I32, std::vector<int64_t>{3}));
    return std::make_shared<FileBatches>(std::move(files), 4, 5);
  };
  EXPECT_EQ(make()->samples(), 7);
  auto from = [](std::shared_ptr<FileBatches> batches) {
    return [batches](int64_t step) { return batches->read(step); };
  };
  Feed all(from(make()), 1), later(from(make()), 3, 5);
  std::vector<std::vector<int32_t>> seen;
  for (int64_t step = 0; step < 6; ++step)
    seen.push_back(numbers(all.take(step)[0]));
  for (int64_t step = 3; step < 6; ++step)
    EXPECT_EQ(numbers(later.take(step)[0]), seen[size_t(step)]);
  // The first seven samples are one epoch, independent of steps.
  std::set<int32_t> epoch;
  for (int64_t place = 0; place < 7; ++place)
    epoch.insert(seen[size_t(place / 4)][size_t(place % 4 * 3)]);
  EXPECT_EQ(epoch.size(), 7u);
  std::vector<uint16_t> five(5);
  std::string few = write("few.bin", five.data(), 10);
  EXPECT_EQ(
      errorOf([&] {
        std::vector<std::unique_ptr<SampleFile>> files;
        files.push_back(std::make_unique<SampleFile>(
            parseSampleSource("x=" + few), SW_I32, std::vector<int64_t>{3}));
        FileBatches(std::move(files), 4, std::nullopt);
      }),
      "the data has 1 samples, a step takes 4; give more data or fewer "
      "microbatches");
}

const CheckpointTensors twoTensors = {{"parameter", {{"w", {SW_F32, {2}}}}},
                                      {"state", {{"w", {SW_F32, {2}}}}}};

/// Writes a checkpoint with a value in each tensor, in pieces of 3 bytes.
void save(const std::string &place, int64_t step, float value, int64_t keep) {
  float data[4] = {value, 0, value, 0};
  CheckpointDraft draft(place, step, twoTensors);
  auto bytes = std::as_bytes(std::span(data));
  for (size_t at = 0; at < bytes.size(); at += 3)
    draft.append(bytes.subspan(at, std::min<size_t>(3, bytes.size() - at)));
  draft.commit(keep);
}

int64_t entriesOf(const std::string &folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

std::string contentsOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The format of safetensors and CRC-32 (of Python's zlib), written by hand.
TEST_F(Training, WritesTheSameFilesInPiecesOfAnySize) {
  std::string place = (folder / "checkpoints").string();
  auto text = [](const std::string &it) {
    return std::as_bytes(std::span(it));
  };
  CheckpointTensors tensors = {
      {"parameter", {{"b", {SW_I64, {}}}, {"a", {SW_F32, {2}}}}}};
  std::string header = R"({"a":{"data_offsets":[0,8],"dtype":"F32",)"
                       R"("shape":[2]},"b":{"data_offsets":[8,16],)"
                       R"("dtype":"I64","shape":[]}})";
  header.resize(112, ' ');
  std::string data = "0123456789abcdef";
  for (size_t size = 1; size <= data.size(); ++size) {
    CheckpointDraft draft(place, 7, tensors);
    for (size_t at = 0; at < data.size(); at += size)
      draft.append(text(data).subspan(at, std::min(size, data.size() - at)));
    draft.commit(1);
    fs::path found = fs::path(place) / "step-000000000007";
    EXPECT_EQ(contentsOf(found / "params.safetensors"),
              "p" + std::string(7, '\0') + header + data);
    EXPECT_EQ(contentsOf(found / "state.safetensors"),
              "\b" + std::string(7, '\0') + "{}      ");
    EXPECT_EQ(contentsOf(found / "checkpoint.json"), R"({
 "files": {
  "params.safetensors": {
   "bytes": 136,
   "crc32": 3287923108
  },
  "state.safetensors": {
   "bytes": 16,
   "crc32": 332738481
  }
 },
 "step": 7,
 "version": 1
}
)");
  }
}

TEST_F(Training, WritesNoCheckpointOfOtherBytesThanItsTensors) {
  std::string place = (folder / "checkpoints").string();
  std::byte bytes[17] = {};
  CheckpointDraft more(place, 1, twoTensors);
  EXPECT_EQ(errorOf([&] { more.append(bytes); }),
            "checkpoint '" + place +
                "/step-000000000001' received more bytes than its tensors "
                "have, by 1");
  CheckpointDraft less(place, 2, twoTensors);
  less.append(std::span(bytes).first(12));
  EXPECT_EQ(errorOf([&] { less.commit(1); }),
            "checkpoint '" + place +
                "/step-000000000002' lacks 4 bytes of 'state.safetensors'");
  EXPECT_EQ(entriesOf(place), 0);
}

// Pieces are written in order, with the memory of four pieces, and no piece is
// written after an error.
TEST(BackgroundWriter, HoldsNoMoreThanFourPieces) {
  BackgroundWriter writer;
  std::string written;
  std::set<const std::byte *> places;
  for (int i = 0; i < 40; ++i) {
    while (writer.isBusy(0.1, BackgroundWriter::maxPieces - 1)) {
    }
    writer.settle(BackgroundWriter::maxPieces - 1);
    BackgroundWriter::Piece piece = writer.spare(100);
    piece[1] = std::byte('a' + i % 26);
    places.insert(piece.data());
    writer.run(std::move(piece), 2, [&](std::span<const std::byte> bytes) {
      if (written.size() == 30)
        throw Error("no room");
      ASSERT_EQ(bytes.size(), 2u);
      written += char(bytes[1]);
    });
  }
  EXPECT_EQ(errorOf([&] { writer.finish(); }), "no room");
  EXPECT_EQ(written, "abcdefghijklmnopqrstuvwxyzabcd");
  EXPECT_LE(places.size(), BackgroundWriter::maxPieces + 1); // one was lost
}

TEST_F(Training, ReadsTheNewestCheckpointAndKeepsTheLast) {
  std::string place = (folder / "checkpoints").string();
  for (int64_t step = 1; step <= 4; ++step)
    save(place, step, float(step), 2);
  EXPECT_EQ(entriesOf(place), 2);
  Checkpoint found = Checkpoint::newest(place);
  EXPECT_EQ(found.step(), 4);
  float value = 0;
  std::memcpy(&value, found.find("state", "w", SW_F32, {2}).data(), 4);
  EXPECT_EQ(value, 4);
  std::string offer = "; to resume from the previous checkpoint '" + place +
                      "/step-000000000003', remove this one";
  EXPECT_EQ(errorOf([&] { found.find("parameter", "v", SW_F32, {2}); }),
            "'" + found.folder() +
                "' has no parameter 'v'; it is of another model or optimizer" +
                offer);
  EXPECT_EQ(errorOf([&] { found.find("parameter", "w", SW_F32, {3}); }),
            "'" + found.folder() +
                "' has parameter 'w' of f32 [2], but the step takes f32 [3]" +
                offer);
  found.requireOnly("state", {"v", "w"});
  EXPECT_EQ(
      errorOf([&] { found.requireOnly("state", {"v"}); }),
      "'" + found.folder() +
          "' has state 'w', which the step does not have; it is of another "
          "model or optimizer" +
          offer);
}

TEST_F(Training, RefusesEveryDamagedCheckpointAndNamesTheOneBefore) {
  std::string place = (folder / "checkpoints").string();
  save(place, 1, 1, 5);
  save(place, 2, 2, 5);
  fs::path newest = Checkpoint::newest(place).folder();
  for (const char *name :
       {"params.safetensors", "state.safetensors", "checkpoint.json"}) {
    std::string whole = contentsOf(newest / name);
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string damaged = whole.substr(0, at); // truncated
      write("damaged", damaged.data(), damaged.size());
      fs::copy_file(folder / "damaged", newest / name,
                    fs::copy_options::overwrite_existing);
      std::string error = errorOf([&] { Checkpoint::newest(place); });
      if (at + 1 < whole.size()) { // without the final newline it is valid
        EXPECT_NE(error.find("from the previous checkpoint '"),
                  std::string::npos)
            << name << " " << at << ": " << error;
      }
    }
    if (std::string(name) != "checkpoint.json") {
      std::string damaged = whole;
      damaged.back() ^= 1;
      write("damaged", damaged.data(), damaged.size());
      fs::copy_file(folder / "damaged", newest / name,
                    fs::copy_options::overwrite_existing);
      EXPECT_NE(errorOf([&] { Checkpoint::newest(place); }).find("CRC-32"),
                std::string::npos);
    }
    write("whole", whole.data(), whole.size());
    fs::copy_file(folder / "whole", newest / name,
                  fs::copy_options::overwrite_existing);
  }
  EXPECT_EQ(Checkpoint::newest(place).step(), 2);
}

TEST_F(Training, NothingRemainsOfADraftThatIsDropped) {
  std::string place = (folder / "checkpoints").string();
  std::byte bytes[12] = {};
  {
    CheckpointDraft draft(place, 1, twoTensors);
    draft.append(bytes);
    EXPECT_EQ(entriesOf(place), 1);
  }
  EXPECT_EQ(entriesOf(place), 0);
}

// A second run is started by mistake in the folder of another that still runs.
TEST_F(Training, ADraftIsSafeFromOtherRuns) {
  std::string place = (folder / "checkpoints").string();
  std::byte bytes[16] = {};
  CheckpointDraft draft(place, 1, twoTensors), other(place, 1, twoTensors);
  draft.append(bytes);
  recoverCheckpoints(place);
  EXPECT_EQ(errorOf([&] { other.append(bytes); }),
            "checkpoint '" + place +
                "/step-000000000001' is being written by another run; give "
                "each run its own folder");
  draft.commit(1);
  EXPECT_EQ(Checkpoint::newest(place).step(), 1);
}

TEST_F(Training, ADraftThatEndedTakesNothingMore) {
  std::string place = (folder / "checkpoints").string();
  std::byte bytes[17] = {};
  std::string nothingMore = "checkpoint '" + place +
                            "/step-000000000001' takes nothing more: it is "
                            "complete, or could not be written";
  CheckpointDraft draft(place, 1, twoTensors);
  errorOf([&] { draft.append(bytes); });
  EXPECT_EQ(errorOf([&] { draft.append(bytes); }), nothingMore);
  EXPECT_EQ(errorOf([&] { draft.commit(1); }), nothingMore);
  EXPECT_EQ(entriesOf(place), 0);
  CheckpointDraft whole(place, 1, twoTensors);
  whole.append(std::span(bytes).first(16));
  whole.commit(1);
  EXPECT_EQ(errorOf([&] { whole.commit(1); }), nothingMore);
}

float valueIn(const std::string &place) {
  Checkpoint newest = Checkpoint::newest(place);
  float value = 0;
  std::memcpy(&value, newest.find("state", "w", SW_F32, {2}).data(), 4);
  return value;
}

TEST_F(Training, RecoversFromEveryPointAtWhichARunIsKilled) {
  std::string place = (folder / "checkpoints").string();
  recoverCheckpoints(place); // There is none yet.
  EXPECT_FALSE(fs::exists(place));
  save(place, 7, 1, 1);
  save(place, 7, 2, 1); // replaces the first
  EXPECT_EQ(valueIn(place), 2);
  EXPECT_EQ(entriesOf(place), 1);
  const std::string name = "step-000000000007";
  auto at = [&](const char *prefix) {
    return fs::path(place) / (prefix + name);
  };
  // Killed while it wrote, and while it removed an old checkpoint.
  fs::create_directories(at(".writing-"));
  fs::create_directories(at(".removing-"));
  recoverCheckpoints(place);
  EXPECT_EQ(entriesOf(place), 1);
  // Killed between moving the old checkpoint aside and renaming the new one.
  fs::rename(at(""), at(".replaced-"));
  fs::create_directories(at(".writing-"));
  EXPECT_EQ(newestStep(place), std::nullopt);
  recoverCheckpoints(place);
  EXPECT_EQ(valueIn(place), 2);
  EXPECT_EQ(entriesOf(place), 1);
  // Killed after renaming the new checkpoint.
  fs::rename(at(""), at(".replaced-"));
  save(place, 7, 3, 1);
  EXPECT_EQ(entriesOf(place), 2);
  recoverCheckpoints(place);
  EXPECT_EQ(valueIn(place), 3);
  EXPECT_EQ(entriesOf(place), 1);
}

TEST_F(Training, RefusesAFileAsFolderOfCheckpoints) {
  write("file", "", 0);
  EXPECT_EQ(errorOf([&] { createCheckpoints((folder / "file").string()); })
                .find("'" + (folder / "file").string() +
                      "' is not a folder for checkpoints"),
            0u);
}

} // namespace
