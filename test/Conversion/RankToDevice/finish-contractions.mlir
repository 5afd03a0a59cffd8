// RUN: pp-opt %s --split-input-file --device-finish-contractions --device-find-epilogues | FileCheck %s

// The call adds a row and computes GELU. It also stores the argument of GELU, which is another result.
// CHECK-LABEL: @forward
// CHECK: %[[Z:.*]] = linalg.contract {{.*}}
// CHECK: %[[Y:.*]]:2 = linalg.generic {{.*}} ins(%arg2 : tensor<64xf32>) outs(%{{.*}}, %[[Z]] : {{.*}} attrs = {device.epilogue = "bias_gelu_aux"}
// CHECK: return %[[Y]]#0, %[[Y]]#1
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func private @forward(%x: tensor<48x32xf32>, %w: tensor<32x64xf32>, %b: tensor<64xf32>) -> (tensor<48x64xf32>, tensor<48x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %cubic = arith.constant 4.471500e-02 : f32
  %outer = arith.constant 0.797884583 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<48x32xf32>, tensor<32x64xf32>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %h = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z, %b : tensor<48x64xf32>, tensor<64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %0 = arith.addf %u, %v : f32
    linalg.yield %0 : f32
  } -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z, %b : tensor<48x64xf32>, tensor<64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %0 = arith.addf %u, %v : f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.mulf %1, %0 : f32
    %3 = arith.mulf %2, %cubic : f32
    %4 = arith.addf %0, %3 : f32
    %5 = arith.mulf %4, %outer : f32
    %6 = math.tanh %5 : f32
    %7 = arith.addf %6, %one : f32
    %8 = arith.mulf %7, %half : f32
    %9 = arith.mulf %0, %8 : f32
    linalg.yield %9 : f32
  } -> tensor<48x64xf32>
  return %y, %h : tensor<48x64xf32>, tensor<48x64xf32>
}

// -----

// The derivative of GELU in another form, with tanh from another operation, is recognised by what it computes.
// CHECK-LABEL: @backward
// CHECK: %[[Z:.*]] = linalg.contract {{.*}}
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%arg2 : tensor<48x64xf32>) outs(%[[Z]] : {{.*}} attrs = {device.epilogue = "dgelu"}
// CHECK: return %[[Y]]
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @backward(%x: tensor<48x32xf32>, %w: tensor<32x64xf32>, %h: tensor<48x64xf32>) -> tensor<48x64xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0.0356774081 : f32
  %c1 = arith.constant 0.107032225 : f32
  %outer = arith.constant 0.797884583 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<48x32xf32>, tensor<32x64xf32>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %t = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<48x64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = arith.mulf %u, %u : f32
    %1 = arith.mulf %0, %c0 : f32
    %2 = arith.addf %1, %outer : f32
    %3 = arith.mulf %2, %u : f32
    %4 = math.tanh %3 : f32
    linalg.yield %4 : f32
  } -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z, %t, %h : tensor<48x64xf32>, tensor<48x64xf32>, tensor<48x64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%u: f32, %v: f32, %w0: f32, %o: f32):
    %0 = arith.mulf %v, %v : f32
    %1 = arith.subf %one, %0 : f32
    %2 = arith.mulf %w0, %w0 : f32
    %3 = arith.mulf %2, %c1 : f32
    %4 = arith.addf %3, %outer : f32
    %5 = arith.mulf %1, %4 : f32
    %6 = arith.mulf %5, %w0 : f32
    %7 = arith.addf %v, %one : f32
    %8 = arith.addf %6, %7 : f32
    %9 = arith.mulf %8, %half : f32
    %10 = arith.mulf %9, %u : f32
    linalg.yield %10 : f32
  } -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// -----

// GELU by the error function is another function, which agrees to four digits only.
// CHECK-LABEL: @exact
// CHECK-NOT: device.epilogue
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @exact(%x: tensor<48x32xf32>, %w: tensor<32x64xf32>) -> tensor<48x64xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %root = arith.constant 0.707106769 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<48x32xf32>, tensor<32x64xf32>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z : tensor<48x64xf32>) outs(%e : tensor<48x64xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = arith.mulf %u, %root : f32
    %1 = math.erf %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.mulf %2, %half : f32
    %4 = arith.mulf %3, %u : f32
    linalg.yield %4 : f32
  } -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// -----

// All readers round to bfloat16: so does the call, which adds the row in that type.
// CHECK-LABEL: @narrow
// CHECK: %[[Z:.*]] = linalg.contract {{.*}} {{.*}} -> tensor<48x64xbf16>
// CHECK: linalg.generic {{.*}} outs(%[[Z]] : tensor<48x64xbf16>) attrs = {device.epilogue = "bias"}
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func private @narrow(%x: tensor<48x32xbf16>, %w: tensor<32x64xbf16>, %b: tensor<64xf32>) -> tensor<48x64xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %n = tensor.empty() : tensor<48x64xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<48x32xbf16>, tensor<32x64xbf16>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z, %b : tensor<48x64xf32>, tensor<64xf32>) outs(%n : tensor<48x64xbf16>) {
  ^bb0(%u: f32, %v: f32, %o: bf16):
    %0 = arith.truncf %u : f32 to bf16
    %1 = arith.truncf %v : f32 to bf16
    %2 = arith.addf %0, %1 : bf16
    linalg.yield %2 : bf16
  } -> tensor<48x64xbf16>
  return %y : tensor<48x64xbf16>
}

