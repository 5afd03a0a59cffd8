// RUN: pp-opt %s --split-input-file --verify-diagnostics

func.func @convolve_c1(%x: tensor<1x4x4x8xf32>, %w: tensor<2x3x3x8xf32>, %y: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  // expected-error @+1 {{'rank.convolve' op filter of type 'tensor<2x3x3x8xf32>' does not have the dimensions 0, 3, 1, 1 for 2 spatial dimensions}}
  %r = rank.convolve result image_dims [0, 3, 1, 2] filter_dims [0, 3, 1, 1] result_dims [0, 3, 1, 2] stride [1, 1] dilation [1, 1] before [0, 0] after [0, 0] ins(%x, %w : tensor<1x4x4x8xf32>, tensor<2x3x3x8xf32>) outs(%y : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %r : tensor<1x2x2x2xf32>
}

// -----

func.func @convolve_c2(%x: tensor<1x4x4x8xf32>, %w: tensor<2x3x3x8xf32>, %y: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  // expected-error @+1 {{'rank.convolve' op has strides or dilations below 1, or negative padding}}
  %r = rank.convolve result image_dims [0, 3, 1, 2] filter_dims [0, 3, 1, 2] result_dims [0, 3, 1, 2] stride [1, 0] dilation [1, 1] before [0, 0] after [0, 0] ins(%x, %w : tensor<1x4x4x8xf32>, tensor<2x3x3x8xf32>) outs(%y : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %r : tensor<1x2x2x2xf32>
}

// -----

func.func @convolve_c3_channels(%x: tensor<1x4x4x8xf32>, %w: tensor<2x3x3x4xf32>, %y: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  // expected-error @+1 {{'rank.convolve' op images, channels or filters of its operands differ}}
  %r = rank.convolve result image_dims [0, 3, 1, 2] filter_dims [0, 3, 1, 2] result_dims [0, 3, 1, 2] stride [1, 1] dilation [1, 1] before [0, 0] after [0, 0] ins(%x, %w : tensor<1x4x4x8xf32>, tensor<2x3x3x4xf32>) outs(%y : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %r : tensor<1x2x2x2xf32>
}

// -----

func.func @convolve_c3_places(%x: tensor<1x4x4x8xf32>, %w: tensor<2x3x3x8xf32>, %y: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  // expected-error @+1 {{'rank.convolve' op image of 4 with a window of 3 has no result of 2}}
  %r = rank.convolve result image_dims [0, 3, 1, 2] filter_dims [0, 3, 1, 2] result_dims [0, 3, 1, 2] stride [1, 1] dilation [1, 1] before [0, 1] after [0, 0] ins(%x, %w : tensor<1x4x4x8xf32>, tensor<2x3x3x8xf32>) outs(%y : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %r : tensor<1x2x2x2xf32>
}
