// RUN: pp-opt %s --split-input-file --pipeline-raise-attention=score-bytes=1023 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: pp-opt %s --split-input-file --pipeline-raise-attention=score-bytes=1024 | FileCheck %s --check-prefix=SMALL

// One head of 16 queries: 1024 bytes of scores. Transposed keys and rounded results are looked through, and the causal
// mask is proved whatever the comparison.
// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2)>
// CHECK-DAG: #[[K:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d2)>
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[Q0:.*]]: tensor<16x8xf32> {{.*}}, %[[K0:.*]]: tensor<16x8xf32> {{.*}}, %[[V0:.*]]: tensor<16x8xf32>
// CHECK-NOT: math.exp
// CHECK: %[[O:.*]]:2 = pipeline.attention scale 5.000000e-01 causal maps [#[[Q]], #[[K]],
// CHECK-SAME: ins(%[[Q0]], %[[K0]], %[[V0]] :
// CHECK-SAME: -> tensor<16x8xbf16>, tensor<16xf32>
// CHECK: return %[[O]]#0
// SMALL-LABEL: func.func @step
// SMALL-NOT: pipeline.attention
// SMALL: return
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
    %2 = arith.cmpi slt, %0, %1 : index
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

// -----

// If another operation reads the weights, they stay an array, and nothing becomes attention.
// CHECK-LABEL: func.func @step
// REMARK: remark: attention does not become one kernel: an operation reads values computed from its scores and is neither elementwise, nor a reduction over one dimension, nor a product; its scores, 1024 bytes of one microbatch in float32, stay an array
// CHECK-NOT: pipeline.attention
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#iw = affine_map<(i, j, w) -> (i, w)>
#jw = affine_map<(i, j, w) -> (j, w)>
#wj = affine_map<(i, j, w) -> (w, j)>
#oij = affine_map<(i, j, w) -> (i, j)>
func.func @step(%q: tensor<16x8xf32> {pipeline.role = "parameter"}, %k: tensor<16x8xf32> {pipeline.role = "parameter"},
                %v: tensor<16x8xf32> {pipeline.role = "batch"})
    -> (tensor<16x8xf32> {pipeline.role = "output"}, tensor<16x16xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
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
  %w = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %l : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<16x16xf32>
  %eo = tensor.empty() : tensor<16x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<16x8xf32>) -> tensor<16x8xf32>
  %o = linalg.contract indexing_maps = [#iw, #wj, #oij]
      ins(%w, %v : tensor<16x16xf32>, tensor<16x8xf32>) outs(%zo : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %o, %w : tensor<16x8xf32>, tensor<16x16xf32>
}

// -----

// A product with a parameter makes logits: their softmax is not attention, and there is no remark.
// CHECK-LABEL: func.func @step
// REMARK-NOT: remark: attention
// CHECK-NOT: pipeline.attention
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#iw = affine_map<(i, j, w) -> (i, w)>
#jw = affine_map<(i, j, w) -> (j, w)>
#oij = affine_map<(i, j, w) -> (i, j)>
func.func @step(%q: tensor<16x8xf32> {pipeline.role = "batch"}, %k: tensor<16x8xf32> {pipeline.role = "parameter"})
    -> (tensor<16x16xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.contract indexing_maps = [#iw, #jw, #oij]
      ins(%q, %k : tensor<16x8xf32>, tensor<16x8xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %l1 = linalg.fill ins(%lowest : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<16x16xf32>) outs(%l1 : tensor<16xf32>) dimensions = [1]
  %p = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x16xf32>
  return %p : tensor<16x16xf32>
}
