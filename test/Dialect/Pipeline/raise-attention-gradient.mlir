// RUN: pp-opt %s --pipeline-raise-attention=score-bytes=0 | FileCheck %s

// A causal softmax and its gradient become attention.
// CHECK-LABEL: func.func @step
// CHECK-NOT: math.exp
// CHECK: pipeline.attention scale 5.000000e-01 causal
// CHECK: pipeline.attention_gradient scale 5.000000e-01 causal
// CHECK: return

// Other functions do not become attention: t is not divided by l; t is divided twice; a factor depends on the key; the scale is
// applied twice; hidden scores have a weight.
// RUN: sed 's/%%t = arith.divf %%u, %%l/%%t = arith.mulf %%u, %%half1/' %s | pp-opt --pipeline-raise-attention=score-bytes=0 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/%%t = arith.divf %%u, %%l/%%t = arith.divf %%u, %%ll/' %s | pp-opt --pipeline-raise-attention=score-bytes=0 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/%%term = arith.mulf %%a, %%b/%%term = arith.mulf %%square, %%b/' %s | pp-opt --pipeline-raise-attention=score-bytes=0 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/arith.select %%seen, %%ds, %%zero/arith.select %%seen, %%twice, %%zero/' %s | pp-opt --pipeline-raise-attention=score-bytes=0 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/constant -1.0e+30/constant -9.0e+03/' %s | pp-opt --pipeline-raise-attention=score-bytes=0 | FileCheck %s --check-prefix=OTHER

// Nor do functions in which a body extracts an element itself, or compares 2^40 times an index.
// RUN: sed 's/%%scaled = arith.mulf %%a, %%scale/%%each = tensor.extract %%factors[%%i0, %%j] : tensor<16x16xf32> %%scaled = arith.mulf %%a, %%each/' %s | pp-opt --pipeline-raise-attention=score-bytes=0 | FileCheck %s --check-prefix=OTHER
// RUN: %python -c "old = 'seen = arith.cmpi sge, %%i0,'; sums = [f'i{n + 1} = arith.addi %%i{n}, %%i{n} : index' for n in range(40)]; print(open('%s').read().replace(old, ' %%'.join(sums) + ' %%' + old.replace('%%i0,', '%%i40,')))" | pp-opt --pipeline-raise-attention=score-bytes=0 | FileCheck %s --check-prefix=OTHER
// OTHER-LABEL: func.func @step
// OTHER-NOT: pipeline.attention
// OTHER: return

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#iw = affine_map<(i, j, w) -> (i, w)>
#jw = affine_map<(i, j, w) -> (j, w)>
#wj = affine_map<(i, j, w) -> (w, j)>
#wi = affine_map<(i, j, w) -> (w, i)>
#oij = affine_map<(i, j, w) -> (i, j)>
func.func @step(%q: tensor<16x8xf32> {pipeline.role = "parameter"}, %k: tensor<16x8xf32> {pipeline.role = "parameter"},
                %v: tensor<16x8xf32> {pipeline.role = "batch"}, %do: tensor<16x8xf32> {pipeline.role = "batch"},
                %factor: tensor<1x16x16xf32> {pipeline.role = "constant"})
    -> (tensor<16x8xf32> {pipeline.role = "output"}, tensor<16x8xf32> {pipeline.role = "output"},
        tensor<16x8xf32> {pipeline.role = "output"}, tensor<16x8xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.5 : f32
  %half1 = arith.constant dense<0.5> : tensor<16xf32>
  %lowest = arith.constant 0xFF800000 : f32
  %hidden = arith.constant -1.0e+30 : f32
  %factors = tensor.collapse_shape %factor [[0, 1], [2]] : tensor<1x16x16xf32> into tensor<16x16xf32>
  %e = tensor.empty() : tensor<16x16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %eo = tensor.empty() : tensor<16x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<16x8xf32>) -> tensor<16x8xf32>
  %l1 = linalg.fill ins(%lowest : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.contract indexing_maps = [#iw, #jw, #oij]
      ins(%q, %k : tensor<16x8xf32>, tensor<16x8xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32>
  %x = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i0 = linalg.index 0 : index
    %j = linalg.index 1 : index
    %seen = arith.cmpi sge, %i0, %j : index
    %scaled = arith.mulf %a, %scale : f32
    %0 = arith.select %seen, %scaled, %hidden : f32
    linalg.yield %0 : f32
  } -> tensor<16x16xf32>
  %m = linalg.reduce { arith.maximumf } ins(%x : tensor<16x16xf32>) outs(%l1 : tensor<16xf32>) dimensions = [1]
  %p = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x16xf32>
  %l = linalg.reduce { arith.addf } ins(%p : tensor<16x16xf32>) outs(%z1 : tensor<16xf32>) dimensions = [1]
  %ll = arith.mulf %l, %l : tensor<16xf32>
  %w = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %l : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<16x16xf32>
  %y = linalg.contract indexing_maps = [#iw, #wj, #oij]
      ins(%w, %v : tensor<16x16xf32>, tensor<16x8xf32>) outs(%zo : tensor<16x8xf32>) -> tensor<16x8xf32>
  %dv = linalg.contract indexing_maps = [#wi, #wj, #oij]
      ins(%w, %do : tensor<16x16xf32>, tensor<16x8xf32>) outs(%zo : tensor<16x8xf32>) -> tensor<16x8xf32>
  %dw = linalg.contract indexing_maps = [#iw, #jw, #oij]
      ins(%do, %v : tensor<16x8xf32>, tensor<16x8xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32>
  %u = linalg.generic {indexing_maps = [#ij, #ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%p, %dw : tensor<16x16xf32>, tensor<16x16xf32>) outs(%z1 : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %square = arith.mulf %a, %a : f32
    %term = arith.mulf %a, %b : f32
    %0 = arith.addf %o, %term : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  %t = arith.divf %u, %l : tensor<16xf32>
  %dx = linalg.generic {indexing_maps = [#ij, #ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%w, %dw, %t : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %seen = arith.cmpi sle, %j, %i : index
    %0 = arith.subf %b, %c : f32
    %1 = arith.mulf %a, %0 : f32
    %ds = arith.mulf %1, %scale : f32
    %twice = arith.mulf %ds, %scale : f32
    %2 = arith.select %seen, %ds, %zero : f32
    linalg.yield %2 : f32
  } -> tensor<16x16xf32>
  %dq = linalg.contract indexing_maps = [#iw, #wj, #oij]
      ins(%dx, %k : tensor<16x16xf32>, tensor<16x8xf32>) outs(%zo : tensor<16x8xf32>) -> tensor<16x8xf32>
  %dk = linalg.contract indexing_maps = [#wi, #wj, #oij]
      ins(%dx, %q : tensor<16x16xf32>, tensor<16x8xf32>) outs(%zo : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %y, %dq, %dk, %dv : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
}
