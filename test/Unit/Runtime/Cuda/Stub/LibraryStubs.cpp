//===- LibraryStubs.cpp - cuBLASLt that only records --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stub.h"

#include <cstring>

using namespace stub;

namespace {

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

void set(Attributes &list, int attribute, const void *value, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, value, size);
  list[attribute] = bits;
}

/// CUBLAS_STATUS_INVALID_VALUE.
constexpr int invalidValue = 7;

/// What the library checks of addresses before it runs; see CublasLt.h.
bool isAligned(Attributes &desc, const void *workspace, size_t bytes) {
  constexpr uint64_t biasAddress = 8, auxAddress = 11, auxRow = 12,
                     biasType = 26;
  constexpr uint64_t half = 2, bf16 = 14, real64 = 1;
  uint64_t type = desc[biasType];
  uint64_t size = type == real64 ? 8 : type == half || type == bf16 ? 2 : 4;
  bool room = bytes == 0 ||
              (workspace && reinterpret_cast<uint64_t>(workspace) % 256 == 0);
  return room && desc[biasAddress] % size == 0 &&
         (!desc[auxAddress] || desc[auxRow] % 8 == 0);
}

std::string shown(const char *name, const Layout &it) {
  Attributes more = it.more;
  std::string text = std::string(" ") + name + "=" + std::to_string(it.rows) +
                     "x" + std::to_string(it.columns) + "/" +
                     std::to_string(it.row);
  if (more.count(5))
    text += "*" + std::to_string(more[5]) + "/" + std::to_string(more[6]);
  return text;
}

} // namespace

// Of NVTX.
STUB nvtxRangePushA(const char *name) { return log("range %s", name), 0; }
STUB nvtxRangePop() { return log("end"), 0; }

STUB cublasLtCreate(void **handle) {
  int status = failure("cublasLtCreate");
  *handle = status ? nullptr : new int(0);
  return status;
}
STUB cublasLtDestroy(int *handle) { return delete handle, 0; }
extern "C" __attribute__((visibility("default"))) size_t cublasLtGetVersion() {
  return 130000;
}
extern "C" __attribute__((visibility("default"))) const char *
cublasLtGetStatusString(int) {
  return "asked to fail";
}
STUB cublasLtMatmulDescCreate(Desc **desc, int compute, int) {
  return *desc = new Desc{compute, {}}, failure("cublasLtMatmulDescCreate");
}
STUB cublasLtMatmulDescDestroy(Desc *desc) { return delete desc, 0; }
STUB cublasLtMatmulDescSetAttribute(Desc *desc, int attribute,
                                    const void *value, size_t size) {
  return set(desc->more, attribute, value, size), 0;
}
STUB cublasLtMatrixLayoutCreate(Layout **layout, int type, uint64_t rows,
                                uint64_t columns, int64_t row) {
  *layout = new Layout{type, rows, columns, row, {}};
  return row >= int64_t(rows) ? 0 : invalidValue;
}
STUB cublasLtMatrixLayoutDestroy(Layout *layout) { return delete layout, 0; }
STUB cublasLtMatrixLayoutSetAttribute(Layout *layout, int attribute,
                                      const void *value, size_t size) {
  return set(layout->more, attribute, value, size), 0;
}
STUB cublasLtMatmulPreferenceCreate(int **it) { return *it = new int(0), 0; }
STUB cublasLtMatmulPreferenceDestroy(int *it) { return delete it, 0; }
STUB cublasLtMatmulPreferenceSetAttribute(void *, int, const void *, size_t) {
  return 0;
}
/// "epilogue=1" asks for a library that has no epilogues.
STUB cublasLtMatmulAlgoGetHeuristic(void *, Desc *desc, Layout *a, Layout *b,
                                    Layout *c, Layout *, void *, int,
                                    void *results, int *count) {
  std::memset(results, 0, 96); // sizeof(cublasLtMatmulHeuristicResult_t)
  log("heuristic%s%s%s", shown("a", *a).c_str(), shown("b", *b).c_str(),
      shown("c", *c).c_str());
  bool missing = failure("cublasLtMatmulAlgoGetHeuristic") ||
                 (failure("epilogue") && desc->more[7] != 1);
  *count = missing ? 0 : 1;
  return 0;
}
STUB cublasLtMatmul(void *, Desc *desc, const void *, const void *a,
                    Layout *aLayout, const void *b, Layout *bLayout,
                    const void *beta, const void *, Layout *, void *c,
                    Layout *cLayout, const void *, void *workspace,
                    size_t bytes, Stream *stream) {
  Attributes more = desc->more;
  log("matmul stream=%d arguments=%p,%p,%p,%#lx,%#lx compute=%d "
      "transposed=%d%d "
      "epilogue=%d adds=%d workspace=%p bytes=%zu%s%s%s",
      stream->id, a, b, c, more[8], more[11], desc->compute, int(more[3]),
      int(more[4]), int(more[7]), *static_cast<const float *>(beta) != 0,
      workspace, bytes, shown("a", *aLayout).c_str(),
      shown("b", *bLayout).c_str(), shown("c", *cLayout).c_str());
  if (int status = failure("cublasLtMatmul"))
    return status;
  if (!isAligned(more, workspace, bytes))
    return invalidValue;
  return enqueue(stream);
}
