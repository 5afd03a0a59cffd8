//===- PackingTest.cpp - packings compared with exhaustive search ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/Packing.h"
#include "../Random.h"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <numeric>

using namespace stagewright;
using stagewright::testing::Draw;
using stagewright::testing::kPart;

namespace {

bool meet(const PackItem &a, const PackItem &b) {
  for (const Life &x : a.lives)
    for (const Life &y : b.lives)
      if (x.first <= y.last && y.first <= x.last)
        return true;
  return false;
}

void expectDisjoint(const std::vector<PackItem> &items, const Packing &found) {
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_GE(items[i].offset, 0);
    EXPECT_LE(items[i].offset + items[i].bytes, found.total);
    for (size_t j = 0; j < i; ++j)
      if (meet(items[i], items[j])) {
        EXPECT_TRUE(items[i].offset + items[i].bytes <= items[j].offset ||
                    items[j].offset + items[j].bytes <= items[i].offset)
            << "items " << i << " and " << j << " share bytes";
      }
  }
}

/// The smallest arena. Tries all orders, placing each item as low as possible.
/// That includes an optimum: in an optimal packing with all items moved down as
/// far as possible, the order by offset gives the same packing.
int64_t bruteForce(std::vector<PackItem> items) {
  std::vector<int> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t least = INT64_MAX;
  do {
    int64_t total = 0;
    for (size_t k = 0; k < order.size() && total < least; ++k) {
      PackItem &item = items[order[k]];
      item.offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t j = 0; j < k; ++j) {
          const PackItem &other = items[order[j]];
          if (meet(item, other) && item.offset < other.offset + other.bytes &&
              other.offset < item.offset + item.bytes) {
            item.offset = other.offset + other.bytes;
            moved = true;
          }
        }
      }
      total = std::max(total, item.offset + item.bytes);
    }
    least = std::min(least, total);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

std::vector<PackItem> drawItems(Draw &draw, int64_t count, int64_t moments,
                                int64_t longest) {
  std::vector<PackItem> items;
  for (int64_t i = 0; i < count; ++i) {
    PackItem item;
    item.bytes = 64 * draw.whole(1, draw.chance(0.3) ? 40 : 6);
    int64_t first = draw.whole(0, moments);
    int64_t last = first + draw.whole(0, longest);
    item.lives.push_back({first, last});
    if (draw.chance(0.2))
      item.lives.push_back({last + 2, last + 2 + draw.whole(0, longest)});
    items.push_back(item);
  }
  return items;
}

TEST(Packing, NothingTakesNothing) {
  std::vector<PackItem> items;
  EXPECT_EQ(pack(items).total, 0);
  items.push_back({64, {}, 0});
  EXPECT_EQ(pack(items).bound, 0);
}

TEST(Packing, EndsOfLivesMeet) {
  std::vector<PackItem> items = {{64, {{0, 1}}, 0}, {64, {{1, 2}}, 0}};
  Packing found = pack(items);
  EXPECT_EQ(found.total, 128);
  EXPECT_EQ(found.bound, 128);
  expectDisjoint(items, found);
}

TEST(Packing, TakesTheGapBetweenTwoLives) {
  std::vector<PackItem> items = {{128, {{0, 1}, {4, 5}}, 0},
                                 {128, {{2, 3}}, 0}};
  EXPECT_EQ(pack(items).total, 128);
}

/// Packing the same items in two orders gives equal totals and valid offsets.
TEST(Packing, ByLifeWhateverTheOrder) {
  Draw draw(17);
  for (uint64_t round = 0; round < 40 / kPart + 1; ++round) {
    std::vector<PackItem> items = drawItems(draw, 40, 60, 20);
    for (PackItem &item : items)
      item.lives.resize(1);
    std::vector<PackItem> turned(items.rbegin(), items.rend());
    LifePacker packer, same;
    Packing found = packer.pack(items), other = same.pack(turned);
    expectDisjoint(items, found);
    expectDisjoint(turned, other);
    EXPECT_EQ(found.total, other.total);
    EXPECT_LE(double(found.total), 1.2 * double(found.bound));
    // Packing the same items again gives the same total.
    std::vector<PackItem> again(items.rbegin(), items.rend());
    for (PackItem &item : again)
      item.offset = -1;
    EXPECT_EQ(packer.pack(again).total, found.total);
    expectDisjoint(again, found);
  }
}

