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

enum : int { invalid = 7, executionFailed = 13, notSupported = 15 };
/// `cublasComputeType_t`.
enum : int { compute32 = 68, compute64 = 70, compute32Tf32 = 77 };
/// Attributes of a product: `cublasLtMatmulDescAttributes_t`.
enum : int {
  transposeA = 3,
  transposeB = 4,
  epilogueKind = 7,
  biasAddress = 8,
  auxAddress = 11,
  auxLeading = 12,
  auxType = 22,
  biasType = 26
};
/// Attributes of a matrix layout, and of a preference.
enum : int { batchCount = 5, batchStride = 6 };
enum : int { preferWorkspace = 1, preferAlignmentA = 5 };

/// "workspace: must be 256-byte aligned".
constexpr uint64_t workspaceAlignment = 256;
/// "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: must be divisible by 8" for GELU.
constexpr int64_t auxLeadingMultiple = 8;
/// For 8-bit operands: the alignment in bytes, and the divisor of extents.
constexpr int64_t narrowMultiple = 16;

using Attributes = std::map<int, uint64_t>;
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t row;
  Attributes more;
};
struct Desc {
  int compute;
  Attributes more;
};

int set(const char *symbol, Attributes *list, int attribute, const void *value,
        size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, value, size);
  if (!isDropped(symbol, list, attribute, bits))
    (*list)[attribute] = bits;
  return 0;
}

uint64_t valueOf(const Attributes &list, int attribute, uint64_t otherwise) {
  auto found = list.find(attribute);
  return found == list.end() ? otherwise : found->second;
}

/// `cudaDataType_t`.
std::optional<Element> elementOf(uint64_t type) {
  return elementIn({0, 1, 2, 14, 28, 29}, int(type));
}

std::string shown(const char *name, const Layout &it) {
  std::string text = std::string(" ") + name + "=" + std::to_string(it.rows) +
                     "x" + std::to_string(it.columns) + "/" +
                     std::to_string(it.row);
  if (it.more.contains(batchCount))
    text += "*" + std::to_string(it.more.at(batchCount)) + "/" +
            std::to_string(valueOf(it.more, batchStride, 0));
  return text;
}

std::optional<Matrix> matrixOf(const Layout &it) {
  auto element = elementOf(uint64_t(it.type));
  if (!element)
    return std::nullopt;
  return Matrix{*element,
                int64_t(it.rows),
                int64_t(it.columns),
                it.row,
                int64_t(valueOf(it.more, batchCount, 1)),
                int64_t(valueOf(it.more, batchStride, 0))};
}

/// The product of a descriptor and its layouts; none if they are invalid.
std::optional<Product> productOf(const Desc &desc, const Layout &a,
                                 const Layout &b, const Layout &c,
                                 const Layout &d) {
  auto left = matrixOf(a), right = matrixOf(b);
  auto added = matrixOf(c), result = matrixOf(d);
  auto bias = elementOf(valueOf(desc.more, biasType, uint64_t(d.type)));
  auto aux = elementOf(valueOf(desc.more, auxType, uint64_t(d.type)));
  if (!left || !right || !added || !result || !bias || !aux)
    return std::nullopt;
  Product it = {*left, *right, *added, *result};
  it.transposesA = valueOf(desc.more, transposeA, 0) != 0;
  it.transposesB = valueOf(desc.more, transposeB, 0) != 0;
  it.rounds = desc.compute == compute32Tf32;
  it.epilogue = Epilogue(valueOf(desc.more, epilogueKind, epilogueNone));
  it.bias = valueOf(desc.more, biasAddress, 0);
  it.aux = valueOf(desc.more, auxAddress, 0);
  it.biasElement = *bias;
  it.auxElement = *aux;
  it.auxRow = int64_t(valueOf(desc.more, auxLeading, 0));
  return it;
}

