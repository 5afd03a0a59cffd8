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

#include <cstring>
#include <optional>

using namespace emulator;

namespace {

constexpr int invalid = 7, executionFailed = 13, notSupported = 15;
/// `cublasComputeType_t`.
constexpr int compute32 = 68, compute64 = 70, compute32Tf32 = 77;
/// Attributes of a product: `cublasLtMatmulDescAttributes_t`.
constexpr int transposeA = 3, transposeB = 4, epilogueKind = 7, biasAddress = 8,
              auxAddress = 11, auxLeading = 12, auxType = 22, biasType = 26;
/// Attributes of a matrix layout, and of a preference.
constexpr int batchCount = 5, batchStride = 6;
constexpr int preferWorkspace = 1, preferAlignmentA = 5;

/// "workspace: must be 256-byte aligned".
constexpr uint64_t workspaceAlignment = 256;
/// "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: must be divisible by 8" for GELU.
constexpr int64_t auxLeadingMultiple = 8;
/// For 8-bit operands: the alignment in bytes, and the divisor of extents.
constexpr int64_t narrowMultiple = 16;

/// Of a product, a layout or a preference: what was set, and what a layout and
/// a product were created with.
struct Attributes {
  int type = 0; ///< of elements or of sums
  uint64_t rows = 0, columns = 0;
  int64_t row = 0;
  std::map<int, uint64_t> more = {};

  uint64_t get(int attribute, uint64_t otherwise = 0) const {
    auto found = more.find(attribute);
    return found == more.end() ? otherwise : found->second;
  }
};

int set(const char *symbol, Attributes *it, int attribute, const void *value,
        size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, value, size);
  if (!isDropped(symbol, it, attribute, bits))
    it->more[attribute] = bits;
  return 0;
}

std::string shown(const char *name, const Attributes &it) {
  std::string text = std::string(" ") + name + "=" + std::to_string(it.rows) +
                     "x" + std::to_string(it.columns) + "/" +
                     std::to_string(it.row);
  if (it.more.contains(batchCount))
    text += "*" + std::to_string(it.get(batchCount)) + "/" +
            std::to_string(it.get(batchStride));
  return text;
}

/// The product of a descriptor and its layouts; none if a type is invalid.
std::optional<Product> productOf(const Attributes &desc,
                                 const Attributes *const (&layouts)[4]) {
  bool isValid = true;
  auto elementOf = [&](uint64_t type) { // `cudaDataType_t`.
    auto found = elementIn({0, 1, 2, 14, 28, 29}, int(type));
    isValid &= found.has_value();
    return found.value_or(Element::F32);
  };
  Product it;
  Matrix *matrices[] = {&it.a, &it.b, &it.c, &it.d};
  for (int i = 0; i < 4; ++i) {
    const Attributes &from = *layouts[i];
    *matrices[i] = {elementOf(uint64_t(from.type)),
                    int64_t(from.rows),
                    int64_t(from.columns),
                    from.row,
                    int64_t(from.get(batchCount, 1)),
                    int64_t(from.get(batchStride))};
  }
  it.transposesA = desc.get(transposeA) != 0;
  it.transposesB = desc.get(transposeB) != 0;
  it.rounds = desc.type == compute32Tf32;
  it.epilogue = int(desc.get(epilogueKind, Product::none));
  auto type = uint64_t(layouts[3]->type);
  int64_t m = it.d.rows, n = it.d.columns;
  it.bias = {elementOf(desc.get(biasType, type)),
             it.does(Product::sumsB) ? n : m,
             1,
             0,
             1,
             0,
             desc.get(biasAddress)};
  it.aux = {elementOf(desc.get(auxType, type)),
            m,
            n,
            int64_t(desc.get(auxLeading)),
            1,
            0,
            desc.get(auxAddress)};
  return isValid ? std::optional(it) : std::nullopt;
}

