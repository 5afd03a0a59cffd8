// RUN: pp-opt %s --device-arrange-operands | FileCheck %s

// Weights are rounded to 8 bits in the order in which the library reads them; an operand with another reader is copied.
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

// Libraries do not support a batch as the innermost dimension. The result is made with the batch outermost, then permuted.
// CHECK-LABEL: @batch_last(
// CHECK: %[[P:.*]] = linalg.contract {{.*}} -> tensor<4x8x8xf32>
// CHECK: linalg.generic {{.*}} ins(%[[P]] : tensor<4x8x8xf32>) outs(%{{.*}} : tensor<8x8x4xf32>)
// An operand is copied.
// CHECK-LABEL: @operand(
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<8x8x4xf32>
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<8x8x4xf32>) outs(%{{.*}} : tensor<4x8x8xf32>)
// CHECK: linalg.contract {{.*}} ins(%[[T]],
// If the product adds to an array, the permuted result is added to it.
// CHECK-LABEL: @added(
// CHECK-SAME: %[[Z:[a-z0-9]+]]: tensor<8x8x4xf32>
// CHECK: %[[P:.*]] = linalg.contract
// CHECK: linalg.generic {{.*}} ins(%[[P]] : tensor<4x8x8xf32>) outs(%[[Z]] : tensor<8x8x4xf32>)
// CHECK: arith.addf
// Operands that the library accepts are not changed.
// CHECK-LABEL: @heads(
// CHECK-NOT: linalg.generic
// CHECK: linalg.contract
// CHECK-NEXT: return
#q = affine_map<(b, i, j, k) -> (b, i, k)>
#k = affine_map<(b, i, j, k) -> (b, j, k)>
#s = affine_map<(b, i, j, k) -> (i, j, b)>
func.func private @batch_last(%x: tensor<4x8x16xf32>, %y: tensor<4x8x16xf32>) -> tensor<8x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8x4xf32>) -> tensor<8x8x4xf32>
  %p = linalg.contract indexing_maps = [#q, #k, #s] ins(%x, %y : tensor<4x8x16xf32>, tensor<4x8x16xf32>)
      outs(%f : tensor<8x8x4xf32>) -> tensor<8x8x4xf32>
  return %p : tensor<8x8x4xf32>
}
#so = affine_map<(b, i, j, k) -> (i, k, b)>
#v = affine_map<(b, i, j, k) -> (b, k, j)>
#o = affine_map<(b, i, j, k) -> (b, i, j)>
func.func private @operand(%s: tensor<8x8x4xf32>, %y: tensor<4x8x16xf32>, %z: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %p = linalg.contract indexing_maps = [#so, #v, #o] ins(%s, %y : tensor<8x8x4xf32>, tensor<4x8x16xf32>)
      outs(%z : tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %p : tensor<4x8x16xf32>
}
func.func private @added(%x: tensor<4x8x16xf32>, %y: tensor<4x8x16xf32>, %z: tensor<8x8x4xf32>) -> tensor<8x8x4xf32> {
  %p = linalg.contract indexing_maps = [#q, #k, #s] ins(%x, %y : tensor<4x8x16xf32>, tensor<4x8x16xf32>)
      outs(%z : tensor<8x8x4xf32>) -> tensor<8x8x4xf32>
  return %p : tensor<8x8x4xf32>
}
#qh = affine_map<(b, h, i, j, k) -> (b, i, h, k)>
#kh = affine_map<(b, h, i, j, k) -> (b, j, h, k)>
#sh = affine_map<(b, h, i, j, k) -> (b, h, i, j)>
func.func private @heads(%x: tensor<4x8x2x16xf32>, %y: tensor<4x8x2x16xf32>, %z: tensor<4x2x8x8xf32>) -> tensor<4x2x8x8xf32> {
  %p = linalg.contract indexing_maps = [#qh, #kh, #sh] ins(%x, %y : tensor<4x8x2x16xf32>, tensor<4x8x2x16xf32>)
      outs(%z : tensor<4x2x8x8xf32>) -> tensor<4x2x8x8xf32>
  return %p : tensor<4x2x8x8xf32>
}
