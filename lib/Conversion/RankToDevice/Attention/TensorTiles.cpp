//===- TensorTiles.cpp - products of tiles on tensor cores ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block is 4 warps with 16 rows each. Tensor cores multiply 16 x 16 by 16 x 8
// numbers (mma.m16n8k16): lane 4 y + x of a warp holds the scores of rows y and
// y + 8 in columns 2 x and 2 x + 1 of every 8 columns. The left operand of a
// product has the same layout, so weights stay in registers. If alignment and
// memory allow it, tiles of columns have two buffers: asynchronous copies fill
// one while the other is multiplied ("Warp Level Matrix Multiply-Accumulate
// Instructions" and "cp.async" in NVIDIA's PTX ISA; T. Dao, "FlashAttention-2",
// 2023, section 3).
//
//===----------------------------------------------------------------------===//

#include "TileWriter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {
namespace {

constexpr int64_t kThreadsOfRow = 4, kRows = 2, kRowStep = 8, kSide = 2;
/// Rows, columns and terms (m, n, k) of one tensor core product.
constexpr int64_t kShape[] = {16, 8, 16};
constexpr int64_t kRowsOfWarp = kShape[0], kTerms = kShape[2];
/// Columns of two products, whose right operands one load fetches.
constexpr int64_t kColumns = 2 * kShape[1];
/// Max sums and scores of a thread, which has 255 registers.
constexpr int64_t kMostNumbers = 160;
constexpr int64_t kCopied = 16; ///< bytes of an asynchronous copy

class TensorTiles final : public TileWriter {
public:
  static std::unique_ptr<TileWriter> make(ThreadWriter &writer,
                                          const pipeline::Attention &attention,
                                          const TileNeeds &needs);

  Tile walkedTile(int64_t width) override {
    return tile(columns(), width, buffers);
  }
  Tile weightTile() override { return {{}, rows(), columns(), 0}; }
  void load(const Tile &tile, const Strided &from, Value base, Value first,
            int64_t limit, unsigned rowDim, unsigned widthDim) override;
  void put(Tile &tile, ValueRange scores) override {
    tile.numbers.assign(scores.begin(), scores.end());
  }
  void share() override {}
  Values walk(Value lower, Value upper, ArrayRef<Tile> tiles, Load load,
              ValueRange state, bool again, Turn turn) override;
  Values multiply(const Tile &a, const Tile &b) override;
  Values accumulate(ValueRange sums, const Tile &weights,
                    const Tile &b) override;

private:
  TensorTiles(ThreadWriter &writer, const pipeline::Attention &attention,
              Layout layout, int64_t c, int64_t buffers)
      : TileWriter(writer, attention, layout, kRows, c), buffers(buffers),
        lane(writer.modulo(writer.threadId(), kWarp)) {}

  /// Whether asynchronous copies can load all operands of products.
  static bool isCopied(ThreadWriter &writer,
                       const pipeline::Attention &attention);
  /// Loads four 8 x 8 matrices; each group of 8 lanes provides the addresses of
  /// the rows of one.
  Values loadMatrices(const Tile &tile, Value row, Value column,
                      NVVM::MMALayout order);
  /// Two numbers of the tiles' type in one register.
  Value pack(Value low, Value high);
  /// Adds a product to 4 sums: two in each of two rows.
  void addProduct(ValueRange a, ValueRange b, Value *low, Value *high);

