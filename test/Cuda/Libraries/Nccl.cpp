//===- Nccl.cpp - NCCL between processes, over sockets --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While a message is running, nothing else runs on its device: the worst case
// that a GPU allows. As with a nonblocking communicator, a call is not complete
// when it returns; a call before the last is complete is rejected. If one
// thread has several ranks of a communicator, their calls must be one group.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "Messages.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
#include <unistd.h>

struct ncclComm; // NOLINT(readability-identifier-naming): NCCL's name.

using namespace emulator;

namespace {

constexpr int invalidArgument = 4, invalidUsage = Comm::invalidUsage,
              inProgress = Comm::inProgress;

/// Nested groups of calls that have not ended.
int groups = 0;

/// All communicators. Never freed, because threads may still read them.
std::vector<Comm *> &all() {
  static auto &it = *new std::vector<Comm *>;
  return it;
}

Comm *makeComm(const char *name, int rank, int ranks, int device) {
  Comm *comm = all().emplace_back(new Comm);
  comm->rank = rank;
  comm->ranks = ranks;
  comm->device = device;
  comm->name = name;
  return comm;
}

/// Adds a call to the current group; false if there is none but must be one.
bool addToGroup(Comm *comm) {
  if (!comm->isLocal)
    return true;
  ++comm->grouped;
  return groups > 0;
}

struct Id {
  char bytes[128];
};

/// `ncclUint8`, with which programs send.
constexpr int byteType = 1;

int message(Comm *comm, const char *name, Message it, Stream *stream) {
  std::lock_guard guard(lock());
  log("%s comm=%s stream=%d bytes=%ld", name, comm->name.c_str(),
      streamOf(stream).id, it.bytes);
  if (comm->state || comm->looks > 0)
    return invalidArgument; // The previous call is not complete.
  if (!addToGroup(comm))
    return invalidUsage;
  comm->looks = comm->isLocal ? 0 : 1;
  auto state = std::make_shared<std::atomic<int>>(0); // 1: running, 2: done
  auto work = [=] {
    if (*state == 0) {
      Message found = it;
      found.content = memory().at(it.address, it.bytes, name);
      found.known = memory().marks(it.address);
      *state = 1;
      std::thread([=] {
        carry(comm, found);
        *state = 2;
      }).detach();
    }
    if (*state == 1)
      return false;
    if (comm->state)
      throw Violation(std::string(name) + " has another size than a partner's");
    *state = 0; // A graph replays this work.
    return true;
  };
  int status = enqueue(stream, work, /*holds=*/true);
  return status || comm->isLocal ? status : inProgress;
}

} // namespace

EMULATED(int) ncclGetVersion(int *version) {
  return *version = int(setting("STAGEWRIGHT_EMULATOR_NCCL", 23004)), 0;
}
EMULATED(int) ncclGetUniqueId(Id *id) {
  static std::atomic<int> count = 0;
  std::snprintf(id->bytes, sizeof(id->bytes), "%d.%d", getpid(), count++);
  return failure("ncclGetUniqueId");
}
EMULATED(int)
ncclCommInitRankConfig(Comm **comm, int ranks, Id id, int rank,
                       const int *config) {
  // Of the configuration, checks the magic number and that it is nonblocking.
  if (ranks < 2 || unsigned(config[2]) != 0xcafebeef || config[4] != 0)
    return invalidArgument;
  ENTER();
  *comm = makeComm(id.bytes, rank, ranks, currentDevice());
  constexpr int mostBlocks = 7; // maxCTAs of ncclConfig_t
  log("communicator comm=%s rank=%d device=%d blocks=%d", id.bytes, rank,
      (*comm)->device, config[mostBlocks]);
  std::thread(join, *comm).detach();
  return inProgress;
}
EMULATED(int)
ncclCommInitAll(Comm **comms, int ranks, const int *devices) {
  ENTER();
  Id id;
  ncclGetUniqueId(&id);
  for (int i = 0; i < ranks; ++i) {
    if (std::count(devices, devices + ranks, devices[i]) > 1)
      return invalidUsage;
    comms[i] = makeComm(id.bytes, i, ranks, devices[i]);
    comms[i]->isLocal = true;
    log("communicator comm=%s rank=%d device=%d", id.bytes, i, devices[i]);
    std::thread(join, comms[i]).detach();
  }
  for (int i = 0; i < ranks; ++i)
    while (comms[i]->state == inProgress)
      std::this_thread::yield();
  return comms[0]->state;
}
EMULATED(int) ncclGroupStart() { return ++groups, 0; }
/// All ranks of a communicator must have made the same number of calls.
EMULATED(int) ncclGroupEnd() {
  if (groups == 0)
    return invalidUsage;
  if (--groups > 0)
    return 0;
  std::map<std::string, std::pair<int, int>> calls; // Of rank 0, of all.
  int status = 0;
  for (Comm *comm : all()) {
    auto &[first, sum] = calls[comm->name];
    first += comm->rank == 0 ? comm->grouped * comm->ranks : 0;
    sum += comm->grouped;
    comm->grouped = 0;
  }
  for (const auto &[name, counts] : calls)
    if (counts.first != counts.second)
      status = invalidUsage;
  return status;
}
EMULATED(int) ncclCommGetAsyncError(Comm *comm, int *state) {
  *state = comm->state         ? comm->state.load()
           : comm->looks-- > 0 ? inProgress
                               : 0;
  comm->looks = std::max(comm->looks, 0);
  if (int wanted = failure("ncclCommGetAsyncError"))
    *state = wanted;
  return 0;
}
EMULATED(int) ncclCommAbort(Comm *comm) {
  comm->aborted = true;
  log("abort comm=%s", comm->name.c_str());
  return writeLog(), 0;
}
EMULATED(int) ncclCommFinalize(Comm *comm) {
  log("finalize comm=%s", comm->name.c_str());
  if (comm->isLocal)
    return addToGroup(comm) ? 0 : invalidUsage;
  comm->looks = 3;
  return inProgress;
}
EMULATED(int) ncclCommDestroy(Comm *comm) {
  return log("destroy comm=%s", comm->name.c_str()), 0;
}
EMULATED(int)
ncclSend(uint64_t from, size_t count, int type, int peer, Comm *comm,
         Stream *stream) {
  ENTER(from, count, type, peer, comm, stream);
  if (peer != 1 || comm->rank != 0 || type != byteType)
    return invalidArgument;
  return message(comm, __func__, {from, int64_t(count), true}, stream);
}
EMULATED(int)
ncclRecv(uint64_t to, size_t count, int type, int peer, Comm *comm,
         Stream *stream) {
  ENTER(to, count, type, peer, comm, stream);
  if (peer != 0 || comm->rank != 1 || type != byteType)
    return invalidArgument;
  return message(comm, __func__, {to, int64_t(count)}, stream);
}
EMULATED(int)
ncclAllReduce(uint64_t from, uint64_t to, size_t count, int type, int operation,
              Comm *comm, Stream *stream) {
  ENTER(from, to, count, type, operation, comm, stream);
  constexpr int plus = 0;
  // `ncclDataType_t`; no program sums integers.
  auto element = elementIn({7, 8, 6, 9}, type);
  if (from != to || operation != plus || !element)
    return invalidArgument;
  int64_t bytes = int64_t(count) * sizeOf(*element);
  return message(comm, __func__, {to, bytes, false, true, element}, stream);
}
EMULATED(const char *) ncclGetErrorString(int) { return "asked to fail"; }
EMULATED(const char *) ncclGetLastError(ncclComm *) { return ""; }
