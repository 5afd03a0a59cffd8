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

#include "Cuda/Nccl.h"
#include "Emulator.h"
#include "Messages.h"

#include <cstdio>
#include <set>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace emulator;
namespace cuda = stagewright::runtime::cuda;

constexpr int invalidArgument = 4, invalidUsage = Comm::invalidUsage,
              inProgress = Comm::inProgress;

/// Nested groups of calls that have not ended.
static int groups = 0;

/// All communicators. Never freed, because threads may still read them.
static auto &all = *new std::vector<Comm *>;

/// Creates a communicator, which then waits for the other ranks.
static Comm *makeComm(const cuda::NcclId &id, int rank, int ranks, int device,
                      bool isLocal, int blocks) {
  Comm *comm = all.emplace_back(new Comm{rank, ranks, device, id.bytes});
  comm->isLocal = isLocal;
  LOG("communicator comm=%s rank=%d device=%d blocks=%d", id.bytes, rank,
      device, blocks);
  std::thread(join, comm).detach();
  return comm;
}

/// Adds a call to the current group; false if there is none but must be one.
static bool addToGroup(Comm *comm) {
  if (!comm->isLocal)
    return true;
  ++comm->grouped;
  return groups > 0;
}

/// Whether a call may begin: 0, or what it returns otherwise.
static int check(Comm *comm, const char *name, int64_t bytes, Stream *stream) {
  LOG("%s comm=%s stream=%d bytes=%ld", name, comm->name.c_str(), idOf(stream),
      bytes);
  if (comm->state || comm->looks > 0)
    return invalidArgument; // The previous call is not complete.
  return addToGroup(comm) ? 0 : invalidUsage;
}

static int begin(Comm *comm, const char *name, const Message &it,
                 Stream *stream) {
  comm->looks = comm->isLocal ? 0 : 1;
  auto running = std::make_shared<std::atomic<bool>>();
  auto start = [=] {
    Message found = it;
    if (it.parts.empty())
      found.place = memory().at(it.address, it.bytes, name);
    for (Part &part : found.parts)
      part.place = memory().at(part.address, it.bytes, name);
    *running = true;
    std::thread([=] {
      carry(comm, found);
      *running = false;
    }).detach();
  };
  auto isComplete = [=] {
    REQUIRE(*running || !comm->state,
            "%s has another size or kind than a partner's", name);
    return !*running;
  };
  int status = enqueue(stream, start, isComplete);
  return status || comm->isLocal ? status : inProgress;
}

static int message(Comm *comm, const char *name, const Message &it,
                   Stream *stream) {
  std::lock_guard guard(lock());
  int status = check(comm, name, it.bytes, stream);
  return status ? status : begin(comm, name, it, stream);
}

/// A send or receive of the current group of calls. NCCL allows other groups
/// than exchanges of equal parts with all ranks; the emulator does not.
static int addPart(Comm *comm, const char *name, Part part, int64_t bytes,
                   Stream *stream) {
  if (int status = check(comm, name, bytes, stream))
    return status;
  Message &it = comm->exchange;
  bool isKnown = std::ranges::any_of(it.parts, [&](const Part &other) {
    return other.peer == part.peer && other.sends == part.sends;
  });
  if (part.peer < 0 || part.peer >= comm->ranks || part.peer == comm->rank ||
      isKnown || (!it.parts.empty() && it.bytes != bytes))
    return invalidArgument;
  it.bytes = bytes;
  it.parts.push_back(part);
  if (int(it.parts.size()) < 2 * (comm->ranks - 1))
    return 0;
  return begin(comm, "exchange", std::exchange(it, {}), stream);
}

