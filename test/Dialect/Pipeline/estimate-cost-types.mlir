// RUN: pp-opt --pipeline-estimate-cost %s | FileCheck %s

// Contractions run at the device's rate for their element type, the rest at its flops: 2 * 64^3 = 524288 operations
// take 524.288 s at 1000 a second in f32 and a tenth of that in bf16, where 4096 additions in f32 add 4.096 s. An f16
// product has no rate of its own. A gradient of attention runs at the rate of its queries, though it reads sums in f32:
// 5 products of 2 * 64 * 64 * 16 operations.

#m = affine_map<(b, h, i, j, w, v) -> (i, j)>
#mq = affine_map<(i, j, w, v) -> (i, w)>
#mk = affine_map<(i, j, w, v) -> (j, w)>
#mv = affine_map<(i, j, w, v) -> (j, v)>
#mo = affine_map<(i, j, w, v) -> (i, v)>
#ms = affine_map<(i, j, w, v) -> (i)>

pipeline.cluster @lab {
  pipeline.device @d0 class "tensor" memory 1048576 node 0 flops 1.0e3 bandwidth 1.0e9 rates {bf16 = 1.0e4}
  pipeline.device @d1 class "plain" memory 1048576 node 0 flops 1.0e3 bandwidth 1.0e9
  pipeline.fabric inside bandwidth 1.0e9 latency 0.0
}

// CHECK-LABEL: pipeline.graph @step
pipeline.graph @step(%a: tensor<64x64xf32>, %b: tensor<64x64xbf16>, %c: tensor<64x64xf16>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) attributes {layers = ["a"]} {
  // CHECK: "f32.F"
  // CHECK-SAME: flops = 524288
  // CHECK-SAME: seconds = {plain = 5.24288{{0*}}e+02 : f64, tensor = 5.24288{{0*}}e+02 : f64}
  %0 = pipeline.node "f32.F" @f32 phase F layer 0 (%a) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: "bf16.F"
  // CHECK-SAME: flops = 528384
  // CHECK-SAME: seconds = {plain = 5.28384{{0*}}e+02 : f64, tensor = {{5.652480e.01|56.5248|56.52479}}
  %1 = pipeline.node "bf16.F" @bf16 phase F layer 0 (%b) : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  // CHECK: "f16.F"
  // CHECK-SAME: seconds = {plain = 5.24288{{0*}}e+02 : f64, tensor = 5.24288{{0*}}e+02 : f64}
  %2 = pipeline.node "f16.F" @f16 phase F layer 0 (%c) : (tensor<64x64xf16>) -> tensor<64x64xf32>
  pipeline.yield %0, %1, %2 results [0, 1, 2] : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

func.func private @f32(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = linalg.matmul ins(%a, %a : tensor<64x64xf32>, tensor<64x64xf32>) outs(%a : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
func.func private @bf16(%b: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %init = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.matmul ins(%b, %b : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = arith.addf %0, %0 : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
func.func private @f16(%c: tensor<64x64xf16>) -> tensor<64x64xf32> {
  %init = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.matmul ins(%c, %c : tensor<64x64xf16>, tensor<64x64xf16>) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// CHECK-LABEL: pipeline.graph @attends
pipeline.graph @attends(%q: tensor<64x16xbf16>, %s: tensor<64xf32>) -> (tensor<64x16xbf16>) attributes {layers = ["a"]} {
  // CHECK: "attention.B"
  // CHECK-SAME: flops = 655360
  // CHECK-SAME: seconds = {plain = 6.55360{{0*}}e+02 : f64, tensor = 6.55360{{0*}}e+01 : f64}
  %0 = pipeline.node "attention.B" @attention phase F layer 0 (%q, %s) : (tensor<64x16xbf16>, tensor<64xf32>) -> tensor<64x16xbf16>
  pipeline.yield %0 results [0] : tensor<64x16xbf16>
}
func.func private @attention(%q: tensor<64x16xbf16>, %s: tensor<64xf32>) -> tensor<64x16xbf16> {
  %0:3 = pipeline.attention_gradient scale 1.000000e+00 maps [#mq, #mk, #mv, #mo, #ms, #mo, #mq, #mk, #mv]
      ins(%q, %q, %q, %q, %s, %q : tensor<64x16xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16>,
          tensor<64xf32>, tensor<64x16xbf16>)
      outs(%q, %q, %q : tensor<64x16xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16>)
      -> tensor<64x16xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16>
  return %0#0 : tensor<64x16xbf16>
}
