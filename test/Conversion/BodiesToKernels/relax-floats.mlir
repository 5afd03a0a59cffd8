// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-relax-floats))' | FileCheck %s

// Elementwise arithmetic stays as written, so that what is computed twice is one number.
// CHECK-LABEL: @contraction_only
func.func private @contraction_only(%x: f32, %y: f32) -> (f32, f32, i1) {
  // CHECK: arith.addf %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : f32
  %0 = arith.addf %x, %y : f32
  // CHECK: math.exp %{{.*}} fastmath<contract> : f32
  %1 = math.exp %0 : f32
  // CHECK: arith.divf %{{.*}} fastmath<contract> : f32
  %2 = arith.divf %1, %y : f32
  // CHECK: arith.cmpf ogt, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : f32
  %3 = arith.cmpf ogt, %1, %y : f32
  return %1, %2, %3 : f32, f32, i1
}

// CHECK-LABEL: @sum_in_any_order
func.func private @sum_in_any_order(%x: memref<4x8xf32>, %sum: memref<4xf32>, %most: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x8xf32>) outs(%sum, %most : memref<4xf32>, memref<4xf32>) {
  ^bb0(%in: f32, %acc: f32, %max: f32):
    // CHECK: arith.mulf %in, %in fastmath<contract> : f32
    %0 = arith.mulf %in, %in : f32
    // CHECK: arith.addf %out, %{{.*}} fastmath<reassoc,contract> : f32
    %1 = arith.addf %acc, %0 : f32
    // CHECK: arith.maximumf %{{.*}} fastmath<reassoc,nsz,contract> : f32
    %2 = arith.maximumf %in, %max : f32
    linalg.yield %1, %2 : f32, f32
  }
  return
}

// If one of two kernels left out a rounding, the same value would be two different numbers.
// CHECK-LABEL: @narrow
func.func private @narrow(%x: f32) -> f32 {
  // CHECK: arith.truncf %{{[a-z0-9]+}} : f32 to bf16
  %0 = arith.truncf %x : f32 to bf16
  // CHECK: arith.extf %{{[a-z0-9]+}} : bf16 to f32
  %1 = arith.extf %0 : bf16 to f32
  return %1 : f32
}
