// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-raise-convolutions{library=true},canonicalize,cse))' | FileCheck %s

// CHECK-DAG: #[[STRIDED:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2 + d3 * 2, d4 + d5 * 2, d6)>

// A stride of 2 over an image padded at the end; the filters, laid out as taps, channels, filters, are transposed.
// CHECK-LABEL: func @forward(
// CHECK-SAME: %[[X:.*]]: tensor<4x8x8x8xf32>, %[[W:.*]]: tensor<3x3x8x16xf32>
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[W]] {{.*}} permutation = [3, 0, 1, 2]
// CHECK: rank.convolve result image_dims [0, 3, 1, 2] filter_dims [0, 3, 1, 2] result_dims [0, 3, 1, 2]
// CHECK-SAME: stride [2, 2] dilation [1, 1] before [0, 0] after [1, 1]
// CHECK-SAME: ins(%[[X]], %[[T]] : tensor<4x8x8x8xf32>, tensor<16x3x3x8xf32>)
// CHECK-NOT: linalg.generic
func.func @forward(%x: tensor<4x8x8x8xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<4x4x4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 0, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<4x8x8x8xf32> to tensor<4x9x9x8xf32>
  %empty = tensor.empty() : tensor<4x4x4x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x4x4x16xf32>) -> tensor<4x4x4x16xf32>
  %y = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%padded, %w : tensor<4x9x9x8xf32>, tensor<3x3x8x16xf32>) outs(%fill : tensor<4x4x4x16xf32>) -> tensor<4x4x4x16xf32>
  return %y : tensor<4x4x4x16xf32>
}

// Channels first, in bfloat16, added to the previous contents.
// CHECK-LABEL: func @forward_onto(
// CHECK: %[[Y:.*]] = rank.convolve result image_dims [0, 1, 2, 3] filter_dims [0, 1, 2, 3] result_dims [0, 1, 2, 3]
// CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<2x16x6x6xbf16>) outs(%{{.*}} : tensor<2x16x6x6xbf16>)
// CHECK: arith.addf
func.func @forward_onto(%x: tensor<2x8x8x8xbf16>, %w: tensor<16x8x3x3xbf16>, %y0: tensor<2x16x6x6xbf16>) -> tensor<2x16x6x6xbf16> {
  %y = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<2x8x8x8xbf16>, tensor<16x8x3x3xbf16>)
    outs(%y0 : tensor<2x16x6x6xbf16>) -> tensor<2x16x6x6xbf16>
  return %y : tensor<2x16x6x6xbf16>
}

#sum_image = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2 + d3, d4 + d5, d6)>
#sum_result = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d5, d1)>
#sum_filter = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d4, d6, d1)>

// The gradient of the result is dilated with zeros, by the stride.
// CHECK-LABEL: func @filter_gradient(
// CHECK-SAME: %[[X:.*]]: tensor<4x8x8x8xf32>, %[[DY:.*]]: tensor<4x4x4x16xf32>
// CHECK: %[[DW:.*]] = rank.convolve filter image_dims [0, 3, 1, 2] filter_dims [0, 3, 1, 2] result_dims [0, 3, 1, 2]
// CHECK-SAME: stride [2, 2] dilation [1, 1] before [0, 0] after [1, 1]
// CHECK-SAME: ins(%[[X]], %[[DY]] : tensor<4x8x8x8xf32>, tensor<4x4x4x16xf32>) outs(%{{.*}} : tensor<16x3x3x8xf32>)
// CHECK: linalg.transpose ins(%[[DW]] {{.*}} permutation = [1, 2, 3, 0]
func.func @filter_gradient(%x: tensor<4x8x8x8xf32>, %dy: tensor<4x4x4x16xf32>) -> tensor<3x3x8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 0, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<4x8x8x8xf32> to tensor<4x9x9x8xf32>
  %e0 = tensor.empty() : tensor<4x7x7x16xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x7x7x16xf32>) -> tensor<4x7x7x16xf32>
  %wide = tensor.insert_slice %dy into %zeros[0, 0, 0, 0] [4, 4, 4, 16] [1, 2, 2, 1] : tensor<4x4x4x16xf32> into tensor<4x7x7x16xf32>
  %e1 = tensor.empty() : tensor<3x3x8x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x3x8x16xf32>) -> tensor<3x3x8x16xf32>
  %dw = linalg.generic {indexing_maps = [#sum_image, #sum_result, #sum_filter],
    iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]}
    ins(%padded, %wide : tensor<4x9x9x8xf32>, tensor<4x7x7x16xf32>) outs(%fill : tensor<3x3x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x3x8x16xf32>
  return %dw : tensor<3x3x8x16xf32>
}

#image_wide = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d2 + d3, d4 + d5, d0)>
#image_filter = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d5, d1, d0)>
#image = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d2, d4, d1)>
#reversed = affine_map<(d0, d1, d2, d3) -> (-d0 + 2, -d1 + 2, d2, d3)>
#same = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>

