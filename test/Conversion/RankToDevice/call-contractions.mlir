// RUN: pp-opt %s --split-input-file --device-call-contractions --verify-diagnostics | FileCheck %s
// RUN: pp-opt %s --split-input-file --device-call-contractions='tf32=true' --verify-diagnostics | FileCheck %s --check-prefix=TF32

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// The call gets a description of the product and its epilogue, and their buffers; the kernel after it is a separate launch.
// CHECK: llvm.mlir.global private constant @contract.0(dense<[0, 48, 64, 32, 1, 1, 32, 1, 64, 1, 64, 1, 0, 0, 0, 0, 0, 0, 0, 0, 4294967296, 1, 0]>
// TF32: llvm.mlir.global private constant @contract.0(dense<[0, 48, 64, 32, {{.*}}, 4294967297, 1, 0]>
// CHECK-LABEL: func.func private @layer.F(
// CHECK-SAME: %[[RANK:.*]]: !llvm.ptr, %[[X:[^:]*]]: memref
// CHECK: %[[NONE:.*]] = llvm.mlir.zero
// CHECK: %[[DESC:.*]] = llvm.mlir.addressof @contract.0
// CHECK-NEXT: llvm.call @sw_contract(%[[RANK]], %[[DESC]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[NONE]])
// CHECK-NEXT: rank.otherwise @kernel.0
func.func private @layer.F(%rank: !llvm.ptr, %x: memref<48x32xf32>, %w: memref<32x64xf32>, %b: memref<64xf32>, %y: memref<48x64xf32>) {
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<48x32xf32>, memref<32x64xf32>) outs(%y : memref<48x64xf32>)
      epilogue bias bias(%b : memref<64xf32>)
  rank.otherwise @kernel.0(%b, %y) : memref<64xf32>, memref<48x64xf32>
  return
}
func.func private @kernel.0(memref<64xf32>, memref<48x64xf32>)

// -----

func.func private @layer.F(%rank: !llvm.ptr, %x: memref<9x3xf32>, %w: memref<3x3x8xf32>, %y: memref<4x8xf32>) {
  // expected-error @below {{is a convolution; the device's library takes 'rank.convolve'}}
  rank.contract overwrite maps [affine_map<(h, o, i, c) -> (h * 2 + i, c)>, affine_map<(h, o, i, c) -> (i, c, o)>, affine_map<(h, o, i, c) -> (h, o)>]
      ins(%x, %w : memref<9x3xf32>, memref<3x3x8xf32>) outs(%y : memref<4x8xf32>)
  return
}
