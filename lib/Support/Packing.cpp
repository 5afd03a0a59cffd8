//===- Packing.cpp - buffers with lifetimes in one arena ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/Packing.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <tuple>

using namespace stagewright;

namespace {

/// The begin or end of a lifetime.
struct Moment {
  int64_t at;
  bool begins;
  int item;
};

/// Times are sorted by counting if they span less than this per lifetime.
constexpr int64_t kMostSpread = 16;

/// All moments in order. At equal times begins come first, because a lifetime
/// includes its last moment.
std::vector<Moment> momentsOf(const std::vector<PackItem> &items) {
  std::vector<Moment> moments;
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (int i = 0; i < int(items.size()); ++i)
    for (const Life &life : items[i].lives) {
      moments.push_back({life.first, true, i});
      moments.push_back({life.last, false, i});
      low = std::min(low, life.first);
      high = std::max(high, life.last);
    }
  auto rankOf = [&](const Moment &moment) {
    return size_t(moment.at - low) * 2 + !moment.begins;
  };
  // Times are mostly places in an order: sort by counting. Items are in order
  // already.
  if (moments.empty() ||
      high - low >= int64_t(moments.size()) / 2 * kMostSpread) {
    std::stable_sort(moments.begin(), moments.end(),
                     [&](auto &a, auto &b) { return rankOf(a) < rankOf(b); });
    return moments;
  }
  std::vector<size_t> next(size_t(high - low + 1) * 2 + 1);
  for (const Moment &moment : moments)
    ++next[rankOf(moment) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Moment> sorted(moments.size());
  for (const Moment &moment : moments)
    sorted[next[rankOf(moment)]++] = moment;
  return sorted;
}

/// Max number of bytes alive at the same moment.
int64_t mostAlive(const std::vector<PackItem> &items,
                  const std::vector<Moment> &moments) {
  int64_t alive = 0, most = 0;
  for (const Moment &moment : moments) {
    alive +=
        moment.begins ? items[moment.item].bytes : -items[moment.item].bytes;
    most = std::max(most, alive);
  }
  return most;
}

/// A set of pairs of numbers below `count`. It only uses memory for the pages
/// that its pairs touch. If all pairs would need more than 256 MiB, it stores
/// nothing.
class Pairs {
public:
  explicit Pairs(size_t count) {
    constexpr size_t kMost = size_t(1) << 16;
    if (count > 0 && count <= kMost)
      bytes.reset(
          static_cast<uint8_t *>(std::calloc(count * (count + 1) / 16 + 1, 1)));
  }
  bool remembers() const { return bytes != nullptr; }
  /// Adds the pair of `a` and `b`; returns whether it is new.
  bool insert(size_t a, size_t b) {
    auto [low, high] = std::minmax(a, b);
    size_t pair = high * (high + 1) / 2 + low;
    uint8_t &byte = bytes.get()[pair / 8];
    auto bit = uint8_t(1 << pair % 8);
    bool isNew = !(byte & bit);
    byte |= bit;
    return isNew;
  }

private:
  struct Free {
    void operator()(uint8_t *memory) const { std::free(memory); }
  };
  std::unique_ptr<uint8_t, Free> bytes;
};

class Packer {
public:
  explicit Packer(std::vector<PackItem> &items)
      : items(items), moments(momentsOf(items)), offset(items.size()) {
    found.bound = mostAlive(items, moments);
  }
  /// Stops at an order that takes at most `enough`, or the bound. If `limited`,
  /// no order that takes more is finished, so that the total is at most
  /// `enough`, or any number above it.
  Packing pack(bool mayExchange, int64_t enough = 0, bool limited = false);

private:
  void findMeetings();
  int64_t place(const std::vector<int> &order, int64_t most);
  int64_t placeByStart(const std::vector<int> &order, int64_t most);
  template <typename Key> std::vector<int> orderBy(Key key) const;
  bool attempt(const std::vector<int> &order);
  bool take(const std::vector<int> &order, int64_t total);
  void search();
  int64_t span(int i) const {
    return items[i].lives.empty()
               ? 0
               : items[i].lives.back().last - items[i].lives.front().first + 1;
  }

  std::vector<PackItem> &items;
  std::vector<Moment> moments;
  /// By item: the items whose lifetimes overlap its own; empty before
  /// findMeetings().
  std::vector<std::vector<int>> meets;
  std::vector<int64_t> offset; ///< In this attempt; -1: not yet placed.
  std::vector<int> best;       ///< The best order.
  int64_t pairs = 0, enough = 0;
  int64_t limit = INT64_MAX; ///< Orders that take more are not finished.
  Packing found{INT64_MAX, 0};
};

/// Max numbers of pairs visited and of orders tried by the search.
constexpr int64_t kMostVisits = 4'000'000, kMostOrders = 2'000;

} // namespace

void Packer::findMeetings() {
  meets.resize(items.size());
  // Items with several lifetimes may overlap several times. Duplicates are
  // found by `met`, or else removed below.
  Pairs met(items.size());
  std::vector<int> alive;
  for (const Moment &moment : moments) {
    if (!moment.begins) {
      alive.erase(std::find(alive.begin(), alive.end(), moment.item));
      continue;
    }
    for (int other : alive) {
      if (met.remembers() && !met.insert(size_t(other), size_t(moment.item)))
        continue;
      meets[moment.item].push_back(other);
      meets[other].push_back(moment.item);
    }
    alive.push_back(moment.item);
  }
  for (std::vector<int> &others : meets) {
    if (!met.remembers()) {
      std::sort(others.begin(), others.end());
      others.erase(std::unique(others.begin(), others.end()), others.end());
    }
    pairs += others.size();
  }
}

/// Places every item of `order` at the lowest free offset; returns the total
/// size, or a part of it that is above `most`.
int64_t Packer::place(const std::vector<int> &order, int64_t most) {
  if (meets.empty())
    findMeetings();
  std::fill(offset.begin(), offset.end(), -1);
  std::vector<std::pair<int64_t, int64_t>> taken;
  int64_t total = 0;
  for (int item : order) {
    taken.clear();
    for (int other : meets[item])
      if (offset[other] >= 0)
        taken.emplace_back(offset[other], offset[other] + items[other].bytes);
    std::sort(taken.begin(), taken.end());
    int64_t at = 0;
    for (auto [begin, end] : taken) {
      if (at + items[item].bytes <= begin)
        break;
      at = std::max(at, end);
    }
    offset[item] = at;
    total = std::max(total, at + items[item].bytes);
    if (total > most)
      break;
  }
  return total;
}

/// place() for items with one lifetime each, in the order in which these begin:
/// an item overlaps those before it that are alive when it begins.
int64_t Packer::placeByStart(const std::vector<int> &order, int64_t most) {
  struct Taken {
    int64_t begin, end, last;
  };
  std::vector<Taken> alive; // By ascending offsets.
  int64_t total = 0;
  for (int item : order) {
    auto [first, last] = items[item].lives.front();
    int64_t bytes = items[item].bytes, at = 0;
    size_t kept = 0, place = 0;
    bool isFound = false;
    for (const Taken &taken : alive) {
      if (taken.last < first)
        continue;
      isFound = isFound || at + bytes <= taken.begin;
      if (!isFound) {
        at = std::max(at, taken.end);
        place = kept + 1;
      }
      alive[kept++] = taken;
    }
    alive.resize(kept);
    alive.insert(alive.begin() + std::ptrdiff_t(place), {at, at + bytes, last});
    offset[item] = at;
    total = std::max(total, at + bytes);
    if (total > most)
      break;
  }
  return total;
}

template <typename Key> std::vector<int> Packer::orderBy(Key key) const {
  std::vector<int> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return key(a) > key(b); });
  return order;
}