EMULATED int ncclGetVersion(int *version) {
  return *version = int(setting("NCCL", 23004)), 0;
}
EMULATED int ncclGetUniqueId(cuda::NcclId *id) {
  static std::atomic<int> count = 0;
  std::snprintf(id->bytes, sizeof(id->bytes), "%d.%d", getpid(), count++);
  return failure("ncclGetUniqueId");
}
EMULATED int ncclCommInitRankConfig(Comm **comm, int ranks, cuda::NcclId id,
                                    int rank, cuda::NcclConfig *config) {
  if (ranks < 2 || config->magic != 0xcafebeef || config->blocking != 0)
    return invalidArgument;
  ENTER();
  *comm = makeComm(id, rank, ranks, currentDevice(), false, config->maxBlocks);
  return inProgress;
}
EMULATED int ncclCommInitAll(Comm **comms, int ranks, const int *devices) {
  ENTER();
  cuda::NcclId id;
  ncclGetUniqueId(&id);
  for (int i = 0; i < ranks; ++i) {
    if (std::count(devices, devices + ranks, devices[i]) > 1)
      return invalidUsage;
    comms[i] = makeComm(id, i, ranks, devices[i], true, 0);
  }
  for (int i = 0; i < ranks; ++i)
    while (comms[i]->state == inProgress)
      std::this_thread::yield();
  return comms[0]->state;
}
EMULATED int ncclGroupStart() { return ++groups, 0; }
/// All ranks of a communicator must have made the same number of calls, and
/// exchanges be whole: NCCL would wait forever for the parts that are missing.
EMULATED int ncclGroupEnd() {
  ENTER();
  if (groups == 0)
    return invalidUsage;
  if (--groups > 0)
    return 0;
  std::map<std::string, std::set<int>> calls; // Numbers of calls by name.
  for (Comm *comm : all)
    calls[comm->name].insert(std::exchange(comm->grouped, 0));
  bool isEven = std::ranges::all_of(
      calls, [](const auto &it) { return it.second.size() == 1; });
  bool isWhole = true, isRunning = false;
  for (Comm *comm : all) {
    isWhole &= std::exchange(comm->exchange, {}).parts.empty();
    isRunning |= comm->looks > 0;
  }
  return !isEven || !isWhole ? invalidUsage : isRunning ? inProgress : 0;
}
EMULATED int ncclCommGetAsyncError(Comm *comm, int *state) {
  *state = comm->state;
  if (!*state && comm->looks > 0) {
    --comm->looks;
    *state = inProgress;
  }
  if (int wanted = failure("ncclCommGetAsyncError"))
    *state = wanted;
  return 0;
}
EMULATED int ncclCommAbort(Comm *comm) {
  comm->aborted = true;
  LOG("abort comm=%s", comm->name.c_str());
  return writeLog(), 0;
}
EMULATED int ncclCommFinalize(Comm *comm) {
  LOG("finalize comm=%s", comm->name.c_str());
  if (comm->isLocal)
    return addToGroup(comm) ? 0 : invalidUsage;
  comm->looks = 3;
  return inProgress;
}
EMULATED int ncclCommDestroy(Comm *comm) {
  return LOG("destroy comm=%s", comm->name.c_str()), 0;
}
EMULATED int ncclSend(uint64_t from, size_t count, int type, int peer,
                      Comm *comm, Stream *stream) {
  ENTER(from, count, type, peer, comm, stream);
  if (groups > 0 && type == cuda::ncclBytes)
    return addPart(comm, __func__, {peer, true, from}, int64_t(count), stream);
  if (peer != 1 || comm->rank != 0 || type != cuda::ncclBytes)
    return invalidArgument;
  return message(comm, __func__, {from, int64_t(count), true}, stream);
}
EMULATED int ncclRecv(uint64_t to, size_t count, int type, int peer, Comm *comm,
                      Stream *stream) {
  ENTER(to, count, type, peer, comm, stream);
  if (groups > 0 && type == cuda::ncclBytes)
    return addPart(comm, __func__, {peer, false, to}, int64_t(count), stream);
  if (peer != 0 || comm->rank != 1 || type != cuda::ncclBytes)
    return invalidArgument;
  return message(comm, __func__, {to, int64_t(count)}, stream);
}
/// `count` elements of each rank; in place if a rank's own part is at its place
/// among those that it receives. Only that is implemented.
EMULATED int ncclAllGather(uint64_t from, uint64_t to, size_t count, int type,
                           Comm *comm, Stream *stream) {
  ENTER(from, to, count, type, comm, stream);
  if (type != cuda::ncclBytes || from != to + uint64_t(comm->rank) * count)
    return invalidArgument;
  Message it = {to, int64_t(count) * comm->ranks};
  it.gathers = true;
  return message(comm, __func__, it, stream);
}
EMULATED int ncclAllReduce(uint64_t from, uint64_t to, size_t count, int type,
                           int operation, Comm *comm, Stream *stream) {
  ENTER(from, to, count, type, operation, comm, stream);
  // `ncclDataType_t`; no program sums integers.
  const Element *element = elementIn({7, 8, 6, 9}, type);
  if (from != to || operation != cuda::ncclSum || !element)
    return invalidArgument;
  int64_t bytes = int64_t(count) * element->size;
  return message(comm, __func__, {to, bytes, false, element}, stream);
}
EMULATED const char *ncclGetErrorString(int) { return "asked to fail"; }
EMULATED const char *ncclGetLastError(ncclComm *) { return ""; }
