//===- Checkpoint.cpp - parameters and state in files ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/Checkpoint.h"
#include "DType.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/file.h>
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

/// Flushes the entries of a folder to disk.
static void synchronise(const fs::path &folder) {
  FileDescriptor file(::open(folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value < 0 || ::fsync(file.value) != 0)
    raise("cannot write '", folder.string(), "': ", std::strerror(errno));
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

/// Prefixes of the names of folders that list() ignores: a checkpoint that is
/// being written; one that was moved aside for a new one of the same step, and
/// is put back if the new one is missing; and one that is being removed. A
/// folder is renamed before it is removed, so that no incomplete one looks like
/// a checkpoint.
static const std::string writingPrefix = ".writing-",
                         replacedPrefix = ".replaced-",
                         removingPrefix = ".removing-";

/// Puts back a checkpoint that was moved aside, unless the new one is there.
static void putBack(const fs::path &replaced, const fs::path &place) {
  // Ignored: another process may have done the same already.
  std::error_code error;
  if (fs::exists(place, error))
    fs::remove_all(replaced, error);
  else
    fs::rename(replaced, place, error);
}

/// The lock of the process that writes `draft`; it ends with the process. Null
/// if another process holds it. If the file system cannot lock folders, the
/// result is not null, although nothing is locked.
static std::unique_ptr<FileDescriptor> lock(const fs::path &draft) {
  auto file = std::make_unique<FileDescriptor>(
      ::open(draft.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  bool isTaken = file->value >= 0 &&
                 ::flock(file->value, LOCK_EX | LOCK_NB) != 0 &&
                 errno == EWOULDBLOCK;
  return isTaken ? nullptr : std::move(file);
}

CheckpointDraft::CheckpointDraft(const std::string &where, int64_t step,
                                 const CheckpointTensors &tensors,
                                 std::string data)
    : directory(where), place(directory / nameOf(step)),
      draft(directory / (writingPrefix + nameOf(step))),
      replaced(directory / (replacedPrefix + nameOf(step))), step(step),
      data(std::move(data)) {
  for (const char *role : {"parameter", "state"}) {
    auto found = tensors.find(role);
    std::map<std::string, TensorType> of;
    if (found != tensors.end())
      of = found->second;
    File &it = files.emplace_back();
    it.name = fileOf(role);
    it.header = safetensorsHeader(of);
    for (const auto &[name, tensor] : of)
      it.left += tensor.bytes();
  }
}

CheckpointDraft::~CheckpointDraft() { discard(); }

void CheckpointDraft::discard() {
  if (!lease)
    return;
  for (File &it : files)
    it.file.reset();
  std::error_code error;
  fs::remove_all(draft, error);
  if (fs::exists(replaced, error))
    putBack(replaced, place);
  lease.reset();
}

/// Runs `body`. Any error discards the draft and ends it; errors of the file
/// system name the checkpoint.
template <typename Body> void CheckpointDraft::writing(Body body) {
  if (ended)
    raise("checkpoint '", place.string(),
          "' takes nothing more: it is complete, or could not be written");
  try {
    body();
  } catch (const fs::filesystem_error &error) {
    ended = true;
    discard();
    raise("checkpoint '", place.string(),
          "' cannot be written: ", error.code().message());
  } catch (...) {
    ended = true;
    discard();
    throw;
  }
}

void CheckpointDraft::begin(File &it) {
  if (current == 0) {
    fs::create_directories(draft); // A killed run may have left this folder.
    lease = lock(draft);
    if (!lease)
      raise("checkpoint '", place.string(),
            "' is being written by another run; give each run its own folder");
    for (const auto &entry : fs::directory_iterator(draft))
      fs::remove_all(entry);
  }
  it.file.emplace((draft / it.name).string());
  put(it, it.header);
}

void CheckpointDraft::put(File &it, std::span<const std::byte> bytes) {
  it.file->write(bytes);
  it.bytes += bytes.size();
  it.sum = checksum(bytes, it.sum);
}

void CheckpointDraft::append(std::span<const std::byte> bytes) {
  writing([&] {
    for (; current < files.size(); ++current) {
      File &it = files[current];
      if (!it.file)
        begin(it);
      size_t size = std::min(bytes.size(), size_t(it.left));
      put(it, bytes.first(size));
      bytes = bytes.subspan(size);
      it.left -= int64_t(size);
      if (it.left > 0)
        return;
    }
    if (!bytes.empty())
      raise("checkpoint '", place.string(),
            "' received more bytes than its tensors have, by ", bytes.size());
  });
}

void CheckpointDraft::writeManifest() {
  json manifest = {{"version", version}, {"step", step}};
  for (const File &it : files)
    manifest["files"][it.name] = {{"bytes", it.bytes}, {"crc32", it.sum}};
  std::string text = manifest.dump(1) + "\n";
  // Inserted as text: it may have integers too large for the JSON library.
  if (!data.empty())
    text.insert(text.size() - 3, ",\n \"data\": " + data);
  AtomicFile file((draft / manifestName).string());
  file.write(std::as_bytes(std::span(text)));
  file.sync();
  file.commit();
}

void CheckpointDraft::publish() {
  bool replaces = fs::exists(place); // The same step of an earlier run.
  if (replaces)
    fs::rename(place, replaced);
  fs::rename(draft, place);
  synchronise(directory);
  if (replaces)
    fs::remove_all(replaced);
}

void CheckpointDraft::commit(int64_t keep) {
  append({}); // Writes files without tensors, which wait for no bytes.
  writing([&] {
    if (current < files.size())
      raise("checkpoint '", place.string(), "' lacks ", files[current].left,
            " bytes of '", files[current].name, "'");
    for (File &it : files) {
      it.file->sync();
      it.file->commit();
    }
    writeManifest();
    synchronise(draft);
    publish();
    lease.reset();
    ended = true;
    std::vector<fs::path> all = list(directory);
    for (size_t i = 0; i + size_t(keep) < all.size(); ++i) {
      fs::path removing =
          directory / (removingPrefix + all[i].filename().string());
      fs::rename(all[i], removing);
      fs::remove_all(removing);
    }
  });
}

void recoverCheckpoints(const std::string &directory) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto &entry : fs::directory_iterator(directory, error))
    found.push_back(entry.path());
  for (const fs::path &path : found) {
    std::string name = path.filename().string();
    auto is = [&](const std::string &prefix) {
      return name.starts_with(prefix + "step-");
    };
    auto lease = is(writingPrefix) ? lock(path) : nullptr;
    if (is(removingPrefix) || lease)
      fs::remove_all(path, error);
    else if (is(replacedPrefix))
      putBack(path, directory / fs::path(name.substr(replacedPrefix.size())));
  }
}

void createCheckpoints(const std::string &directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory))
    raise("'", directory, "' is not a folder for checkpoints",
          error ? ": " + error.message() : "");
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
    raise("'", folder, "/", manifestName,
          "' is not the manifest of a checkpoint");
  if (manifest.at("version") != version)
    raise("'", folder, "' has version ", manifest.at("version").dump(),
          ", but this program reads version ", version);
  number = manifest.at("step").get<int64_t>();
  if (number < 0)
    raise("'", folder, "' has a negative step: ", number);
  for (const char *role : {"parameter", "state"}) {
    std::string name = fileOf(role), whole = folder + "/" + name;
    if (!manifest.at("files").contains(name) ||
        !isNumber(manifest.at("files").at(name), "bytes") ||
        !isNumber(manifest.at("files").at(name), "crc32"))
      raise("'", folder, "/", manifestName, "' has no entry for '", name, "'");
    const json &about = manifest.at("files").at(name);
    files.push_back(std::make_unique<MappedFile>(whole));
    auto contents = files.back()->bytes();
    if (about.at("bytes") != contents.size())
      raise("'", whole, "' has ", contents.size(), " bytes, but ",
            about.at("bytes").dump(), " in ", manifestName);
    if (about.at("crc32") != checksum(contents))
      raise("'", whole, "' has CRC-32 ", checksum(contents), ", but ",
            about.at("crc32").dump(), " in ", manifestName);
    tensors[role] = parseSafetensors(contents);
  }
}

