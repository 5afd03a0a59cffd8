//===- RendezvousClient.cpp - a rank connects to rank 0 -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/Hosts.h"
#include "Processes/RendezvousParts.h"

#include "stagewright/Runtime/Deadline.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace stagewright::runtime {

namespace {

Hello helloOf(const Rendezvous &how) {
  Hello hello;
  hello.rank = how.rank, hello.ranks = how.ranks;
  hello.artifact = how.artifact;
  hello.process = getpid();
  std::strncpy(hello.host, ownHost().name, sizeof(hello.host) - 1);
  return hello;
}

class Client {
public:
  explicit Client(const Rendezvous &how) : how(how), hello(helloOf(how)) {}
  Connections run();

private:
  bool reach(const TcpAddress &at, double seconds);
  void connectToHost();
  std::vector<Entry> receiveAddresses();
  Socket open(size_t rank, const Entry &entry, Hello::Kind kind);

  const Rendezvous &how;
  Hello hello;
  Socket host; ///< rank 0
  RankListener listener = RankListener(Socket());
  std::string why; ///< why rank 0 has not been reached
};

/// Connects to rank 0, which answers a `Hello` at once with the magic word.
bool Client::reach(const TcpAddress &at, double seconds) {
  host = connectTo(at, std::min(seconds, transferTimeout));
  if (!host) {
    why = reason();
    return false;
  }
  listener = RankListener(
      listenAt(ownAddress(host.get()).withPort(0), !isLocal(how.host)));
  hello.port = listener.port();
  uint64_t greeting = 0;
  if (sendAll(host.get(), &hello, sizeof(hello), transferTimeout) &&
      receiveAll(host.get(), &greeting, sizeof(greeting),
                 std::min(seconds, transferTimeout)) &&
      greeting == Hello::magicWord)
    return true;
  why = "what listens there does not answer as rank 0; is another program at "
        "this port?";
  return false;
}

void Client::connectToHost() {
  double nap = 0.02;
  for (TimeLimit limit(how.seconds);; nap = std::min(2 * nap, 0.5)) {
    try { // The name may resolve later.
      for (const TcpAddress &at : resolve(how.host, how.port))
        if (reach(at, limit.left()))
          return;
    } catch (const Error &error) {
      why = error.what();
    }
    if (limit.isOver())
      raise("rank ", how.rank, " of ", how.ranks,
            " cannot connect to rank 0 at ", how.address(), " within ",
            printSeconds(how.seconds), " (", why,
            "); start rank 0 on that host, or wait longer with "
            "--rendezvous-timeout");
    usleep(unsigned(nap * 1e6));
  }
}

/// Receives the list of all ranks. Rank 0 began to wait earlier, so it times
/// out before this rank does.
std::vector<Entry> Client::receiveAddresses() {
  RendezvousResult result;
  auto receive = [&](void *data, size_t bytes) {
    if (!receiveAll(host.get(), data, bytes, how.seconds + transferTimeout))
      raise("rank 0 at ", how.address(),
            " ended before all ranks had connected (", reason(), ")");
  };
  receive(&result, sizeof(result));
  int64_t expected = how.ranks * int64_t(sizeof(Entry));
  if (result.failed)
    expected = std::clamp<int64_t>(result.bytes, 0, 1 << 20); // Of text.
  if (result.bytes != expected)
    raise("rank 0 at ", how.address(), " answers with ", result.bytes,
          " bytes, expected ", expected,
          "; install the same runtime for all ranks");
  hello.run = result.run;
  if (result.failed) {
    std::string text(size_t(result.bytes), ' ');
    receive(text.data(), text.size());
    throw ReportedError(text);
  }
  std::vector<Entry> list(size_t(how.ranks));
  receive(list.data(), list.size() * sizeof(Entry));
  return list;
}

Socket Client::open(size_t rank, const Entry &entry, Hello::Kind kind) {
  auto port = uint16_t(rank == 0 ? how.port : entry.port);
  std::vector<TcpAddress> ways = {entry.address};
  if (entry.address.bytes.ss_family == AF_UNSPEC)
    ways = resolve(how.host, port);
  hello.kind = kind;
  std::string where;
  for (const TcpAddress &at : ways) {
    Socket socket = connectTo(at, transferTimeout);
    if (socket && sendAll(socket.get(), &hello, sizeof(hello), transferTimeout))
      return socket;
    where += (where.empty() ? "" : ", ") + at.print() + " (" + reason() + ")";
  }
  raise("rank ", how.rank, " cannot reach rank ", rank, " at ", where,
        "; ranks connect to each other at any port, as NCCL does: allow that "
        "between their hosts");
}

Connections Client::run() {
  connectToHost();
  std::vector<Entry> list = receiveAddresses();
  Connections found = {std::vector<Socket>(list.size()),
                       std::vector<Socket>(list.size())};
  found.calls[0] = std::move(host);
  for (size_t r = 0; r < size_t(how.rank); ++r) {
    if (r > 0)
      found.calls[r] = open(r, list[r], Hello::Calls);
    found.reports[r] = open(r, list[r], Hello::Reports);
  }
  acceptRanks(how, listener, hello.run, found);
  return found;
}

} // namespace

Connections connectAsClient(const Rendezvous &how) { return Client(how).run(); }

} // namespace stagewright::runtime
