// RUN: pp-opt %s -host-pass-destinations -host-bufferize -canonicalize | FileCheck %s

// Two results of one operation, of which one array is made behind a reshape: each is written in its place.
// CHECK-LABEL: @joined
// CHECK-SAME: (%{{.*}}, %[[OUT:[a-z0-9_]+]]: memref<4x32xf32>)
// CHECK: %[[ALL:.*]] = memref.alloc() {{.*}} memref<4x32xf32>
// CHECK-DAG: %[[A:.*]] = memref.subview %[[ALL]][0, 0] [4, 16] [1, 1]
// CHECK-DAG: %[[B:.*]] = memref.subview %[[ALL]][0, 16] [4, 16] [1, 1]
// CHECK-DAG: %[[C:.*]] = memref.expand_shape %[[A]] {{.*}} output_shape [4, 4, 4]
// CHECK-DAG: %[[D:.*]] = memref.expand_shape %[[B]] {{.*}} output_shape [4, 4, 4]
// CHECK: linalg.generic {{.*}} outs(%[[C]], %[[D]] :
// CHECK-NOT: memref.copy
// CHECK: return
#all = affine_map<(i, j, k) -> (i, j, k)>
#one = affine_map<(i, j) -> (i, j)>
func.func private @joined(%x: tensor<4x4x4xf32>) -> tensor<4x32xf32> {
  %e = tensor.empty() : tensor<4x4x4xf32>
  %f = tensor.empty() : tensor<4x4x4xf32>
  %r:2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<4x4x4xf32>) outs(%e, %f : tensor<4x4x4xf32>, tensor<4x4x4xf32>) {
  ^bb0(%a: f32, %o: f32, %p: f32):
    %0 = arith.addf %a, %a : f32
    %1 = arith.mulf %a, %a : f32
    linalg.yield %0, %1 : f32, f32
  } -> (tensor<4x4x4xf32>, tensor<4x4x4xf32>)
  %u = tensor.collapse_shape %r#0 [[0], [1, 2]] : tensor<4x4x4xf32> into tensor<4x16xf32>
  %v = tensor.collapse_shape %r#1 [[0], [1, 2]] : tensor<4x4x4xf32> into tensor<4x16xf32>
  %whole = tensor.empty() : tensor<4x32xf32>
  %s = tensor.insert_slice %u into %whole[0, 0] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x32xf32>
  %t = tensor.insert_slice %v into %s[0, 16] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x32xf32>
  %out = tensor.empty() : tensor<4x32xf32>
  %y = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<4x32xf32>) outs(%out : tensor<4x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// Boxes that meet are filled one after the other: what the second leaves of the first depends on the order.
// CHECK-LABEL: @meeting
// CHECK: linalg.generic
// CHECK: memref.copy %{{.*}} to memref<4x16xf32, strided<[32, 1], offset: 8>>
func.func private @meeting(%x: tensor<4x16xf32>) -> tensor<4x32xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %f = tensor.empty() : tensor<4x16xf32>
  %r:2 = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x16xf32>) outs(%e, %f : tensor<4x16xf32>, tensor<4x16xf32>) {
  ^bb0(%a: f32, %o: f32, %p: f32):
    %0 = arith.addf %a, %a : f32
    %1 = arith.mulf %a, %a : f32
    linalg.yield %0, %1 : f32, f32
  } -> (tensor<4x16xf32>, tensor<4x16xf32>)
  %whole = tensor.empty() : tensor<4x32xf32>
  %s = tensor.insert_slice %r#0 into %whole[0, 0] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x32xf32>
  %t = tensor.insert_slice %r#1 into %s[0, 8] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x32xf32>
  %out = tensor.empty() : tensor<4x32xf32>
  %y = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<4x32xf32>) outs(%out : tensor<4x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// Rows of the second box begin at a place that wide loads cannot take: it is copied.
// CHECK-LABEL: @crooked
// CHECK: %[[APART:.*]] = memref.alloc() {{.*}} memref<4x16xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}}, %[[APART]] :
// CHECK: memref.copy %[[APART]], %{{.*}} to memref<4x16xf32, strided<[36, 1], offset: 17>>
// CHECK: return
func.func private @crooked(%x: tensor<4x16xf32>) -> tensor<4x36xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %f = tensor.empty() : tensor<4x16xf32>
  %zero = arith.constant 0.0 : f32
  %r:2 = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x16xf32>) outs(%e, %f : tensor<4x16xf32>, tensor<4x16xf32>) {
  ^bb0(%a: f32, %o: f32, %p: f32):
    %0 = arith.addf %a, %a : f32
    %1 = arith.mulf %a, %a : f32
    linalg.yield %0, %1 : f32, f32
  } -> (tensor<4x16xf32>, tensor<4x16xf32>)
  %whole = tensor.empty() : tensor<4x36xf32>
  %s = tensor.insert_slice %r#0 into %whole[0, 0] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x36xf32>
  %t = tensor.insert_slice %r#1 into %s[0, 17] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x36xf32>
  %out = tensor.empty() : tensor<4x36xf32>
  %y = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<4x36xf32>) outs(%out : tensor<4x36xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x36xf32>
  return %y : tensor<4x36xf32>
}

// Two arrays that begin with the same part: it is inserted into both, and no array with missing parts is copied.
// CHECK-LABEL: @shared
// CHECK-NOT: memref.copy %{{.*}} : memref<2x8xf32>
// CHECK: return
func.func private @shared(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %e = tensor.empty() : tensor<2x8xf32>
  %a = tensor.insert_slice %x into %e[0, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<2x8xf32>
  %b = tensor.insert_slice %y into %a[1, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<2x8xf32>
  %c = tensor.insert_slice %z into %a[1, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<2x8xf32>
  %o = tensor.empty() : tensor<2x8xf32>
  %0 = linalg.exp ins(%b : tensor<2x8xf32>) outs(%o : tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = linalg.exp ins(%c : tensor<2x8xf32>) outs(%o : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %0, %1 : tensor<2x8xf32>, tensor<2x8xf32>
}
