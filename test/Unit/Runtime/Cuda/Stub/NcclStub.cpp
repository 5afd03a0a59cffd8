//===- NcclStub.cpp - an NCCL whose messages only meet --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks of a communicator join the first of them by a socket that their
// common id names. A message is a word from its sender, its number and bytes,
// and an answer; a sum is a word from every other rank to the first one, and
// its answers.
// Calls take their time, as those of a nonblocking communicator do, and one
// that comes before the last is over is refused. A partner that dies is not
// noticed: NCCL need not notice it either.
//
//===----------------------------------------------------------------------===//

#include "Stub.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

struct ncclComm; // NOLINT(readability-identifier-naming): NCCL's name.

using namespace stub;

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
  int64_t messages = 0; ///< done, by the thread of tasks
};

void pause() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

/// Moves a few bytes; false where the communicator was aborted meanwhile.
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
void meet(Comm *comm, Word mine, Compare compare) {
  bool first = comm->rank == 0;
  for (bool sends : {!first, first})
    for (int socket : comm->sockets) {
      Word word = mine;
      if (!move(comm, socket, &word, sizeof(word), sends))
        return;
      if (!sends)
        compare(word);
    }
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
    for (int other = 1; other < comm->ranks; ++other)
      comm->sockets.push_back(
          accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    close(listener);
  } else {
    comm->sockets.push_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    while (connect(comm->sockets[0], address, size) && !comm->aborted)
      pause();
  }
  bool same = false;
  meet(comm, comm->device, [&](int other) { same |= other == comm->device; });
  if (comm->aborted)
    return;
  const char *shares = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  bool refused = same && !(shares && std::strcmp(shares, "1") == 0);
  comm->state = refused ? invalidUsage : 0;
}

int message(Comm *comm, const char *name, size_t bytes, Stream *stream) {
  log("%s comm=%s stream=%d bytes=%zu", name, comm->name.c_str(), stream->id,
      bytes);
  if (int status = failure(name))
    return status;
  if (comm->state || comm->looks > 0)
    return invalidArgument; // The call before is not over.
  comm->looks = 1;
  later(stream, [comm, bytes] {
    Word mine = {comm->messages++, int64_t(bytes)};
    meet(comm, mine, [&](Word other) {
      if (std::memcmp(&mine, &other, sizeof(mine)) != 0)
        log("mismatch comm=%s number=%ld bytes=%ld other=%ld bytes=%ld",
            comm->name.c_str(), mine.number, mine.bytes, other.number,
            other.bytes);
    });
  });
  int status = enqueue(stream);
  return status ? status : inProgress;
}

} // namespace

STUB ncclGetVersion(int *version) {
  const char *given = std::getenv("STAGEWRIGHT_STUB_NCCL");
  return *version = given ? std::atoi(given) : 23004, 0;
}
STUB ncclGetUniqueId(Id *id) {
  static std::atomic<int> count = 0;
  std::snprintf(id->bytes, sizeof(id->bytes), "%d.%d", getpid(), count++);
  return failure("ncclGetUniqueId");
}
STUB ncclCommInitRankConfig(Comm **comm, int ranks, Id id, int rank,
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
  std::string name = std::string("stagewright-stub-") + id.bytes;
  std::memcpy(where.sun_path + 1, name.data(), name.size());
  auto size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  std::thread(join, *comm, where, size).detach();
  return inProgress;
}
STUB ncclCommGetAsyncError(Comm *comm, int *state) {
  *state = comm->state         ? comm->state.load()
           : comm->looks-- > 0 ? int(inProgress)
                               : 0;
  comm->looks = std::max(comm->looks, 0);
  if (int wanted = failure("ncclCommGetAsyncError"))
    *state = wanted;
  return 0;
}
STUB ncclCommAbort(Comm *comm) {
  comm->aborted = true;
  log("abort comm=%s", comm->name.c_str());
  return writeLog(), 0;
}
STUB ncclCommFinalize(Comm *comm) {
  comm->looks = 3;
  return log("finalize comm=%s", comm->name.c_str()), inProgress;
}
STUB ncclCommDestroy(Comm *comm) {
  return log("destroy comm=%s", comm->name.c_str()), 0;
}
STUB ncclSend(const void *, size_t count, int, int peer, Comm *comm,
              Stream *stream) {
  return peer == 1 && comm->rank == 0 ? message(comm, "ncclSend", count, stream)
                                      : invalidArgument;
}
STUB ncclRecv(void *, size_t count, int, int peer, Comm *comm, Stream *stream) {
  return peer == 0 && comm->rank == 1 ? message(comm, "ncclRecv", count, stream)
                                      : invalidArgument;
}
STUB ncclAllReduce(const void *from, void *to, size_t count, int type,
                   int operation, Comm *comm, Stream *stream) {
  constexpr int types = 10, sum = 0;
  return from == to && type < types && operation == sum
             ? message(comm, "ncclAllReduce", count, stream)
             : invalidArgument;
}
extern "C" __attribute__((visibility("default"))) const char *
ncclGetErrorString(int) {
  return "asked to fail";
}
extern "C" __attribute__((visibility("default"))) const char *
ncclGetLastError(ncclComm *) {
  return "";
}
