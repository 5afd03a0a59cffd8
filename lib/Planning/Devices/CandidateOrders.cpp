//===- CandidateOrders.cpp - device orders worth trying -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recursive device ordering, all orders of unequal devices if they are few, and
// heuristics on blocks of equal devices.
//
//===----------------------------------------------------------------------===//

#include "Spp/BlockPaths.h"
#include "stagewright/Planning/DeviceOrder.h"
#include <algorithm>

namespace stagewright {

/// Powers of the cost of a link in a path: 1 minimizes the sum, 12 nearly the
/// slowest link, 3 is in between.
static constexpr int kPowers[] = {1, 3, 12};

namespace {
/// Collects orders that differ by more than a permutation of equal devices.
class Orders {
public:
  Orders(const Cluster &cluster, const Network &network, size_t most)
      : cluster(cluster), network(network), most(most) {}

  bool isFull() const { return found.size() >= most; }

  /// Adds `order` and its reverse.
  void add(Devices order) {
    addOne(order);
    std::reverse(order.begin(), order.end());
    addOne(std::move(order));
  }

  std::vector<Devices> take() { return std::move(found); }

private:
  void addOne(Devices order) {
    if (!isFull() &&
        std::none_of(found.begin(), found.end(), [&](const Devices &other) {
          return areAlike(order, other);
        }))
      found.push_back(std::move(order));
  }

  /// Whether the devices at each position, and the links between them, are
  /// equal. Then every plan takes the same time under both orders.
  bool areAlike(const Devices &a, const Devices &b) const {
    for (size_t i = 0; i < a.size(); ++i) {
      const Device &x = cluster.devices[a[i]], &y = cluster.devices[b[i]];
      if (x.deviceClass != y.deviceClass || x.memory != y.memory)
        return false;
      for (size_t j = 0; j < i; ++j)
        if (network.bandwidth(a[i], a[j]) != network.bandwidth(b[i], b[j]) ||
            network.latency(a[i], a[j]) != network.latency(b[i], b[j]) ||
            (network.hostOf(a[i]) == network.hostOf(a[j])) !=
                (network.hostOf(b[i]) == network.hostOf(b[j])))
          return false;
    }
    return true;
  }

  const Cluster &cluster;
  const Network &network;
  size_t most;
  std::vector<Devices> found;
};
} // namespace

/// Compares devices by `speed`, which scales profiled times, then by `flops`.
static bool isFaster(const Device &a, const Device &b) {
  return a.speed != b.speed ? a.speed > b.speed : a.flops > b.flops;
}

/// Splits blocks into parts of equal devices; parts are sorted as in `order`.
static std::vector<Block> equalBlocks(const Cluster &cluster,
                                      const Network &network,
                                      const Devices &order) {
  std::vector<size_t> place(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    place[order[i]] = i;
  std::vector<Block> blocks;
  for (const Block &block : blocksOf(network)) {
    size_t first = blocks.size(); // The first part of this block.
    for (size_t number : block) {
      const Device &device = cluster.devices[number];
      auto part = std::find_if(
          blocks.begin() + first, blocks.end(), [&](const Block &other) {
            const Device &known = cluster.devices[other[0]];
            return known.deviceClass == device.deviceClass &&
                   known.memory == device.memory;
          });
      if (part == blocks.end())
        blocks.push_back({number});
      else
        part->push_back(number);
    }
  }
  std::sort(blocks.begin(), blocks.end(), [&](const Block &a, const Block &b) {
    return place[a[0]] < place[b[0]];
  });
  return blocks;
}

/// Whether all orders of `blocks` are equivalent.
static bool areInterchangeable(const Cluster &cluster, const Network &network,
                               const std::vector<Block> &blocks) {
  const Device &first = cluster.devices[blocks[0][0]];
  for (const Block &block : blocks) {
    const Device &device = cluster.devices[block[0]];
    if (block.size() != blocks[0].size() ||
        device.deviceClass != first.deviceClass ||
        device.memory != first.memory)
      return false;
  }
  return blocks.size() == 1 || isFlat(network, blocks);
}

/// Whether exchanging devices `a` and `b` changes nothing.
static bool areEqual(const Cluster &cluster, const Network &network, size_t a,
                     size_t b) {
  const Device &x = cluster.devices[a], &y = cluster.devices[b];
  if (x.deviceClass != y.deviceClass || x.memory != y.memory)
    return false;
  auto isAlike = [&](size_t other) {
    return network.bandwidth(a, other) == network.bandwidth(b, other) &&
           network.latency(a, other) == network.latency(b, other) &&
           (network.hostOf(a) == network.hostOf(other)) ==
               (network.hostOf(b) == network.hostOf(other));
  };
  for (size_t other = 0; other < network.size(); ++other)
    if (other != a && other != b && !isAlike(other))
      return false;
  return true;
}

/// If devices differ in class or memory, and they have at most `most` orders
/// that differ by more than an exchange of equal devices, adds all these orders
/// and returns true. Then, for any stages on any devices, there is an order in
/// which the devices of each stage are consecutive. Otherwise adds none and
/// returns false.
static bool addAll(const Cluster &cluster, const Network &network,
                   const Devices &first, size_t most, Orders &orders) {
  const Device &one = cluster.devices[first[0]];
  if (std::all_of(first.begin(), first.end(), [&](size_t device) {
        const Device &other = cluster.devices[device];
        return other.deviceClass == one.deviceClass &&
               other.memory == one.memory;
      }))
    return false;             // Only links differ.
  std::vector<Devices> kinds; // Equal devices.
  std::vector<size_t> kindOf; // By place in an order; increasing at first.
  for (size_t device : first) {
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Devices &k) {
      return areEqual(cluster, network, k[0], device);
    });
    kindOf.push_back(size_t(kind - kinds.begin()));
    if (kind == kinds.end())
      kinds.push_back({device});
    else
      kind->push_back(device);
  }
  std::sort(kindOf.begin(), kindOf.end());
  std::vector<Devices> found;
  do {
    if (found.size() == most)
      return false;
    std::vector<size_t> taken(kinds.size());
    Devices &order = found.emplace_back();
    for (size_t kind : kindOf)
      order.push_back(kinds[kind][taken[kind]++]);
  } while (std::next_permutation(kindOf.begin(), kindOf.end()));
  for (Devices &order : found)
    orders.add(std::move(order));
  return true;
}

