// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg,body-sum-slices,canonicalize,cse))' --split-input-file | FileCheck %s

// Two slices that share no element are inserted into an empty array, because together they cover it; a third, which overlaps
// the first, is added to it.
// CHECK-LABEL: @pooling
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<4xf32>, %[[B:[a-z0-9]+]]: tensor<4xf32>, %[[C:[a-z0-9]+]]: tensor<3xf32>
// CHECK-NOT: linalg.fill
// CHECK: %[[NEW:.*]] = tensor.empty
// CHECK: %[[ONE:.*]] = tensor.insert_slice %[[A]] into %[[NEW]][0] [4] [2]
// CHECK: %[[TWO:.*]] = tensor.insert_slice %[[B]] into %[[ONE]][1] [4] [2]
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[TWO]][2] [3] [2]
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[C]] : tensor<3xf32>) outs(%[[PART]] : tensor<3xf32>)
// CHECK: %[[ALL:.*]] = tensor.insert_slice %[[SUM]] into %[[TWO]][2] [3] [2]
// CHECK: return %[[ALL]]
func.func private @pooling(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<3xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %pa = tensor.insert_slice %a into %f[0] [4] [2] : tensor<4xf32> into tensor<8xf32>
  %pb = tensor.insert_slice %b into %f[1] [4] [2] : tensor<4xf32> into tensor<8xf32>
  %pc = tensor.insert_slice %c into %f[2] [3] [2] : tensor<3xf32> into tensor<8xf32>
  %ab = arith.addf %pa, %pb : tensor<8xf32>
  %abc = arith.addf %ab, %pc : tensor<8xf32>
  return %abc : tensor<8xf32>
}

// -----

// A padded array is treated as a slice too.
// CHECK-LABEL: @rotary
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<2x3xf32>, %[[B:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-NOT: tensor.pad
// CHECK-NOT: linalg.fill
// CHECK: %[[LOW:.*]] = tensor.insert_slice %[[A]] into %{{.*}}[0, 0] [2, 3] [1, 1]
// CHECK: %[[BOTH:.*]] = tensor.insert_slice %[[B]] into %[[LOW]][0, 3] [2, 3] [1, 1]
// CHECK-NEXT: return %[[BOTH]]
func.func private @rotary(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x6xf32> {
  %z = arith.constant 0.0 : f32
  %pa = tensor.pad %a low[0, 0] high[0, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<2x3xf32> to tensor<2x6xf32>
  %pb = tensor.pad %b low[0, 3] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<2x3xf32> to tensor<2x6xf32>
  %s = arith.addf %pa, %pb : tensor<2x6xf32>
  return %s : tensor<2x6xf32>
}

// -----

// Padding that is not zero, or that another operation reads, stays.
// CHECK-LABEL: @stays
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: tensor.extract_slice
func.func private @stays(%a: tensor<3xf32>, %b: tensor<3xf32>, %x: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %z = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %pa = tensor.pad %a low[0] high[3] {
  ^bb0(%i: index):
    tensor.yield %one : f32
  } : tensor<3xf32> to tensor<6xf32>
  %pb = tensor.pad %b low[3] high[0] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<3xf32> to tensor<6xf32>
  %s = arith.addf %x, %pa : tensor<6xf32>
  %t = arith.addf %x, %pb : tensor<6xf32>
  return %s, %t, %pb : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// -----

// Slices that leave a gap start from zeros.
// CHECK-LABEL: @gap
// CHECK: %[[ZERO:.*]] = linalg.fill
// CHECK: tensor.insert_slice %{{.*}} into %[[ZERO]][0] [2] [1]
func.func private @gap(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<5xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %pa = tensor.insert_slice %a into %f[0] [2] [1] : tensor<2xf32> into tensor<5xf32>
  %pb = tensor.insert_slice %b into %f[3] [2] [1] : tensor<2xf32> into tensor<5xf32>
  %s = arith.addf %pa, %pb : tensor<5xf32>
  return %s : tensor<5xf32>
}