Checkpoint Checkpoint::newest(const std::string &directory) {
  std::vector<fs::path> all = list(directory);
  if (all.empty())
    raise("'", directory, "' has no checkpoint");
  std::string offer =
      all.size() > 1 ? "; to resume from the previous checkpoint '" +
                           all[all.size() - 2].string() + "', remove this one"
                     : "; there is no other checkpoint";
  try {
    Checkpoint found(all.back().string());
    found.offer = offer;
    return found;
  } catch (const Error &error) {
    raise(error.what(), offer);
  }
}

static std::string foreign(const std::string &name) {
  return std::string("; it is of another model or optimizer") +
         (isOfAverages(name) ? ", or of replicas that average their parameters "
                               "differently; resume with the plan of the run "
                               "that wrote it"
                             : "");
}

bool isOfAverages(const std::string &name) {
  return name.starts_with("averaging/");
}

bool Checkpoint::hasAverages() const {
  const auto &state = tensors.at("state");
  return std::any_of(state.begin(), state.end(), [](const auto &entry) {
    return isOfAverages(entry.first);
  });
}

void Checkpoint::requireOnly(const std::string &role,
                             const std::set<std::string> &names) const {
  for (const auto &[name, tensor] : tensors.at(role))
    if (!names.count(name))
      raise("'", path, "' has ", role, " '", name,
            "', which the step does not have", foreign(name), offer);
}

std::span<const std::byte>
Checkpoint::find(const std::string &role, const std::string &name,
                 sw_dtype dtype, const std::vector<int64_t> &shape) const {
  const auto &known = tensors.at(role);
  auto found = known.find(name);
  if (found == known.end())
    raise("'", path, "' has no ", role, " '", name, "'", foreign(name), offer);
  const TensorView &it = found->second;
  if (it.dtype != dtype || it.shape != shape)
    raise("'", path, "' has ", role, " '", name, "' of ", dtypeName(it.dtype),
          " ", printShape(it.shape), ", but the step takes ", dtypeName(dtype),
          " ", printShape(shape), offer);
  return it.bytes;
}

} // namespace stagewright::runtime
