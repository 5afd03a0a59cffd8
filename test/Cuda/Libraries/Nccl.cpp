//===- Nccl.cpp - an NCCL between processes by sockets --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks of a communicator join the first of them by a socket that their
// common id names. A message is its number, its bytes, what it carries and an
// answer; a sum goes from every other rank to the first one, which adds in the
// order of ranks and answers with the whole.
// A message holds its device from its beginning to its end: the worst that a
// device may do. Calls take their time, as those of a nonblocking communicator
// do, and one that comes before the last is over is refused. A partner that
// dies is not noticed: NCCL need not notice it either.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "Numbers.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

struct ncclComm; // NOLINT(readability-identifier-naming): NCCL's name.

using namespace emulator;

namespace {

enum : int { invalidArgument = 4, invalidUsage = 5, inProgress = 7 };

struct Id {
  char bytes[128];
};

struct Word {
  int64_t number, bytes;
};

/// As long as the process: threads look at it.
struct Comm {
  int rank = 0, ranks = 2, device = 0;
  std::vector<int> sockets; ///< to the first rank, or from it to all
  std::string name;
  std::atomic<int> state = inProgress; ///< of making it
  std::atomic<bool> aborted = false;
  int looks = 0;        ///< until the last call is over
  int64_t messages = 0; ///< done
};

void pause() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

/// Moves bytes; false where the communicator was aborted meanwhile.
bool move(Comm *comm, int socket, void *data, size_t bytes, bool sends) {
  auto *at = static_cast<char *>(data);
  while (bytes > 0) {
    if (comm->aborted)
      return false;
    constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    ssize_t moved =
        sends ? send(socket, at, bytes, flags) : recv(socket, at, bytes, flags);
    if (moved > 0) {
      at += moved, bytes -= size_t(moved);
      continue;
    }
    pollfd look = {socket, short(sends ? POLLOUT : POLLIN), 0};
    bool gone = moved == 0 || errno != EAGAIN;
    gone ? pause() : void(poll(&look, 1, 10));
  }
  return true;
}

/// What all say is compared by the first rank, which answers with its own.
template <typename Word, typename Compare>
bool meet(Comm *comm, Word mine, Compare compare) {
  bool first = comm->rank == 0;
  for (bool sends : {!first, first})
    for (int socket : comm->sockets) {
      Word word = mine;
      if (!move(comm, socket, &word, sizeof(word), sends))
        return false;
      if (!sends)
        compare(word);
    }
  return true;
}

/// An abstract name, which ends with its socket.
void join(Comm *comm, sockaddr_un where, socklen_t size) {
  auto *address = reinterpret_cast<sockaddr *>(&where);
  if (comm->rank == 0) {
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, address, size) || listen(listener, comm->ranks)) {
      comm->state = invalidUsage;
      return;
    }
    // By their ranks, so that sums have an order.
    comm->sockets.resize(size_t(comm->ranks) - 1, -1);
    for (int other = 1; other < comm->ranks; ++other) {
      int from = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), rank = 0;
      if (!move(comm, from, &rank, sizeof(rank), false))
        return;
      comm->sockets[size_t(rank) - 1] = from;
    }
    close(listener);
  } else {
    comm->sockets.push_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    while (connect(comm->sockets[0], address, size) && !comm->aborted)
      pause();
    int rank = comm->rank;
    move(comm, comm->sockets[0], &rank, sizeof(rank), true);
  }
  bool same = false;
  meet(comm, comm->device, [&](int other) { same |= other == comm->device; });
  if (comm->aborted)
    return;
  const char *shares = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  bool refused = same && !(shares && std::strcmp(shares, "1") == 0);
  comm->state = refused ? invalidUsage : 0;
}

/// `ncclDataType_t`, as far as sums have it.
std::optional<Element> elementOf(int type) {
  switch (type) {
  case 6:
    return Element::F16;
  case 7:
    return Element::F32;
  case 8:
    return Element::F64;
  case 9:
    return Element::BF16;
  default:
    return std::nullopt;
  }
}

struct Message {
  uint64_t address;
  int64_t bytes;
  bool sends = false, sums = false;
  std::optional<Element> element = {}; ///< of a sum
};

/// What a message carries: bytes, and whether each is known.
struct Content {
  std::byte *bytes;
  uint8_t *known;
};

bool move(Comm *comm, int socket, Content it, int64_t size, bool sends) {
  return move(comm, socket, it.bytes, size_t(size), sends) &&
         move(comm, socket, it.known, size_t(size), sends);
}

