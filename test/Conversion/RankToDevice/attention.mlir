// RUN: pp-opt %s --split-input-file --device-split-attention | FileCheck %s --check-prefix=SPLIT
// RUN: pp-opt %s --split-input-file --device-split-attention --device-bodies --device-write-kernels | FileCheck %s --check-prefix=KERNELS

// Gradients are two kernels, after one for the sums of rows that both read; all heads share each kernel.
// SPLIT-LABEL: func.func private @layer.B
// SPLIT: %[[DELTA:.*]] = linalg.generic
// SPLIT: pipeline.attention_query_gradient scale {{.*}} causal {{.*}} ins({{.*}}, %[[DELTA]], %{{.*}} :
// SPLIT: pipeline.attention_key_gradient
// SPLIT-NOT: pipeline.attention_gradient

// A block has 64 queries or 32 keys of one of the four heads, as many as there are registers for the sums.
// KERNELS-LABEL: gpu.module @kernels
// KERNELS: block = [128, 1, 1]{{.*}}form = "attention"{{.*}}grid = [8, 1, 1]
// KERNELS: block = [128, 1, 1]{{.*}}form = "attention"{{.*}}grid = [16, 1, 1]
#q = affine_map<(h, i, j, w, v) -> (i, h, w)>
#k = affine_map<(h, i, j, w, v) -> (j, h, w)>
#v = affine_map<(h, i, j, w, v) -> (j, h, v)>
#o = affine_map<(h, i, j, w, v) -> (i, h, v)>
#s = affine_map<(h, i, j, w, v) -> (h, i)>
func.func private @layer.B(%q: tensor<128x4x64xf32>, %k: tensor<128x4x64xf32>, %v: tensor<128x4x64xf32>, %o: tensor<128x4x64xf32>,
                           %s: tensor<4x128xf32>, %do: tensor<128x4x64xf32>)
    -> (tensor<128x4x64xf32>, tensor<128x4x64xf32>, tensor<128x4x64xf32>) {
  %e = tensor.empty() : tensor<128x4x64xf32>
  %d:3 = pipeline.attention_gradient scale 1.250000e-01 causal maps [#q, #k, #v, #o, #s, #o, #q, #k, #v]
      ins(%q, %k, %v, %o, %s, %do : tensor<128x4x64xf32>, tensor<128x4x64xf32>, tensor<128x4x64xf32>, tensor<128x4x64xf32>,
          tensor<4x128xf32>, tensor<128x4x64xf32>)
      outs(%e, %e, %e : tensor<128x4x64xf32>, tensor<128x4x64xf32>, tensor<128x4x64xf32>)
      -> tensor<128x4x64xf32>, tensor<128x4x64xf32>, tensor<128x4x64xf32>
  return %d#0, %d#1, %d#2 : tensor<128x4x64xf32>, tensor<128x4x64xf32>, tensor<128x4x64xf32>
}

// -----

// The library supports elements of 16 bits, but not heads of 60 elements, whose rows are not aligned.
// SPLIT-LABEL: func.func private @library.B
// SPLIT: pipeline.attention_gradient {{.*}} library maps
// SPLIT: pipeline.attention_query_gradient

// The rest runs on tensor cores. Rows of 60 numbers do not begin at multiples of 16 bytes: two barriers per tile, no async copies.
// With rows of 64 numbers the next tile is copied during the products: one barrier. A block has 64 keys.
// KERNELS-LABEL: gpu.module @kernels
// KERNELS-NOT: nvvm.cp.async
// KERNELS: gpu.barrier
// KERNELS: gpu.barrier
// KERNELS: nvvm.ldmatrix
// KERNELS: nvvm.mma.sync A[{{.*}}] B[{{.*}}] C[{{.*}}] {{.*}}bf16
// KERNELS: form = "tensor attention"{{.*}}grid = [8, 1, 1]
// KERNELS: nvvm.cp.async.shared.global
// KERNELS: nvvm.cp.async.commit.group
// KERNELS: nvvm.cp.async.wait.group 0
// KERNELS-NEXT: gpu.barrier
// KERNELS-NOT: gpu.barrier
// KERNELS: gpu.func
#q = affine_map<(h, i, j, w, v) -> (i, h, w)>
#k = affine_map<(h, i, j, w, v) -> (j, h, w)>
#v = affine_map<(h, i, j, w, v) -> (j, h, v)>
#o = affine_map<(h, i, j, w, v) -> (i, h, v)>
#s = affine_map<(h, i, j, w, v) -> (h, i)>
func.func private @library.B(%x: tensor<128x4x64xbf16>, %s: tensor<4x128xf32>, %y: tensor<128x4x60xbf16>)
    -> (tensor<128x4x64xbf16>, tensor<128x4x60xbf16>) {
  %e = tensor.empty() : tensor<128x4x64xbf16>
  %d:3 = pipeline.attention_gradient scale 1.250000e-01 causal maps [#q, #k, #v, #o, #s, #o, #q, #k, #v]
      ins(%x, %x, %x, %x, %s, %x : tensor<128x4x64xbf16>, tensor<128x4x64xbf16>, tensor<128x4x64xbf16>,
          tensor<128x4x64xbf16>, tensor<4x128xf32>, tensor<128x4x64xbf16>)
      outs(%e, %e, %e : tensor<128x4x64xbf16>, tensor<128x4x64xbf16>, tensor<128x4x64xbf16>)
      -> tensor<128x4x64xbf16>, tensor<128x4x64xbf16>, tensor<128x4x64xbf16>
  %f = tensor.empty() : tensor<128x4x60xbf16>
  %g:3 = pipeline.attention_gradient scale 1.250000e-01 causal maps [#q, #k, #v, #o, #s, #o, #q, #k, #v]
      ins(%y, %y, %y, %y, %s, %y : tensor<128x4x60xbf16>, tensor<128x4x60xbf16>, tensor<128x4x60xbf16>,
          tensor<128x4x60xbf16>, tensor<4x128xf32>, tensor<128x4x60xbf16>)
      outs(%f, %f, %f : tensor<128x4x60xbf16>, tensor<128x4x60xbf16>, tensor<128x4x60xbf16>)
      -> tensor<128x4x60xbf16>, tensor<128x4x60xbf16>, tensor<128x4x60xbf16>
  return %d#0, %g#0 : tensor<128x4x64xbf16>, tensor<128x4x60xbf16>
}

// -----

// A slice without the innermost dimension is not contiguous: no call of the library.
// SPLIT-LABEL: @sliced
// SPLIT-NOT: library
// SPLIT: return
#q = affine_map<(h, i, j, w, v) -> (i, h, w)>
#k = affine_map<(h, i, j, w, v) -> (j, h, w)>
#v = affine_map<(h, i, j, w, v) -> (j, h, v)>
#o = affine_map<(h, i, j, w, v) -> (i, h, v)>
#s = affine_map<(h, i, j, w, v) -> (h, i)>
func.func private @sliced(%x: tensor<128x4x64x8xbf16>) -> (tensor<128x4x64xbf16>, tensor<4x128xf32>) {
  %q = tensor.extract_slice %x[0, 0, 0, 0] [128, 4, 64, 1] [1, 1, 1, 1] : tensor<128x4x64x8xbf16> to tensor<128x4x64xbf16>
  %e = tensor.empty() : tensor<128x4x64xbf16>
  %f = tensor.empty() : tensor<4x128xf32>
  %d:2 = pipeline.attention scale 1.250000e-01 causal maps [#q, #k, #v, #o, #s]
      ins(%q, %q, %q : tensor<128x4x64xbf16>, tensor<128x4x64xbf16>, tensor<128x4x64xbf16>)
      outs(%e, %f : tensor<128x4x64xbf16>, tensor<4x128xf32>) -> tensor<128x4x64xbf16>, tensor<4x128xf32>
  return %d#0, %d#1 : tensor<128x4x64xbf16>, tensor<4x128xf32>
}