// -----

// A gradient of bfloat16 operands, transposed and rounded on its way to a sum in float32, is summed there at once.
// CHECK-LABEL: @gradient
// CHECK: %[[W:.*]] = linalg.contract indexing_maps = [#[[A:.*]], #[[B:.*]], #[[C:.*]]] ins(%arg0, %arg1 : {{.*}}) outs(%arg2 : tensor<64x32xf32>)
// CHECK: %[[B:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%arg1 : tensor<48x64xbf16>) outs(%arg3 : tensor<64xf32>)
// CHECK: return %[[W]], %[[B]]
#a = affine_map<(i, j, k) -> (k, i)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func private @gradient(%x: tensor<48x32xbf16>, %g: tensor<48x64xbf16>, %w: tensor<64x32xf32>, %b: tensor<64xf32>) -> (tensor<64x32xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %g : tensor<48x32xbf16>, tensor<48x64xbf16>)
      outs(%f : tensor<32x64xf32>) -> tensor<32x64xf32>
  %sum = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<32x64xf32>) outs(%w : tensor<64x32xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = arith.truncf %u : f32 to bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x32xf32>
  %r = tensor.empty() : tensor<64xf32>
  %s = linalg.fill ins(%zero : f32) outs(%r : tensor<64xf32>) -> tensor<64xf32>
  %column = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<48x64xbf16>) outs(%s : tensor<64xf32>) {
  ^bb0(%u: bf16, %o: f32):
    %0 = arith.extf %u : bf16 to f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %added = linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
      ins(%column : tensor<64xf32>) outs(%b : tensor<64xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = arith.addf %o, %u : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %sum, %added : tensor<64x32xf32>, tensor<64xf32>
}

// -----

// A loss reads single elements of a product, and rounds them as its other readers do: it is stored in that type.
// CHECK-LABEL: @reads_elements
// CHECK: %[[Z:.*]] = linalg.contract {{.*}} -> tensor<48x64xbf16>
// CHECK: %[[X:.*]] = tensor.extract %[[Z]]{{.*}} : tensor<48x64xbf16>
// CHECK-NEXT: arith.extf %[[X]]
// CHECK-NOT: truncf
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#row = affine_map<(i) -> (i)>
func.func private @reads_elements(%x: tensor<48x32xbf16>, %w: tensor<32x64xbf16>, %ids: tensor<48xindex>) -> tensor<48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %e2 = tensor.empty() : tensor<48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<48x32xbf16>, tensor<32x64xbf16>)
      outs(%f : tensor<48x64xf32>) -> tensor<48x64xf32>
  %y = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%ids : tensor<48xindex>) outs(%e2 : tensor<48xf32>) {
  ^bb0(%id: index, %o: f32):
    %i = linalg.index 0 : index
    %0 = tensor.extract %z[%i, %id] : tensor<48x64xf32>
    %1 = arith.truncf %0 : f32 to bf16
    %2 = arith.extf %1 : bf16 to f32
    linalg.yield %2 : f32
  } -> tensor<48xf32>
  return %y : tensor<48xf32>
}

// -----

// A layer adds a product to its input: the library adds the array. The product is no longer rounded before that.
// CHECK-LABEL: @residual
// CHECK: %[[Z:.*]] = linalg.contract {{.*}}
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%arg2 : tensor<48x64xbf16>) outs(%[[Z]] : {{.*}} attrs = {device.epilogue = "add"}
// CHECK: return %[[Y]]
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @residual(%x: tensor<48x32xbf16>, %w: tensor<32x64xbf16>, %h: tensor<48x64xbf16>) -> tensor<48x64xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<48x64xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<48x32xbf16>, tensor<32x64xbf16>)
      outs(%f : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  %y = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h, %z : tensor<48x64xbf16>, tensor<48x64xbf16>) outs(%e : tensor<48x64xbf16>) {
  ^bb0(%u: bf16, %v: bf16, %o: bf16):
    %0 = arith.addf %u, %v : bf16
    linalg.yield %0 : bf16
  } -> tensor<48x64xbf16>
  return %y : tensor<48x64xbf16>
}

// -----

// A product that is added to itself: there is no other array that the library could add.
// CHECK-LABEL: @twice
// CHECK-NOT: device.epilogue
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @twice(%x: tensor<48x32xbf16>, %w: tensor<32x64xbf16>) -> tensor<48x64xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<48x64xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<48x32xbf16>, tensor<32x64xbf16>)
      outs(%f : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z : tensor<48x64xbf16>) outs(%e : tensor<48x64xbf16>) {
  ^bb0(%v: bf16, %o: bf16):
    %0 = arith.addf %v, %v : bf16
    linalg.yield %0 : bf16
  } -> tensor<48x64xbf16>
  return %y : tensor<48x64xbf16>
}
