//===- Twins.cpp - kernels of a device, run on the host -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Twins/Twins.h"
#include "Error.h"

#include <array>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace stagewright::runtime {

namespace {

constexpr int64_t kWarp = 32;
constexpr size_t kStack = 256 << 10;

class Grid;

/// Where a thread waits, if it does.
enum class State { Ready, Barrier, Shuffle, Done };

struct Fiber : sw_thread {
  Grid *grid;
  int64_t number; ///< in its block
  State state;
  uint32_t given, taken; ///< bits of a shuffle
  int32_t offset;
  ucontext_t context;
  std::unique_ptr<char[]> stack;
};

/// The last threads that touched a byte of shared memory since a barrier.
struct Touched {
  int64_t epoch = -1;
  int64_t writer = -1, reader = -1; ///< -1: none
  bool manyReaders = false;
};

class Grid {
public:
  Grid(const sw_twin &twin, void *const *arguments)
      : twin(twin), arguments(arguments),
        threads(twin.block[0] * twin.block[1] * twin.block[2]),
        fibers(size_t(threads)), shared(size_t(twin.shared) + 64),
        touched(size_t(twin.shared)) {
    for (int64_t i = 0; i < twin.arguments; ++i)
      if (twin.extents[i] >= 0) {
        void *pointer;
        std::memcpy(&pointer, arguments[i], sizeof(pointer));
        ranges.push_back(
            {static_cast<const char *>(pointer),
             static_cast<const char *>(pointer) + twin.extents[i]});
      }
    auto at = reinterpret_cast<uintptr_t>(shared.data());
    base = shared.data() + (64 - at % 64) % 64;
  }

  void run() {
    for (int64_t z = 0; z < twin.grid[2]; ++z)
      for (int64_t y = 0; y < twin.grid[1]; ++y)
        for (int64_t x = 0; x < twin.grid[0]; ++x)
          runBlock({x, y, z});
  }

  void wait(Fiber &fiber, State state) {
    fiber.state = state;
    swapcontext(&fiber.context, &scheduler);
  }

  /// False where the access must not happen.
  bool access(Fiber &fiber, const void *address, int64_t bytes, bool writes) {
    const auto *from = static_cast<const char *>(address), *to = from + bytes;
    if (from >= base && to <= base + twin.shared)
      return touch(fiber, from - base, bytes, writes);
    for (auto [begin, end] : ranges)
      if (from >= begin && to <= end)
        return true;
    fail(fiber, std::string(writes ? "writes " : "reads ") +
                    std::to_string(bytes) +
                    " bytes outside the buffers of the launch");
    return false;
  }

  /// Ends a thread where it stands. Its frames own nothing.
  [[noreturn]] void leave(Fiber &fiber) {
    if (!twin.meets)
      longjmp(home, 1);
    wait(fiber, State::Done);
    __builtin_unreachable();
  }

private:
  void runBlock(std::array<int64_t, 3> block) {
    std::memset(shared.data(), 0xff, shared.size());
    ++epoch;
    for (int64_t i = 0; i < threads; ++i) {
      Fiber &fiber = fibers[size_t(i)];
      std::copy(block.begin(), block.end(), fiber.block);
      fiber.thread[0] = i % twin.block[0];
      fiber.thread[1] = i / twin.block[0] % twin.block[1];
      fiber.thread[2] = i / twin.block[0] / twin.block[1];
      fiber.shared = base;
      fiber.grid = this;
      fiber.number = i;
      fiber.state = State::Ready;
      fiber.barrier = [](sw_thread *thread) {
        auto *fiber = static_cast<Fiber *>(thread);
        fiber->grid->wait(*fiber, State::Barrier);
      };
      fiber.shuffle = [](sw_thread *thread, uint32_t bits, int32_t offset) {
        auto *fiber = static_cast<Fiber *>(thread);
        fiber->given = bits;
        fiber->offset = offset;
        fiber->grid->wait(*fiber, State::Shuffle);
        return fiber->taken;
      };
      fiber.Fiber::sw_thread::access = [](sw_thread *thread,
                                          const void *address, int64_t bytes,
                                          int32_t writes) {
        auto *fiber = static_cast<Fiber *>(thread);
        if (!fiber->grid->access(*fiber, address, bytes, writes))
          fiber->grid->leave(*fiber);
      };
      if (twin.meets)
        start(fiber);
      else if (setjmp(home) == 0)
        twin.run(&fiber, arguments);
      else
        raise(error);
    }
    if (twin.meets)
      schedule();
    if (!error.empty())
      raise(error);
  }

