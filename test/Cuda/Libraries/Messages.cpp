//===- Messages.cpp - messages between ranks of a communicator ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks of a communicator connect to the first one by a socket named after
// their common id. For each message partners compare its number and size, then
// the data is sent. For a sum every other rank sends to the first one, which
// adds in the order of ranks and answers with the total; for a gather it
// answers with all parts, for an exchange with those for that rank. The death
// of a partner is not detected: NCCL need not detect it either.
//
//===----------------------------------------------------------------------===//

#include "Messages.h"

#include "Emulator.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace emulator {

static void pause() {
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

/// Sends or receives bytes; false if the communicator was aborted meanwhile.
static bool move(Comm *comm, int socket, void *data, size_t bytes, bool sends) {
  auto *at = static_cast<char *>(data);
  while (bytes > 0 && !comm->aborted) {
    constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    ssize_t moved =
        sends ? send(socket, at, bytes, flags) : recv(socket, at, bytes, flags);
    if (moved > 0)
      at += moved, bytes -= size_t(moved);
    else
      pause(); // The partner is not ready, or gone.
  }
  return bytes == 0;
}

using Words = std::array<int64_t, 3>;

/// Exchanges words between the first rank and each other rank; every rank
/// compares what it receives with its own.
template <typename Compare>
static bool meet(Comm *comm, const Words &mine, Compare compare) {
  bool first = comm->rank == 0;
  for (bool sends : {!first, first})
    for (int socket : comm->sockets) {
      Words words = mine;
      if (!move(comm, socket, words.data(), sizeof(words), sends))
        return false;
      if (!sends)
        compare(words);
    }
  return true;
}

static bool move(Comm *comm, int socket, const Place &it, int64_t bytes,
                 bool sends) {
  return move(comm, socket, it.bytes, size_t(bytes), sends) &&
         move(comm, socket, it.marks, size_t(bytes), sends);
}

/// Sums the data of all ranks in the memory of the first, which sends the total
/// to the others. What one rank has not written is unwritten in the total: the
/// first sum only connects the ranks, and may read unwritten bytes.
static void sum(Comm *comm, const Message &it) {
  if (comm->rank > 0) {
    for (bool sends : {true, false})
      move(comm, comm->sockets[0], it.place, it.bytes, sends);
    return;
  }
  auto [total, marks] = it.place;
  std::vector<std::byte> bytes(size_t(it.bytes));
  std::vector<uint8_t> known(size_t(it.bytes));
  for (int socket : comm->sockets) {
    if (!move(comm, socket, {bytes.data(), known.data()}, it.bytes, false))
      return;
    for (size_t i = 0; i < known.size(); ++i)
      marks[i] = marks[i] && known[i];
    const Element &element = *it.element;
    for (int64_t at = 0; at < it.bytes; at += element.size)
      element.write(total + at,
                    element.read(total + at) + element.read(&bytes[at]));
  }
  for (int socket : comm->sockets)
    move(comm, socket, it.place, it.bytes, true);
}

/// The first rank receives the parts of the others, then sends all parts. A
/// part that a rank has not written arrives unwritten.
static void gather(Comm *comm, const Message &it) {
  int64_t part = it.bytes / comm->ranks;
  auto partOf = [&](int64_t rank) {
    return Place{it.place.bytes + rank * part, it.place.marks + rank * part};
  };
  if (comm->rank > 0) {
    if (move(comm, comm->sockets[0], partOf(comm->rank), part, true))
      move(comm, comm->sockets[0], it.place, it.bytes, false);
    return;
  }
  for (size_t other = 0; other < comm->sockets.size(); ++other)
    if (!move(comm, comm->sockets[other], partOf(int64_t(other) + 1), part,
              false))
      return;
  for (int socket : comm->sockets)
    move(comm, socket, it.place, it.bytes, true);
}

/// The first rank receives all parts of the others, then sends each its own.
static void exchange(Comm *comm, const Message &it) {
  auto placeOf = [&](int peer, bool sends) {
    return std::ranges::find_if(it.parts,
                                [&](const Part &part) {
                                  return part.peer == peer &&
                                         part.sends == sends;
                                })
        ->place;
  };
  if (comm->rank > 0) {
    for (bool sends : {true, false})
      for (int peer = 0; peer < comm->ranks; ++peer)
        if (peer != comm->rank && !move(comm, comm->sockets[0],
                                        placeOf(peer, sends), it.bytes, sends))
          return;
    return;
  }
  // By sender and receiver: the parts of the other ranks, and their marks.
  std::map<std::pair<int, int>,
           std::pair<std::vector<std::byte>, std::vector<uint8_t>>>
      kept;
  for (bool sends : {false, true})
    for (int other = 1; other < comm->ranks; ++other)
      for (int peer = 0; peer < comm->ranks; ++peer) {
        if (peer == other)
          continue;
        auto &[bytes, marks] =
            kept[sends ? std::pair(peer, other) : std::pair(other, peer)];
        bytes.resize(size_t(it.bytes));
        marks.resize(size_t(it.bytes));
        Place place =
            peer ? Place{bytes.data(), marks.data()} : placeOf(other, sends);
        if (!move(comm, comm->sockets[size_t(other) - 1], place, it.bytes,
                  sends))
          return;
      }
}

/// The socket has an abstract name, which is freed when the socket is closed.
void join(Comm *comm) {
  sockaddr_un where = {};
  where.sun_family = AF_UNIX;
  std::string name = "stagewright-emulator-" + comm->name;
  std::memcpy(where.sun_path + 1, name.data(), name.size());
  auto size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  auto *address = reinterpret_cast<sockaddr *>(&where);
  if (comm->rank == 0) {
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, address, size) || listen(listener, comm->ranks)) {
      comm->state = Comm::invalidUsage;
      return;
    }
    // Sorted by rank, so that sums have a fixed order.
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
  meet(comm, {comm->device, 0, 0},
       [&](const Words &other) { same |= other[0] == comm->device; });
  if (comm->aborted)
    return;
  const char *shares = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  bool refused = same && !(shares && std::strcmp(shares, "1") == 0);
  comm->state = refused ? Comm::invalidUsage : 0;
}

void carry(Comm *comm, const Message &it) {
  int64_t kind = it.element ? 1 : it.gathers ? 2 : it.parts.empty() ? 0 : 3;
  Words mine = {comm->messages++, it.bytes, kind};
  bool met = meet(comm, mine, [&](const Words &other) {
    if (mine == other)
      return;
    comm->state = Comm::invalidUsage;
    LOG("mismatch comm=%s number=%ld bytes=%ld kind=%ld other=%ld bytes=%ld "
        "kind=%ld",
        comm->name.c_str(), mine[0], mine[1], mine[2], other[0], other[1],
        other[2]);
  });
  if (!met || comm->state || !executes())
    return;
  if (it.element)
    sum(comm, it);
  else if (it.gathers)
    gather(comm, it);
  else if (!it.parts.empty())
    exchange(comm, it);
  else
    move(comm, comm->sockets[0], it.place, it.bytes, it.sends);
}

} // namespace emulator
