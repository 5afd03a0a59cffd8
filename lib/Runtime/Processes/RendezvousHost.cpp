//===- RendezvousHost.cpp - rank 0's side of a rendezvous -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/RendezvousParts.h"

#include "Faults/Deadline.h"

#include <random>

namespace stagewright::runtime {

namespace {

class Host {
public:
  explicit Host(const Rendezvous &how) : how(how), lobby(open()) {}
  Connections run();

private:
  Socket open() const;
  void add(Guest guest);
  std::string whatIsWrong(const Guest &guest) const;
  std::string missing() const;
  [[noreturn]] void refuse(const std::string &error, const Guest *also);
  void tell(const Guest &guest, const Verdict &verdict, const void *data);

  const Rendezvous &how;
  Lobby lobby;
  std::vector<Guest> guests = std::vector<Guest>(size_t(how.ranks));
};

Socket Host::open() const {
  std::string why;
  for (const TcpAddress &at : resolve(how.host, how.port)) {
    if (Socket socket = listenAt(at, !isLocal(how.host)))
      return socket;
    why = reason();
  }
  raise("rank 0 cannot listen at ", how.address(), ": ", why,
        "; give the address of its host and a free port, and rank 0 to one "
        "process only");
}

/// Checks causes first: a process with a wrong number of ranks may have any
/// rank.
std::string Host::whatIsWrong(const Guest &guest) const {
  const Hello &it = guest.hello;
  auto both = [&](const std::string &theirs, const std::string &ours) {
    return guest.name() + theirs + ", but rank 0 " + ours;
  };
  if (it.version != SW_ABI_VERSION)
    return both(" has version " + std::to_string(it.version) +
                    " of the runtime's interface",
                "has " + std::to_string(SW_ABI_VERSION) +
                    "; install the same runtime for all");
  if (it.ranks != how.ranks)
    return both(
        " was told that there are " + std::to_string(it.ranks) + " ranks",
        "that there are " + std::to_string(how.ranks) +
            "; give all the same --ranks, or start them by one command");
  if (it.rank < 0 || it.rank >= how.ranks)
    return guest.name() + " came, expected ranks 0 to " +
           std::to_string(how.ranks - 1) + "; give each its own --rank";
  const Guest &there = guests[size_t(it.rank)];
  if (it.rank == 0 || there.socket)
    return "two processes came as rank " + std::to_string(it.rank) + " of " +
           std::to_string(how.ranks) + ": " +
           (it.rank ? there.name() : "this one") + " and " + guest.name() +
           "; give each its own --rank, and each run its own port";
  if (it.artifact && how.artifact && it.artifact != how.artifact) {
    std::ostringstream text;
    text << std::hex << " has another artifact (its hash is " << it.artifact
         << ")|has " << how.artifact << "; give all ranks the same file";
    std::string parts = text.str();
    size_t middle = parts.find('|');
    return both(parts.substr(0, middle), parts.substr(middle + 1));
  }
  return "";
}

void Host::add(Guest guest) {
  if (guest.hello.meeting != 0)
    return lobby.turnAway(guest.from); // From an earlier run.
  sendAll(guest.socket.get(), &Hello::word, sizeof(Hello::word), promptly);
  if (std::string error = whatIsWrong(guest); !error.empty())
    refuse(error, &guest);
  guests[size_t(guest.hello.rank)] = std::move(guest);
}

void Host::tell(const Guest &guest, const Verdict &verdict, const void *data) {
  if (guest.socket)
    sendAll(guest.socket.get(), &verdict, sizeof(verdict), promptly) &&
        sendAll(guest.socket.get(), data, size_t(verdict.bytes), promptly);
}

void Host::refuse(const std::string &error, const Guest *also) {
  Verdict verdict = {0, int64_t(error.size()), 1};
  for (const Guest &guest : guests)
    tell(guest, verdict, error.data());
  if (also)
    tell(*also, verdict, error.data());
  raise(error);
}

/// "ranks 1, 3 of 4 have".
std::string Host::missing() const {
  constexpr int64_t most = 8; // Max ranks listed.
  std::string list;
  int64_t count = 0;
  for (size_t r = 1; r < guests.size(); ++r)
    if (!guests[r].socket && count++ < most)
      list += (list.empty() ? "" : ", ") + std::to_string(r);
  if (count > most)
    list += " and " + std::to_string(count - most) + " more";
  return (count == 1 ? "rank " : "ranks ") + list + " of " +
         std::to_string(how.ranks) + (count == 1 ? " has" : " have");
}

Connections Host::run() {
  auto come = [&] {
    return std::all_of(guests.begin() + 1, guests.end(),
                       [](const Guest &it) { return bool(it.socket); });
  };
  for (Clock clock(how.seconds); !come();) {
    if (clock.isOver())
      refuse(missing() + " not come to " + how.address() + " within " +
                 printSeconds(how.seconds) + lobby.others() +
                 "; start all ranks with this address, or wait longer with "
                 "--rendezvous-timeout",
             nullptr);
    if (auto guest = lobby.next(std::min(clock.left(), 0.1)))
      add(std::move(*guest));
    for (Guest &guest : guests)
      if (guest.socket && hasClosed(guest.socket.get())) {
        Socket gone = std::move(guest.socket);
        refuse(guest.name() + " ended before all ranks had come", nullptr);
      }
  }
  std::vector<Entry> list(guests.size());
  for (size_t r = 1; r < guests.size(); ++r) {
    list[r].port = guests[r].hello.port;
    if (!guests[r].from.isLoopback())
      list[r].address = guests[r].from.withPort(uint16_t(list[r].port));
  }
  std::random_device random;
  Verdict verdict = {uint64_t(random()) << 32 | random() | 1,
                     int64_t(list.size() * sizeof(Entry)), 0};
  Connections found = {std::vector<Socket>(guests.size()),
                       std::vector<Socket>(guests.size())};
  for (size_t r = 1; r < guests.size(); ++r) {
    tell(guests[r], verdict, list.data());
    found.calls[r] = std::move(guests[r].socket);
  }
  admit(how, lobby, verdict.meeting, found);
  return found;
}

} // namespace

Connections meetAsHost(const Rendezvous &how) { return Host(how).run(); }

} // namespace stagewright::runtime
