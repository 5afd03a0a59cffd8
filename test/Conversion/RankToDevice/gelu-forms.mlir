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

// bfloat16, whose constants are rounded, with the cube computed first and the factor 1/2 applied to each term.
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

// Another factor of the cube: no value differs by more than a hundred-thousandth, but the functions are different.
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

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// The derivative, p (1 + tanh + u z' (1 - tanh^2)) / 2.
// CHECK-LABEL: @derivative
// CHECK: device.epilogue = "dgelu"
func.func private @derivative(%lhs: tensor<48x32xf32>, %w: tensor<32x64xf32>, %other: tensor<48x64xf32>) -> tensor<48x64xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %cubic = arith.constant 4.471500e-02 : f32
  %outer = arith.constant 0.797884583 : f32
  %cubic3 = arith.constant 1.341450e-01 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%lhs, %w : tensor<48x32xf32>, tensor<32x64xf32>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z, %other : tensor<48x64xf32>, tensor<48x64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%p: f32, %u: f32, %o: f32):
    %u2 = arith.mulf %u, %u : f32
    %u3 = arith.mulf %u2, %u : f32
    %c3 = arith.mulf %u3, %cubic : f32
    %in = arith.addf %u, %c3 : f32
    %a = arith.mulf %in, %outer : f32
    %h = math.tanh %a : f32
    %hh = arith.mulf %h, %h : f32
    %sech = arith.subf %one, %hh : f32
    %c2 = arith.mulf %u2, %cubic3 : f32
    %c21 = arith.addf %c2, %one : f32
    %da = arith.mulf %c21, %outer : f32
    %ud = arith.mulf %u, %da : f32
    %s = arith.mulf %ud, %sech : f32
    %h1 = arith.addf %h, %one : f32
    %sum = arith.addf %h1, %s : f32
    %d = arith.mulf %sum, %half : f32
    %r = arith.mulf %p, %d : f32
    linalg.yield %r : f32
  } -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// As differentiation writes it: by the parts of the function, with (1 - tanh) + (1 - tanh) tanh.
// CHECK-LABEL: @derivative_by_parts
// CHECK: device.epilogue = "dgelu"
func.func private @derivative_by_parts(%lhs: tensor<48x32xf32>, %w: tensor<32x64xf32>, %other: tensor<48x64xf32>) -> tensor<48x64xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %cubic = arith.constant 4.471500e-02 : f32
  %outer = arith.constant 0.797884583 : f32
  %three = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%lhs, %w : tensor<48x32xf32>, tensor<32x64xf32>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z, %other : tensor<48x64xf32>, tensor<48x64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%p: f32, %u: f32, %o: f32):
    %u2 = arith.mulf %u, %u : f32
    %u3 = arith.mulf %u2, %u : f32
    %c3 = arith.mulf %u3, %cubic : f32
    %in = arith.addf %u, %c3 : f32
    %a = arith.mulf %in, %outer : f32
    %h = math.tanh %a : f32
    %ph = arith.mulf %p, %half : f32
    %left = arith.addf %h, %one : f32
    %first = arith.mulf %ph, %left : f32
    %g = arith.mulf %ph, %u : f32
    %right = arith.subf %one, %h : f32
    %g1 = arith.mulf %g, %right : f32
    %g2 = arith.mulf %g1, %h : f32
    %dt = arith.addf %g1, %g2 : f32
    %dz = arith.mulf %dt, %outer : f32
    %dc = arith.mulf %dz, %cubic : f32
    %dcc = arith.mulf %dc, %three : f32
    %du3 = arith.mulf %dcc, %u2 : f32
    %s1 = arith.addf %first, %dz : f32
    %r = arith.addf %s1, %du3 : f32
    linalg.yield %r : f32
  } -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// The derivative of x / (1 + exp(-2 z)), which multiplies by exp(-2 z) after it divides.
// CHECK-LABEL: @logistic_derivative
// CHECK: device.epilogue = "dgelu"
func.func private @logistic_derivative(%lhs: tensor<48x32xf32>, %w: tensor<32x64xf32>, %other: tensor<48x64xf32>) -> tensor<48x64xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %cubic = arith.constant 4.471500e-02 : f32
  %outer = arith.constant -1.59576917 : f32
  %cubic3 = arith.constant 1.341450e-01 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%lhs, %w : tensor<48x32xf32>, tensor<32x64xf32>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z, %other : tensor<48x64xf32>, tensor<48x64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%p: f32, %u: f32, %o: f32):
    %u2 = arith.mulf %u, %u : f32
    %c2 = arith.mulf %u2, %cubic : f32
    %c21 = arith.addf %c2, %one : f32
    %in = arith.mulf %c21, %u : f32
    %a = arith.mulf %in, %outer : f32
    %ex = math.exp %a : f32
    %b = arith.addf %ex, %one : f32
    %bb = arith.mulf %b, %b : f32
    %d2 = arith.mulf %u2, %cubic3 : f32
    %d21 = arith.addf %d2, %one : f32
    %da = arith.mulf %d21, %outer : f32
    %first = arith.divf %p, %b : f32
    %pu = arith.mulf %p, %u : f32
    %i = arith.divf %one, %bb : f32
    %g = arith.mulf %pu, %i : f32
    %ge = arith.mulf %g, %ex : f32
    %gz = arith.mulf %ge, %da : f32
    %r = arith.subf %first, %gz : f32
    linalg.yield %r : f32
  } -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// Without the square of tanh: another function.
