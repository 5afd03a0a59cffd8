//===- LinkFlows.h - transfers that share links at once ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the transfers under way and their rates, which change
// when a transfer starts or ends. Pipeline.h defines the policies. A connection
// is a lane of a channel in one direction; it has at most one transfer under
// way, so the sum of the guaranteed rates on a link never exceeds its capacity.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_LINKFLOWS_H
#define STAGEWRIGHT_SIMULATION_LINKFLOWS_H

#include "PipelineRows.h"

namespace stagewright {

inline constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

/// One block.
struct BlockId {
  uint32_t row = 0, microbatch = 0;
};

class LinkFlows {
public:
  /// `rates`: bytes per second of each link.
  void reset(LinkSharing sharing, const std::vector<double> &rates,
             size_t connections);
  /// Sets the links of a connection. All connections are set before the first
  /// start().
  void connect(uint32_t connection, std::span<const uint32_t> links,
               uint32_t firstLink);
  /// Starts a transfer that takes `length` if nothing shares its links.
  void start(BlockId block, uint32_t connection, Ticks length, Ticks now);
  /// Sets the rates of all transfers, if one started or ended since the last
  /// call.
  void share(Ticks now);
  /// When the first transfer ends at the present rates; kNever: none.
  Ticks next() const;
  /// Removes a transfer that ends at `now`, the first started first, and sets
  /// `block` to it; false if there is none.
  bool takeEnded(Ticks now, BlockId &block);

private:
  struct Connection {
    std::vector<uint32_t> links;
    double alone = 0; ///< Rate if nothing shares its links.
  };
  struct Flow {
    BlockId block;
    const Connection *connection;
    double left;     ///< At `since`, as ticks at the rate `alone`.
    double rate = 0; ///< Bytes per second.
    Ticks since, end = kNever;
  };
  double guaranteed(const Connection &connection) const;
  void raiseEqually();
  void giveInOrder();

  LinkSharing sharing = LinkSharing::Turns;
  std::vector<double> capacity, left; ///< By link.
  std::vector<uint32_t> degree;       ///< By link: its connections.
  std::vector<uint32_t> used;         ///< Links with connections.
  std::vector<Connection> connections;
  std::vector<Flow> flows;      ///< In the order of the starts.
  std::vector<double> rates;    ///< By flow, while they are computed.
  std::vector<uint32_t> rising; ///< By link: flows whose rate still rises.
  std::vector<uint8_t> isFixed; ///< By flow.
  bool changed = false;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_LINKFLOWS_H
