//===- Contraction.h - matrix products by cuBLASLt --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction of a rank program as calls of cuBLASLt. The library counts
// columns first: a C whose columns are contiguous is told to it as its
// transpose, with the operands exchanged, so bias and sums lie along its rows.
// Two dimensions of batches that do not make one become several calls. All that
// a call needs is made before the first step; the algorithm is the first that
// the library advises, asked for once for each shape, of those that add up in
// one order and in the type of the sums. Where it has none, the epilogue or all
// is left to the kernels behind the call.
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

/// Bytes of workspace for the library, of each rank: what NVIDIA advises for
/// compute capability 9.0 ("cublasSetWorkspace").
inline constexpr int64_t libraryWorkspace = int64_t(32) << 20;

/// A matrix as the library sees it: columns one after the other, `row` apart.
struct LtMatrix {
  bool transposed = false;
  int64_t rows = 0, columns = 0; ///< as it lies there
  int64_t row = 0;               ///< the leading dimension, elements
  int64_t batch = 0;             ///< distance of the next, elements
  int64_t step = 0;              ///< distance for the next call, elements
  int32_t dtype = 0;
  Address address = 0;
};

/// What is told to the library; also a table row for tests.
struct LtProduct {
  LtMatrix a, b, c;
  LtMatrix added; ///< to the products, where `adds`: C, or another
  int64_t batches = 1, calls = 1;
  int epilogue = ltEpilogueDefault;
  int compute = compute32;
  bool adds = false;
  double alpha = 1; ///< The products are multiplied by it.
};

/// Throws an `Error` where the library cannot do it: a matrix without a stride
/// of 1, an epilogue on a C whose columns are not contiguous.
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
  LtAlgorithm algorithm = {}; ///< to be filled
  /// The kernels behind the call are needed; where they do all of it, there is
  /// nothing else here.
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

  /// Makes a contraction ready; gives its number.
  size_t prepare(const Contraction &contraction);
  void call(size_t number, DevicePointer workspace, Stream stream) const;
  /// Whether a contraction is left, in part or as a whole, to the kernels
  /// behind it.
  bool leaves(size_t number) const { return list[number].leaves; }
  /// Different shapes that the library was asked about.
  size_t shapes() const { return advice.size(); }

private:
  /// The algorithm for a contraction; null where the library has none.
  const LtAlgorithm *advise(const LtCall &it, const Contraction &contraction);

  const Device &device;
  LtHandle handle = nullptr;
  std::vector<LtCall> list;
  std::map<std::vector<int64_t>, std::optional<LtAlgorithm>> advice;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_CONTRACTION_H
