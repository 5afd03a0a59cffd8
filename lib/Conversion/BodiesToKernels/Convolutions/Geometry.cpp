//===- Geometry.cpp - recognizes convolutions among sums of products ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Geometry.h"
#include "Dilations.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "stagewright/Conversion/BodiesToKernels/LinearMap.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"

namespace stagewright::bodies {

namespace {

/// An operand without the zeros around and between its elements: element i of
/// dimension d of `source` is at low[d] + step[d] * i of the operand.
struct Peeled {
  Value source;
  Numbers low, step;

  explicit Peeled(Value value)
      : source(value), low(rankOf(value), 0), step(rankOf(value), 1) {
    while (peelPad() || peelInsert()) {
    }
  }

  int64_t extent(unsigned dim) const {
    return cast<RankedTensorType>(source.getType()).getDimSize(dim);
  }
  bool isWhole(unsigned dim, Value value) const {
    return low[dim] == 0 && step[dim] == 1 &&
           extent(dim) ==
               cast<RankedTensorType>(value.getType()).getDimSize(dim);
  }

private:
  static size_t rankOf(Value value) {
    return size_t(cast<RankedTensorType>(value.getType()).getRank());
  }

  void enter(Value inner, ArrayRef<int64_t> offsets,
             ArrayRef<int64_t> strides) {
    for (size_t d = 0; d < low.size(); ++d) {
      low[d] += step[d] * offsets[d];
      step[d] *= strides.empty() ? 1 : strides[d];
    }
    source = inner;
  }

  bool peelPad() {
    auto pad = source.getDefiningOp<tensor::PadOp>();
    if (!pad)
      return false;
    Value with = pad.getConstantPaddingValue();
    auto negative = [](int64_t n) { return n < 0; }; // or dynamic
    if (!with || !matchPattern(with, m_AnyZeroFloat()) ||
        llvm::any_of(pad.getStaticLow(), negative) ||
        llvm::any_of(pad.getStaticHigh(), negative))
      return false;
    enter(pad.getSource(), pad.getStaticLow(), {});
    return true;
  }

  bool peelInsert() {
    tensor::InsertSliceOp insert = matchInsertIntoZeros(source);
    if (!insert)
      return false;
    enter(insert.getSource(), insert.getStaticOffsets(),
          insert.getStaticStrides());
    return true;
  }
};

/// If `value` is another tensor with the dimensions of `flipped` reversed, that
/// tensor; else null. A dimension of extent 1 counts both as reversed and as
/// not reversed.
Value matchReversed(Value value, const llvm::SmallDenseSet<unsigned> &flipped) {
  Value source;
  AffineMap map = matchCopy(value, source);
  if (!map || source.getType() != value.getType())
    return {};
  auto type = cast<RankedTensorType>(value.getType());
  for (unsigned d = 0; d < map.getNumResults(); ++d) {
    AffineExpr dim = getAffineDimExpr(d, value.getContext());
    bool reversed =
        simplifyAffineExpr(map.getResult(d) + dim, map.getNumDims(), 0) ==
        getAffineConstantExpr(type.getDimSize(d) - 1, value.getContext());
    bool same = map.getResult(d) == dim;
    bool fits =
        type.getDimSize(d) == 1 || (flipped.contains(d) ? reversed : same);
    if (!fits)
      return {};
  }
  return source;
}

/// Two loops that index one dimension of the image, by cu * u + cv * v.
struct Place {
  unsigned imageDim, u, v;
  int64_t cu, cv;
};

/// The loops of a convolution by the operands that they index: I is the image
/// operand, K the other input, C the result.
struct PlacedLoops {
  SmallVector<AffineMap> maps; ///< of I, K and C
  int batch = -1;              ///< I and C
  int sum = -1;                ///< I and K
  int column = -1;             ///< K and C
  SmallVector<Place> places;