/// Whether extents do not match, or pointers are missing or misaligned.
bool isMalformed(const Product &it) {
  int64_t m = it.transposesA ? it.a.columns : it.a.rows;
  int64_t n = it.transposesB ? it.b.rows : it.b.columns;
  int64_t depth = it.transposesB ? it.b.columns : it.b.rows;
  for (const Matrix *matrix : {&it.a, &it.b, &it.c})
    if (matrix->batches != it.d.batches)
      return true;
  for (const Matrix *matrix : {&it.c, &it.d})
    if (matrix->rows != m || matrix->columns != n)
      return true;
  bool isBiasWrong =
      !it.bias.address || it.bias.address % uint64_t(sizeOf(it.bias.element));
  bool isAuxWrong =
      !it.aux.address || it.aux.row < m || it.aux.row % auxLeadingMultiple;
  return it.depth() != depth || it.c.element != it.d.element ||
         (it.hasBias() && isBiasWrong) ||
         (it.does(Product::hasAux) && isAuxWrong);
}

/// Whether cuBLASLt has no kernel for this combination.
bool hasNoAlgorithm(const Product &it, int compute) {
  bool narrowA = sizeOf(it.a.element) == 1, narrowB = sizeOf(it.b.element) == 1;
  if (narrowA || narrowB) {
    bool multiples = true;
    for (int64_t extent :
         {it.a.rows, it.a.columns, it.b.columns, it.a.row, it.b.row})
      multiples &= extent % narrowMultiple == 0;
    bool bothE5 =
        it.a.element == Element::E5M2 && it.b.element == Element::E5M2;
    return !narrowA || !narrowB || bothE5 || !multiples || !it.transposesA ||
           it.transposesB || compute != compute32;
  }
  bool wide = it.d.element == Element::F64;
  return it.a.element != it.b.element || wide != (compute == compute64) ||
         wide != (it.a.element == Element::F64) ||
         (it.epilogue != Product::none && it.d.batches > 1);
}

/// The product that an algorithm was chosen for, stored in its first words.
struct Algorithm {
  uint64_t shape;
  uint32_t alignments[4];
  uint64_t workspace;
};
struct Heuristic {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

uint64_t shapeOf(const Product &it) {
  uint64_t hash =
      uint64_t(it.epilogue) * 31 + it.transposesA * 2u + it.transposesB;
  for (const Matrix *matrix : {&it.a, &it.b, &it.c, &it.d})
    for (int64_t value : {int64_t(matrix->element), matrix->rows,
                          matrix->columns, matrix->row, matrix->batches})
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
          size_t bytes) {
  const Matrix *matrices[] = {&it.a, &it.b, &it.c, &it.d};
  for (int i = 0; i < 4; ++i) {
    const Matrix &matrix = *matrices[i];
    uint64_t wanted = std::max(1u, chosen.alignments[i]);
    if (sizeOf(matrix.element) == 1)
      wanted = std::max(wanted, uint64_t(narrowMultiple));
    int64_t step =
        matrix.batches > 1 ? matrix.batch * sizeOf(matrix.element) : 0;
    if (matrix.address % wanted || uint64_t(step) % wanted)
      return false;
  }
  return space % workspaceAlignment == 0 && bytes >= chosen.workspace &&
         chosen.shape == shapeOf(it) &&
         !(it.beta != 0 && overlapInPart(it.c, it.d));
}

} // namespace

EMULATED(int) cublasLtCreate(void **handle) {
  *handle = nullptr;
  ENTER();
  *handle = new int(0);
  return 0;
}
EMULATED(int) cublasLtDestroy(int *handle) { return delete handle, 0; }
EMULATED(size_t) cublasLtGetVersion() { return 130000; }
EMULATED(const char *) cublasLtGetStatusString(int status) {
  return status == invalid        ? "an unsupported value or parameter was "
                                    "passed to the function"
         : status == notSupported ? "the functionality is not supported"
                                  : "asked to fail";
}