/// Sums what the others send into the first rank's memory, and answers.
void sum(Comm *comm, const Message &it, Content content) {
  if (comm->rank > 0) {
    if (move(comm, comm->sockets[0], content, it.bytes, true))
      move(comm, comm->sockets[0], content, it.bytes, false);
    return;
  }
  std::vector<std::byte> bytes(size_t(it.bytes));
  std::vector<uint8_t> known(size_t(it.bytes));
  for (int socket : comm->sockets) {
    if (!move(comm, socket, Content{bytes.data(), known.data()}, it.bytes,
              false))
      return;
    for (size_t i = 0; i < known.size(); ++i)
      content.known[i] &= known[i];
    if (!it.element)
      continue; // Integers: no program of the tests sums them.
    for (int64_t i = 0; i < it.bytes / sizeOf(*it.element); ++i)
      write(content.bytes, *it.element, i,
            read(content.bytes, *it.element, i) +
                read(bytes.data(), *it.element, i));
  }
  for (int socket : comm->sockets)
    move(comm, socket, content, it.bytes, true);
}

/// On a thread of its own: the partner may come late.
void carry(Comm *comm, const Message &it, Content content) {
  Word mine = {comm->messages++, it.bytes};
  bool met = meet(comm, mine, [&](Word other) {
    if (std::memcmp(&mine, &other, sizeof(mine)) != 0)
      log("mismatch comm=%s number=%ld bytes=%ld other=%ld bytes=%ld",
          comm->name.c_str(), mine.number, mine.bytes, other.number,
          other.bytes);
  });
  if (!met || !executes())
    return;
  if (it.sums)
    sum(comm, it, content);
  else
    move(comm, comm->sockets[0], content, it.bytes, it.sends);
}

int message(Comm *comm, const char *name, Message it, Stream *stream) {
  std::lock_guard guard(lock());
  log("%s comm=%s stream=%d bytes=%ld", name, comm->name.c_str(),
      streamOf(stream).id, it.bytes);
  if (int status = failure(name))
    return status;
  if (comm->state || comm->looks > 0)
    return invalidArgument; // The call before is not over.
  comm->looks = 1;
  auto state = std::make_shared<std::atomic<int>>(0); // 1: under way, 2: over
  int status = enqueueHolding(stream, [=]() {
    if (*state == 0) {
      std::byte *bytes = memory().at(it.address, it.bytes, name);
      Content content = {bytes, memory().marks(it.address)};
      *state = 1;
      std::thread([=] {
        carry(comm, it, content);
        *state = 2;
      }).detach();
    }
    if (*state == 1)
      return false;
    *state = 0; // For the next replay.
    return true;
  });
  return status ? status : int(inProgress);
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
  // Of the configuration: magic, and that it does not block.
  if (ranks < 2 || unsigned(config[2]) != 0xcafebeef || config[4] != 0)
    return invalidArgument;
  if (int status = failure("ncclCommInitRankConfig"))
    return status;
  *comm = new Comm;
  static auto &all = *new std::vector<Comm *>;
  all.push_back(*comm);
  (*comm)->rank = rank;
  (*comm)->ranks = ranks;
  (*comm)->device = currentDevice();
  (*comm)->name = id.bytes;
  constexpr int mostBlocks = 7; // maxCTAs of ncclConfig_t
  log("communicator comm=%s rank=%d device=%d blocks=%d", id.bytes, rank,
      (*comm)->device, config[mostBlocks]);
  sockaddr_un where = {};
  where.sun_family = AF_UNIX;
  std::string name = std::string("stagewright-emulator-") + id.bytes;
  std::memcpy(where.sun_path + 1, name.data(), name.size());
  auto size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  std::thread(join, *comm, where, size).detach();
  return inProgress;
}
EMULATED(int) ncclCommGetAsyncError(Comm *comm, int *state) {
  *state = comm->state         ? comm->state.load()
           : comm->looks-- > 0 ? int(inProgress)
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
  comm->looks = 3;
  return log("finalize comm=%s", comm->name.c_str()), inProgress;
}
EMULATED(int) ncclCommDestroy(Comm *comm) {
  return log("destroy comm=%s", comm->name.c_str()), 0;
}
EMULATED(int)
ncclSend(const void *from, size_t count, int, int peer, Comm *comm,
         Stream *stream) {
  if (peer != 1 || comm->rank != 0)
    return invalidArgument;
  auto address = reinterpret_cast<uint64_t>(from);
  return message(comm, "ncclSend", {address, int64_t(count), true}, stream);
}
EMULATED(int)
ncclRecv(void *to, size_t count, int, int peer, Comm *comm, Stream *stream) {
  if (peer != 0 || comm->rank != 1)
    return invalidArgument;
  auto address = reinterpret_cast<uint64_t>(to);
  return message(comm, "ncclRecv", {address, int64_t(count)}, stream);
}
EMULATED(int)
ncclAllReduce(const void *from, void *to, size_t count, int type, int operation,
              Comm *comm, Stream *stream) {
  constexpr int types = 10, plus = 0;
  constexpr int64_t sizes[types] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  if (from != to || type >= types || operation != plus)
    return invalidArgument;
  Message it = {reinterpret_cast<uint64_t>(to), int64_t(count) * sizes[type],
                false, true, elementOf(type)};
  return message(comm, "ncclAllReduce", it, stream);
}
EMULATED(const char *) ncclGetErrorString(int) { return "asked to fail"; }
EMULATED(const char *) ncclGetLastError(ncclComm *) { return ""; }
