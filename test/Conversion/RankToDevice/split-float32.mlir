// RUN: pp-opt %s --device-split-float32 | FileCheck %s

// An operand of two products is split once. Smaller products are added first; other element types keep one product.
// CHECK-LABEL: @layer.F(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4xf32>, %[[W:[a-z0-9]+]]: tensor<4x16xf32>, %[[V:[a-z0-9]+]]: tensor<4x16xf32>, %[[N:[a-z0-9]+]]: tensor<8x4xbf16>, %[[B:[a-z0-9]+]]: tensor<4x16xbf16>, %[[Z:[a-z0-9]+]]: tensor<8x16xf32>
// CHECK: %[[XS:.*]]:2 = linalg.generic {{.*}} ins(%[[X]] : tensor<8x4xf32>)
// CHECK-NEXT: ^bb0(%[[E:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK: arith.bitcast %[[E]] : f32 to i32
// CHECK: arith.addi %{{.*}}, %{{c4096.*}}
// CHECK: arith.andi %{{.*}}, %{{c-8192.*}}
// CHECK: arith.cmpi ugt
// CHECK: arith.select
// CHECK: %[[HIGH:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: %[[REST:.*]] = arith.subf %[[E]], %[[HIGH]] : f32
// CHECK: arith.bitcast %[[REST]]
// CHECK: %[[LOW:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: linalg.yield %[[HIGH]], %[[LOW]]
// CHECK: %[[WS:.*]]:2 = linalg.generic {{.*}} ins(%[[W]] : tensor<4x16xf32>)
// CHECK: %[[P:.*]] = linalg.contract {{.*}} ins(%[[XS]]#1, %[[WS]]#0 : {{.*}}) outs(%[[Z]] :
// CHECK: %[[Q:.*]] = linalg.contract {{.*}} ins(%[[XS]]#0, %[[WS]]#1 : {{.*}}) outs(%[[P]] :
// CHECK: %[[R:.*]] = linalg.contract {{.*}} ins(%[[XS]]#0, %[[WS]]#0 : {{.*}}) outs(%[[Q]] :
// CHECK-NOT: ins(%[[X]] :
// CHECK: %[[VS:.*]]:2 = linalg.generic {{.*}} ins(%[[V]] : tensor<4x16xf32>)
// CHECK: linalg.contract {{.*}} ins(%[[XS]]#1, %[[VS]]#0
// CHECK: linalg.contract
// CHECK: %[[S:.*]] = linalg.contract
// CHECK: %[[T:.*]] = linalg.contract {{.*}} ins(%[[N]], %[[B]] : {{.*}}) outs(%[[Z]] :
// CHECK-NEXT: return %[[R]], %[[S]], %[[T]]
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func private @layer.F(%x: tensor<8x4xf32>, %w: tensor<4x16xf32>, %v: tensor<4x16xf32>, %n: tensor<8x4xbf16>,
                           %b: tensor<4x16xbf16>, %z: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<8x4xf32>, tensor<4x16xf32>)
      outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %v : tensor<8x4xf32>, tensor<4x16xf32>)
      outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = linalg.contract indexing_maps = [#a, #b, #c] ins(%n, %b : tensor<8x4xbf16>, tensor<4x16xbf16>)
      outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0, %1, %2 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}