/// The functions of one kind of attributes, of which one creates them.
#define ATTRIBUTES(Destroy, Set)                                               \
  EMULATED(int) Destroy(Attributes *it) { return delete it, 0; }               \
  EMULATED(int)                                                                \
  Set(Attributes *it, int attribute, const void *value, size_t size) {         \
    return set(#Set, it, attribute, value, size);                              \
  }
ATTRIBUTES(cublasLtMatmulDescDestroy, cublasLtMatmulDescSetAttribute)
ATTRIBUTES(cublasLtMatrixLayoutDestroy, cublasLtMatrixLayoutSetAttribute)
ATTRIBUTES(cublasLtMatmulPreferenceDestroy,
           cublasLtMatmulPreferenceSetAttribute)

EMULATED(int) cublasLtMatmulDescCreate(Attributes **it, int compute, int) {
  ENTER();
  return *it = new Attributes{compute}, 0;
}
EMULATED(int) cublasLtMatmulPreferenceCreate(Attributes **it) {
  return *it = new Attributes, 0;
}
EMULATED(int)
cublasLtMatrixLayoutCreate(Attributes **it, int type, uint64_t rows,
                           uint64_t columns, int64_t row) {
  isDropped(__func__, it, type, rows, columns, row);
  *it = nullptr;
  if (row < int64_t(rows))
    return invalid;
  return *it = new Attributes{type, rows, columns, row}, 0;
}
/// STAGEWRIGHT_EMULATOR_FAIL=epilogue=1 emulates a library without epilogues.
EMULATED(int)
cublasLtMatmulAlgoGetHeuristic(void *, Attributes *desc, Attributes *a,
                               Attributes *b, Attributes *c, Attributes *d,
                               Attributes *preference, int, Heuristic *results,
                               int *count) {
  log("heuristic%s%s%s", shown("a", *a).c_str(), shown("b", *b).c_str(),
      shown("c", *d).c_str());
  *count = 0;
  auto product = productOf(*desc, {a, b, c, d});
  if (!product || isMalformed(*product))
    return invalid;
  if (failure(__func__) ||
      (failure("epilogue") && product->epilogue != Product::none) ||
      hasNoAlgorithm(*product, desc->type))
    return notSupported;
  Algorithm it = {shapeOf(*product), {}, preference->get(preferWorkspace)};
  for (int i = 0; i < 4; ++i)
    it.alignments[i] = uint32_t(preference->get(preferAlignmentA + i, 256));
  *results = {};
  std::memcpy(results->algorithm, &it, sizeof(it));
  results->workspace = it.workspace;
  return *count = 1, 0;
}

EMULATED(int)
cublasLtMatmul(void *handle, Attributes *desc, const void *alpha, uint64_t a,
               Attributes *aLayout, uint64_t b, Attributes *bLayout,
               const void *beta, uint64_t c, Attributes *cLayout, uint64_t d,
               Attributes *dLayout, const void *algorithm, uint64_t space,
               size_t bytes, Stream *stream) {
  std::lock_guard guard(lock());
  auto scalar = [&](const void *value) {
    return desc->type == compute64 ? *static_cast<const double *>(value)
                                   : double(*static_cast<const float *>(value));
  };
  double factor = scalar(alpha), factorOfC = scalar(beta);
  if (isDropped(__func__, handle, desc, factor, a, aLayout, b, bLayout,
                factorOfC, c, cLayout, d, dLayout, algorithm, space, bytes,
                stream))
    return 0;
  auto product = productOf(*desc, {aLayout, bLayout, cLayout, dLayout});
  if (!product)
    return invalid;
  log("matmul stream=%d arguments=%#lx,%#lx,%#lx,%#lx,%#lx compute=%d "
      "transposed=%d%d epilogue=%d adds=%d workspace=%#lx bytes=%zu%s%s%s",
      streamOf(stream).id, a, b, d, product->bias.address, product->aux.address,
      desc->type, product->transposesA, product->transposesB, product->epilogue,
      factorOfC != 0, space, bytes, shown("a", *aLayout).c_str(),
      shown("b", *bLayout).c_str(), shown("c", *dLayout).c_str());
  if (int status = failure(__func__))
    return status;
  product->a.address = a;
  product->b.address = b;
  product->c.address = c;
  product->d.address = d;
  product->alpha = factor;
  product->beta = factorOfC;
  Algorithm chosen;
  std::memcpy(&chosen, algorithm, sizeof(chosen));
  if (isMalformed(*product) || !fits(*product, chosen, space, bytes))
    return invalid;
  int status = enqueue(stream, [it = *product, space, bytes] {
    if (!executes())
      return true;
    memory().scratch(space, int64_t(bytes));
    compute(it);
    return true;
  });
  return status ? executionFailed : 0;
}

// Entry points of NVTX.
EMULATED(int) nvtxRangePushA(const char *name) {
  return log("range %s", name), 0;
}
EMULATED(int) nvtxRangePop() { return log("end"), 0; }
