//===- Checkpoint.cpp - parameters and state in files ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/Checkpoint.h"
#include "DType.h"
#include "Error.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <zlib.h>

namespace fs = std::filesystem;
using nlohmann::json;

namespace stagewright::runtime {

static constexpr const char *manifestName = "checkpoint.json";
static constexpr int64_t version = 1;

static std::string fileOf(const std::string &role) {
  return role == "state" ? "state.safetensors" : "params.safetensors";
}

/// CRC-32 of `bytes`; `before` is that of the bytes that precede them.
static uint32_t checksum(std::span<const std::byte> bytes,
                         uint32_t before = 0) {
  return bytes.empty()
             ? before
             : uint32_t(crc32_z(before,
                                reinterpret_cast<const Bytef *>(bytes.data()),
                                bytes.size()));
}

/// Length and checksum of a file, for the manifest.
static json describe(const SafetensorsFile &file) {
  size_t bytes = 0;
  uint32_t sum = 0;
  for (std::span<const std::byte> part : file.parts) {
    bytes += part.size();
    sum = checksum(part, sum);
  }
  return {{"bytes", bytes}, {"crc32", sum}};
}

/// Flushes a file, or the entries of a folder, to the disk.
static void synchronise(const fs::path &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  bool done = file >= 0 && ::fsync(file) == 0;
  int error = errno;
  if (file >= 0)
    ::close(file);
  if (!done)
    raise("'", path.string(),
          "' cannot be brought to the disk: ", std::strerror(error));
}

/// The checkpoints of a folder, the oldest first.
static std::vector<fs::path> list(const fs::path &directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(directory, error))
    if (entry.path().filename().string().starts_with("step-"))
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

static std::string nameOf(int64_t step) {
  std::string digits = std::to_string(step);
  return "step-" +
         std::string(digits.size() < 12 ? 12 - digits.size() : 0, '0') + digits;
}

static void writeFiles(const fs::path &folder, const Snapshot &snapshot) {
  std::map<std::string, std::map<std::string, TensorView>> byFile;
  for (const char *role : {"parameter", "state"})
    byFile[fileOf(role)];
  for (const Snapshot::Tensor &tensor : snapshot.tensors)
    byFile[fileOf(tensor.role)][tensor.name] = {tensor.dtype, tensor.shape,
                                                tensor.bytes};
  json manifest = {{"version", version}, {"step", snapshot.step}};
  for (const auto &[name, tensors] : byFile) {
    SafetensorsFile file(tensors);
    writeFileAtomically((folder / name).string(), file.parts);
    synchronise(folder / name);
    manifest["files"][name] = describe(file);
  }
  std::string text = manifest.dump(1) + "\n";
  std::span<const std::byte> part(
      reinterpret_cast<const std::byte *>(text.data()), text.size());
  writeFileAtomically((folder / manifestName).string(), {&part, 1});
  synchronise(folder / manifestName);
  synchronise(folder);
}

void writeCheckpoint(const std::string &directory, const Snapshot &snapshot,
                     int64_t keep) {
  fs::path place = fs::path(directory) / nameOf(snapshot.step);
  fs::path draft = fs::path(directory) / (".writing-" + nameOf(snapshot.step));
  try {
    fs::remove_all(draft);
    fs::create_directories(draft);
    writeFiles(draft, snapshot);
    fs::remove_all(place); // The same step of an earlier run.
    fs::rename(draft, place);
    synchronise(directory);
    std::vector<fs::path> all = list(directory);
    for (size_t i = 0; i + size_t(keep) < all.size(); ++i)
      fs::remove_all(all[i]);
  } catch (const fs::filesystem_error &error) {
    raise("checkpoint '", place.string(),
          "' cannot be written: ", error.code().message());
  }
}

CheckpointWriter::CheckpointWriter(std::string where, int64_t keep)
    : directory(std::move(where)), keep(keep) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory))
    raise("'", directory, "' is no folder for checkpoints",
          error ? ": " + error.message() : "");
  // Unfinished checkpoints of runs that were killed.
  for (const auto &entry : fs::directory_iterator(directory, error))
    if (entry.path().filename().string().starts_with(".writing-step-"))
      fs::remove_all(entry.path(), error);
}