// CHECK-LABEL: @near_derivative
// CHECK-NOT: device.epilogue
func.func private @near_derivative(%lhs: tensor<48x32xf32>, %w: tensor<32x64xf32>, %other: tensor<48x64xf32>) -> tensor<48x64xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %cubic = arith.constant 4.471500e-02 : f32
  %outer = arith.constant -1.59576917 : f32
  %cubic3 = arith.constant 1.341450e-01 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%lhs, %w : tensor<48x32xf32>, tensor<32x64xf32>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z, %other : tensor<48x64xf32>, tensor<48x64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%p: f32, %u: f32, %o: f32):
    %u2 = arith.mulf %u, %u : f32
    %c2 = arith.mulf %u2, %cubic : f32
    %c21 = arith.addf %c2, %one : f32
    %in = arith.mulf %c21, %u : f32
    %a = arith.mulf %in, %outer : f32
    %ex = math.exp %a : f32
    %b = arith.addf %ex, %one : f32
    %bb = arith.mulf %b, %b : f32
    %d2 = arith.mulf %u2, %cubic3 : f32
    %d21 = arith.addf %d2, %one : f32
    %da = arith.mulf %d21, %outer : f32
    %first = arith.divf %p, %b : f32
    %pu = arith.mulf %p, %u : f32
    %i = arith.divf %one, %b : f32
    %g = arith.mulf %pu, %i : f32
    %ge = arith.mulf %g, %ex : f32
    %gz = arith.mulf %ge, %da : f32
    %r = arith.subf %first, %gz : f32
    linalg.yield %r : f32
  } -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// GELU of a product and a row.
// CHECK-LABEL: @bias_gelu
// CHECK: device.epilogue = "bias_gelu"
func.func private @bias_gelu(%lhs: tensor<48x32xf32>, %w: tensor<32x64xf32>, %other: tensor<64xf32>) -> tensor<48x64xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %cubic = arith.constant 4.471500e-02 : f32
  %outer = arith.constant 0.797884583 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%lhs, %w : tensor<48x32xf32>, tensor<32x64xf32>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z, %other : tensor<48x64xf32>, tensor<64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%p: f32, %u: f32, %o: f32):
    %v = arith.addf %p, %u : f32
    %u2 = arith.mulf %v, %v : f32
    %u3 = arith.mulf %u2, %v : f32
    %c3 = arith.mulf %u3, %cubic : f32
    %in = arith.addf %v, %c3 : f32
    %a = arith.mulf %in, %outer : f32
    %h = math.tanh %a : f32
    %h1 = arith.addf %h, %one : f32
    %v2 = arith.mulf %v, %half : f32
    %r = arith.mulf %v2, %h1 : f32
    linalg.yield %r : f32
  } -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// float16, whose constants are rounded.
// CHECK-LABEL: @float16
// CHECK: device.epilogue = "gelu"
func.func private @float16(%lhs: tensor<48x32xf16>, %w: tensor<32x64xf16>) -> tensor<48x64xf16> {
  %zero = arith.constant 0.0 : f16
  %half = arith.constant 0.5 : f16
  %one = arith.constant 1.0 : f16
  %cubic = arith.constant 4.470830e-02 : f16
  %outer = arith.constant 7.978510e-01 : f16
  %e = tensor.empty() : tensor<48x64xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<48x64xf16>) -> tensor<48x64xf16>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%lhs, %w : tensor<48x32xf16>, tensor<32x64xf16>)
      outs(%f : tensor<48x64xf16>) -> tensor<48x64xf16>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z : tensor<48x64xf16>) outs(%e : tensor<48x64xf16>) {
  ^bb0(%p: f16, %o: f16):
    %u2 = arith.mulf %p, %p : f16
    %u3 = arith.mulf %u2, %p : f16
    %c3 = arith.mulf %u3, %cubic : f16
    %in = arith.addf %p, %c3 : f16
    %a = arith.mulf %in, %outer : f16
    %h = math.tanh %a : f16
    %h1 = arith.addf %h, %one : f16
    %v2 = arith.mulf %p, %half : f16
    %r = arith.mulf %v2, %h1 : f16
    linalg.yield %r : f16
  } -> tensor<48x64xf16>
  return %y : tensor<48x64xf16>
}
