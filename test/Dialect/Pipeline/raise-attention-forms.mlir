// RUN: pp-opt %s --split-input-file --pipeline-raise-attention=score-bytes=0 | FileCheck %s

// Weights in another form than their sum, equal by the laws of arithmetic.
// CHECK-LABEL: func.func @step
// CHECK-NOT: math.exp
// CHECK: pipeline.attention scale 1.000000e+00 maps
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#iw = affine_map<(i, j, w) -> (i, w)>
#jw = affine_map<(i, j, w) -> (j, w)>
#wj = affine_map<(i, j, w) -> (w, j)>
#oij = affine_map<(i, j, w) -> (i, j)>
func.func @step(%q: tensor<16x8xf32> {pipeline.role = "parameter"}, %k: tensor<16x8xf32> {pipeline.role = "parameter"},
                %v: tensor<16x8xf32> {pipeline.role = "batch"}) -> (tensor<16x8xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %little = arith.constant 1.0e-12 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.contract indexing_maps = [#iw, #jw, #oij]
      ins(%q, %k : tensor<16x8xf32>, tensor<16x8xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %l1 = linalg.fill ins(%lowest : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<16x16xf32>) outs(%l1 : tensor<16xf32>) dimensions = [1]
  %p = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x16xf32>
  %l = linalg.reduce { arith.addf } ins(%p : tensor<16x16xf32>) outs(%z1 : tensor<16xf32>) dimensions = [1]
  %w = linalg.generic {indexing_maps = [#ij, #i, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m, %l : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    // 0.5 / exp(m - s) * (1 / (0.5 l))
    %0 = arith.subf %b, %a : f32
    %1 = math.exp %0 : f32
    %2 = arith.divf %half, %1 : f32
    %3 = arith.mulf %c, %half : f32
    %4 = arith.divf %one, %3 : f32
    %w = arith.mulf %2, %4 : f32
    linalg.yield %w : f32
  } -> tensor<16x16xf32>
  %eo = tensor.empty() : tensor<16x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<16x8xf32>) -> tensor<16x8xf32>
  %o = linalg.contract indexing_maps = [#iw, #wj, #oij]
      ins(%w, %v : tensor<16x16xf32>, tensor<16x8xf32>) outs(%zo : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %o : tensor<16x8xf32>
}

// -----

// Almost a softmax: the difference is less than float32 shows.
// CHECK-LABEL: func.func @step
// CHECK-NOT: pipeline.attention
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#iw = affine_map<(i, j, w) -> (i, w)>
#jw = affine_map<(i, j, w) -> (j, w)>
#wj = affine_map<(i, j, w) -> (w, j)>
#oij = affine_map<(i, j, w) -> (i, j)>
func.func @step(%q: tensor<16x8xf32> {pipeline.role = "parameter"}, %k: tensor<16x8xf32> {pipeline.role = "parameter"},
                %v: tensor<16x8xf32> {pipeline.role = "batch"}) -> (tensor<16x8xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %little = arith.constant 1.0e-12 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.contract indexing_maps = [#iw, #jw, #oij]
      ins(%q, %k : tensor<16x8xf32>, tensor<16x8xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %l1 = linalg.fill ins(%lowest : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<16x16xf32>) outs(%l1 : tensor<16xf32>) dimensions = [1]
  %p = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x16xf32>
  %l = linalg.reduce { arith.addf } ins(%p : tensor<16x16xf32>) outs(%z1 : tensor<16xf32>) dimensions = [1]
  %w = linalg.generic {indexing_maps = [#ij, #i, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m, %l : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %c, %little : f32
    %w = arith.divf %1, %2 : f32
    linalg.yield %w : f32
  } -> tensor<16x16xf32>
  %eo = tensor.empty() : tensor<16x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<16x8xf32>) -> tensor<16x8xf32>
  %o = linalg.contract indexing_maps = [#iw, #wj, #oij]
      ins(%w, %v : tensor<16x16xf32>, tensor<16x8xf32>) outs(%zo : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %o : tensor<16x8xf32>
}
