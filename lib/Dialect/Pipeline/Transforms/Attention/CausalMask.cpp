//===- CausalMask.cpp - proofs that a condition is a causal mask ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks are comparisons of positions. An integer is traced back to a linear
// form of query and key, a condition to such a form and the statement that it
// is at least 0. Small masks and index arrays may be constants, of which every
// element is compared.
//
//===----------------------------------------------------------------------===//

#include "CausalMask.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

namespace stagewright::pipeline {

/// Larger constants than this are not traced. The sum of one of them, a query
/// and a key, each less than 2^29, fits into 32 bits.
constexpr int64_t kMostConstant = 1LL << 30;

namespace {

/// The number `query` * (index of the query) + `key` * (index of the key) +
/// `constant`, or, if `isCondition`, whether that is at least 0. The constants
/// true and false are the numbers 1 and 0, not conditions.
struct Form {
  int64_t query = 0, key = 0, constant = 0;
  bool isCondition = false;
  bool isOther = false; ///< the index of another dimension

  bool operator==(const Form &) const = default;
  bool isNumber(int64_t value) const {
    return query == 0 && key == 0 && constant == value && !isCondition;
  }
  bool isSmall() const {
    return std::max(std::abs(query), std::abs(key)) <= 1 &&
           std::abs(constant) <= kMostConstant;
  }
  /// The opposite condition.
  Form negated() const { return {-query, -key, -constant - 1, true}; }
};

Form sum(Form a, Form b, int64_t sign = 1) {
  return {a.query + sign * b.query, a.key + sign * b.key,
          a.constant + sign * b.constant};
}

using Found = std::optional<Form>;

Found compare(arith::CmpIPredicate predicate, Form a, Form b) {
  auto atLeast = [](Form form, int64_t bound) {
    return Form{form.query, form.key, form.constant - bound, true};
  };
  switch (predicate) {
  case arith::CmpIPredicate::sge:
    return atLeast(sum(a, b, -1), 0);
  case arith::CmpIPredicate::sgt:
    return atLeast(sum(a, b, -1), 1);
  case arith::CmpIPredicate::sle:
    return atLeast(sum(b, a, -1), 0);
  case arith::CmpIPredicate::slt:
    return atLeast(sum(b, a, -1), 1);
  default:
    return std::nullopt;
  }
}

/// Whether the type is that of conditions.
bool isBit(Type type) { return getElementTypeOrSelf(type).isInteger(1); }

/// Whether numbers of the type may be as large as those that are traced.
bool isWide(Type type) {
  type = getElementTypeOrSelf(type);
  return type.isIndex() ||
         (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() >= 32);
}

Found combine(Operation *op, ArrayRef<Form> x) {
  // A narrow integer may overflow where the form does not.
  Type type = op->getResult(0).getType();
  if (!isWide(type) && !isBit(type))
    return std::nullopt;
  bool readsBit = !x.empty() && isBit(op->getOperand(0).getType());
  // A bit of a number is not the number, and true is -1 as a wider one.
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return x[0].isCondition || !(readsBit || isBit(type)) ? Found(x[0])
                                                          : std::nullopt;
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (x[0].isCondition && x[1].isNumber(1) && x[2].isNumber(0))
      return x[0];
    if (x[0].isCondition && x[1].isNumber(0) && x[2].isNumber(1))
      return x[0].negated();
    return std::nullopt;
  }
  if (isa<arith::XOrIOp>(op) && x[0].isCondition && x[1].isNumber(1))
    return x[0].negated();
  // `and` with true, or `or` with zero, is the other operand.
  if (isa<arith::AndIOp, arith::OrIOp>(op)) {
    int64_t neutral = isa<arith::AndIOp>(op);
    if (neutral && !readsBit)
      return std::nullopt;
    return x[0].isNumber(neutral)   ? Found(x[1])
           : x[1].isNumber(neutral) ? Found(x[0])
                                    : std::nullopt;
  }
  if (readsBit || (x.size() == 2 && (x[0].isCondition || x[1].isCondition)))
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return sum(x[0], x[1]);
  if (isa<arith::SubIOp>(op))
    return sum(x[0], x[1], -1);
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return compare(cmp.getPredicate(), x[0], x[1]);
  return std::nullopt;
}

Found constantOf(Value value) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  if (auto elements = dyn_cast<SplatElementsAttr>(constant))
    constant = elements.getSplatValue<Attribute>();
  auto number = dyn_cast<IntegerAttr>(constant);
  if (!number || number.getValue().getSignificantBits() > 32)
    return std::nullopt;
  return Form{0, 0,
              number.getType().isInteger(1)
                  ? int64_t(number.getValue().getBoolValue())
                  : number.getValue().getSExtValue()};
}

