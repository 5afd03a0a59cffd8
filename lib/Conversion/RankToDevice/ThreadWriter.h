//===- ThreadWriter.h - the code of one thread ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all kinds of kernels share: buffers as pointers with strides, arithmetic
// on places, loads and stores of one element or of several side by side, bodies
// of linalg operations at one point of their loops, and sums over a team of
// threads. Places count elements in 32 bits where every buffer allows it:
// devices multiply and divide those several times faster.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_THREADWRITER_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_THREADWRITER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace stagewright::device {

/// Threads that run in step and exchange values without memory.
constexpr int64_t kWarp = 32;
/// Bytes that memory moves at once.
constexpr int64_t kSector = 32;
/// Threads of a block that sums one part of many terms.
constexpr int64_t kSumThreads = 256;
/// Most elements that a thread loads and stores at once.
constexpr unsigned kMostLanes = 4;

/// A buffer as code sees it: element i lies at `start` + strides * i elements
/// behind `pointer`.
struct Memory {
  /// Null for what nobody reads: its elements are not stored.
  mlir::Value pointer;
  mlir::Value start; ///< null: none but `offset`
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
  mlir::Type element;
};

/// A place in a buffer as a function of the loops of an operation: a constant
/// and a number of elements for each step of each loop.
struct Linear {
  int64_t constant = 0;
  llvm::SmallVector<int64_t> steps;

  /// Nothing if the map is not linear.
  static std::optional<Linear> get(mlir::AffineMap map,
                                   llvm::ArrayRef<int64_t> strides);
};

/// What a kernel is launched with.
struct Shape {
  int64_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  int64_t shared = 0; ///< bytes of a block
};

class ThreadWriter {
public:
  /// Whether an operation of a kernel's block is one of its constants and
  /// numbers, which come first.
  static bool isPrelude(mlir::Operation &op);

  /// Writes into `target` what `kernel` says.
  ThreadWriter(mlir::func::FuncOp kernel, mlir::gpu::GPUFuncOp target);

  mlir::OpBuilder builder;
  mlir::Location loc;
  Shape shape;

