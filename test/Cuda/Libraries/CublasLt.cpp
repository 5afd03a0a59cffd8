//===- CublasLt.cpp - what cuBLASLt accepts and rejects -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls are rejected as NVIDIA's "cuBLAS" documents in "cublasLtMatmul()" and
// "cublasLtMatmulDescAttributes_t", and as the library's own messages state.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "Product.h"

using namespace emulator;

namespace {

constexpr int invalid = 7, executionFailed = 13, notSupported = 15;
/// `cublasComputeType_t`.
constexpr int64_t compute32 = 68, compute64 = 70, compute32Tf32 = 77;
/// Attributes of a product: `cublasLtMatmulDescAttributes_t`.
constexpr int computeType = 0, transposeA = 3, transposeB = 4, epilogueKind = 7,
              biasAddress = 8, auxAddress = 11, auxLeading = 12, auxType = 22,
              biasType = 26;
/// Attributes of a preference, and the first of a layout
/// (`cublasLtMatrixLayoutAttribute_t`).
constexpr int preferWorkspace = 1, preferAlignmentA = 5, layoutRows = 2;

/// "workspace: must be 256-byte aligned".
constexpr uint64_t workspaceAlignment = 256;
/// "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: must be divisible by 8" for GELU.
constexpr int64_t auxLeadingMultiple = 8;
/// For 8-bit operands: the alignment in bytes, and the divisor of extents.
constexpr int64_t narrowMultiple = 16;

/// Of a product or a preference: what was set.
using Attributes = std::map<int, int64_t>;

/// Null if the emulator does not know the attribute.
int64_t *memberOf(Attributes &it, int attribute) { return &it[attribute]; }
int64_t *memberOf(Matrix &it, int attribute) {
  constexpr std::array members = {&Matrix::rows, &Matrix::columns, &Matrix::row,
                                  &Matrix::batches, &Matrix::batch};
  auto number = size_t(attribute - layoutRows);
  return number < members.size() ? &(it.*members[number]) : nullptr;
}

template <typename T>
int set(const char *symbol, T *it, int attribute, const void *value,
        size_t size) {
  int64_t bits = 0, *to = memberOf(*it, attribute);
  std::memcpy(&bits, value, size);
  if (to && !isDropped(symbol, it, attribute, bits))
    *to = bits;
  return to ? 0 : invalid;
}

/// Text for the log.
std::string shown(const char *name, const Matrix &it) {
  return text(" %s=%ldx%ld/%ld*%ld/%ld", name, it.rows, it.columns, it.row,
              it.batches, it.batch);
}

/// Null if the type is invalid: `cudaDataType_t`.
const Element *elementOfCuda(int64_t type) {
  return elementIn({0, 1, 2, 14, 28, 29}, int(type));
}

/// The product of a descriptor and its matrices; none if a type is invalid.
std::optional<Product> productOf(Attributes &desc,
                                 const std::array<Matrix, 4> &matrices) {
  const Matrix &d = matrices[3];
  auto typeOr = [&](int attribute) {
    return desc.contains(attribute) ? elementOfCuda(desc[attribute])
                                    : d.element;
  };
  Product it = {matrices};
  it.transposesA = desc[transposeA] != 0;
  it.transposesB = desc[transposeB] != 0;
  it.rounds = desc[computeType] == compute32Tf32;
  it.epilogue = int(desc[epilogueKind]);
  it.bias = {uint64_t(desc[biasAddress]), typeOr(biasType),
             it.does(Product::sumsB) ? d.columns : d.rows, 1};
  it.aux = {uint64_t(desc[auxAddress]), typeOr(auxType), d.rows, d.columns,
            desc[auxLeading]};
  bool isValid = it.bias.element && it.aux.element;
  for (const Matrix &matrix : matrices)
    isValid &= matrix.element != nullptr;
  return isValid ? std::optional(it) : std::nullopt;
}

/// Whether extents do not match, or pointers are missing or misaligned.
bool isMalformed(const Product &it) {
  const auto &[a, b, c, d] = it.matrices;
  int64_t m = it.transposesA ? a.columns : a.rows;
  int64_t n = it.transposesB ? b.rows : b.columns;
  int64_t depth = it.transposesB ? b.columns : b.rows;
  bool isBiasWrong =
      !it.bias.address || it.bias.address % uint64_t(it.bias.element->size);
  bool isAuxWrong =
      !it.aux.address || it.aux.row < m || it.aux.row % auxLeadingMultiple;
  bool isWrong = it.depth() != depth || c.element != d.element ||
                 (it.hasBias() && isBiasWrong) ||
                 (it.does(Product::hasAux) && isAuxWrong);
  for (const Matrix &matrix : it.matrices)
    isWrong |= matrix.batches != d.batches;
  for (const Matrix *result : {&c, &d})
    isWrong |= result->rows != m || result->columns != n;
  return isWrong;
}

/// Whether cuBLASLt has no kernel for this combination.
bool hasNoAlgorithm(const Product &it, int64_t compute) {
  const auto &[a, b, c, d] = it.matrices;
  bool narrowA = a.element->size == 1, narrowB = b.element->size == 1;
  if (narrowA || narrowB) {
    bool bothE5 = a.element == e5m2 && b.element == e5m2;
    bool multiples = true;
    for (int64_t extent : {a.rows, a.columns, b.columns, a.row, b.row})
      multiples &= extent % narrowMultiple == 0;
    return !narrowA || !narrowB || bothE5 || !multiples || !it.transposesA ||
           it.transposesB || compute != compute32;
  }
  bool wide = d.element == f64;
  return a.element != b.element || wide != (compute == compute64) ||
         wide != (a.element == f64) ||
         (it.epilogue != Product::none && d.batches > 1);
}

/// `cublasLtMatmulAlgo_t`: the product that it was chosen for.
struct Algorithm {
  uint64_t shape;
  uint32_t alignments[4];
  int64_t workspace, unused[4];
};
/// `cublasLtMatmulHeuristicResult_t`.
struct Heuristic {
  Algorithm algorithm;
  int64_t workspace;
  int state;
  float waves;
  int reserved[4];
};

uint64_t shapeOf(const Product &it) {
  uint64_t hash =
      uint64_t(it.epilogue) * 31 + it.transposesA * 2u + it.transposesB;
  for (const Matrix &matrix : it.matrices)
    for (int64_t value : {matrix.element - elements, matrix.rows,
                          matrix.columns, matrix.row, matrix.batches})
      hash = hash * 1099511628211u + uint64_t(value);
  return hash;
}

/// Whether C and D overlap without being identical, which is an error.
bool overlapInPart(const Matrix &c, const Matrix &d) {
  bool isOne = c.address == d.address && c.row == d.row && c.batch == d.batch;
  return !isOne && c.address < d.address + uint64_t(d.bytes()) &&
         d.address < c.address + uint64_t(c.bytes());
}

/// Whether the algorithm and its workspace fit the product.
bool fits(const Product &it, const Algorithm &chosen, uint64_t space,
          int64_t bytes) {
  for (size_t i = 0; i < 4; ++i) {
    const Matrix &matrix = it.matrices[i];
    int64_t size = matrix.element->size, step = matrix.batch * size;
    int64_t wanted =
        std::max<int64_t>(chosen.alignments[i], size == 1 ? narrowMultiple : 1);
    if (int64_t(matrix.address) % wanted ||
        (matrix.batches > 1 && step % wanted))
      return false;
  }
  return space % workspaceAlignment == 0 && bytes >= chosen.workspace &&
         chosen.shape == shapeOf(it) &&
         !(it.beta != 0 && overlapInPart(it.matrices[2], it.matrices[3]));
}

} // namespace

