//===- CopiedBuffers.cpp - write results where they are copied to ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopiedBuffers.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {
namespace {

/// Rows of a box must begin at multiples of this many bytes: wide loads and
/// libraries need it.
constexpr int64_t kRowAlignment = 16;

bool isStaticBox(memref::SubViewOp box) {
  auto isStatic = [](ArrayRef<int64_t> numbers) {
    return !ShapedType::isDynamicShape(numbers);
  };
  return isStatic(box.getStaticOffsets()) && isStatic(box.getStaticSizes()) &&
         isStatic(box.getStaticStrides());
}

/// Whether two boxes of one buffer are certainly disjoint.
bool areApart(memref::SubViewOp a, memref::SubViewOp b) {
  auto last = [](memref::SubViewOp box, unsigned dim) {
    return box.getStaticOffsets()[dim] +
           (box.getStaticSizes()[dim] - 1) * box.getStaticStrides()[dim];
  };
  for (unsigned dim = 0; dim < a.getStaticOffsets().size(); ++dim)
    if (last(a, dim) < b.getStaticOffsets()[dim] ||
        last(b, dim) < a.getStaticOffsets()[dim])
      return true;
  return false;
}

bool hasAlignedRows(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  Type element = type.getElementType();
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.empty() ||
      strides.back() != 1 || !element.isIntOrFloat())
    return false;
  auto isAligned = [&](int64_t elements) {
    return !ShapedType::isDynamic(elements) &&
           elements * element.getIntOrFloatBitWidth() % (8 * kRowAlignment) ==
               0;
  };
  return isAligned(offset) &&
         llvm::all_of(ArrayRef(strides).drop_back(), isAligned);
}

/// One copy of a whole buffer into a box of another.
class CopiedBuffer {
public:
  /// Members are null if `copy` has another form.
  explicit CopiedBuffer(memref::CopyOp copy) : copy(copy) {
    Value source = copy.getSource();
    reshape = source.getDefiningOp<memref::CollapseShapeOp>();
    if (reshape && reshape->hasOneUse())
      source = reshape.getSrc();
    buffer = source.getDefiningOp<memref::AllocOp>();
    box = copy.getTarget().getDefiningOp<memref::SubViewOp>();
    if (box)
      whole = box.getSource().getDefiningOp<memref::AllocOp>();
    if (!buffer)
      return;
    for (OpOperand &use : buffer->getUses()) {
      Operation *user = use.getOwner();
      if (user == copy || user == reshape)
        continue;
      auto styled = dyn_cast<DestinationStyleOpInterface>(user);
      isOnlyWritten &= !writer && styled && styled.isDpsInit(&use);
      writer = user;
    }
  }

  /// Whether the writer of the buffer may write to the box instead.
  bool canMove() {
    if (!buffer || !whole || !writer || !isOnlyWritten || !box->hasOneUse() ||
        !isStaticBox(box) || !hasAlignedRows(box.getType()) ||
        box.getType().getRank() != whole.getType().getRank())
      return false;
    Block *block = copy->getBlock();
    if (writer->getBlock() != block || whole->getBlock() != block ||
        !writer->isBeforeInBlock(copy))
      return false;
    if (reshape) {
      FailureOr<MemRefType> type = memref::ExpandShapeOp::computeExpandedType(
          box.getType(), buffer.getType().getShape(),
          reshape.getReassociationIndices());
      if (failed(type))
        return false;
      placeType = *type;
    }
    // Nothing else accesses the box before the copy.
    return llvm::all_of(whole->getUsers(), [&](Operation *user) {
      if (user == box ||
          (user->getBlock() == block && copy->isBeforeInBlock(user)))
        return true;
      auto other = dyn_cast<memref::SubViewOp>(user);
      return other && isStaticBox(other) && areApart(box, other);
    });
  }

  void move() {
    if (!whole->isBeforeInBlock(writer))
      whole->moveBefore(writer);
    box->moveAfter(whole);
    Value place = box;
    if (reshape) {
      OpBuilder builder(box->getContext());
      builder.setInsertionPointAfter(box);
      place =
          memref::ExpandShapeOp::create(builder, reshape.getLoc(), placeType,
                                        box, reshape.getReassociationIndices());
    }
    copy.erase();
    if (reshape)
      reshape.erase();
    buffer.replaceAllUsesWith(place);
    buffer.erase();
  }

private:
  memref::CopyOp copy;
  memref::CollapseShapeOp reshape;
  memref::AllocOp buffer, whole;
  memref::SubViewOp box;
  MemRefType placeType; ///< The box, in the shape of the buffer.
  Operation *writer = nullptr;
  bool isOnlyWritten = true;
};

} // namespace

void writeWhereCopied(func::FuncOp body) {
  SmallVector<memref::CopyOp> copies;
  body.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  for (memref::CopyOp copy : copies)
    if (CopiedBuffer copied(copy); copied.canMove())
      copied.move();
}

} // namespace stagewright::bodies