  int64_t buffers;
  Value lane;
};

constexpr StringRef kMultiplied[] = {"query", "key", "value", "d_output"};

bool TensorTiles::isCopied(ThreadWriter &writer,
                           const pipeline::Attention &attention) {
  return llvm::all_of(kMultiplied, [&](StringRef name) {
    if (!attention.has(name))
      return true;
    unsigned width = dimsOf(attention, name).second;
    return isWide(operand(writer, attention, name), width,
                  attention.extents[width],
                  lanesOf(attention.type(name).getElementType()));
  });
}

/// The first row of a thread's warp.
Value firstRowOfWarp(ThreadWriter &writer) {
  return writer.times(writer.dividedBy(writer.threadId(), kWarp), kRowsOfWarp);
}

std::unique_ptr<TileWriter>
TensorTiles::make(ThreadWriter &writer, const pipeline::Attention &attention,
                  const TileNeeds &needs) {
  Type element = attention.type("query").getElementType();
  for (StringRef name : kMultiplied)
    if (attention.has(name) && attention.type(name).getElementType() != element)
      return nullptr;
  if (!element.isF16() && !element.isBF16())
    return nullptr;
  Layout layout = {kThreadsOfRow,
                   kRowStep,
                   kSide,
                   kSide,
                   kTerms,
                   element,
                   [](ThreadWriter &writer) {
                     Value lane = writer.modulo(writer.threadId(), kWarp);
                     Value inWarp = writer.dividedBy(lane, kThreadsOfRow);
                     return writer.add(firstRowOfWarp(writer), inWarp);
                   }};
  auto bytes = [&](int64_t rows, ArrayRef<int64_t> widths) {
    return elementsOf(layout, rows, widths) * 16 / lanesOf(element);
  };
  int64_t rows = kThreads / kThreadsOfRow * kRows, sums = 0;
  for (int64_t width : needs.sums)
    sums += int64_t(llvm::alignTo(width, kTerms)) / kThreadsOfRow * kRows;
  bool copied = isCopied(writer, attention);
  // Overlapped copies justify smaller tiles, but not the smallest.
  constexpr std::pair<int64_t, int64_t> kColumnsAndBuffers[] = {
      {64, 2}, {32, 2}, {64, 1}, {32, 1}, {16, 2}, {16, 1}};
  for (auto [columns, buffers] : kColumnsAndBuffers) {
    int64_t scores = needs.scores * columns / kThreadsOfRow * kRows;
    if ((copied || buffers == 1) && sums + scores <= kMostNumbers &&
        bytes(rows, needs.own) + buffers * bytes(columns, needs.walked) <=
            kMostShared)
      return std::unique_ptr<TileWriter>(new TensorTiles(
          writer, attention, layout, columns / kThreadsOfRow, buffers));
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void TensorTiles::load(const Tile &tile, const Strided &from, Value base,
                       Value first, int64_t limit, unsigned rowDim,
                       unsigned widthDim) {
  if (tile.buffers == 1)
    return TileWriter::load(tile, from, base, first, limit, rowDim, widthDim);
  OpBuilder &builder = writer.builder;
  Location loc = writer.loc;
  auto global = LLVM::LLVMPointerType::get(
      builder.getContext(), unsigned(NVVM::NVVMMemorySpace::Global));
  auto bytes = [&](int64_t count) {
    return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(),
                                        count);
  };
  forPieces(tile, from, base, first, limit, rowDim, widthDim,
            lanesOf(layout.element), [&](Value to, Value place, Value inside) {
              // Elements outside are filled with zeros, and not read.
              Value count;
              if (inside)
                count = arith::SelectOp::create(builder, loc, inside,
                                                bytes(kCopied), bytes(0));
              Value source = LLVM::AddrSpaceCastOp::create(
                  builder, loc, global, writer.address(from.memory, place));
              NVVM::CpAsyncOp::create(
                  builder, loc, writer.address(tile.memory, to), source,
                  uint32_t(kCopied), NVVM::LoadCacheModifierKind::CG, count);
            });
}

TileWriter::Values TensorTiles::walk(Value lower, Value upper,
                                     ArrayRef<Tile> tiles, Load load,
                                     ValueRange state, bool again, Turn turn) {
  if (buffers == 1)
    return TileWriter::walk(lower, upper, tiles, load, state, again, turn);
  OpBuilder &builder = writer.builder;
  Location loc = writer.loc;
  auto inBuffer = [&](Value number) {
    SmallVector<Tile> there(tiles);
    for (Tile &tile : there)
      tile.start = writer.times(number, tile.rows * tile.stride);
    return there;
  };
  auto begin = [&](Value first, Value number) {
    Value exists = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, first, upper);
    writer.where(exists, {}, [&]() -> Values {
      for (auto [i, tile] : llvm::enumerate(inBuffer(number)))
        load(tile, unsigned(i), first);
      return {};
    });
    NVVM::CpAsyncCommitGroupOp::create(builder, loc);
  };
  if (again)
    writer.barrier();
  Value zero = writer.number(0);
  begin(lower, zero);
  Values carried = {zero};
  llvm::append_range(carried, state);
  Values last = writer.loop(
      lower, upper, columns(), carried,
      [&](Value first, ValueRange values) -> Values {
        // The copies of all threads are complete, and no thread still reads the
        // other buffer.
        NVVM::CpAsyncWaitGroupOp::create(builder, loc, 0);
        writer.barrier();
        Value other =
            arith::SubIOp::create(builder, loc, writer.number(1), values[0]);
        begin(writer.add(first, columns()), other);
        Values next = {other};
        llvm::append_range(
            next, turn(first, inBuffer(values[0]), values.drop_front()));
        return next;
      });
  last.erase(last.begin());
  return last;
}

TileWriter::Values TensorTiles::loadMatrices(const Tile &tile, Value row,
                                             Value column,
                                             NVVM::MMALayout order) {
  OpBuilder &builder = writer.builder;
  Value at = writer.add(writer.times(row, tile.stride), column);
  if (tile.start)
    at = writer.add(tile.start, at);
  Type word = builder.getI32Type();
  auto four = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               {word, word, word, word});
  auto shape =
      NVVM::LdStMatrixShapeAttr::get(builder.getContext(), /*m=*/8, /*n=*/8);
  Value loaded = NVVM::LdMatrixOp::create(
      builder, writer.loc, four, writer.address(tile.memory, at), 4, order,
      shape, NVVM::LdStMatrixEltType::B16);
  Values matrices;
  for (int64_t i = 0; i < 4; ++i)
    matrices.push_back(
        LLVM::ExtractValueOp::create(builder, writer.loc, loaded, i));
  return matrices;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value TensorTiles::pack(Value low, Value high) {
  OpBuilder &builder = writer.builder;
  Location loc = writer.loc;
  auto pair = VectorType::get({2}, layout.element);
  Value vector = LLVM::PoisonOp::create(builder, loc, pair);
  Value numbers[] = {low, high};
  for (auto [i, number] : llvm::enumerate(numbers)) {
    Value narrow =
        arith::TruncFOp::create(builder, loc, layout.element, number);
    Value at = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                        builder.getI32IntegerAttr(int32_t(i)));
    vector = LLVM::InsertElementOp::create(builder, loc, vector, narrow, at);
  }
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), vector);
}

