// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops,host-fuse-elementwise,canonicalize,cse))' | FileCheck %s
// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops,host-fuse-elementwise{max-ops=0},canonicalize,cse))' | FileCheck %s --check-prefix=NONE

// A cheap producer is computed again in each of its two consumers.
// CHECK-LABEL: @two_consumers
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
// NONE-LABEL: @two_consumers
// NONE-COUNT-3: linalg.generic
func.func private @two_consumers(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.mul ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.add ins(%0, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %2 = linalg.sub ins(%0, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// An exponential is not.
// CHECK-LABEL: @costly
// CHECK-COUNT-3: linalg.generic
// CHECK: return
func.func private @costly(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.add ins(%0, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %2 = linalg.sub ins(%0, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// The producer of a reduction goes into it.
// CHECK-LABEL: @into_reduction
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
func.func private @into_reduction(%x: tensor<8x4xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.mul ins(%x, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<8x4xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
