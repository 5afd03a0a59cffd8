// RUN: pp-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(device-find-epilogues))' | FileCheck %s

// By a logistic function instead of tanh: x / (1 + exp(-2 z)).
// CHECK-LABEL: @logistic
// CHECK: device.epilogue = "gelu"
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @logistic(%x: tensor<48x32xf32>, %w: tensor<32x64xf32>) -> tensor<48x64xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %cubic = arith.constant 4.471500e-02 : f32
  %outer = arith.constant -1.59576917 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<48x32xf32>, tensor<32x64xf32>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z : tensor<48x64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%u: f32, %o: f32):
    %1 = arith.mulf %u, %u : f32
    %2 = arith.mulf %1, %cubic : f32
    %3 = arith.addf %2, %one : f32
    %4 = arith.mulf %3, %u : f32
    %5 = arith.mulf %4, %outer : f32
    %6 = math.exp %5 : f32
    %7 = arith.addf %6, %one : f32
    %8 = arith.divf %u, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// -----

// bfloat16, whose constants are rounded, with the cube made first and the halves taken apart.
// CHECK-LABEL: @bfloat16
// CHECK: device.epilogue = "gelu"
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @bfloat16(%x: tensor<48x32xbf16>, %w: tensor<32x64xbf16>) -> tensor<48x64xbf16> {
  %zero = arith.constant 0.0 : bf16
  %half = arith.constant 0.5 : bf16
  %cubic = arith.constant 4.467770e-02 : bf16
  %outer = arith.constant 7.968750e-01 : bf16
  %e = tensor.empty() : tensor<48x64xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<48x32xbf16>, tensor<32x64xbf16>)
      outs(%f : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z : tensor<48x64xbf16>) outs(%e : tensor<48x64xbf16>) {
  ^bb0(%u: bf16, %o: bf16):
    %1 = arith.mulf %u, %u : bf16
    %2 = arith.mulf %1, %u : bf16
    %3 = arith.mulf %cubic, %2 : bf16
    %4 = arith.addf %u, %3 : bf16
    %5 = arith.mulf %outer, %4 : bf16
    %6 = math.tanh %5 : bf16
    %7 = arith.mulf %u, %half : bf16
    %8 = arith.mulf %7, %6 : bf16
    %9 = arith.addf %7, %8 : bf16
    linalg.yield %9 : bf16
  } -> tensor<48x64xbf16>
  return %y : tensor<48x64xbf16>
}

// -----

// Another factor of the cube, which would agree with GELU to three digits.
// CHECK-LABEL: @near
// CHECK-NOT: device.epilogue
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @near(%x: tensor<48x32xf32>, %w: tensor<32x64xf32>) -> tensor<48x64xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %cubic = arith.constant 4.470000e-02 : f32
  %outer = arith.constant 0.797884583 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<48x32xf32>, tensor<32x64xf32>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z : tensor<48x64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%u: f32, %o: f32):
    %1 = arith.mulf %u, %u : f32
    %2 = arith.mulf %1, %u : f32
    %3 = arith.mulf %2, %cubic : f32
    %4 = arith.addf %u, %3 : f32
    %5 = arith.mulf %4, %outer : f32
    %6 = math.tanh %5 : f32
    %7 = arith.addf %6, %one : f32
    %8 = arith.mulf %7, %half : f32
    %9 = arith.mulf %u, %8 : f32
    linalg.yield %9 : f32
  } -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}
