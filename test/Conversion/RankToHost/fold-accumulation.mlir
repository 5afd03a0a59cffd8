// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(host-raise-contractions,host-fold-accumulation,canonicalize,cse))' | FileCheck %s

// A gradient is summed by the contraction that makes it.
// CHECK-LABEL: @contraction
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<8x4xf32> {rank.accumulate}
// CHECK-NOT: linalg.generic
// CHECK: %[[R:.*]] = linalg.contract {{.*}} outs(%[[SUM]] : tensor<8x4xf32>)
// CHECK-NEXT: return %[[R]]
func.func private @contraction(%x: tensor<2x8xf32>, %y: tensor<2x4xf32>, %sum: tensor<8x4xf32> {rank.accumulate}) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %e0 = tensor.empty() : tensor<8x2xf32>
  %xt = linalg.transpose ins(%x : tensor<2x8xf32>) outs(%e0 : tensor<8x2xf32>) permutation = [1, 0]
  %0 = linalg.matmul ins(%xt, %y : tensor<8x2xf32>, tensor<2x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<8x4xf32>) outs(%sum : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// A reduction starts from the sum, also through a reshape.
// CHECK-LABEL: @reduction
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<1x4xf32> {rank.accumulate}
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[SUM]]
// CHECK: linalg.generic {{.*}}"reduction"{{.*}} outs(%[[FLAT]] : tensor<4xf32>)
// CHECK-NOT: linalg.generic
func.func private @reduction(%x: tensor<2x4xf32>, %sum: tensor<1x4xf32> {rank.accumulate}) -> tensor<1x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.reduce ins(%x : tensor<2x4xf32>) outs(%f : tensor<4xf32>) dimensions = [0] (%in: f32, %out: f32) {
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  }
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
  %2 = arith.addf %sum, %1 : tensor<1x4xf32>
  return %2 : tensor<1x4xf32>
}

// What has another use is not folded: the sum is updated in place.
// CHECK-LABEL: @shared
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<8x4xf32> {rank.accumulate}
// CHECK: %[[P:.*]] = linalg.contract
// CHECK: linalg.generic {{.*}} ins(%[[P]] : tensor<8x4xf32>) outs(%[[SUM]] : tensor<8x4xf32>)
func.func private @shared(%x: tensor<8x2xf32>, %y: tensor<2x4xf32>, %sum: tensor<8x4xf32> {rank.accumulate}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.matmul ins(%x, %y : tensor<8x2xf32>, tensor<2x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = linalg.add ins(%sum, %0 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}