void CheckpointWriter::write(std::shared_ptr<const Snapshot> snapshot) {
  finish();
  writing = worker.run([this, snapshot = std::move(snapshot)] {
    writeCheckpoint(directory, *snapshot, keep);
  });
}

void CheckpointWriter::finish() {
  if (writing.valid())
    writing.get();
}

bool CheckpointWriter::isBusy(double seconds) {
  return writing.valid() &&
         writing.wait_for(std::chrono::duration<double>(seconds)) !=
             std::future_status::ready;
}

std::optional<int64_t> newestStep(const std::string &directory) {
  std::vector<fs::path> all = list(directory);
  if (all.empty())
    return std::nullopt;
  std::string name = all.back().filename().string();
  return std::strtoll(name.c_str() + name.find('-') + 1, nullptr, 10);
}

Checkpoint::Checkpoint(const std::string &folder) : path(folder) {
  MappedFile text((fs::path(folder) / manifestName).string());
  auto bytes = text.bytes();
  json manifest =
      json::parse(reinterpret_cast<const char *>(bytes.data()),
                  reinterpret_cast<const char *>(bytes.data()) + bytes.size(),
                  nullptr, /*allow_exceptions=*/false);
  auto isNumber = [](const json &object, const char *key) {
    return object.is_object() && object.contains(key) &&
           object.at(key).is_number_integer();
  };
  if (!isNumber(manifest, "version") || !isNumber(manifest, "step") ||
      !manifest.contains("files") || !manifest.at("files").is_object())
    raise("'", folder, "/", manifestName, "' is not that of a checkpoint");
  if (manifest.at("version") != version)
    raise("'", folder, "' has version ", manifest.at("version").dump(),
          ", this program reads ", version);
  number = manifest.at("step").get<int64_t>();
  if (number < 0)
    raise("'", folder, "' is of step ", number);
  for (const char *role : {"parameter", "state"}) {
    std::string name = fileOf(role), whole = folder + "/" + name;
    if (!manifest.at("files").contains(name) ||
        !isNumber(manifest.at("files").at(name), "bytes") ||
        !isNumber(manifest.at("files").at(name), "crc32"))
      raise("'", folder, "/", manifestName, "' does not tell of '", name, "'");
    const json &about = manifest.at("files").at(name);
    files.push_back(std::make_unique<MappedFile>(whole));
    auto contents = files.back()->bytes();
    if (about.at("bytes") != contents.size())
      raise("'", whole, "' has ", contents.size(), " bytes, ", manifestName,
            " says ", about.at("bytes").dump());
    if (about.at("crc32") != checksum(contents))
      raise("'", whole, "' has CRC-32 ", checksum(contents), ", ", manifestName,
            " says ", about.at("crc32").dump());
    tensors[role] = parseSafetensors(contents);
  }
}

Checkpoint Checkpoint::newest(const std::string &directory) {
  std::vector<fs::path> all = list(directory);
  if (all.empty())
    raise("'", directory, "' has no checkpoint");
  std::string offer =
      all.size() > 1 ? "; the one before is '" + all[all.size() - 2].string() +
                           "': remove the newer to resume from it"
                     : "; it is the only one";
  try {
    Checkpoint found(all.back().string());
    found.offer = offer;
    return found;
  } catch (const Error &error) {
    raise(error.what(), offer);
  }
}

constexpr const char *foreign = "; it is of another model or optimizer";

void Checkpoint::requireOnly(const std::string &role,
                             const std::set<std::string> &names) const {
  for (const auto &[name, tensor] : tensors.at(role))
    if (!names.count(name))
      raise("'", path, "' has ", role, " '", name, "', which the step has not",
            foreign, offer);
}

std::span<const std::byte>
Checkpoint::find(const std::string &role, const std::string &name,
                 sw_dtype dtype, const std::vector<int64_t> &shape) const {
  const auto &known = tensors.at(role);
  auto found = known.find(name);
  if (found == known.end())
    raise("'", path, "' has no ", role, " '", name, "'", foreign, offer);
  const TensorView &it = found->second;
  if (it.dtype != dtype || it.shape != shape)
    raise("'", path, "' has ", role, " '", name, "' of ", dtypeName(it.dtype),
          " ", printShape(it.shape), ", the step takes ", dtypeName(dtype), " ",
          printShape(shape), offer);
  return it.bytes;
}

} // namespace stagewright::runtime