  unsigned at(unsigned operand, int loop) const {
    return *maps[operand].getResultPosition(
        getAffineDimExpr(unsigned(loop), maps[operand].getContext()));
  }

  static std::optional<PlacedLoops> get(linalg::GenericOp op, unsigned image) {
    SmallVector<AffineMap> all = op.getIndexingMapsArray();
    PlacedLoops loops;
    loops.maps = {all[image], all[1 - image], all[2]};
    auto steps = coefficientsOf(all[image]);
    if (!steps || !loops.maps[1].isProjectedPermutation() ||
        !loops.maps[2].isProjectedPermutation())
      return std::nullopt;
    for (auto [dim, row] : llvm::enumerate(*steps)) {
      SmallVector<unsigned> walked;
      for (auto [loop, step] : llvm::enumerate(row))
        if (step != 0)
          walked.push_back(unsigned(loop));
      if (walked.size() == 2) {
        bool first = loops.maps[2].isFunctionOfDim(walked[0]);
        unsigned u = walked[first ? 0 : 1], v = walked[first ? 1 : 0];
        loops.places.push_back({unsigned(dim), u, v, row[u], row[v]});
      } else if (walked.size() != 1 || row[walked[0]] != 1) {
        return std::nullopt;
      }
    }
    return loops.classify(op.getNumLoops()) ? std::optional(loops)
                                            : std::nullopt;
  }

private:
  bool classify(unsigned count) {
    llvm::SmallDenseSet<unsigned> placed;
    for (const Place &it : places) {
      auto indexes = [&](unsigned operand, unsigned loop) {
        return maps[operand].isFunctionOfDim(loop);
      };
      if (it.cu < 1 || it.cv < 1 || !indexes(2, it.u) || indexes(1, it.u) ||
          !indexes(1, it.v) || indexes(2, it.v) ||
          !placed.insert(it.u).second || !placed.insert(it.v).second)
        return false;
    }
    for (unsigned loop = 0; loop < count; ++loop) {
      if (placed.contains(loop))
        continue;
      bool i = maps[0].isFunctionOfDim(loop), k = maps[1].isFunctionOfDim(loop),
           c = maps[2].isFunctionOfDim(loop);
      int *role = i && c && !k   ? &batch
                  : i && k && !c ? &sum
                  : k && c && !i ? &column
                                 : nullptr;
      if (!role || *role >= 0)
        return false;
      *role = int(loop);
    }
    return batch >= 0 && sum >= 0 && column >= 0 && !places.empty() &&
           places.size() <= 3;
  }
};

/// Matches an operation as a convolution or as one of its two gradients.
class Reader {
public:
  Reader(linalg::GenericOp op, unsigned image, const PlacedLoops &loops)
      : op(op), loops(loops), imageValue(op.getDpsInputs()[image]),
        kernel(op.getDpsInputs()[1 - image]), peeled(imageValue),
        ranges(op.getStaticLoopRanges()) {}

  std::optional<Geometry> read() {
    if (!peeled.isWhole(loops.at(0, loops.batch), imageValue) ||
        !peeled.isWhole(loops.at(0, loops.sum), imageValue))
      return std::nullopt;
    llvm::SmallDenseSet<unsigned> taps;
    int64_t window = 1, results = 1;
    bool widened = false;
    for (const Place &it : loops.places) {
      taps.insert(loops.at(1, int(it.v)));
      widened |= peeled.step[it.imageDim] != 1;
      window *= ranges[it.v];
      results *= ranges[it.u];
    }
    Value reversed = matchReversed(kernel, taps);
    if (window == 1 && !reversed)
      reversed = kernel;
    if (widened || (reversed && reversed != kernel))
      return reversed ? imageGradient(reversed) : std::nullopt;
    Peeled other(kernel);
    bool wide = llvm::any_of(other.step, [](int64_t s) { return s != 1; });
    return wide || window > results ? filterGradient(other) : result();
  }

private:
  enum Operand { I, K, C };