/// Whether extents do not match, or pointers are missing or misaligned.
bool isMalformed(const Product &it) {
  int64_t m = it.transposesA ? it.a.columns : it.a.rows;
  int64_t n = it.transposesB ? it.b.rows : it.b.columns;
  int64_t depth = it.transposesB ? it.b.columns : it.b.rows;
  bool aux = it.readsAux() || it.writesAux();
  bool bias = it.readsBias() || it.writesBias();
  return it.d.rows != m || it.d.columns != n || it.depth() != depth ||
         it.c.rows != m || it.c.columns != n || it.c.element != it.d.element ||
         it.c.batches != it.d.batches || it.a.batches != it.d.batches ||
         it.b.batches != it.d.batches ||
         (aux &&
          (!it.aux || it.auxRow < m || it.auxRow % auxLeadingMultiple)) ||
         (bias && (!it.bias || it.bias % uint64_t(sizeOf(it.biasElement))));
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
         (it.epilogue != epilogueNone && it.d.batches > 1);
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

bool isAligned(const Algorithm &algorithm, const Matrix &matrix, int place) {
  uint64_t step =
      matrix.batches > 1 ? uint64_t(matrix.batch * sizeOf(matrix.element)) : 0;
  uint64_t wanted = std::max(1u, algorithm.alignments[place]);
  return matrix.address % wanted == 0 && step % wanted == 0;
}

} // namespace

EMULATED(int) cublasLtCreate(void **handle) {
  int status = failure("cublasLtCreate");
  *handle = status ? nullptr : new int(0);
  return status;
}
EMULATED(int) cublasLtDestroy(int *handle) { return delete handle, 0; }
EMULATED(size_t) cublasLtGetVersion() { return 130000; }
EMULATED(const char *) cublasLtGetStatusString(int status) {
  return status == invalid        ? "an unsupported value or parameter was "
                                    "passed to the function"
         : status == notSupported ? "the functionality is not supported"
                                  : "asked to fail";
}
EMULATED(int) cublasLtMatmulDescCreate(Desc **desc, int compute, int) {
  return *desc = new Desc{compute, {}}, failure("cublasLtMatmulDescCreate");
}
EMULATED(int) cublasLtMatmulDescDestroy(Desc *desc) { return delete desc, 0; }
EMULATED(int)
cublasLtMatmulDescSetAttribute(Desc *desc, int attribute, const void *value,
                               size_t size) {
  return set("cublasLtMatmulDescSetAttribute", &desc->more, attribute, value,
             size);
}
EMULATED(int)
cublasLtMatrixLayoutCreate(Layout **layout, int type, uint64_t rows,
                           uint64_t columns, int64_t row) {
  isDropped("cublasLtMatrixLayoutCreate", layout, type, rows, columns, row);
  bool isValid = row >= int64_t(rows);
  *layout = isValid ? new Layout{type, rows, columns, row, {}} : nullptr;
  return isValid ? 0 : invalid;
}
EMULATED(int) cublasLtMatrixLayoutDestroy(Layout *layout) {
  return delete layout, 0;
}
EMULATED(int)
cublasLtMatrixLayoutSetAttribute(Layout *layout, int attribute,
                                 const void *value, size_t size) {
  return set("cublasLtMatrixLayoutSetAttribute", &layout->more, attribute,
             value, size);
}
EMULATED(int) cublasLtMatmulPreferenceCreate(Attributes **it) {
  return *it = new Attributes, 0;
}
EMULATED(int) cublasLtMatmulPreferenceDestroy(Attributes *it) {
  return delete it, 0;
}
EMULATED(int)
cublasLtMatmulPreferenceSetAttribute(Attributes *it, int attribute,
                                     const void *value, size_t size) {
  return set("cublasLtMatmulPreferenceSetAttribute", it, attribute, value,
             size);
}
/// STAGEWRIGHT_EMULATOR_FAIL=epilogue=1 emulates a library without epilogues.
EMULATED(int)
cublasLtMatmulAlgoGetHeuristic(void *, Desc *desc, Layout *a, Layout *b,
                               Layout *c, Layout *d, Attributes *preference,
                               int, Heuristic *results, int *count) {
  log("heuristic%s%s%s", shown("a", *a).c_str(), shown("b", *b).c_str(),
      shown("c", *d).c_str());
  *count = 0;
  auto product = productOf(*desc, *a, *b, *c, *d);
  if (!product || isMalformed(*product))
    return invalid;
  if (failure("cublasLtMatmulAlgoGetHeuristic") ||
      (failure("epilogue") && product->epilogue != epilogueNone) ||
      hasNoAlgorithm(*product, desc->compute))
    return notSupported;
  Algorithm it = {
      shapeOf(*product), {}, valueOf(*preference, preferWorkspace, 0)};
  for (int i = 0; i < 4; ++i)
    it.alignments[i] =
        uint32_t(valueOf(*preference, preferAlignmentA + i, 256));
  *results = {};
  std::memcpy(results->algorithm, &it, sizeof(it));
  results->workspace = it.workspace;
  return *count = 1, 0;
}

