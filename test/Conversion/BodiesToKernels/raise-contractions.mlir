// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-raise-contractions,canonicalize,cse))' | FileCheck %s

// CHECK-DAG: #[[AT:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[CT:.*]] = affine_map<(d0, d1, d2) -> (d1, d0)>

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#row = affine_map<(m, k) -> (m, k)>
#sum = affine_map<(m, k) -> (m)>

// CHECK-LABEL: @matmul
// CHECK: linalg.contract
// CHECK-NOT: linalg.generic
func.func private @matmul(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %s: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%s : tensor<8x4xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %1 = arith.mulf %l, %r : f32
    %2 = arith.addf %1, %o : f32
    linalg.yield %2 : f32
  } -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// A sum of products within a row has no rows or columns to tile: a reduction.
// CHECK-LABEL: @row_sum
// CHECK-NOT: linalg.contract
func.func private @row_sum(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [#row, #row, #sum], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y : tensor<8x16xf32>, tensor<8x16xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %1 = arith.mulf %l, %r : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Transposed copies are read and written through the maps.
// CHECK-LABEL: @transposed
// CHECK-NOT: linalg.generic
// CHECK: linalg.contract indexing_maps = [#[[AT]], #{{.*}}, #[[CT]]] ins(%arg0, %arg1
// CHECK-NOT: linalg.generic
func.func private @transposed(%x: tensor<16x8xf32>, %w: tensor<16x4xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x16xf32>
  %xt = linalg.transpose ins(%x : tensor<16x8xf32>) outs(%e0 : tensor<8x16xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.matmul ins(%xt, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %e2 = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.transpose ins(%0 : tensor<8x4xf32>) outs(%e2 : tensor<4x8xf32>) permutation = [1, 0]
  return %1 : tensor<4x8xf32>
}

// Narrow operands are multiplied and summed in f32, the result is narrowed once.
// CHECK-LABEL: @narrow
// CHECK: arith.extf
// CHECK: arith.extf
// CHECK: linalg.contract {{.*}} -> tensor<8x4xf32>
// CHECK: arith.truncf
func.func private @narrow(%x: tensor<8x16xbf16>, %w: tensor<16x4xbf16>) -> tensor<8x4xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e1 = tensor.empty() : tensor<8x4xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e1 : tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %0 = linalg.matmul ins(%x, %w : tensor<8x16xbf16>, tensor<16x4xbf16>) outs(%f : tensor<8x4xbf16>) -> tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}

// A softmax is decomposed into operations that can be fused.
// CHECK-LABEL: @softmax
// CHECK-NOT: linalg.softmax
// CHECK: math.exp
func.func private @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Products in float64 that are rounded to float32 keep their precision: no operand is rounded before.
// CHECK-LABEL: @wide
// CHECK-NOT: linalg.contract
// CHECK: return
func.func private @wide(%x: tensor<4x4xf64>, %y: tensor<4x4xf64>) -> tensor<4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x4xf32>
  %e = linalg.fill ins(%z : f32) outs(%e0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#a,#b,#c], iterator_types = ["parallel","parallel","reduction"]} ins(%x, %y : tensor<4x4xf64>, tensor<4x4xf64>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%l: f64, %r: f64, %o: f32):
    %p = arith.mulf %l, %r : f64
    %w = arith.extf %o : f32 to f64
    %s = arith.addf %w, %p : f64
    %t = arith.truncf %s : f64 to f32
    linalg.yield %t : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
