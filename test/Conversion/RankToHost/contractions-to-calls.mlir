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
  linalg.contract indexing_maps = [#a, #bb, #c] {host.overwrite}
      ins(%q, %k : memref<2x128x4x64xf32>, memref<2x128x4x64xf32>) outs(%s : memref<2x4x128x128xf32>)
  return
}

// -----

// A sum over two dimensions that lie behind each other is one sum; without the mark it adds.
// CHECK: @gemm.0(dense<[4294967296, 8, 4, 6, 1, 1, 1, 8, 4, 1, 4, 1, {{.*}}]>
// CHECK-LABEL: @merged_sum
func.func private @merged_sum(%x: memref<2x3x8xf32>, %y: memref<2x3x4xf32>, %s: memref<8x4xf32>) {
  linalg.contract indexing_maps = [affine_map<(m, n, b, t) -> (b, t, m)>, affine_map<(m, n, b, t) -> (b, t, n)>, affine_map<(m, n, b, t) -> (m, n)>]
      ins(%x, %y : memref<2x3x8xf32>, memref<2x3x4xf32>) outs(%s : memref<8x4xf32>)
  return
}

// -----

// One that cannot be merged is a loop that adds after the first call.
// CHECK-LABEL: @loop_over_sum
// CHECK: llvm.call @sw_gemm
// CHECK: scf.for
// CHECK: llvm.call @sw_gemm
func.func private @loop_over_sum(%x: memref<3x2x8xf32>, %y: memref<2x3x4xf32>, %s: memref<8x4xf32>) {
  linalg.contract indexing_maps = [affine_map<(m, n, b, t) -> (t, b, m)>, affine_map<(m, n, b, t) -> (b, t, n)>, affine_map<(m, n, b, t) -> (m, n)>] {host.overwrite}
      ins(%x, %y : memref<3x2x8xf32>, memref<2x3x4xf32>) outs(%s : memref<8x4xf32>)
  return
}

// -----

func.func private @integers(%x: memref<8x2xi32>, %y: memref<2x4xi32>, %s: memref<8x4xi32>) {
  // expected-error @below {{contraction must be in f32 or f64 throughout, but got 'memref<8x2xi32>'}}
  linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %y : memref<8x2xi32>, memref<2x4xi32>) outs(%s : memref<8x4xi32>)
  return
}
