// RUN: pp-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(host-group-rows{score-bytes=4096}))' | FileCheck %s --check-prefix=WHOLE
// RUN: pp-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(host-group-rows{score-bytes=4096},canonicalize,cse))' | FileCheck %s

// Scores, exponentials and the weighted sum of values are one loop over (head, block of queries). A block holds 4 KiB of
// scores at most, and there are 16 blocks at least; exponentials are written over the scores.
// CHECK-LABEL: @forward
// WHOLE-LABEL: @forward
// WHOLE-NOT: tensor<2x64x64xf32>
// WHOLE: return
// CHECK: scf.for {{.*}} to %c16 step
// CHECK-NOT: tensor<2x64x64xf32>
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<1x8x64xf32>
// CHECK: %[[SCORES:.*]] = linalg.contract {{.*}} -> tensor<1x8x64xf32>
// CHECK: linalg.generic {{.*}} outs(%[[SCORES]] : tensor<1x8x64xf32>)
// CHECK: math.exp
// CHECK: linalg.contract {{.*}} -> tensor<1x8x8xf32>
// CHECK: {host.parallel}
// CHECK-NOT: tensor<2x64x64xf32>
// CHECK: return
#all = affine_map<(h, q, k) -> (h, q, k)>
func.func private @forward(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x8xf32>) -> tensor<2x64x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x64x64xf32>
  %e2 = tensor.empty() : tensor<2x64x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %zeros2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h, q, k, d) -> (h, q, d)>, affine_map<(h, q, k, d) -> (h, k, d)>,
      affine_map<(h, q, k, d) -> (h, q, k)>] ins(%q, %k : tensor<2x64x8xf32>, tensor<2x64x8xf32>)
      outs(%zeros : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %p = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x64x64xf32>) outs(%e : tensor<2x64x64xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<2x64x64xf32>
  %r = linalg.contract indexing_maps = [affine_map<(h, q, k, d) -> (h, q, k)>, affine_map<(h, q, k, d) -> (h, k, d)>,
      affine_map<(h, q, k, d) -> (h, q, d)>] ins(%p, %v : tensor<2x64x64xf32>, tensor<2x64x8xf32>)
      outs(%zeros2 : tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  return %r : tensor<2x64x8xf32>
}

// -----

// A block has queries if these are next to keys in the layout of the scores, whatever the order of the contraction's loops;
// heads of a group share keys.
// CHECK-LABEL: @grouped
// CHECK: scf.for {{.*}} to %c16 step
// CHECK: linalg.contract {{.*}} -> tensor<1x1x16x64xf32>
// CHECK: linalg.contract {{.*}} -> tensor<16x1x1x8xf32>
// CHECK: {host.parallel}
#all = affine_map<(g, h, q, k) -> (g, h, q, k)>
func.func private @grouped(%q: tensor<64x2x2x8xf32>, %k: tensor<64x2x8xf32>, %v: tensor<64x2x8xf32>) -> tensor<64x2x2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x64x64xf32>
  %e2 = tensor.empty() : tensor<64x2x2x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2x64x64xf32>) -> tensor<2x2x64x64xf32>
  %zeros2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<64x2x2x8xf32>) -> tensor<64x2x2x8xf32>
  %s = linalg.contract indexing_maps = [affine_map<(g, k, q, h, d) -> (k, g, d)>, affine_map<(g, k, q, h, d) -> (q, g, h, d)>,
      affine_map<(g, k, q, h, d) -> (g, h, q, k)>] ins(%k, %q : tensor<64x2x8xf32>, tensor<64x2x2x8xf32>)
      outs(%zeros : tensor<2x2x64x64xf32>) -> tensor<2x2x64x64xf32>
  %p = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x2x64x64xf32>) outs(%e : tensor<2x2x64x64xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<2x2x64x64xf32>
  %r = linalg.contract indexing_maps = [affine_map<(g, d, h, q, k) -> (k, g, d)>, affine_map<(g, d, h, q, k) -> (g, h, q, k)>,
      affine_map<(g, d, h, q, k) -> (q, g, h, d)>] ins(%v, %p : tensor<64x2x8xf32>, tensor<2x2x64x64xf32>)
      outs(%zeros2 : tensor<64x2x2x8xf32>) -> tensor<64x2x2x8xf32>
  return %r : tensor<64x2x2x8xf32>
}

// -----

// A sum over queries continues from block to block, in an inner loop; heads stay independent.
// CHECK-LABEL: @backward
// CHECK: scf.for %[[H:.*]] = %c0 to %c2 step
// CHECK: %[[ZERO:.*]] = linalg.fill {{.*}} -> tensor<1x64x8xf32>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} to %c4 step {{.*}} iter_args(%[[SO_FAR:.*]] = %[[ZERO]])
// CHECK: tensor.extract_slice %arg0[%[[H]], %{{.*}}, 0] [1, 16, 64]
// CHECK: linalg.contract {{.*}} outs(%[[SO_FAR]] : tensor<1x64x8xf32>)
// CHECK: tensor.insert_slice %[[SUM]]
// CHECK: {host.parallel}
#all = affine_map<(h, q, k) -> (h, q, k)>
func.func private @backward(%s: tensor<2x64x64xf32>, %g: tensor<2x64x8xf32>) -> tensor<2x64x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x64x64xf32>
  %e2 = tensor.empty() : tensor<2x64x8xf32>
  %zeros2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  %p = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x64x64xf32>) outs(%e : tensor<2x64x64xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<2x64x64xf32>
  %r = linalg.contract indexing_maps = [affine_map<(h, q, k, d) -> (h, q, k)>, affine_map<(h, q, k, d) -> (h, q, d)>,
      affine_map<(h, q, k, d) -> (h, k, d)>] ins(%p, %g : tensor<2x64x64xf32>, tensor<2x64x8xf32>)
      outs(%zeros2 : tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  return %r : tensor<2x64x8xf32>
}

// -----

// A contraction with weights that all rows share stays a library call, because each block would read the weights again.
// CHECK-LABEL: @weights
// CHECK-NOT: scf.for
#all = affine_map<(q, k) -> (q, k)>
func.func private @weights(%x: tensor<64x8xf32>, %w: tensor<8x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = linalg.contract indexing_maps = [affine_map<(q, k, d) -> (q, d)>, affine_map<(q, k, d) -> (d, k)>,
      affine_map<(q, k, d) -> (q, k)>] ins(%x, %w : tensor<64x8xf32>, tensor<8x64xf32>)
      outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  return %p : tensor<64x64xf32>
}
