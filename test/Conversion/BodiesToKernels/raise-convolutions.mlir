// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-raise-convolutions,canonicalize,cse))' -split-input-file | FileCheck %s

// A named convolution becomes one operation with its stride in the map.
// CHECK: affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d6)>
// CHECK-LABEL: @forward
// CHECK: rank.contract accumulate
func.func private @forward(%x: tensor<2x9x9x3xf32>, %w: tensor<3x3x3x8xf32>, %s: tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32> {
  %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%x, %w : tensor<2x9x9x3xf32>, tensor<3x3x3x8xf32>) outs(%s : tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  return %0 : tensor<2x4x4x8xf32>
}

// -----

#image = affine_map<(n, o, i, h, j, w, c) -> (n, i + h, j + w, c)>
#grad = affine_map<(n, o, i, h, j, w, c) -> (n, h, w, o)>
#weight = affine_map<(n, o, i, h, j, w, c) -> (i, j, c, o)>

// The gradient of weights reads the image with the stride, not the gradient with zeros between.
// CHECK: affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2 + d3 * 2, d4 + d5 * 2, d6)>
// CHECK-LABEL: @weight_gradient
// CHECK-NOT: tensor.insert_slice
// CHECK: rank.contract accumulate {{.*}} ins(%arg0, %arg1 : tensor<2x9x9x3xf32>, tensor<2x4x4x8xf32>)
func.func private @weight_gradient(%x: tensor<2x9x9x3xf32>, %g: tensor<2x4x4x8xf32>, %s: tensor<3x3x3x8xf32>) -> tensor<3x3x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x7x7x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x7x7x8xf32>) -> tensor<2x7x7x8xf32>
  %wide = tensor.insert_slice %g into %f[0, 0, 0, 0] [2, 4, 4, 8] [1, 2, 2, 1] : tensor<2x4x4x8xf32> into tensor<2x7x7x8xf32>
  %0 = linalg.generic {indexing_maps = [#image, #grad, #weight], iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]}
      ins(%x, %wide : tensor<2x9x9x3xf32>, tensor<2x7x7x8xf32>) outs(%s : tensor<3x3x3x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<3x3x3x8xf32>
  return %0 : tensor<3x3x3x8xf32>
}

// -----

#image = affine_map<(n, h, i, c, o) -> (n, h + i, o)>
#weight = affine_map<(n, h, i, c, o) -> (i, c, o)>
#result = affine_map<(n, h, i, c, o) -> (n, h, c)>

// The gradient of the input, of a stride of 2 and three taps: even elements meet two of them, odd ones the middle one, which is
// not a convolution.
// CHECK-LABEL: @input_gradient
// CHECK: tensor.insert_slice %arg0 into {{.*}}[0, 1, 0] [2, 4, 8] [1, 1, 1] : tensor<2x4x8xf32> into tensor<2x5x8xf32>
// CHECK: tensor.extract_slice %arg1[0, 0, 0] [2, 3, 8] [2, 1, 1]
// CHECK: rank.contract accumulate
// CHECK: tensor.insert_slice {{.*}}[0, 0, 0] [2, 4, 3] [1, 2, 1] : tensor<2x4x3xf32> into tensor<2x8x3xf32>
// CHECK: tensor.extract_slice %arg1[1, 0, 0] [1, 3, 8] [2, 1, 1]
// CHECK: linalg.generic
// CHECK: tensor.insert_slice {{.*}}[0, 1, 0] [2, 4, 3] [1, 2, 1] : tensor<2x4x3xf32> into tensor<2x8x3xf32>
func.func private @input_gradient(%g: tensor<2x4x8xf32>, %w: tensor<3x3x8xf32>) -> tensor<2x8x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x10x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x10x8xf32>) -> tensor<2x10x8xf32>
  %wide = tensor.insert_slice %g into %f[0, 2, 0] [2, 4, 8] [1, 2, 1] : tensor<2x4x8xf32> into tensor<2x10x8xf32>
  %e1 = tensor.empty() : tensor<2x8x3xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
  %0 = linalg.generic {indexing_maps = [#image, #weight, #result], iterator_types = ["parallel", "parallel", "reduction", "parallel", "reduction"]}
      ins(%wide, %w : tensor<2x10x8xf32>, tensor<3x3x8xf32>) outs(%s : tensor<2x8x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x8x3xf32>
  return %0 : tensor<2x8x3xf32>
}

// -----

// Pooling has no columns; a depthwise convolution has none either.
// CHECK-LABEL: @others
// CHECK: linalg.pooling_nhwc_sum
// CHECK: linalg.depthwise_conv_2d_nhwc_hwc
// CHECK-NOT: rank.contract
func.func private @others(%x: tensor<2x8x8x3xf32>, %k: tensor<2x2xf32>, %w: tensor<2x2x3xf32>, %s: tensor<2x7x7x3xf32>) -> (tensor<2x7x7x3xf32>, tensor<2x7x7x3xf32>) {
  %0 = linalg.pooling_nhwc_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %k : tensor<2x8x8x3xf32>, tensor<2x2xf32>) outs(%s : tensor<2x7x7x3xf32>) -> tensor<2x7x7x3xf32>
  %1 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<2x8x8x3xf32>, tensor<2x2x3xf32>) outs(%s : tensor<2x7x7x3xf32>) -> tensor<2x7x7x3xf32>
  return %0, %1 : tensor<2x7x7x3xf32>, tensor<2x7x7x3xf32>
}
