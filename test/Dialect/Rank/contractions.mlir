// RUN: pp-opt %s | pp-opt | FileCheck %s
// RUN: pp-opt %s --mlir-print-op-generic | pp-opt | FileCheck %s
// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(cse,canonicalize))' | FileCheck %s --check-prefix=MERGED

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: @product
// CHECK: rank.contract accumulate maps [#{{.*}}, #{{.*}}, #{{.*}}] ins(%{{.*}}, %{{.*}} : tensor<48x32xf32>, tensor<32x64xf32>) outs(%{{.*}} : tensor<48x64xf32>) -> tensor<48x64xf32>
func.func @product(%x: tensor<48x32xf32>, %w: tensor<32x64xf32>, %y: tensor<48x64xf32>) -> tensor<48x64xf32> {
  %0 = rank.contract accumulate maps [#a, #b, #c] ins(%x, %w : tensor<48x32xf32>, tensor<32x64xf32>) outs(%y : tensor<48x64xf32>) -> tensor<48x64xf32>
  return %0 : tensor<48x64xf32>
}

// CHECK-LABEL: @triangle
// CHECK: rank.contract overwrite maps {{.*}} triangle [0, 1] ins
func.func @triangle(%q: memref<64x16xf32>, %k: memref<16x64xf32>, %s: memref<64x64xf32>) {
  rank.contract overwrite maps [#a, #b, #c] triangle [0, 1] ins(%q, %k : memref<64x16xf32>, memref<16x64xf32>) outs(%s : memref<64x64xf32>)
  return
}

// CHECK-LABEL: @epilogues
// CHECK: rank.contract overwrite {{.*}} epilogue bias_gelu_aux bias(%{{.*}} : memref<64xf32>) aux(%{{.*}} : memref<48x64xf32>)
// CHECK: rank.otherwise @kernel(%{{.*}}, %{{.*}}) : memref<48x64xf32>, memref<64xf32>
// CHECK: rank.contract overwrite {{.*}} epilogue gelu
// CHECK: rank.contract overwrite {{.*}} epilogue dgelu aux(
func.func @epilogues(%x: memref<48x32xf32>, %w: memref<32x64xf32>, %b: memref<64xf32>, %y: memref<48x64xf32>, %z: memref<48x64xf32>) {
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<48x32xf32>, memref<32x64xf32>) outs(%y : memref<48x64xf32>)
      epilogue bias_gelu_aux bias(%b : memref<64xf32>) aux(%z : memref<48x64xf32>)
  rank.otherwise @kernel(%y, %b) : memref<48x64xf32>, memref<64xf32>
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<48x32xf32>, memref<32x64xf32>) outs(%y : memref<48x64xf32>) epilogue gelu
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<48x32xf32>, memref<32x64xf32>) outs(%y : memref<48x64xf32>)
      epilogue dgelu aux(%z : memref<48x64xf32>)
  return
}
func.func private @kernel(memref<48x64xf32>, memref<64xf32>)

// On tensors it has no effects: equal ones are merged, and unused ones go.
// MERGED-LABEL: @pure
// MERGED-COUNT-1: rank.contract
// MERGED-NOT: rank.contract
// MERGED: return
func.func @pure(%x: tensor<48x32xf32>, %w: tensor<32x64xf32>, %y: tensor<48x64xf32>) -> (tensor<48x64xf32>, tensor<48x64xf32>) {
  %0 = rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : tensor<48x32xf32>, tensor<32x64xf32>) outs(%y : tensor<48x64xf32>) -> tensor<48x64xf32>
  %1 = rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : tensor<48x32xf32>, tensor<32x64xf32>) outs(%y : tensor<48x64xf32>) -> tensor<48x64xf32>
  %2 = rank.contract accumulate maps [#a, #b, #c] ins(%x, %w : tensor<48x32xf32>, tensor<32x64xf32>) outs(%y : tensor<48x64xf32>) -> tensor<48x64xf32>
  return %0, %1 : tensor<48x64xf32>, tensor<48x64xf32>
}