/// The form of an element of a constant mask, if the mask is a triangle: all
/// its elements are compared.
Found triangleOf(Value value, ArrayRef<Form> place) {
  DenseElementsAttr mask;
  if (!matchPattern(value, m_Constant(&mask)) ||
      !mask.getElementType().isInteger(1) || place.size() != 2)
    return std::nullopt;
  auto isIndex = [](Form form, bool query) {
    return form.query == query && form.key == !query && form.constant == 0 &&
           !form.isOther;
  };
  bool turned = isIndex(place[0], false) && isIndex(place[1], true);
  if (!turned && !(isIndex(place[0], true) && isIndex(place[1], false)))
    return std::nullopt;
  int64_t columns = mask.getType().getShape()[1];
  bool first = *mask.value_begin<bool>(); // query 0 sees key 0
  for (auto [at, kept] : llvm::enumerate(mask.getValues<bool>())) {
    int64_t i = int64_t(at) / columns, j = int64_t(at) % columns;
    if (turned)
      std::swap(i, j);
    if (kept != ((j <= i) == first))
      return std::nullopt;
  }
  Form triangle{1, -1, 0, true};
  return first ? triangle : triangle.negated();
}

/// The form of an element of a constant integer array, such as a small iota of
/// JAX, if its elements are linear in their indices: all are compared.
Found countOf(Value value, ArrayRef<Form> place) {
  DenseIntElementsAttr count;
  if (!matchPattern(value, m_Constant(&count)) ||
      count.getElementType().isInteger(1) || place.empty() ||
      count.getNumElements() == 0)
    return std::nullopt;
  ArrayRef<int64_t> shape = count.getType().getShape();
  SmallVector<int64_t> numbers;
  for (const APInt &number : count) {
    if (number.getSignificantBits() > 32)
      return std::nullopt;
    numbers.push_back(number.getSExtValue());
  }
  // First compute the step along each axis, then compare all elements.
  SmallVector<int64_t> steps(shape.size(), 0);
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] > 1)
      steps[axis] = numbers[size_t(stride)] - numbers[0];
    stride *= shape[axis];
  }
  for (auto [at, number] : llvm::enumerate(numbers)) {
    int64_t rest = int64_t(at), expected = numbers[0];
    for (size_t axis = shape.size(); axis-- > 0;) {
      expected += steps[axis] * (rest % shape[axis]);
      rest /= shape[axis];
    }
    if (number != expected)
      return std::nullopt;
  }
  Form form{0, 0, numbers[0]};
  for (auto [index, step] : llvm::zip_equal(place, steps)) {
    if (step != 0 && index.isOther)
      return std::nullopt;
    form = sum(form,
               {step * index.query, step * index.key, step * index.constant});
    if (!form.isSmall())
      return std::nullopt;
  }
  return form;
}

class FormTrace : ElementTrace<Found, Form> {
public:
  /// The form of `value`, in the body of `op` or a tensor if `op` is null.
  Found of(linalg::LinalgOp op, Value value, ArrayRef<Form> place) {
    begin();
    return op ? inBody(op, value, place) : element(value, place);
  }

private:
  std::optional<Found> given(linalg::LinalgOp op, Value value,
                             ArrayRef<Form> place) override {
    if (Found constant = constantOf(value))
      return constant;
    auto index = value.getDefiningOp<linalg::IndexOp>();
    if (op && index && index->getBlock() == op.getBlock()) {
      Form form = place[index.getDim()];
      return form.isOther ? Found() : form;
    }
    if (op) // The element of a constant is at other indices.
      return std::nullopt;
    for (Found found : {triangleOf(value, place), countOf(value, place)})
      if (found)
        return found;
    return std::nullopt;
  }

  Found apply(Operation *op, ArrayRef<Found> operands) override {
    SmallVector<Form> forms;
    for (const Found &form : operands) {
      if (!form || !form->isSmall())
        return std::nullopt;
      forms.push_back(*form);
    }
    return combine(op, forms);
  }

  Found unknown() const override { return std::nullopt; }
  Form zero() const override { return {}; }

  /// A tensor.expand_shape may only split dimensions that are neither query nor
  /// key, and add dimensions of extent 1.
  std::optional<Place> beforeReshape(Operation *op,
                                     ArrayRef<Form> place) override {
    auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
    if (!expand)
      return std::nullopt;
    Place before;
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      Place wide;
      for (int64_t axis : group)
        if (expand.getResultType().getDimSize(axis) != 1)
          wide.push_back(place[size_t(axis)]);
      if (wide.size() > 1 &&
          !llvm::all_of(wide, [](const Form &form) { return form.isOther; }))
        return std::nullopt;
      before.push_back(wide.empty() ? Form{} : wide.front());
    }
    return before;
  }
};

} // namespace

std::optional<bool> matchCausal(linalg::LinalgOp op, Value condition,
                                ArrayRef<int> dims, int query, int key) {
  SmallVector<Form> loops;
  for (int dim : dims)
    loops.push_back(
        {dim == query, dim == key, 0, false, dim != query && dim != key});
  Found form = FormTrace().of(op, condition, loops);
  auto isPast = [](Form of) {
    return of.query == 1 && of.key == -1 && of.constant == 0;
  };
  if (form && form->isCondition && isPast(*form))
    return true;
  if (form && form->isCondition && isPast(form->negated()))
    return false;
  return std::nullopt;
}

} // namespace stagewright::pipeline
