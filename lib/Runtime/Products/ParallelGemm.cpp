//===- ParallelGemm.cpp - contractions on the threads of a rank -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/ParallelGemm.h"

#include "Faults/Guarded.h"
#include "Products/Blas.h"

#include <algorithm>

namespace stagewright::runtime {

namespace {

/// Min multiply-adds of a part: 10 us at 100 GFLOP/s.
constexpr int64_t termsPerPart = 500000;

/// Rows and columns are cut at multiples of a panel of the tiles.
constexpr int64_t panel = 32;

enum class Along { OuterBatch, InnerBatch, Rows, Columns };

struct Cut {
  Along along;
  int64_t extent, length;
};

/// Cuts between batches if that balances the threads; else along the longer of
/// rows and columns.
Cut cutFor(const sw_gemm_desc &d, int64_t threads, int64_t maxParts) {
  int64_t parts = std::min(threads, maxParts);
  for (int i : {0, 1})
    if (int64_t batches = d.batch[i];
        batches % parts == 0 || batches >= 4 * parts)
      return {i == 0 ? Along::OuterBatch : Along::InnerBatch, batches,
              batches % parts == 0 ? batches / parts : 1};
  int64_t extent = std::max(d.m, d.n);
  int64_t length = (extent + parts - 1) / parts;
  return {d.n > d.m ? Along::Columns : Along::Rows, extent,
          (length + panel - 1) / panel * panel};
}

struct Job {
  sw_gemm_desc desc;
  const void *a, *b;
  void *c;
  Along along;
};

void runPart(const Job &job, int64_t from, int64_t extent) {
  sw_gemm_desc d = job.desc;
  int64_t a = 0, b = 0, c = 0;
  switch (job.along) {
  case Along::OuterBatch:
  case Along::InnerBatch: {
    int i = job.along == Along::OuterBatch ? 0 : 1;
    d.batch[i] = extent;
    a = d.a_batch[i], b = d.b_batch[i], c = d.c_batch[i];
    break;
  }
  case Along::Rows:
    d.m = extent;
    a = d.a_row, c = d.c_row;
    break;
  case Along::Columns:
    d.n = extent;
    b = d.b_col, c = d.c_col;
    break;
  }
  int64_t scale = from * (d.dtype == SW_F64 ? 8 : 4);
  gemm(d, static_cast<const char *>(job.a) + a * scale,
       static_cast<const char *>(job.b) + b * scale,
       static_cast<char *>(job.c) + c * scale);
}

struct ConvolutionJob {
  sw_convolution_desc desc;
  const void *a, *b;
  void *c;
  int loop; ///< the row loop that is cut
};

void runPart(const ConvolutionJob &job, int64_t from, int64_t extent) {
  sw_convolution_desc d = job.desc;
  d.rows[job.loop] = extent;
  int64_t scale = from * (d.dtype == SW_F64 ? 8 : 4);
  convolution(d, static_cast<const char *>(job.a) + d.a_row[job.loop] * scale,
              job.b, static_cast<char *>(job.c) + d.c_row[job.loop] * scale);
}

/// Runs `job` in parts of `length` by the threads of the rank.
template <typename Job>
void runParts(sw_rank &rank, Job job, int64_t extent, int64_t length) {
  void *given[] = {&job, &rank};
  rank.pool->run(
      rank,
      [](void **given, int64_t lower, int64_t upper) {
        guarded(static_cast<sw_rank *>(given[1]), [&] {
          runPart(*static_cast<Job *>(given[0]), lower, upper - lower);
        });
      },
      given, extent, length);
  rank.transport->checkFailed();
}

} // namespace

void parallelGemm(sw_rank &rank, const sw_gemm_desc &d, const void *a,
                  const void *b, void *c) {
  int64_t parts = d.m * d.n * d.k * d.batch[0] * d.batch[1] / termsPerPart;
  if (!rank.pool || threadContext().shares || parts < 2)
    return gemm(d, a, b, c);
  Cut cut = cutFor(d, rank.pool->threads(), parts);
  runParts(rank, Job{d, a, b, c, cut.along}, cut.extent, cut.length);
}

void parallelConvolution(sw_rank &rank, const sw_convolution_desc &d,
                         const void *a, const void *b, void *c) {
  double terms = double(d.columns);
  for (int i = 0; i < 3; ++i)
    terms *= double(d.rows[i]) * double(d.sum[i]);
  int64_t parts = int64_t(terms / double(termsPerPart));
  if (!rank.pool || threadContext().shares || parts < 2)
    return convolution(d, a, b, c);
  // Cut the longest row loop, often that over images.
  ConvolutionJob job = {d, a, b, c, 0};
  for (int i = 1; i < 3; ++i)
    if (d.rows[i] > d.rows[job.loop])
      job.loop = i;
  int64_t extent = d.rows[job.loop];
  parts = std::min({parts, rank.pool->threads(), extent});
  runParts(rank, job, extent, (extent + parts - 1) / parts);
}

} // namespace stagewright::runtime