  //===--- Places ---------------------------------------------------------===//
  mlir::Type placeType() const { return place; }
  mlir::Value number(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value times(mlir::Value a, int64_t b);
  mlir::Value dividedBy(mlir::Value a, int64_t b);
  mlir::Value modulo(mlir::Value a, int64_t b);
  mlir::Value isLess(mlir::Value a, int64_t b);
  mlir::Value isZero(mlir::Value a);
  mlir::Value threadId();
  mlir::Value blockId(mlir::gpu::Dimension dimension);
  /// The indices of a counter that walks `extents`, innermost last.
  llvm::SmallVector<mlir::Value> split(mlir::Value counter,
                                       llvm::ArrayRef<int64_t> extents);

  //===--- Memory ---------------------------------------------------------===//
  /// The buffer behind `value` of the kernel.
  Memory memoryOf(mlir::Value value);
  /// Where `memory`, indexed by `map`, is at `indices` of the loops.
  mlir::Value placeOf(const Memory &memory, mlir::AffineMap map,
                      mlir::ValueRange indices);
  mlir::Value placeOf(const Memory &memory, const Linear &linear,
                      mlir::ValueRange indices);
  mlir::Value address(const Memory &memory, mlir::Value at);
  mlir::Value load(const Memory &memory, mlir::Value at);
  void store(const Memory &memory, mlir::Value at, mlir::Value value);
  /// `lanes` elements side by side, of which the first lies at a multiple of
  /// `lanes`.
  llvm::SmallVector<mlir::Value> loadLanes(const Memory &memory, mlir::Value at,
                                           unsigned lanes);
  void storeLanes(const Memory &memory, mlir::Value at,
                  mlir::ValueRange values);

  //===--- Sums -----------------------------------------------------------===//
  /// What `count` sums of `op` in its result `init` begin with: what `read`
  /// gives, which lies there. Where the buffer is an argument of the kernel
  /// that `op` writes as a whole, the kernel takes a set of bits more, by
  /// `sums`: with the bit of the buffer they begin with zeros, and nothing is
  /// read.
  llvm::SmallVector<mlir::Value>
  beginSums(mlir::linalg::LinalgOp op, mlir::OpOperand &init, unsigned count,
            llvm::function_ref<llvm::SmallVector<mlir::Value>()> read);
  /// Arguments of the kernel that may begin with zeros, by bit.
  llvm::SmallVector<int64_t> sums;

  //===--- Bodies ---------------------------------------------------------===//
  /// What the body of `op` yields at `indices` of its loops, for the operands'
  /// elements `arguments`.
  llvm::SmallVector<mlir::Value> body(mlir::linalg::LinalgOp op,
                                      mlir::ValueRange indices,
                                      mlir::ValueRange arguments);
  /// Clones one operation of a body or a loop: reads and writes of buffers
  /// become loads and stores.
  void clone(mlir::Operation &op, mlir::ValueRange indices);
  void cloneBlock(mlir::Block &block, mlir::ValueRange indices);
  /// Called for what `clone` finds that is not for a single thread.
  llvm::function_ref<bool(mlir::Operation &)> special;

  mlir::Value lookup(mlir::Value value) {
    return mapping.lookupOrDefault(value);
  }
  void map(mlir::Value from, mlir::Value to) { mapping.map(from, to); }

  //===--- Threads --------------------------------------------------------===//
  /// Runs `then` where `condition` holds; a null condition always does. What it
  /// returns is returned, and `otherwise` for the other threads.
  llvm::SmallVector<mlir::Value>
  where(mlir::Value condition, mlir::ValueRange otherwise,
        llvm::function_ref<llvm::SmallVector<mlir::Value>()> then);
  /// A loop over [0, count); `turn` returns what is carried on.
  llvm::SmallVector<mlir::Value>
  loop(int64_t count, mlir::ValueRange inits,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           turn);
  /// The same over [lower, upper), which all threads of the block agree on.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value lower, mlir::Value upper, int64_t step,
       mlir::ValueRange inits,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           turn);
  void barrier();
  /// How often that was called.
  int64_t barriers = 0;
  /// `value` combined, by a copy of `combine`, over the `team` threads of which
  /// this is number `thread`; all get the same. The block's threads, whose
  /// number `shape` states, are whole teams; where these are more than a warp,
  /// every thread of the block must come here.
  mlir::Value reduce(mlir::Value value, mlir::Operation *combine,
                     mlir::Value thread, int64_t team);
  mlir::Value combine(mlir::Operation *op, mlir::Value a, mlir::Value b);
  /// Takes `bytes` of the shared memory of the block.
  Memory shared(mlir::Type element, int64_t count);
  /// The value of the thread whose number differs in the bits of `offset`.
  mlir::Value shuffle(mlir::Value value, int64_t offset);

private:
  mlir::Value evaluate(mlir::AffineExpr expr, mlir::ValueRange indices);
  mlir::Value toPlace(mlir::Value index);
  mlir::Type storageOf(mlir::Type element);
  mlir::Value fromStorage(mlir::Value value, mlir::Type element);
  mlir::Value toStorage(mlir::Value value);

  mlir::Type place;
  mlir::IRMapping mapping;
  mlir::Value sharedBase, thread, zeroBits;
  mlir::gpu::GPUFuncOp target;
};

/// The ways to write a kernel. Each fails where it does not apply, before it
/// writes anything.
mlir::LogicalResult writeElementwise(ThreadWriter &writer,
                                     mlir::func::FuncOp kernel);
mlir::LogicalResult writeRows(ThreadWriter &writer, mlir::func::FuncOp kernel);
mlir::LogicalResult writeSums(ThreadWriter &writer, mlir::func::FuncOp kernel);
mlir::LogicalResult writeScatter(ThreadWriter &writer,
                                 mlir::func::FuncOp kernel);
mlir::LogicalResult writeLoops(ThreadWriter &writer, mlir::func::FuncOp kernel);
mlir::LogicalResult writeTensorAttention(ThreadWriter &writer,
                                         mlir::func::FuncOp kernel);
mlir::LogicalResult writeAttention(ThreadWriter &writer,
                                   mlir::func::FuncOp kernel);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_THREADWRITER_H