void TensorTiles::addProduct(ValueRange a, ValueRange b, Value *low,
                             Value *high) {
  OpBuilder &builder = writer.builder;
  Location loc = writer.loc;
  bool half = layout.element.isF16();
  auto asOperand = [&](ValueRange words) {
    if (!half)
      return Values(words);
    return llvm::map_to_vector(words, [&](Value word) -> Value {
      return LLVM::BitcastOp::create(
          builder, loc, VectorType::get({2}, layout.element), word);
    });
  };
  Type number = builder.getF32Type();
  auto four = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), {number, number, number, number});
  auto type = half ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  Value sums[] = {low[0], low[1], high[0], high[1]};
  Value made = NVVM::MmaOp::create(
      builder, loc, four, asOperand(a), asOperand(b), sums, kShape,
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
      std::array{type, type},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (int64_t i = 0; i < 4; ++i)
    (i < 2 ? low : high)[i % 2] =
        LLVM::ExtractValueOp::create(builder, loc, made, i);
}

TileWriter::Values TensorTiles::multiply(const Tile &a, const Tile &b) {
  // Lanes provide the addresses of the rows of four matrices: of `a` 16 rows,
  // then the same rows 8 columns further; of `b` 8 rows, the same rows 8
  // columns further, then both for the next 8 rows.
  Value inHalf = writer.modulo(lane, 16), half = writer.dividedBy(lane, 16);
  Value rowOfA = writer.add(firstRowOfWarp(writer), inHalf);
  Value rowOfB = writer.add(writer.times(half, 8), writer.modulo(lane, 8));
  Value columnOfB = writer.times(writer.dividedBy(inHalf, 8), 8);
  Values sums(size_t(r * c), constant(0));
  return writer.loop(
      llvm::divideCeil(a.width, kTerms), sums,
      [&](Value turn, ValueRange carried) -> Values {
        Value at = writer.times(turn, kTerms);
        Values next(carried);
        Values left =
            loadMatrices(a, rowOfA, writer.add(at, writer.times(half, 8)),
                         NVVM::MMALayout::row);
        for (int64_t column = 0; column < columns(); column += kColumns) {
          Values right =
              loadMatrices(b, writer.add(rowOfB, column),
                           writer.add(at, columnOfB), NVVM::MMALayout::row);
          for (int64_t n = 0; n < 2; ++n) {
            int64_t j = (column + n * kShape[1]) / kThreadsOfRow;
            addProduct(left, ValueRange(right).slice(size_t(2 * n), 2),
                       &next[size_t(j)], &next[size_t(c + j)]);
          }
        }
        return next;
      });
}

TileWriter::Values TensorTiles::accumulate(ValueRange sums, const Tile &weights,
                                           const Tile &b) {
  auto each = int64_t(sums.size()) / r;
  Values next(sums);
  ArrayRef<Value> numbers = weights.numbers;
  Value row = writer.modulo(lane, 16);
  Value column = writer.times(writer.dividedBy(lane, 16), 8);
  for (int64_t term = 0; term < columns(); term += kTerms) {
    Values left;
    for (int64_t part : {0, 1})
      for (int64_t i : {0, 1}) {
        auto at = size_t(i * c + term / kThreadsOfRow + part * kSide);
        left.push_back(pack(numbers[at], numbers[at + 1]));
      }
    for (int64_t j = 0; j < each; j += kColumns / kThreadsOfRow) {
      Values right = loadMatrices(b, writer.add(row, term),
                                  writer.add(column, j * kThreadsOfRow),
                                  NVVM::MMALayout::col);
      for (int64_t n = 0; n < 2; ++n) {
        auto at = size_t(j + n * kSide);
        addProduct(left, ValueRange(right).slice(size_t(2 * n), 2), &next[at],
                   &next[size_t(each) + at]);
      }
    }
  }
  return next;
}

} // namespace

std::unique_ptr<TileWriter>
makeTensorTiles(ThreadWriter &writer, const pipeline::Attention &attention,
                const TileNeeds &needs) {
  return TensorTiles::make(writer, attention, needs);
}

} // namespace stagewright::device
