// RUN: pp-opt %s --pass-pipeline='builtin.module(host-contractions-to-calls)' -split-input-file -verify-diagnostics | FileCheck %s

// Words of a descriptor: dtype and beta, m, n, k, two batch extents, strides of A, B and C, batch strides.
#a = affine_map<(b, h, q, k, d) -> (b, q, h, d)>
#bb = affine_map<(b, h, q, k, d) -> (b, k, h, d)>
#c = affine_map<(b, h, q, k, d) -> (b, h, q, k)>

// Attention: heads within a row, read through strides.
// CHECK: llvm.func @sw_gemm(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
// CHECK: llvm.mlir.global private constant @gemm.0(dense<[0, 128, 128, 64, 2, 4, 256, 1, 1, 256, 128, 1, 32768, 64, 32768, 64, 65536, 16384]>
// CHECK-LABEL: @attention
// CHECK: llvm.call @sw_gemm
func.func private @attention(%q: memref<2x128x4x64xf32>, %k: memref<2x128x4x64xf32>, %s: memref<2x4x128x128xf32>) {
  rank.contract overwrite maps [#a, #bb, #c]
      ins(%q, %k : memref<2x128x4x64xf32>, memref<2x128x4x64xf32>) outs(%s : memref<2x4x128x128xf32>)
  return
}

// -----

// Scores right of the diagonal do not matter: each call has 32 columns and the rows from the diagonal down.
// CHECK: @gemm.1(dense<[0, 32, 32, 16, 1, 1, 16, 1, 1, 16, 64, 1, {{.*}}]>
// CHECK: @gemm.0(dense<[0, 64, 32, 16, 1, 1, 16, 1, 1, 16, 64, 1, {{.*}}]>
// CHECK-LABEL: @triangle
// CHECK: llvm.call @sw_gemm
// CHECK: arith.constant 2048 : index
// CHECK: arith.constant 2048 : index
// CHECK: arith.constant 8320 : index
// CHECK: llvm.call @sw_gemm
// CHECK-NOT: llvm.call @sw_gemm
func.func private @triangle(%q: memref<64x16xf32>, %k: memref<64x16xf32>, %s: memref<64x64xf32>) {
  rank.contract overwrite maps [affine_map<(q, k, d) -> (q, d)>, affine_map<(q, k, d) -> (k, d)>, affine_map<(q, k, d) -> (q, k)>] triangle [0, 1]
      ins(%q, %k : memref<64x16xf32>, memref<64x16xf32>) outs(%s : memref<64x64xf32>)
  return
}

// -----

// A sum over the other loop has only the terms up to the diagonal.
// CHECK: @gemm.1(dense<[0, 32, 16, 64, {{.*}}]>
// CHECK: @gemm.0(dense<[0, 32, 16, 32, {{.*}}]>
// CHECK-LABEL: @triangle_of_sum
func.func private @triangle_of_sum(%s: memref<64x64xf32>, %k: memref<64x16xf32>, %g: memref<64x16xf32>) {
  rank.contract overwrite maps [affine_map<(q, d, k) -> (q, k)>, affine_map<(q, d, k) -> (k, d)>, affine_map<(q, d, k) -> (q, d)>] triangle [0, 2]
      ins(%s, %k : memref<64x64xf32>, memref<64x16xf32>) outs(%g : memref<64x16xf32>)
  return
}

// -----

// A sum over two contiguous dimensions is one sum; a contraction that accumulates adds to the result.
// CHECK: @gemm.0(dense<[4294967296, 8, 4, 6, 1, 1, 1, 8, 4, 1, 4, 1, {{.*}}]>
// CHECK-LABEL: @merged_sum
func.func private @merged_sum(%x: memref<2x3x8xf32>, %y: memref<2x3x4xf32>, %s: memref<8x4xf32>) {
  rank.contract accumulate maps [affine_map<(m, n, b, t) -> (b, t, m)>, affine_map<(m, n, b, t) -> (b, t, n)>, affine_map<(m, n, b, t) -> (m, n)>]
      ins(%x, %y : memref<2x3x8xf32>, memref<2x3x4xf32>) outs(%s : memref<8x4xf32>)
  return
}

// -----

// A sum over two dimensions that cannot be merged is a call, then a loop of calls that add.
// CHECK-LABEL: @loop_over_sum
// CHECK: llvm.call @sw_gemm
// CHECK: scf.for
// CHECK: llvm.call @sw_gemm
func.func private @loop_over_sum(%x: memref<3x2x8xf32>, %y: memref<2x3x4xf32>, %s: memref<8x4xf32>) {
  rank.contract overwrite maps [affine_map<(m, n, b, t) -> (t, b, m)>, affine_map<(m, n, b, t) -> (b, t, n)>, affine_map<(m, n, b, t) -> (m, n)>]
      ins(%x, %y : memref<3x2x8xf32>, memref<2x3x4xf32>) outs(%s : memref<8x4xf32>)
  return
}

// -----

func.func private @integers(%x: memref<8x2xi32>, %y: memref<2x4xi32>, %s: memref<8x4xi32>) {
  // expected-error @below {{contraction must be in f32 or f64 throughout, but got 'memref<8x2xi32>'}}
  rank.contract accumulate maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %y : memref<8x2xi32>, memref<2x4xi32>) outs(%s : memref<8x4xi32>)
  return
}

// -----

// Words of a convolution: dtype and beta, rows, columns, sum, strides of A and C along rows, of A and B along the sum, of B and
// C along columns. Contiguous taps and channels are one loop.
// CHECK: @convolution.0(dense<[0, 2, 4, 4, 8, 1, 3, 9, 243, 54, 6, 128, 32, 8, 0, 27, 1, 0, 72, 8, 1, 1]>
// CHECK-LABEL: @windows
// CHECK: llvm.call @sw_convolution
func.func private @windows(%x: memref<2x9x9x3xf32>, %w: memref<3x3x3x8xf32>, %s: memref<2x4x4x8xf32>) {
  rank.contract overwrite maps [affine_map<(n, h, w, o, i, j, c) -> (n, h * 2 + i, w * 2 + j, c)>, affine_map<(n, h, w, o, i, j, c) -> (i, j, c, o)>, affine_map<(n, h, w, o, i, j, c) -> (n, h, w, o)>]
      ins(%x, %w : memref<2x9x9x3xf32>, memref<3x3x3x8xf32>) outs(%s : memref<2x4x4x8xf32>)
  return
}

// -----

// One tap and no stride: a matrix product.
// CHECK: @gemm.0(dense<[4294967296, 32, 8, 3, 1, 1, 3, 1, 8, 1, 8, 1,
// CHECK-LABEL: @one_tap
// CHECK: llvm.call @sw_gemm
func.func private @one_tap(%x: memref<2x4x4x3xf32>, %w: memref<1x1x3x8xf32>, %s: memref<2x4x4x8xf32>) {
  rank.contract accumulate maps [affine_map<(n, h, w, o, i, j, c) -> (n, h + i, w + j, c)>, affine_map<(n, h, w, o, i, j, c) -> (i, j, c, o)>, affine_map<(n, h, w, o, i, j, c) -> (n, h, w, o)>]
      ins(%x, %w : memref<2x4x4x3xf32>, memref<1x1x3x8xf32>) outs(%s : memref<2x4x4x8xf32>)
  return
}
