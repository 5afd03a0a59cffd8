// RUN: pp-opt %s --device-arrange-bytes | FileCheck %s

// Weights are rounded to 8 bits in the order in which the library reads them; what has another reader is copied.
// CHECK-LABEL: @layer.F(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<32x64xf8E4M3FN>, %[[G:[a-z0-9]+]]: tensor<32x48xf8E5M2>, %[[W:[a-z0-9]+]]: tensor<64x48xf32>
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[W]] : tensor<64x48xf32>) outs(%{{.*}} : tensor<48x64xf8E4M3FN>)
// CHECK: linalg.contract {{.*}} ins(%[[X]], %[[T]] : tensor<32x64xf8E4M3FN>, tensor<48x64xf8E4M3FN>)
// CHECK: %[[XT:.*]] = linalg.generic {{.*}} ins(%[[X]] : {{.*}}) outs(%{{.*}} : tensor<64x32xf8E4M3FN>)
// CHECK: %[[GT:.*]] = linalg.generic {{.*}} ins(%[[G]] : {{.*}}) outs(%{{.*}} : tensor<48x32xf8E5M2>)
// CHECK: linalg.contract {{.*}} ins(%[[XT]], %[[GT]] : tensor<64x32xf8E4M3FN>, tensor<48x32xf8E5M2>)
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#at = affine_map<(i, j, k) -> (k, i)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @layer.F(%x: tensor<32x64xf8E4M3FN>, %g: tensor<32x48xf8E5M2>, %w: tensor<64x48xf32>, %y: tensor<32x48xf32>,
                           %z: tensor<64x48xf32>) -> (tensor<32x48xf32>, tensor<64x48xf32>) {
  %e = tensor.empty() : tensor<64x48xf8E4M3FN>
  %n = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<64x48xf32>) outs(%e : tensor<64x48xf8E4M3FN>) {
  ^bb0(%u: f32, %o: f8E4M3FN):
    %0 = arith.truncf %u : f32 to f8E4M3FN
    linalg.yield %0 : f8E4M3FN
  } -> tensor<64x48xf8E4M3FN>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %n : tensor<32x64xf8E4M3FN>, tensor<64x48xf8E4M3FN>)
      outs(%y : tensor<32x48xf32>) -> tensor<32x48xf32>
  %q = linalg.contract indexing_maps = [#at, #b, #c] ins(%x, %g : tensor<32x64xf8E4M3FN>, tensor<32x48xf8E5M2>)
      outs(%z : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %p, %q : tensor<32x48xf32>, tensor<64x48xf32>
}
