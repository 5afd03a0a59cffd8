//===- Receives.h - when receives are posted --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first half of inserting communication: sorts the messages of each channel
// by their sends, and chooses the block of the receiver before which each
// receive is posted. A block is an action or a pair.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_COMMUNICATION_RECEIVES_H
#define STAGEWRIGHT_LIB_SCHEDULING_COMMUNICATION_RECEIVES_H

#include "Messages.h"

namespace stagewright {

class Receives {
public:
  Receives(const StageGraph &graph, const Dependences &dependences,
           const CommOptions &options);

  /// Posts every receive as early as the buffers allow, and finds how many
  /// buffers each route needs. Fails if an edge states a smaller depth.
  Status place();

  struct Route : CommRoute {
    bool stated = false; ///< An edge states the depth.
  };
  /// Messages [begin, end) of `sent`.
  struct Stretch {
    size_t begin = 0, end = 0;
  };

  const Messages messages;
  std::vector<size_t> blocks; ///< By action: its block, from 0 on its rank.
  std::vector<size_t> sent; ///< Messages between ranks, channel by channel, in
                            ///< the order of the sends.
  std::vector<Stretch> channels;
  std::vector<Route> routes;
  std::vector<size_t> routeOf; ///< By index in `sent`.
  std::vector<size_t> postAt;  ///< By index in `sent`: block after the post.

private:
  void findBlocks(const Dependences &dependences);
  void findRoutes(int64_t receiveBuffers);
  size_t tryPlace(const Stretch &channel);
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_SCHEDULING_COMMUNICATION_RECEIVES_H
