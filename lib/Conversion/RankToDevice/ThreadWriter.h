//===- ThreadWriter.h - write the code of one thread ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all kernels share: buffers as pointers with strides, arithmetic on
// places (offsets in elements), loads and stores of one element or of several
// adjacent ones, bodies of linalg operations at one point of their loops, and
// sums over a team of threads. Places have 32 bits if every buffer allows it:
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

/// Threads that run in lockstep and exchange values without memory.
constexpr int64_t kWarp = 32;
/// Bytes of shared memory that a block of any kernel can have on every device.
constexpr int64_t kUsualShared = 48 << 10;
/// Max bytes that a thread loads or stores at once, and so the alignment of
/// buffers that kernels expect, also of arrays in shared memory.
constexpr int64_t kVectorBytes = 16;
/// Bytes of one memory transaction.
constexpr int64_t kSector = 32;
/// Threads of a block that sums one part of many terms.
constexpr int64_t kSumThreads = 256;
/// Max lanes: adjacent elements of a row that a thread computes together.
constexpr unsigned kMostLanes = 4;

/// A buffer in generated code: element i is `start` + `offset` + strides * i
/// elements after `pointer`.
struct Memory {
  /// Null for a buffer that nothing reads: its elements are not stored.
  mlir::Value pointer;
  mlir::Value start; ///< null: 0
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
  mlir::Type element;
};

/// A place in a buffer as a linear function of the loops of an operation: a
/// constant, and for each loop the number of elements that one iteration moves
/// on.
struct Linear {
  int64_t constant = 0;
  llvm::SmallVector<int64_t> steps;

  /// None if the map is not linear.
  static std::optional<Linear> get(mlir::AffineMap map,
                                   llvm::ArrayRef<int64_t> strides);
};

/// The launch dimensions of a kernel.
struct Shape {
  int64_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  int64_t shared = 0; ///< bytes of a block
};

class ThreadWriter {
public:
  /// Whether `op` is one of the constants and scalar operations at the start of
  /// a kernel's block.
  static bool isPrelude(mlir::Operation &op);

  /// Writes the code of `kernel` into `target`.
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
  /// Splits a linear counter into indices for `extents`, innermost last.
  llvm::SmallVector<mlir::Value> split(mlir::Value counter,
                                       llvm::ArrayRef<int64_t> extents);

  //===--- Memory ---------------------------------------------------------===//
  /// The buffer of `value`, a value of the kernel.
  Memory memoryOf(mlir::Value value);
  /// The place in `memory`, indexed by `map`, for `indices` of the loops.
  mlir::Value placeOf(const Memory &memory, mlir::AffineMap map,
                      mlir::ValueRange indices);
  mlir::Value placeOf(const Memory &memory, const Linear &linear,
                      mlir::ValueRange indices);
  mlir::Value address(const Memory &memory, mlir::Value at);
  mlir::Value load(const Memory &memory, mlir::Value at);
  void store(const Memory &memory, mlir::Value at, mlir::Value value);
  /// Loads `lanes` adjacent elements; the first is at a multiple of `lanes`.
  llvm::SmallVector<mlir::Value> loadLanes(const Memory &memory, mlir::Value at,
                                           unsigned lanes);
  void storeLanes(const Memory &memory, mlir::Value at,
                  mlir::ValueRange values);

