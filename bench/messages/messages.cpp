//===- messages.cpp - the MPI transport beside MPI's ping-pong ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two processes send a message of each size back and forth: through the
// channels of a step (claim, send, receive, release, as a rank's program does),
// and by MPI_Send and MPI_Recv as every MPI benchmark does. Both take turns in
// the same processes. Prints the seconds of one way, half of a round trip.
//
//===----------------------------------------------------------------------===//

#include "Processes/MessageTransport.h"
#include "Threads/Processors.h"
#include "stagewright/Runtime/Error.h"

#include <mpi.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <dlfcn.h>
#include <iostream>
#include <vector>

using namespace stagewright::runtime;
using json = nlohmann::json;

namespace {

Messenger &openEngine(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    raise("cannot open '", path, "': ", dlerror());
  auto open =
      reinterpret_cast<OpenMessenger>(dlsym(library, openMessengerName));
  char error[512] = {};
  Messenger *messenger =
      open ? open(SW_ABI_VERSION, error, sizeof(error)) : nullptr;
  if (!messenger)
    raise("'", path, "': ", error);
  return *messenger;
}

/// A plan of two ranks with a channel each way.
Manifest planOf(int64_t bytes, int64_t microbatches) {
  Manifest manifest;
  manifest.microbatches = microbatches;
  manifest.ranks.resize(2);
  for (int64_t from : {0, 1}) {
    Channel channel;
    channel.name = from == 0 ? "there" : "back";
    channel.from = from;
    channel.to = 1 - from;
    channel.bytes = bytes;
    channel.depth = 2;
    manifest.channels.push_back(channel);
  }
  return manifest;
}

double now() { return MPI_Wtime(); }

/// Measures one way through channels, in seconds; a turn has as many round
/// trips as a step has microbatches. Each process has a processor of its own.
class Ours {
public:
  Ours(Messenger &messenger, int64_t bytes, int64_t trips)
      : plan(planOf(bytes, trips)), self(messenger.self()), trips(trips),
        layouts{layOut(plan, 0, trips), layOut(plan, 1, trips)},
        arena(layouts[size_t(self)].total),
        transport(plan, layouts, arena.base(), trips, /*poison=*/false,
                  /*paced=*/false, spinsFor(1), messenger) {
    arena.populate();
  }

  double turn() {
    transport.reset();
    double start = now();
    for (int64_t m = 0; m < trips; ++m)
      for (int64_t step : {0, 1})
        step == self ? give(step, m) : take(step, m);
    double seconds = (now() - start) / double(2 * trips);
    transport.finish(self);
    if (std::string error = transport.result(); !error.empty())
      raise(error);
    return seconds;
  }

private:
  void give(int64_t channel, int64_t m) {
    transport.claim(self, channel, m);
    transport.send(self, channel, m);
  }
  void take(int64_t channel, int64_t m) {
    transport.recv(self, channel, m);
    transport.release(self, channel, m);
  }

  Manifest plan;
  int64_t self, trips;
  std::vector<Layout> layouts;
  Arena arena;
  MessageTransport transport;
};

class Theirs {
public:
  Theirs(Messenger &messenger, int64_t bytes, int64_t trips)
      : self(int(messenger.self())), trips(trips), out(size_t(bytes), 1),
        in(size_t(bytes), 2) {}

  double turn() {
    double start = now();
    for (int64_t m = 0; m < trips; ++m)
      for (int step : {0, 1})
        if (step == self)
          MPI_Send(out.data(), int(out.size()), MPI_CHAR, 1 - self, 0,
                   MPI_COMM_WORLD);
        else
          MPI_Recv(in.data(), int(in.size()), MPI_CHAR, 1 - self, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (now() - start) / double(2 * trips);
  }

private:
  int self;
  int64_t trips;
  std::vector<char> out, in;
};

json measure(Messenger &messenger, int64_t bytes, int64_t rounds) {
  // About ten milliseconds of messages at 1 us and 4 GB/s.
  int64_t trips = std::max<int64_t>(2, 5000 / (1 + bytes / 4000));
  Ours ours(messenger, bytes, trips);
  Theirs theirs(messenger, bytes, trips);
  json list = {
      {"bytes", bytes}, {"ours", json::array()}, {"mpi", json::array()}};
  for (int64_t round = -1; round < rounds; ++round) { // The first warms up.
    MPI_Barrier(MPI_COMM_WORLD);
    double mine = ours.turn();
    MPI_Barrier(MPI_COMM_WORLD);
    double other = theirs.turn();
    if (round < 0)
      continue;
    list["ours"].push_back(mine);
    list["mpi"].push_back(other);
  }
  return list;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4) {
    std::cerr << "usage: mpirun -n 2 bench-messages ENGINE.so ROUNDS BYTES...\n"
                 "prints seconds of one way by the engine's channels and by "
                 "MPI_Send, as JSON\n";
    return 1;
  }
  try {
    Messenger &messenger = openEngine(argv[1]);
    if (messenger.size() != 2)
      raise("there are ", messenger.size(), " processes, expected 2");
    json all = json::array();
    for (int i = 3; i < argc; ++i)
      all.push_back(
          measure(messenger, std::stoll(argv[i]), std::stoll(argv[2])));
    if (messenger.self() == 0)
      std::cout << all.dump() << "\n";
    messenger.close();
    return 0;
  } catch (const std::exception &error) {
    std::cerr << "bench-messages: error: " << error.what() << "\n";
  }
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}