static Devices concatenate(const std::vector<Block> &blocks) {
  Devices order;
  for (const Block &block : blocks)
    order.insert(order.end(), block.begin(), block.end());
  return order;
}

/// A stable insertion sort; std::stable_sort uses a deprecated function of the
/// library.
template <typename Iterator, typename Less>
static void sortBlocks(Iterator begin, Iterator end, Less isLess) {
  for (auto it = begin; it != end; ++it)
    std::rotate(std::upper_bound(begin, it, *it, isLess), it, it + 1);
}

/// Adds orders for unequal devices: fastest first within each host, fastest
/// first, most memory first, and largest blocks first.
static void addSorted(const Cluster &cluster, const Network &network,
                      const std::vector<Block> &blocks, Orders &orders) {
  auto faster = [&](const Block &a, const Block &b) {
    return isFaster(cluster.devices[a[0]], cluster.devices[b[0]]);
  };
  auto roomier = [&](const Block &a, const Block &b) {
    return cluster.devices[a[0]].memory > cluster.devices[b[0]].memory;
  };
  auto larger = [](const Block &a, const Block &b) {
    return a.size() > b.size();
  };
  std::vector<Block> sorted = blocks;
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    auto end = std::find_if(begin, sorted.end(), [&](const Block &block) {
      return network.hostOf(block[0]) != network.hostOf((*begin)[0]);
    });
    sortBlocks(begin, end, faster);
    begin = end;
  }
  orders.add(concatenate(sorted));
  sortBlocks(sorted.begin(), sorted.end(), faster);
  orders.add(concatenate(sorted));
  sortBlocks(sorted.begin(), sorted.end(), roomier);
  orders.add(concatenate(sorted));
  sorted = blocks;
  sortBlocks(sorted.begin(), sorted.end(), larger);
  orders.add(concatenate(sorted));
}

/// Adds paths over fast links.
static void addPaths(const Network &network, const std::vector<Block> &blocks,
                     size_t most, Orders &orders) {
  std::vector<std::vector<BlockPath>> paths;
  for (int power : kPowers)
    paths.push_back(shortBlockPaths(network, blocks, power, most));
  for (size_t i = 0; i < paths[0].size() && !orders.isFull(); ++i)
    for (const std::vector<BlockPath> &list : paths) {
      std::vector<Block> path;
      for (size_t block : list[i].blocks)
        path.push_back(blocks[block]);
      orders.add(concatenate(path));
    }
}

/// Adds rotations of `blocks`: each leaves out a different link of the cycle.
static void addRotations(std::vector<Block> blocks, Orders &orders) {
  for (size_t i = 1; i < blocks.size() && !orders.isFull(); ++i) {
    std::rotate(blocks.begin(), blocks.begin() + 1, blocks.end());
    orders.add(concatenate(blocks));
  }
}

std::vector<std::vector<size_t>>
candidateOrders(const Cluster &cluster, const Network &network, size_t most) {
  Orders orders(cluster, network, most);
  if (network.size() == 0)
    return {};
  Devices order = recursiveOrder(network);
  orders.add(order);
  std::vector<Block> blocks = equalBlocks(cluster, network, order);
  if (orders.isFull() || areInterchangeable(cluster, network, blocks) ||
      addAll(cluster, network, order, most, orders))
    return orders.take();
  addSorted(cluster, network, blocks, orders);
  addPaths(network, blocks, most, orders);
  addRotations(std::move(blocks), orders);
  return orders.take();
}

} // namespace stagewright
