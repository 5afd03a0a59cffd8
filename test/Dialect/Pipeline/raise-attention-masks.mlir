// A mask is causal only if it is so for every query and key: the lowest bit of a query is not the query, 8 bits may be too few
// for it, and 32 for its sum with a large constant.
// RUN: sed 's|// QUERY|%%n = arith.ori %%i, %%c0 : i32|' %s | pp-opt --pipeline-raise-attention=score-bytes=0 | FileCheck %s
// RUN: sed 's|// QUERY|%%n = arith.andi %%i, %%c1 : i32|' %s | pp-opt --pipeline-raise-attention=score-bytes=0 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's|// QUERY|%%t = arith.trunci %%i : i32 to i8 %%n = arith.extsi %%t : i8 to i32|' %s | pp-opt --pipeline-raise-attention=score-bytes=0 \
// RUN:   | FileCheck %s --check-prefix=OTHER
// RUN: sed 's|// QUERY|%%t = arith.trunci %%i : i32 to i1 %%n = arith.extsi %%t : i1 to i32|' %s | pp-opt --pipeline-raise-attention=score-bytes=0 \
// RUN:   | FileCheck %s --check-prefix=OTHER
// RUN: sed -e 's|// QUERY|%%far = arith.constant 2147483647 : i32 %%n = arith.addi %%i, %%far : i32 %%key = arith.addi %%j, %%far : i32|' \
// RUN:   -e 's|%%n, %%j|%%n, %%key|' %s | pp-opt --pipeline-raise-attention=score-bytes=0 | FileCheck %s --check-prefix=OTHER
// CHECK: pipeline.attention scale 5.000000e-01 causal maps
// OTHER-NOT: causal
// OTHER: return
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#i = affine_map<(i, j) -> (i)>
#iw = affine_map<(i, j, w) -> (i, w)>
#wj = affine_map<(i, j, w) -> (w, j)>
#oij = affine_map<(i, j, w) -> (i, j)>
func.func @step(%q: tensor<16x8xf32> {pipeline.role = "parameter"}, %k: tensor<16x8xf32> {pipeline.role = "parameter"},
                %v: tensor<16x8xf32> {pipeline.role = "batch"}) -> (tensor<16x8xbf16> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %half = arith.constant dense<0.5> : tensor<16x16xf32>
  %hidden = arith.constant -1.0e+30 : f32
  %e8 = tensor.empty() : tensor<8x16xf32>
  %kt = linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%k : tensor<16x8xf32>) outs(%e8 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<8x16xf32>
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.generic {indexing_maps = [#iw, #wj, #oij], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %kt : tensor<16x8xf32>, tensor<8x16xf32>) outs(%z : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x16xf32>
  %scaled = arith.mulf %s, %half : tensor<16x16xf32>
  %x = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%scaled : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = linalg.index 0 : index
    %1 = linalg.index 1 : index
    %i = arith.index_cast %0 : index to i32
    %j = arith.index_cast %1 : index to i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // QUERY
    %2 = arith.cmpi slt, %n, %j : i32
    %3 = arith.select %2, %hidden, %a : f32
    linalg.yield %3 : f32
  } -> tensor<16x16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %l1 = linalg.fill ins(%lowest : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<16x16xf32>) outs(%l1 : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.maximumf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  %p = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x16xf32>
  %l = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<16x16xf32>) outs(%z1 : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  %w = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %l : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<16x16xf32>
  %eo = tensor.empty() : tensor<16x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<16x8xf32>) -> tensor<16x8xf32>
  %o = linalg.generic {indexing_maps = [#iw, #wj, #oij], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %v : tensor<16x16xf32>, tensor<16x8xf32>) outs(%zo : tensor<16x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x8xf32>
  %er = tensor.empty() : tensor<16x8xbf16>
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%o : tensor<16x8xf32>) outs(%er : tensor<16x8xbf16>) {
  ^bb0(%a: f32, %c: bf16):
    %0 = arith.truncf %a : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<16x8xbf16>
  return %r : tensor<16x8xbf16>
}
