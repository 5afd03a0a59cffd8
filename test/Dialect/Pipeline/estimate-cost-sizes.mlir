// RUN: pp-opt --pipeline-estimate-cost %s | FileCheck %s
// RUN: pp-opt --pipeline-estimate-cost=cluster=h100 %s | FileCheck %s --check-prefix=H100
// RUN: pp-opt --pipeline-estimate-cost=cluster=h100,peak %s | FileCheck %s --check-prefix=PEAK

// The rate of a contraction depends on its size. Two processors at 1e6 operations a second in bf16, of which the best sizes
// reach half; a k of 64 reaches half of that.
//
//  - 256 by 256 by 64, 8388608 operations: two tiles of 128 by 256, one wave: 8.388608 s / 0.25;
//  - 3 batches of 128 by 128 by 64, 6291456 operations: three tiles in two waves, or, with the sum in two parts, six in
//    three waves at a k of 32: 6.291456 s / max(0.25 * 3 / 4, 0.5 / 3);
//  - a convolution of 4 x 4 pixels in 8 channels with 16 filters of 3 by 3, on 2 images, is 32 by 72 by 16: 73728
//    operations, an eighth of a tile of 64 by 64, which itself comes at half the speed. Best are two parts of the sum on
//    both processors: 0.073728 s / (0.5 / 16 * 36 / (36 + 64)).
//
// An H100 reads and writes the 327680 bytes of the first in 97.8 ns; its arithmetic takes 8.5 ns at the peak of 989.5e12.
// The best for 132 processors are 16 tiles of 64 by 64, at half the speed, their sum in 8 parts of 8, which fill 128 of
// them: 8.5 ns / (0.825 * 128 / 132 / 2 * 8 / (8 + 64)) = 190.7 ns.

pipeline.cluster @lab {
  pipeline.device @d0 class "tensor" memory 1048576 node 0 flops 1.0e3 bandwidth 1.0e9 rates {bf16 = 1.0e6}
      contractions {bf16 = array<f64: 0.5, 64.0>, processors = 2 : i64}
}

// CHECK: pipeline.device {{.*}} contractions {bf16 = array<f64: 5.000000e-01, 6.400000e+01>, processors = 2 : i64}
pipeline.graph @step(%a: tensor<256x64xbf16>, %b: tensor<64x256xbf16>, %c: tensor<3x128x64xbf16>, %d: tensor<3x64x128xbf16>,
                     %x: tensor<2x6x6x8xbf16>, %f: tensor<3x3x8x16xbf16>)
    -> (tensor<256x256xf32>, tensor<3x128x128xf32>, tensor<2x4x4x16xf32>) attributes {layers = ["a"]} {
  // CHECK: "whole.F"
  // CHECK-SAME: seconds = {tensor = 33.55443
  // H100: "whole.F"
  // H100-SAME: seconds = {H100 = 1.907465{{[0-9]*}}E-7
  // PEAK: "whole.F"
  // PEAK-SAME: seconds = {H100 = 9.781492{{[0-9]*}}E-8
  %0 = pipeline.node "whole.F" @whole phase F layer 0 (%a, %b) : (tensor<256x64xbf16>, tensor<64x256xbf16>) -> tensor<256x256xf32>
  // CHECK: "batch.F"
  // CHECK-SAME: seconds = {tensor = 33.55443
  %1 = pipeline.node "batch.F" @batch phase F layer 0 (%c, %d) : (tensor<3x128x64xbf16>, tensor<3x64x128xbf16>) -> tensor<3x128x128xf32>
  // CHECK: "conv.F"
  // CHECK-SAME: seconds = {tensor = 6.5536
  %2 = pipeline.node "conv.F" @conv phase F layer 0 (%x, %f) : (tensor<2x6x6x8xbf16>, tensor<3x3x8x16xbf16>) -> tensor<2x4x4x16xf32>
  pipeline.yield %0, %1, %2 results [0, 1, 2] : tensor<256x256xf32>, tensor<3x128x128xf32>, tensor<2x4x4x16xf32>
}

func.func private @whole(%a: tensor<256x64xbf16>, %b: tensor<64x256xbf16>) -> tensor<256x256xf32> {
  %init = tensor.empty() : tensor<256x256xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<256x64xbf16>, tensor<64x256xbf16>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}

func.func private @batch(%c: tensor<3x128x64xbf16>, %d: tensor<3x64x128xbf16>) -> tensor<3x128x128xf32> {
  %init = tensor.empty() : tensor<3x128x128xf32>
  %0 = linalg.batch_matmul ins(%c, %d : tensor<3x128x64xbf16>, tensor<3x64x128xbf16>) outs(%init : tensor<3x128x128xf32>) -> tensor<3x128x128xf32>
  return %0 : tensor<3x128x128xf32>
}

func.func private @conv(%x: tensor<2x6x6x8xbf16>, %f: tensor<3x3x8x16xbf16>) -> tensor<2x4x4x16xf32> {
  %init = tensor.empty() : tensor<2x4x4x16xf32>
  %0 = linalg.conv_2d_nhwc_hwcf ins(%x, %f : tensor<2x6x6x8xbf16>, tensor<3x3x8x16xbf16>) outs(%init : tensor<2x4x4x16xf32>) -> tensor<2x4x4x16xf32>
  return %0 : tensor<2x4x4x16xf32>
}