/// Places the items in `order` and keeps the result if it is the best so far.
/// Returns whether that is enough.
bool Packer::attempt(const std::vector<int> &order) {
  return take(order, place(order, std::min(found.total - 1, limit)));
}

bool Packer::take(const std::vector<int> &order, int64_t total) {
  if (total < found.total) {
    found.total = total;
    best = order;
    for (size_t i = 0; i < items.size(); ++i)
      items[i].offset = offset[i];
  }
  return found.total <= enough;
}

/// Local search: moves an item to an earlier place in the order, or exchanges
/// two. Changes that are no worse are kept.
void Packer::search() {
  std::mt19937_64 random(1);
  std::vector<int> current = best;
  int64_t reached = found.total;
  int64_t cost = pairs + int64_t(items.size());
  int64_t turns = std::min(kMostOrders, kMostVisits / cost);
  for (int64_t turn = 0; turn < turns; ++turn) {
    std::vector<int> next = current;
    size_t from = random() % next.size();
    // In three of four turns, take the item with the highest end offset.
    if (random() % 4 != 0)
      from = std::max_element(next.begin(), next.end(),
                              [&](int a, int b) {
                                return items[a].offset + items[a].bytes <
                                       items[b].offset + items[b].bytes;
                              }) -
             next.begin();
    size_t to = random() % next.size();
    if (from > to && random() % 2 == 0)
      std::rotate(next.begin() + to, next.begin() + from,
                  next.begin() + from + 1);
    else
      std::swap(next[from], next[to]);
    int64_t total = place(next, reached);
    if (total > reached)
      continue;
    reached = total;
    current = next;
    if (total < found.total && attempt(next))
      return;
  }
}

