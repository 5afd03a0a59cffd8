//===- Blas.cpp - contractions by a BLAS library --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/Blas.h"

#include "OwnFolder.h"
#include "Products/Multiply.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <optional>
#include <vector>

namespace stagewright::runtime {

namespace {

// cblas.h, for libraries with 32-bit integers.
enum : int { rowMajor = 101, noTrans = 111, trans = 112 };
template <typename T>
using Gemm = void (*)(int, int, int, int, int, int, T, const T *, int,
                      const T *, int, T, T *, int);

struct Library {
  Gemm<float> sgemm = nullptr;
  Gemm<double> dgemm = nullptr;
  void *(*allocateBuffer)(int) = nullptr; ///< OpenBLAS only
  void (*freeBuffer)(void *) = nullptr;
  std::string description;
};
Library library;

/// Sets an environment variable (null: removes it) during its lifetime.
class ScopedEnvironment {
public:
  ScopedEnvironment(const char *name, const char *value) : name(name) {
    if (const char *old = std::getenv(name))
      before = old;
    assign(value);
  }
  ~ScopedEnvironment() { assign(before ? before->c_str() : nullptr); }
  ScopedEnvironment(const ScopedEnvironment &) = delete;
  ScopedEnvironment &operator=(const ScopedEnvironment &) = delete;

private:
  void assign(const char *value) {
    if (value)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
  const char *name;
  std::optional<std::string> before;
};

/// The function called `name`, or `scipy_name` as PyPI's builds call it.
template <typename F> F lookUp(void *handle, const std::string &name) {
  void *address = dlsym(handle, name.c_str());
  if (!address)
    address = dlsym(handle, ("scipy_" + name).c_str());
  return reinterpret_cast<F>(address);
}

/// Loads a library whose constructor reads its settings from the environment.
/// It gets one thread: products are already divided over ranks and their
/// threads, and results are reproducible only if sums are always split alike.
/// It chooses kernels by the processor, unless STAGEWRIGHT_BLAS_CORE names
/// some: settings meant for OpenBLAS in other programs (for example Haswell
/// kernels, which halve the speed of a processor with AVX-512) must change
/// neither our speed nor our results.
void *openLibrary(const std::string &path) {
  ScopedEnvironment threads("OPENBLAS_NUM_THREADS", "1");
  ScopedEnvironment kernels("OPENBLAS_CORETYPE",
                            std::getenv("STAGEWRIGHT_BLAS_CORE"));
  ScopedEnvironment cache("OPENBLAS_L2_SIZE", nullptr);
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

bool adopt(void *handle) {
  Library found;
  found.sgemm = lookUp<Gemm<float>>(handle, "cblas_sgemm");
  found.dgemm = lookUp<Gemm<double>>(handle, "cblas_dgemm");
  if (!found.sgemm || !found.dgemm)
    return false;
  // If the process loaded the library before us, it may use all cores.
  for (const char *name :
       {"openblas_set_num_threads", "bli_thread_set_num_threads"})
    if (auto set = lookUp<void (*)(int)>(handle, name))
      set(1);
  found.allocateBuffer = lookUp<void *(*)(int)>(handle, "blas_memory_alloc");
  found.freeBuffer = lookUp<void (*)(void *)>(handle, "blas_memory_free");
  if (auto config = lookUp<char *(*)()>(handle, "openblas_get_config"))
    found.description = config();
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(found.sgemm), &info) && info.dli_fname)
    found.description += (found.description.empty() ? "" : " ") +
                         ("(" + std::string(info.dli_fname) + ")");
  library = found;
  return true;
}

/// Loads the library that STAGEWRIGHT_BLAS names (an error if it fails), else
/// the first OpenBLAS found, which is optional but faster if this processor has
/// no fast tiles.
void findLibrary() {
  std::vector<std::string> candidates;
  const char *chosen = std::getenv("STAGEWRIGHT_BLAS");
  if (chosen)
    candidates = {chosen}; // the library that the user named, or an error
  else
    candidates = {ownFolder() + "libopenblas.so.0",
                  ownFolder() + "libscipy_openblas.so", "libopenblas.so.0"};
  std::string tried;
  for (const std::string &path : candidates) {
    void *handle = openLibrary(path);
    if (handle && adopt(handle))
      return;
    tried += (tried.empty() ? "" : ", ") + path;
    if (handle)
      dlclose(handle);
  }
  if (chosen)
    raise("no BLAS library with cblas_sgemm and cblas_dgemm found (looked for ",
          tried, "); unset STAGEWRIGHT_BLAS or set it to one");
  library.description = std::string("tiles for ") + tilesName();
}

/// An operand in BLAS terms: transposed or not, and its leading dimension.
struct Operand {
  bool fits = false;
  bool transposed = false;
  int leading = 0;
};

/// Describes `rows` x `columns` elements with the strides `row` and `column`.
/// The stride of an extent of 1 is irrelevant, so both forms may fit.
Operand classify(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  auto leading = [](int64_t stride, int64_t outer, int64_t inner) {
    return outer == 1 ? std::max(stride, inner) : stride;
  };
  Operand operand;
  if (column == 1 || columns == 1) {
    int64_t distance = leading(row, rows, columns);
    if (distance >= columns && distance <= INT_MAX)
      return {true, false, int(distance)};
  }
  if (row == 1 || rows == 1) {
    int64_t distance = leading(column, columns, rows);
    if (distance >= rows && distance <= INT_MAX)
      return {true, true, int(distance)};
  }
  return operand;
}

/// Max multiply-adds of a product for which OpenBLAS uses kernels without
/// packing, if B is not transposed.
constexpr int64_t smallProduct = 1000000;

/// The number of last columns of C that OpenBLAS must not compute: if neither
/// operand is transposed, its AVX-512 kernels without packing copy rows of A
/// for a last half tile of columns into a buffer from malloc (seen in 0.3.21),
/// and a step must not allocate.
template <typename T>
int64_t allocatingColumns(int64_t rows, int64_t n, int64_t k) {
  constexpr int64_t tile = 64 / sizeof(T);
  int64_t rest = n % tile;
  return rows * n * k <= smallProduct && k >= 16 && rest <= tile / 2 ? rest : 0;
}

/// Rows per call. OpenBLAS uses kernels without packing for products of up to
/// 10^6 multiply-adds whose B is not transposed; they are a quarter faster than
/// those with packing, so products up to four times as large (attention) are
/// split to fit.
int64_t rowsPerCall(int64_t m, int64_t n, int64_t k, bool transposedB) {
  constexpr int64_t small = smallProduct, worthCutting = 4 * small;
  int64_t terms = n * k;
  if (transposedB || m * terms <= small || m * terms > worthCutting)
    return m;
  int64_t parts = (m * terms + small - 1) / small;
  int64_t rows = (m + parts - 1) / parts;
  rows = (rows + 15) / 16 * 16; // the kernels' tile
  return rows * terms <= small ? rows : m;
}

template <typename T>
void gemmOnce(const sw_gemm_desc &d, Gemm<T> call, const T *a, const T *b,
              T *c) {
  bool small = d.m <= INT_MAX && d.n <= INT_MAX && d.k <= INT_MAX;
  Operand left = classify(d.m, d.k, d.a_row, d.a_col);
  Operand right = classify(d.k, d.n, d.b_row, d.b_col);
  Operand out = classify(d.m, d.n, d.c_row, d.c_col);
  if (!small || !left.fits || !right.fits || !out.fits || d.k == 0)
    return multiply(productOf(d), a, b, c);
  if (out.transposed) { // C^T = B^T A^T
    sw_gemm_desc flipped = d;
    std::swap(flipped.m, flipped.n);
    flipped.a_row = d.b_col, flipped.a_col = d.b_row;
    flipped.b_row = d.a_col, flipped.b_col = d.a_row;
    flipped.c_row = d.c_col, flipped.c_col = d.c_row;
    return gemmOnce(flipped, call, b, a, c);
  }
  int64_t rows = rowsPerCall(d.m, d.n, d.k, right.transposed);
  int64_t narrow = left.transposed || right.transposed
                       ? 0
                       : allocatingColumns<T>(std::min(rows, d.m), d.n, d.k);
  if (narrow) {
    sw_gemm_desc last = d;
    last.n = narrow;
    int64_t from = d.n - narrow;
    multiply(productOf(last), a, b + from * d.b_col, c + from * d.c_col);
  }
  for (int64_t i = 0; i < d.m && narrow < d.n; i += rows)
    call(rowMajor, left.transposed ? trans : noTrans,
         right.transposed ? trans : noTrans, int(std::min(rows, d.m - i)),
         int(d.n - narrow), int(d.k), T(1), a + i * d.a_row, left.leading, b,
         right.leading, T(d.beta ? 1 : 0), c + i * d.c_row, out.leading);
}

/// Merges a batch dimension into the rows if the batches of A and of C are
/// contiguous and B is shared: one large product is faster than many small
/// ones.
void foldBatch(sw_gemm_desc &d, int dim) {
  if (d.batch[dim] == 1 || d.b_batch[dim] != 0 ||
      d.a_batch[dim] != d.m * d.a_row || d.c_batch[dim] != d.m * d.c_row)
    return;
  d.m *= d.batch[dim];
  d.batch[dim] = 1;
}

template <typename T>
void gemmBatched(sw_gemm_desc d, Gemm<T> call, const void *a, const void *b,
                 void *c) {
  foldBatch(d, 1);
  if (d.batch[1] == 1)
    foldBatch(d, 0);
  for (int64_t i = 0; i < d.batch[0]; ++i)
    for (int64_t j = 0; j < d.batch[1]; ++j)
      gemmOnce(d, call,
               static_cast<const T *>(a) + i * d.a_batch[0] + j * d.a_batch[1],
               static_cast<const T *>(b) + i * d.b_batch[0] + j * d.b_batch[1],
               static_cast<T *>(c) + i * d.c_batch[0] + j * d.c_batch[1]);
}

} // namespace

void requireBlas() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (!library.description.empty())
    return;
  if (std::getenv("STAGEWRIGHT_BLAS") || !hasFastTiles())
    findLibrary();
  else
    library.description = std::string("tiles for ") + tilesName();
}

const std::string &blasDescription() { return library.description; }

void reserveBlasBuffers(int64_t threads) {
  // A call takes the first free buffer, so the library allocates one per thread
  // only if all are held at once.
  if (!library.allocateBuffer || !library.freeBuffer)
    return;
  std::vector<void *> held;
  held.reserve(size_t(threads));
  for (int64_t i = 0; i < threads; ++i)
    held.push_back(library.allocateBuffer(0));
  for (void *buffer : held)
    if (buffer)
      library.freeBuffer(buffer);
}

bool gemmByBlas(const sw_gemm_desc &desc, const void *a, const void *b,
                void *c) {
  if (!library.sgemm)
    return false;
  if (desc.dtype == SW_F32)
    gemmBatched(desc, library.sgemm, a, b, c);
  else
    gemmBatched(desc, library.dgemm, a, b, c);
  return true;
}

} // namespace stagewright::runtime
