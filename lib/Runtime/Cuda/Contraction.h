//===- Contraction.h - matrix products by cuBLASLt --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction of a rank program as calls of cuBLASLt. The library is
// column-major: a row-major C is passed as its transpose, with the operands
// exchanged, so the bias and the sums of an epilogue run along the rows that
// the library sees. Two batch dimensions that cannot be merged into one become
// several calls. All that a call needs is made before the first step. The
// algorithm is the first choice of the library, asked for once per shape, among
// those that sum in a fixed order and in the accumulation type. If there is
// none, kernels of the artifact that follow the call do the epilogue or all of
// the work; without such kernels it is an error.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_CONTRACTION_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_CONTRACTION_H

#include "CublasLt.h"
#include "Device.h"
#include "Program.h"

#include <map>
#include <optional>

namespace stagewright::runtime::cuda {

/// Bytes of workspace of each rank for the library: as NVIDIA recommends for
/// compute capability 9.0 ("cublasSetWorkspace").
inline constexpr int64_t libraryWorkspace = int64_t(32) << 20;

/// A matrix as the library sees it: column-major.
struct LtMatrix {
  bool transposed = false;
  int64_t rows = 0, columns = 0; ///< in memory, before transposition
  int64_t row = 0;               ///< the leading dimension, elements
  int64_t batch = 0;             ///< stride between batches, elements
  int64_t step = 0;              ///< stride between calls, elements
  int32_t dtype = 0;
  Address address = 0;
};

/// The arguments of the library's calls; also a table row in tests.
struct LtProduct {
  LtMatrix a, b, c;
  LtMatrix added; ///< added to the products if `adds`: C or another matrix
  int64_t batches = 1, calls = 1;
  int epilogue = ltEpilogueDefault;
  int compute = compute32;
  bool adds = false;
  double alpha = 1; ///< The products are multiplied by it.
};

/// Throws an `Error` if the library cannot compute it, for example if a matrix
/// has no stride of 1, or if the epilogue needs a row-major C and C is not.
LtProduct asProduct(const Contraction &contraction);

/// A contraction described to the library; needs no device.
class LtCall {
public:
  explicit LtCall(const Contraction &contraction);
  ~LtCall();
  LtCall(LtCall &&other) noexcept;
  LtCall &operator=(LtCall &&other) noexcept;

  LtProduct product;
  LtDesc desc = nullptr;
  LtLayout a = nullptr, b = nullptr, c = nullptr, added = nullptr;
  LtAlgorithm algorithm = {}; ///< set by Contractions::prepare()
  /// `leaves`: the kernels that follow the call must run. `isNothing`: they do
  /// all of the work, and the library is not called.
  bool leaves = false, isNothing = false;

private:
  void describe(const Contraction &contraction);
  void destroy() const;
};

/// The contractions of the ranks on one device, ready to be called.
class Contractions {
public:
  explicit Contractions(const Device &device);
  ~Contractions();
  Contractions(const Contractions &) = delete;
  Contractions &operator=(const Contractions &) = delete;

  /// Prepares a contraction; returns its number.
  size_t prepare(const Contraction &contraction);
  void call(size_t number, DevicePointer workspace, Stream stream) const;
  /// Whether kernels that follow the call do a part or all of the contraction.
  bool leaves(size_t number) const { return list[number].leaves; }

private:
  /// The algorithm for a contraction; null if the library has none.
  const LtAlgorithm *advise(const LtCall &it, const Contraction &contraction);

  const Device &device;
  LtHandle handle = nullptr;
  std::vector<LtCall> list;
  std::map<std::vector<int64_t>, std::optional<LtAlgorithm>> advice;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_CONTRACTION_H
