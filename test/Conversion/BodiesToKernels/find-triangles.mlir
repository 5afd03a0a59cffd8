// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-find-triangles))' | FileCheck %s

#all = affine_map<(h, q, k) -> (h, q, k)>
#qd = affine_map<(h, q, k, d) -> (h, q, d)>
#kd = affine_map<(h, q, k, d) -> (h, k, d)>
#qk = affine_map<(h, q, k, d) -> (h, q, k)>
#dq = affine_map<(h, q, d, k) -> (h, q, d)>
#dk = affine_map<(h, k, d, q) -> (h, k, d)>

// Scores that are read only under a causal mask.
// CHECK-LABEL: @scores
// CHECK: linalg.contract {{.*}} {host.triangle = array<i64: 1, 2, 64, 64>}
func.func private @scores(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>) -> tensor<2x64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %masked = arith.constant -1.0e+9 : f32
  %e = tensor.empty() : tensor<2x64x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %s = linalg.contract indexing_maps = [#qd, #kd, #qk] ins(%q, %k : tensor<2x64x8xf32>, tensor<2x64x8xf32>)
      outs(%zeros : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %p = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x64x64xf32>) outs(%e : tensor<2x64x64xf32>) {
  ^bb0(%in: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %ii = arith.index_cast %i : index to i32
    %jj = arith.index_cast %j : index to i32
    %c = arith.cmpi sge, %ii, %jj : i32
    %0 = arith.divf %in, %eight : f32
    %1 = arith.select %c, %0, %masked : f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x64x64xf32>
  return %p : tensor<2x64x64xf32>
}

// A reader that uses masked scores too, here in the other arm of the select, needs all of them.
// CHECK-LABEL: @read_everywhere
// CHECK-NOT: host.triangle
// CHECK: return
func.func private @read_everywhere(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>) -> tensor<2x64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x64x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %s = linalg.contract indexing_maps = [#qd, #kd, #qk] ins(%q, %k : tensor<2x64x8xf32>, tensor<2x64x8xf32>)
      outs(%zeros : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %p = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x64x64xf32>) outs(%e : tensor<2x64x64xf32>) {
  ^bb0(%in: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c = arith.cmpi sge, %i, %j : index
    %n = arith.negf %in : f32
    %1 = arith.select %c, %in, %n : f32
    linalg.yield %1 : f32
  } -> tensor<2x64x64xf32>
  return %p : tensor<2x64x64xf32>
}

// Gradients of masked scores are zero, so half of the terms of both sums are zero.
// CHECK-LABEL: @gradients
// CHECK: linalg.contract {{.*}} {host.triangle = array<i64: 1, 3, 64, 64>}
// CHECK: linalg.contract {{.*}} {host.triangle = array<i64: 3, 1, 64, 64>}
func.func private @gradients(%g: tensor<2x64x64xf32>, %q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>)
    -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %e = tensor.empty() : tensor<2x64x64xf32>
  %e2 = tensor.empty() : tensor<2x64x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  %s = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%g : tensor<2x64x64xf32>) outs(%e : tensor<2x64x64xf32>) {
  ^bb0(%in: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c = arith.cmpi sge, %i, %j : index
    %0 = arith.select %c, %in, %zero : f32
    %1 = arith.divf %0, %eight : f32
    linalg.yield %1 : f32
  } -> tensor<2x64x64xf32>
  %dq = linalg.contract indexing_maps = [affine_map<(h, q, d, k) -> (h, q, k)>, affine_map<(h, q, d, k) -> (h, k, d)>, #dq]
      ins(%s, %k : tensor<2x64x64xf32>, tensor<2x64x8xf32>) outs(%zeros : tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  %dk = linalg.contract indexing_maps = [affine_map<(h, k, d, q) -> (h, q, k)>, affine_map<(h, k, d, q) -> (h, q, d)>, #dk]
      ins(%s, %q : tensor<2x64x64xf32>, tensor<2x64x8xf32>) outs(%zeros : tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  return %dq, %dk : tensor<2x64x8xf32>, tensor<2x64x8xf32>
}

// Indices that wrap in their type: the mask is no triangle.
// CHECK-LABEL: @narrow
// CHECK-NOT: host.triangle
// CHECK: return
#two = affine_map<(q, k) -> (q, k)>
func.func private @narrow(%q: tensor<256x8xf32>, %k: tensor<256x8xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %masked = arith.constant -1.0e+9 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %s = linalg.contract indexing_maps = [affine_map<(q, k, d) -> (q, d)>, affine_map<(q, k, d) -> (k, d)>, affine_map<(q, k, d) -> (q, k)>] ins(%q, %k : tensor<256x8xf32>, tensor<256x8xf32>)
      outs(%zeros : tensor<256x256xf32>) -> tensor<256x256xf32>
  %p = linalg.generic {indexing_maps = [#two, #two], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) {
  ^bb0(%in: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %ii = arith.index_cast %i : index to i8
    %jj = arith.index_cast %j : index to i8
    %c = arith.cmpi sge, %ii, %jj : i8
    %1 = arith.select %c, %in, %masked : f32
    linalg.yield %1 : f32
  } -> tensor<256x256xf32>
  return %p : tensor<256x256xf32>
}