  //===--- Sums -----------------------------------------------------------===//
  /// The initial values of `count` sums of `op` in its result `init`: what
  /// `read` loads from there. If the buffer is an argument with float elements
  /// that only `op` uses and that it writes as a whole, and a bit is left, the
  /// kernel gets one more argument, an `sw_sums`, in which the buffer has the
  /// bits of its index in `sums`. If its bit SW_SUMS_ZERO is set, the sums
  /// begin with zeros, and nothing is read.
  llvm::SmallVector<mlir::Value>
  beginSums(mlir::linalg::LinalgOp op, mlir::OpOperand &init, unsigned count,
            llvm::function_ref<llvm::SmallVector<mlir::Value>()> read);
  /// What to store for such sums, whose new values are `values`: their
  /// quotients by the count in the `sw_sums`, if the buffer's bit
  /// SW_SUMS_DIVIDE is set, else `values`.
  llvm::SmallVector<mlir::Value> endSums(mlir::OpOperand &init,
                                         mlir::ValueRange values);
  /// The arguments of the kernel whose sums may begin with zeros and be
  /// divided, by the number of their bits.
  llvm::SmallVector<int64_t> sums;
  /// The number by which to divide what the kernel adds to parts of `argument`:
  /// a count, or 1. To be called after all calls of beginSums(); null if there
  /// is no bit left or `argument` is not a contiguous array of floats.
  mlir::Value divisorOf(mlir::BlockArgument argument);
  /// Arguments to which the kernel adds such quotients; their bits follow those
  /// of `sums`.
  llvm::SmallVector<int64_t> adds;

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
  /// Called by `clone` for every operation; returns whether it has written the
  /// code of the operation, for example because one thread does not run all of
  /// it.
  llvm::function_ref<bool(mlir::Operation &)> special;

  mlir::Value lookup(mlir::Value value) {
    return mapping.lookupOrDefault(value);
  }
  void map(mlir::Value from, mlir::Value to) { mapping.map(from, to); }

  //===--- Threads --------------------------------------------------------===//
  /// Runs `then` if `condition` is true or null. Returns what `then` returns,
  /// and in threads that do not run it `otherwise`.
  llvm::SmallVector<mlir::Value>
  where(mlir::Value condition, mlir::ValueRange otherwise,
        llvm::function_ref<llvm::SmallVector<mlir::Value>()> then);
  /// A loop over [0, count); `turn` returns the carried values.
  llvm::SmallVector<mlir::Value>
  loop(int64_t count, mlir::ValueRange inits,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           turn);
  /// A loop over [lower, upper), which is equal in all threads of the block.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value lower, mlir::Value upper, int64_t step,
       mlir::ValueRange inits,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           turn);
  void barrier();
  /// The number of calls of barrier().
  int64_t barriers = 0;
  /// Reduces `value` by copies of `combine` over the `team` threads of which
  /// this is number `thread`; all get the result. The threads of the block
  /// (`shape`) form whole teams; if a team is larger than a warp, every thread
  /// of the block must execute this.
  mlir::Value reduce(mlir::Value value, mlir::Operation *combine,
                     mlir::Value thread, int64_t team);
  mlir::Value combine(mlir::Operation *op, mlir::Value a, mlir::Value b);
  /// Allocates `count` elements in the shared memory of the block.
  Memory shared(mlir::Type element, int64_t count);
  /// Makes `buffer`, which the kernel allocates, an array in shared memory.
  void allocate(mlir::Value buffer);
  /// The `value` of the thread whose number is this one's xor `offset`.
  mlir::Value shuffle(mlir::Value value, int64_t offset);

private:
  mlir::Value evaluate(mlir::AffineExpr expr, mlir::ValueRange indices);
  mlir::Value toPlace(mlir::Value index);
  mlir::Type storageOf(mlir::Type element);
  mlir::Value fromStorage(mlir::Value value, mlir::Type element);
  mlir::Value toStorage(mlir::Value value);

  mlir::Type place;
  mlir::IRMapping mapping;
  mlir::Value sharedBase, thread, sumBits;
  mlir::Value isClear(unsigned bit); ///< of `sumBits`
  mlir::Value countOfSums(mlir::Type type);
  llvm::DenseMap<mlir::Value, mlir::Value> allocated; ///< pointers by buffer
  mlir::gpu::GPUFuncOp target;
};

/// Each writes one kind of kernel. It fails if the kernel is of another kind,
/// before it writes anything.
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
