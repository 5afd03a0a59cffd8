// RUN: pp-opt %s --device-read-scalars --canonicalize | FileCheck %s

// Whether a norm is below its limit is known only on the device.
// CHECK-LABEL: @clip
// CHECK-NOT: tensor.extract
// CHECK: linalg.generic {indexing_maps = [#[[ALL:.*]], #[[NONE:.*]], #[[ALL]]]
// CHECK-SAME: ins(%arg0, %arg1 : tensor<8xf32>, tensor<i1>)
// CHECK: ^bb0(%[[X:.*]]: f32, %[[SMALL:.*]]: i1, %{{.*}}: f32)
// CHECK: arith.select %[[SMALL]], %[[X]]
func.func private @clip(%x: tensor<8xf32>, %small: tensor<i1>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %s = tensor.extract %small[] : tensor<i1>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.select %s, %a, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}
