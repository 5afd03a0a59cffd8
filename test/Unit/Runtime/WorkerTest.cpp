//===- WorkerTest.cpp - tests of the background worker thread -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Threads/Worker.h"

#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>
#include <set>
#include <vector>

using namespace stagewright::runtime;

namespace {

TEST(Worker, DoesEverythingInOrderOnOneThread) {
  std::vector<int> order;
  std::set<std::thread::id> threads;
  std::vector<std::future<int>> results;
  Worker worker;
  for (int i = 0; i < 100; ++i)
    results.push_back(worker.run([&, i] {
      order.push_back(i);
      threads.insert(std::this_thread::get_id());
      return i * i;
    }));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(results[size_t(i)].get(), i * i);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(order[size_t(i)], i);
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_FALSE(threads.count(std::this_thread::get_id()));
}

TEST(Worker, AnErrorIsThatOfWhoAskedAndTheNextIsDone) {
  Worker worker;
  std::future<void> first = worker.run([] { raise("no room"); });
  std::future<int> second = worker.run([] { return 2; });
  EXPECT_THROW(first.get(), Error);
  EXPECT_EQ(second.get(), 2);
}

TEST(Worker, DoesWhatIsLeftBeforeItEnds) {
  int done = 0;
  {
    Worker worker;
    for (int i = 0; i < 10; ++i)
      worker.run([&] { ++done; });
  }
  EXPECT_EQ(done, 10);
}

} // namespace