Packing Packer::pack(bool mayExchange, int64_t most, bool limited) {
  if (items.empty())
    return {0, 0};
  enough = std::max(found.bound, most);
  if (limited)
    limit = enough;
  auto bytes = [&](int i) { return items[i].bytes; };
  auto first = [&](int i) {
    return items[i].lives.empty() ? 0 : items[i].lives.front().first;
  };
  auto last = [&](int i) {
    return items[i].lives.empty() ? 0 : items[i].lives.back().last;
  };
  // Orders by descending `key`, and by descending size if keys are equal.
  auto with = [&](auto key) {
    return orderBy([=](int i) { return std::pair(key(i), bytes(i)); });
  };
  auto start = [&](int i) { return -first(i); };
  // Items of equal size reach the bound in the order in which they begin.
  bool isQuick = false;
  if (!mayExchange) {
    std::vector<int> order = with(start);
    isQuick = take(order, placeByStart(order, limit));
  }
  if (isQuick || attempt(with(bytes)) || attempt(with([&](int i) {
        return double(bytes(i)) * double(span(i));
      })) ||
      attempt(with([&](int i) { return span(i); })) ||
      (mayExchange && attempt(with(start))) || attempt(with(last)))
    return found;
  if (mayExchange && found.total > found.bound + found.bound / 100)
    search();
  return found;
}

int64_t stagewright::liveBound(const std::vector<PackItem> &items) {
  return mostAlive(items, momentsOf(items));
}

std::vector<PackItem>
stagewright::packItems(const std::vector<LiveItem> &items) {
  std::vector<PackItem> packed;
  packed.reserve(items.size());
  for (const LiveItem &item : items)
    packed.push_back({item.bytes, {item.life}, 0});
  return packed;
}

int64_t stagewright::liveBound(const std::vector<LiveItem> &items) {
  if (items.empty())
    return 0;
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (const LiveItem &item : items) {
    low = std::min(low, item.life.first);
    high = std::max(high, item.life.last);
  }
  if (high - low >= int64_t(items.size()) * kMostSpread)
    return liveBound(packItems(items));
  // What begins at a time step, less what has ended before.
  std::vector<int64_t> change(size_t(high - low) + 2);
  for (const LiveItem &item : items) {
    change[size_t(item.life.first - low)] += item.bytes;
    change[size_t(item.life.last - low) + 1] -= item.bytes;
  }
  int64_t alive = 0, most = 0;
  for (int64_t bytes : change)
    most = std::max(most, alive += bytes);
  return most;
}

Packing stagewright::pack(std::vector<PackItem> &items) {
  return Packer(items).pack(/*mayExchange=*/true);
}

LifePacker::Packed &LifePacker::packed(const std::vector<PackItem> &items,
                                       std::vector<size_t> &order,
                                       std::optional<int64_t> most) {
  auto keyOf = [&](size_t i) {
    const PackItem &item = items[i];
    return std::tuple(item.lives.front().first, item.lives.front().last,
                      item.bytes);
  };
  order.resize(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return keyOf(a) < keyOf(b); });
  std::vector<int64_t> key;
  for (size_t i : order) {
    auto [first, last, bytes] = keyOf(i);
    key.insert(key.end(), {first, last, bytes});
  }
  Packed &packed = known[std::move(key)];
  if (packed.isBest ||
      (most && (packed.packing.total <= *most || *most < packed.above)))
    return packed;
  std::vector<PackItem> sorted;
  for (size_t i : order)
    sorted.push_back(items[i]);
  Packing packing = Packer(sorted).pack(/*mayExchange=*/false, most.value_or(0),
                                        /*limited=*/most.has_value());
  if (most && packing.total > *most) {
    packed.above = *most + 1;
    return packed;
  }
  packed.packing = packing;
  packed.isBest = !most || packing.total == packing.bound;
  packed.offsets.clear();
  for (const PackItem &item : sorted)
    packed.offsets.push_back(item.offset);
  return packed;
}

Packing LifePacker::pack(std::vector<PackItem> &items) {
  std::vector<size_t> order;
  const Packed &found = packed(items, order, /*most=*/std::nullopt);
  for (size_t i = 0; i < order.size(); ++i)
    items[order[i]].offset = found.offsets[i];
  return found.packing;
}

bool LifePacker::fits(const std::vector<PackItem> &items, int64_t most) {
  std::vector<size_t> order;
  return packed(items, order, most).packing.total <= most;
}