EMULATED int cublasLtCreate(void **handle) {
  *handle = nullptr;
  ENTER();
  *handle = new int(0);
  return 0;
}
EMULATED int cublasLtDestroy(int *handle) { return delete handle, 0; }
EMULATED size_t cublasLtGetVersion() { return 130000; }
EMULATED const char *cublasLtGetStatusString(int status) {
  if (status == invalid)
    return "an unsupported value or parameter was passed to the function";
  return status == notSupported ? "the functionality is not supported"
                                : "asked to fail";
}

/// Functions of a kind of attributes.
#define ATTRIBUTES(Kind, T)                                                    \
  EMULATED int cublasLt##Kind##Destroy(T *it) { return delete it, 0; }         \
  EMULATED int cublasLt##Kind##SetAttribute(T *it, int attribute,              \
                                            const void *value, size_t size) {  \
    return set(__func__, it, attribute, value, size);                          \
  }
ATTRIBUTES(MatmulDesc, Attributes)
ATTRIBUTES(MatrixLayout, Matrix)
ATTRIBUTES(MatmulPreference, Attributes)

EMULATED int cublasLtMatmulDescCreate(Attributes **it, int compute, int) {
  ENTER();
  *it = new Attributes{{computeType, compute}};
  (**it)[epilogueKind] = Product::none;
  return 0;
}
EMULATED int cublasLtMatmulPreferenceCreate(Attributes **it) {
  return *it = new Attributes, 0;
}
EMULATED int cublasLtMatrixLayoutCreate(Matrix **it, int type, int64_t m,
                                        int64_t n, int64_t row) {
  isDropped(__func__, it, type, m, n, row);
  *it = row < m ? nullptr : new Matrix{0, elementOfCuda(type), m, n, row};
  return *it ? 0 : invalid;
}
/// FAIL=epilogue=1 emulates a library without epilogues.
EMULATED int cublasLtMatmulAlgoGetHeuristic(void *, Attributes *desc, Matrix *a,
                                            Matrix *b, Matrix *c, Matrix *d,
                                            Attributes *preference, int,
                                            Heuristic *result, int *count) {
  LOG("heuristic%s%s%s", shown("a", *a).c_str(), shown("b", *b).c_str(),
      shown("c", *c).c_str());
  *count = 0;
  auto product = productOf(*desc, {*a, *b, *c, *d});
  if (!product || isMalformed(*product))
    return invalid;
  if (failure(__func__) ||
      (failure("epilogue") && product->epilogue != Product::none) ||
      hasNoAlgorithm(*product, (*desc)[computeType]))
    return notSupported;
  int64_t space = (*preference)[preferWorkspace];
  *result = {{shapeOf(*product), {}, space, {}}, space, 0, 0, {}};
  for (int i = 0; i < 4; ++i)
    result->algorithm.alignments[i] = uint32_t(
        preference->try_emplace(preferAlignmentA + i, 256).first->second);
  return *count = 1, 0;
}

