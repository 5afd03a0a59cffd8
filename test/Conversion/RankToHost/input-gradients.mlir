// RUN: pp-opt %s --host-bodies=place-ranks=false | FileCheck %s
// Each phase of the gradient of a strided convolution is computed in its slice of the result.
// CHECK-LABEL: @input_gradient
// CHECK: rank.contract overwrite
// CHECK-NOT: memref.copy
// CHECK: return

#im = affine_map<(n, h, i, c, o) -> (n, h + i, o)>
#we = affine_map<(n, h, i, c, o) -> (i, c, o)>
#re = affine_map<(n, h, i, c, o) -> (n, h, c)>
func.func private @input_gradient(%g: tensor<2x4x8xf32>, %w: tensor<3x3x8xf32>, %add: tensor<2x8x3xf32>) -> tensor<2x8x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x10x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x10x8xf32>) -> tensor<2x10x8xf32>
  %wide = tensor.insert_slice %g into %f[0, 2, 0] [2, 4, 8] [1, 2, 1] : tensor<2x4x8xf32> into tensor<2x10x8xf32>
  %e1 = tensor.empty() : tensor<2x8x3xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
  %0 = linalg.generic {indexing_maps = [#im, #we, #re], iterator_types = ["parallel", "parallel", "reduction", "parallel", "reduction"]}
      ins(%wide, %w : tensor<2x10x8xf32>, tensor<3x3x8xf32>) outs(%s : tensor<2x8x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x8x3xf32>
  %3 = arith.addf %0, %add : tensor<2x8x3xf32>
  return %3 : tensor<2x8x3xf32>
}
