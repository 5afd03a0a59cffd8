// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-order-loops))' | FileCheck %s

// A sum over rows has the kept dimension, which is contiguous, as its innermost loop.
// CHECK: #[[IN:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: #[[OUT:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: @sum_of_rows
// CHECK: indexing_maps = [#[[IN]], #[[OUT]]], iterator_types = ["reduction", "parallel"]
func.func private @sum_of_rows(%x: tensor<64x32xf32>, %s: tensor<32xf32>) -> tensor<32xf32> {
  %1 = linalg.generic {indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (j)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x32xf32>) outs(%s : tensor<32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<32xf32>
  return %1 : tensor<32xf32>
}