/// fits() tries only as many orders as needed, which changes neither its answer
/// nor what pack() finds later.
TEST(Packing, FitsIfAPackingDoes) {
  Draw draw(29);
  int64_t between = 0;
  for (uint64_t round = 0; round < 40 / kPart + 1; ++round) {
    std::vector<PackItem> items = drawItems(draw, 40, 60, 20);
    for (PackItem &item : items)
      item.lives.resize(1);
    LifePacker alone, packer;
    Packing best = alone.pack(items);
    between += best.total > best.bound;
    for (int64_t most : {best.total + 1000, best.total - 1, best.total + 3,
                         best.bound, best.total, best.bound - 1, int64_t(-5)})
      EXPECT_EQ(packer.fits(items, most), best.total <= most) << most;
    LifePacker fresh;
    EXPECT_TRUE(fresh.fits(items, 2 * best.total));
    std::vector<PackItem> again = items;
    EXPECT_EQ(fresh.pack(again).total, best.total);
    expectDisjoint(again, best);
  }
  EXPECT_GT(between, 0);
}

/// liveBound() returns the same for items of one lifetime in either form,
/// whether or not their times are far apart.
TEST(Packing, LiveBoundOfSingleLives) {
  Draw draw(31);
  for (uint64_t round = 0; round < 40 / kPart + 1; ++round) {
    std::vector<PackItem> items = drawItems(draw, 40, 60, 20);
    for (int64_t apart : {1, 100'000}) {
      std::vector<LiveItem> single;
      for (PackItem &item : items) {
        item.lives.resize(1);
        item.lives[0] = {item.lives[0].first * apart,
                         item.lives[0].last * apart};
        single.push_back({item.bytes, item.lives[0]});
      }
      EXPECT_EQ(liveBound(single), liveBound(items));
    }
  }
  EXPECT_EQ(liveBound(std::vector<LiveItem>()), 0);
}

/// Times may be far apart: only their order matters.
TEST(Packing, OnlyTheOrderOfTimesMatters) {
  Draw draw(19);
  for (uint64_t round = 0; round < 20 / kPart + 1; ++round) {
    std::vector<PackItem> near = drawItems(draw, 30, 40, 8), far = near;
    for (PackItem &item : far)
      for (Life &life : item.lives)
        life = {life.first * 100'000 - 7, life.last * 100'000 - 7};
    Packing found = pack(near), apart = pack(far);
    EXPECT_EQ(found.bound, apart.bound);
    EXPECT_EQ(found.total, apart.total);
    expectDisjoint(far, apart);
  }
}

/// Random small cases are packed as well as by exhaustive search.
TEST(Packing, AsSmallAsAnyOnSmallCases) {
  Draw draw(7);
  for (uint64_t round = 0; round < 400 / kPart; ++round) {
    std::vector<PackItem> items = drawItems(draw, draw.whole(2, 7), 8, 4);
    int64_t least = bruteForce(items);
    Packing found = pack(items);
    expectDisjoint(items, found);
    EXPECT_LE(found.bound, least);
    EXPECT_EQ(found.total, least) << "round " << round;
  }
}

TEST(Packing, NearTheBoundOnLargeCases) {
  Draw draw(11);
  for (uint64_t round = 0; round < 20 / kPart + 1; ++round) {
    std::vector<PackItem> items = drawItems(draw, 300, 300, 12);
    Packing found = pack(items);
    expectDisjoint(items, found);
    EXPECT_LE(double(found.total), 1.05 * double(found.bound));
  }
}

/// Time must be about linear in the number of items if equally many are alive
/// at once. The limit allows for a busy machine, but not for quadratic time.
TEST(Packing, ManyItemsTakeLittle) {
  Draw draw(13);
  std::vector<PackItem> items = drawItems(draw, 20'000, 20'000, 12);
  auto began = std::chrono::steady_clock::now();
  Packing found = pack(items);
  std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - began;
  EXPECT_LE(double(found.total), 1.10 * double(found.bound));
  EXPECT_LT(spent.count(), 5.0 * double(kPart));
}

} // namespace