  void start(Fiber &fiber) {
    if (!fiber.stack)
      fiber.stack = std::make_unique<char[]>(kStack);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = &scheduler;
    auto pointer = reinterpret_cast<uintptr_t>(&fiber);
    makecontext(
        &fiber.context,
        reinterpret_cast<void (*)()>(static_cast<void (*)(unsigned, unsigned)>(
            [](unsigned low, unsigned high) {
              auto *fiber = reinterpret_cast<Fiber *>(uintptr_t(low) |
                                                      uintptr_t(high) << 32);
              Grid &grid = *fiber->grid;
              grid.twin.run(fiber, grid.arguments);
              fiber->state = State::Done;
            })),
        2, unsigned(pointer), unsigned(pointer >> 32));
  }

  /// Runs every thread to where it waits, then lets those meet that can.
  void schedule() {
    for (bool moves = true; moves && error.empty();) {
      moves = false;
      for (Fiber &fiber : fibers)
        if (fiber.state == State::Ready) {
          moves = true;
          swapcontext(&scheduler, &fiber.context);
        }
      for (int64_t warp = 0; warp < threads; warp += kWarp)
        meetWarp(warp, std::min(warp + kWarp, threads));
      if (all(0, threads, State::Barrier)) {
        ++epoch;
        for (Fiber &fiber : fibers)
          fiber.state = State::Ready;
      }
    }
    for (Fiber &fiber : fibers)
      if (error.empty() && fiber.state != State::Done)
        fail(fiber, fiber.state == State::Barrier
                        ? "waits at a barrier that others of its block do not "
                          "come to"
                        : "waits at a shuffle that others of its warp do not "
                          "come to");
  }

  void meetWarp(int64_t from, int64_t to) {
    if (!all(from, to, State::Shuffle))
      return;
    for (int64_t i = from; i < to; ++i) {
      Fiber &fiber = fibers[size_t(i)];
      int64_t other = from + ((i - from) ^ fiber.offset);
      if (fiber.offset != fibers[size_t(from)].offset || other >= to)
        return fail(fiber, "shuffles with a thread that is not there");
      fiber.taken = fibers[size_t(other)].given;
    }
    for (int64_t i = from; i < to; ++i)
      fibers[size_t(i)].state = State::Ready;
  }

  bool all(int64_t from, int64_t to, State state) const {
    for (int64_t i = from; i < to; ++i)
      if (fibers[size_t(i)].state != state)
        return false;
    return true;
  }

  bool touch(Fiber &fiber, int64_t from, int64_t bytes, bool writes) {
    for (int64_t byte = from; byte < from + bytes; ++byte) {
      Touched &last = touched[size_t(byte)];
      if (last.epoch != epoch)
        last = {epoch};
      bool otherWrote = last.writer >= 0 && last.writer != fiber.number;
      bool otherRead =
          last.manyReaders || (last.reader >= 0 && last.reader != fiber.number);
      if (otherWrote || (writes && otherRead)) {
        fail(fiber, std::string(writes ? "writes" : "reads") + " byte " +
                        std::to_string(byte) +
                        " of the shared memory, which another thread touches "
                        "before they meet");
        return false;
      }
      if (writes)
        last.writer = fiber.number;
      else if (last.reader >= 0 && last.reader != fiber.number)
        last.manyReaders = true;
      else
        last.reader = fiber.number;
    }
    return true;
  }

  /// The first error is kept: no exception may cross the kernel's frames.
  void fail(const Fiber &fiber, const std::string &what) {
    if (error.empty())
      error = std::string("thread ") + printShape(fiber.thread) + " of block " +
              printShape(fiber.block) + " of kernel '" + twin.name + "' " +
              what;
  }

  const sw_twin &twin;
  void *const *arguments;
  int64_t threads;
  std::vector<Fiber> fibers;
  std::vector<char> shared;
  std::vector<Touched> touched;
  std::vector<std::pair<const char *, const char *>> ranges;
  char *base;
  int64_t epoch = 0;
  std::string error;
  ucontext_t scheduler;
  std::jmp_buf home; ///< of kernels whose threads do not meet
};

} // namespace

void runTwin(const sw_twin &twin, void *const *arguments) {
  Grid(twin, arguments).run();
}

} // namespace stagewright::runtime