EMULATED(int)
cublasLtMatmul(void *handle, Desc *desc, const void *alpha, const void *a,
               Layout *aLayout, const void *b, Layout *bLayout,
               const void *beta, const void *c, Layout *cLayout, void *d,
               Layout *dLayout, const void *algorithm, void *workspace,
               size_t bytes, Stream *stream) {
  std::lock_guard guard(lock());
  auto scalar = [&](const void *value) {
    return desc->compute == compute64
               ? *static_cast<const double *>(value)
               : double(*static_cast<const float *>(value));
  };
  double factor = scalar(alpha), factorOfC = scalar(beta);
  auto space = reinterpret_cast<uint64_t>(workspace);
  if (isDropped("cublasLtMatmul", handle, desc, factor, a, aLayout, b, bLayout,
                factorOfC, c, cLayout, d, dLayout, algorithm, space, bytes,
                stream))
    return 0;
  auto product = productOf(*desc, *aLayout, *bLayout, *cLayout, *dLayout);
  if (!product)
    return invalid;
  log("matmul stream=%d arguments=%p,%p,%p,%#lx,%#lx compute=%d "
      "transposed=%d%d epilogue=%d adds=%d workspace=%#lx bytes=%zu%s%s%s",
      streamOf(stream).id, a, b, d, product->bias, product->aux, desc->compute,
      product->transposesA, product->transposesB, product->epilogue,
      factorOfC != 0, space, bytes, shown("a", *aLayout).c_str(),
      shown("b", *bLayout).c_str(), shown("c", *dLayout).c_str());
  if (int status = failure("cublasLtMatmul"))
    return status;
  if (isMalformed(*product))
    return invalid;
  product->a.address = reinterpret_cast<uint64_t>(a);
  product->b.address = reinterpret_cast<uint64_t>(b);
  product->c.address = reinterpret_cast<uint64_t>(c);
  product->d.address = reinterpret_cast<uint64_t>(d);
  product->alpha = factor;
  product->beta = factorOfC;
  Algorithm chosen;
  std::memcpy(&chosen, algorithm, sizeof(chosen));
  bool narrow = sizeOf(product->a.element) == 1;
  if (space % workspaceAlignment || bytes < chosen.workspace ||
      chosen.shape != shapeOf(*product) ||
      (product->beta != 0 && overlapInPart(product->c, product->d)) ||
      !isAligned(chosen, product->a, 0) || !isAligned(chosen, product->b, 1) ||
      !isAligned(chosen, product->c, 2) || !isAligned(chosen, product->d, 3) ||
      (narrow && (product->a.address | product->b.address) % narrowMultiple))
    return invalid;
  int status = enqueue(stream, [it = *product, space, bytes] {
    if (!executes())
      return true;
    memory().scratch(space, int64_t(bytes));
    compute(it);
    return true;
  });
  return status ? int(executionFailed) : 0;
}

// Entry points of NVTX.
EMULATED(int) nvtxRangePushA(const char *name) {
  return log("range %s", name), 0;
}
EMULATED(int) nvtxRangePop() { return log("end"), 0; }