EMULATED int cublasLtMatmul(void *handle, Attributes *desc, const void *alpha,
                            uint64_t a, Matrix *aLayout, uint64_t b,
                            Matrix *bLayout, const void *beta, uint64_t c,
                            Matrix *cLayout, uint64_t d, Matrix *dLayout,
                            const Algorithm *algorithm, uint64_t space,
                            int64_t bytes, Stream *stream) {
  std::lock_guard guard(lock());
  int64_t compute = (*desc)[computeType];
  auto scalar = [&](const void *value) {
    return compute == compute64 ? *static_cast<const double *>(value)
                                : double(*static_cast<const float *>(value));
  };
  double factor = scalar(alpha), factorOfC = scalar(beta);
  if (isDropped(__func__, handle, desc, factor, a, aLayout, b, bLayout,
                factorOfC, c, cLayout, d, dLayout, algorithm, space, bytes,
                stream))
    return 0;
  auto it = productOf(*desc, {*aLayout, *bLayout, *cLayout, *dLayout});
  if (!it)
    return invalid;
  LOG("matmul stream=%d arguments=%#lx,%#lx,%#lx,%#lx,%#lx compute=%ld "
      "transposed=%d%d epilogue=%d adds=%d workspace=%#lx bytes=%ld%s%s%s",
      idOf(stream), a, b, d, it->bias.address, it->aux.address, compute,
      it->transposesA, it->transposesB, it->epilogue, factorOfC != 0, space,
      bytes, shown("a", *aLayout).c_str(), shown("b", *bLayout).c_str(),
      shown("c", *dLayout).c_str());
  if (int status = failure(__func__))
    return status;
  for (size_t i = 0; i < 4; ++i)
    it->matrices[i].address = std::array{a, b, c, d}[i];
  it->alpha = factor;
  it->beta = factorOfC;
  if (isMalformed(*it) || !fits(*it, *algorithm, space, bytes))
    return invalid;
  int status = enqueue(stream, [it, space, bytes] {
    if (!executes())
      return;
    memory().scratch(space, bytes);
    emulator::compute(*it);
  });
  return status ? executionFailed : 0;
}

// Entry points of NVTX.
EMULATED int nvtxRangePushA(const char *name) {
  return LOG("range %s", name), 0;
}
EMULATED int nvtxRangePop() { return LOG("end"), 0; }