  Numbers dims(Operand operand, int outer, int channel, bool taps) const {
    Numbers list = {loops.at(operand, outer), loops.at(operand, channel)};
    for (const Place &it : loops.places)
      list.push_back(operand == I ? it.imageDim
                                  : loops.at(operand, int(taps ? it.v : it.u)));
    return list;
  }

  /// Appends a dimension in which the image has extent `x`, the filter `window`
  /// and the result `y`; false if these do not fit.
  static bool add(Geometry &to, int64_t stride, int64_t dilation,
                  int64_t before, int64_t x, int64_t window, int64_t y) {
    int64_t reach = (window - 1) * dilation + 1;
    int64_t after = std::max<int64_t>((y - 1) * stride + reach - x - before, 0);
    to.stride.push_back(stride), to.dilation.push_back(dilation);
    to.before.push_back(before), to.after.push_back(after);
    int64_t room = x + before + after - reach;
    return before >= 0 && room >= 0 && room / stride + 1 == y;
  }

  std::optional<Geometry> result() const {
    Geometry it;
    it.writes = rank::Convolution::Result;
    it.operands = {peeled.source, kernel, {}};
    it.dims = {dims(I, loops.batch, loops.sum, true),
               dims(K, loops.column, loops.sum, true),
               dims(C, loops.batch, loops.column, false)};
    for (const Place &place : loops.places)
      if (!add(it, place.cu, place.cv, peeled.low[place.imageDim],
               peeled.extent(place.imageDim), ranges[place.v], ranges[place.u]))
        return std::nullopt;
    return it;
  }

  std::optional<Geometry> filterGradient(const Peeled &other) const {
    if (!other.isWhole(loops.at(1, loops.sum), kernel) ||
        !other.isWhole(loops.at(1, loops.column), kernel))
      return std::nullopt;
    Geometry it;
    it.writes = rank::Convolution::Filter;
    it.operands = {peeled.source, {}, other.source};
    it.dims = {dims(I, loops.sum, loops.batch, true),
               dims(C, loops.column, loops.batch, false),
               dims(K, loops.sum, loops.column, true)};
    for (const Place &place : loops.places) {
      unsigned dim = loops.at(1, int(place.v));
      if (!add(it, place.cv * other.step[dim], place.cu,
               peeled.low[place.imageDim] - place.cv * other.low[dim],
               peeled.extent(place.imageDim), ranges[place.u],
               other.extent(dim)))
        return std::nullopt;
    }
    return it;
  }

  std::optional<Geometry> imageGradient(Value filter) const {
    Geometry it;
    it.writes = rank::Convolution::Image;
    it.operands = {Value(), filter, peeled.source};
    it.dims = {dims(C, loops.batch, loops.column, false),
               dims(K, loops.sum, loops.column, true),
               dims(I, loops.batch, loops.sum, true)};
    for (const Place &place : loops.places) {
      unsigned dim = place.imageDim;
      if (place.cu != 1 ||
          !add(it, peeled.step[dim], place.cv,
               place.cv * (ranges[place.v] - 1) - peeled.low[dim],
               ranges[place.u], ranges[place.v], peeled.extent(dim)))
        return std::nullopt;
    }
    return it;
  }

  linalg::GenericOp op;
  const PlacedLoops &loops;
  Value imageValue, kernel;
  Peeled peeled;
  SmallVector<int64_t> ranges;
};

} // namespace

std::optional<Geometry> Geometry::get(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInputs() != 2 ||
      op->getNumResults() != 1 || !matchSumOfProducts(op))
    return std::nullopt;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return std::nullopt;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || type.getElementType() != element || !type.hasStaticShape())
      return std::nullopt;
  }
  for (unsigned image : {0u, 1u})
    if (auto loops = PlacedLoops::get(op, image))
      return Reader(op, image, *loops).read();
  return std::nullopt;
}

} // namespace stagewright::bodies