// Neither the dilated and padded gradient nor the reversed filters are made.
// CHECK-LABEL: func @image_gradient(
// CHECK-SAME: %[[DY:.*]]: tensor<4x4x4x16xf32>, %[[W:.*]]: tensor<3x3x8x16xf32>
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[W]]
// CHECK: rank.convolve image {{.*}} stride [2, 2] dilation [1, 1] before [0, 0] after [1, 1]
// CHECK-SAME: ins(%[[T]], %[[DY]] : tensor<16x3x3x8xf32>, tensor<4x4x4x16xf32>) outs(%{{.*}} : tensor<4x8x8x8xf32>)
// CHECK-NOT: insert_slice
func.func @image_gradient(%dy: tensor<4x4x4x16xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<4x8x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x10x10x16xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x10x10x16xf32>) -> tensor<4x10x10x16xf32>
  %wide = tensor.insert_slice %dy into %zeros[0, 2, 2, 0] [4, 4, 4, 16] [1, 2, 2, 1] : tensor<4x4x4x16xf32> into tensor<4x10x10x16xf32>
  %e1 = tensor.empty() : tensor<3x3x8x16xf32>
  %back = linalg.generic {indexing_maps = [#reversed, #same], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%w : tensor<3x3x8x16xf32>) outs(%e1 : tensor<3x3x8x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<3x3x8x16xf32>
  %e2 = tensor.empty() : tensor<4x8x8x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x8x8x8xf32>) -> tensor<4x8x8x8xf32>
  %dx = linalg.generic {indexing_maps = [#image_wide, #image_filter, #image],
    iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]}
    ins(%wide, %back : tensor<4x10x10x16xf32>, tensor<3x3x8x16xf32>) outs(%fill : tensor<4x8x8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8x8x8xf32>
  return %dx : tensor<4x8x8x8xf32>
}

// A dilated image with filters that are not reversed is none of the three convolutions.
// CHECK-LABEL: func @not_reversed(
// CHECK-NOT: rank.convolve
func.func @not_reversed(%dy: tensor<4x4x4x16xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<4x8x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x10x10x16xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x10x10x16xf32>) -> tensor<4x10x10x16xf32>
  %wide = tensor.insert_slice %dy into %zeros[0, 2, 2, 0] [4, 4, 4, 16] [1, 2, 2, 1] : tensor<4x4x4x16xf32> into tensor<4x10x10x16xf32>
  %e2 = tensor.empty() : tensor<4x8x8x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x8x8x8xf32>) -> tensor<4x8x8x8xf32>
  %dx = linalg.generic {indexing_maps = [#image_wide, #image_filter, #image],
    iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]}
    ins(%wide, %w : tensor<4x10x10x16xf32>, tensor<3x3x8x16xf32>) outs(%fill : tensor<4x8x8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8x8x8xf32>
  return %dx : tensor<4x8x8x8xf32>
}

// CHECK-LABEL: func @groups(
// CHECK-NOT: rank.convolve
func.func @groups(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4xf32>, %y0: tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32> {
  %y = linalg.depthwise_conv_2d_nhwc_hwc ins(%x, %w : tensor<2x8x8x4xf32>, tensor<3x3x4xf32>)
    outs(%y0 : tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32>
  return %y : tensor<2x6x6x4xf32>
}

#read_image = affine_map<(n, o, i, h, j, w, c) -> (n, i + h, j + w, c)>
#read_result = affine_map<(n, o, i, h, j, w, c) -> (n, h, w, o)>
#write_filter = affine_map<(n, o, i, h, j, w, c) -> (i, j, c, o)>

// The library has no float64, so this is a kernel; it reads the image with the stride instead of a dilated gradient.
// CHECK-LABEL: func @filter_gradient_f64(
// CHECK-SAME: %[[X64:.*]]: tensor<2x9x9x3xf64>, %[[G64:.*]]: tensor<2x4x4x8xf64>
// CHECK-NOT: tensor.insert_slice
// CHECK-NOT: rank.
// CHECK: linalg.generic {indexing_maps = [#[[STRIDED]],
// CHECK-SAME: ins(%[[X64]], %[[G64]] : tensor<2x9x9x3xf64>, tensor<2x4x4x8xf64>)
// CHECK-NOT: rank.
func.func @filter_gradient_f64(%x: tensor<2x9x9x3xf64>, %g: tensor<2x4x4x8xf64>, %s: tensor<3x3x3x8xf64>) -> tensor<3x3x3x8xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<2x7x7x8xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<2x7x7x8xf64>) -> tensor<2x7x7x8xf64>
  %wide = tensor.insert_slice %g into %f[0, 0, 0, 0] [2, 4, 4, 8] [1, 2, 2, 1] : tensor<2x4x4x8xf64> into tensor<2x7x7x8xf64>
  %0 = linalg.generic {indexing_maps = [#read_image, #read_result, #write_filter],
    iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]}
    ins(%x, %wide : tensor<2x9x9x3xf64>, tensor<2x7x7x8xf64>) outs(%s : tensor<3x3x3x8xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %1 = arith.mulf %a, %b : f64
    %2 = arith.addf %o, %1 : f64
    linalg.yield %2 : f64
  } -> tensor<3x3x3x8xf64>
  return %0 : tensor<3x3x3x8xf64>
}

#element = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>

// CHECK-LABEL: func @scalar_factor(
// CHECK: linalg.generic
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, f32)
func.func @scalar_factor(%x: tensor<4x8xf32>, %s: f32, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = linalg.generic {indexing_maps = [#element, #none, #element], iterator_types = ["parallel", "parallel"]}
    ins(%x, %s : tensor<4x8xf32>, f32) outs(%y : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
