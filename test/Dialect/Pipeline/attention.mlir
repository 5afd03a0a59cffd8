// RUN: pp-opt %s | pp-opt | FileCheck %s
// RUN: pp-opt %s --mlir-print-op-generic | pp-opt | FileCheck %s

#q = affine_map<(b, h, i, j, w, v) -> (b, i, h, w)>
#k = affine_map<(b, h, i, j, w, v) -> (b, j, w)>
#v = affine_map<(b, h, i, j, w, v) -> (b, j, v)>
#m = affine_map<(b, h, i, j, w, v) -> (i, j)>
#o = affine_map<(b, h, i, j, w, v) -> (b, i, h, v)>
#s = affine_map<(b, h, i, j, w, v) -> (b, h, i)>

// Four heads of queries share one of keys; a mask hides scores.
// CHECK-LABEL: func.func @masked
// CHECK: pipeline.attention scale 1.250000e-01 fill -1.000000e+09 maps [#{{.*}}] ins(
// CHECK-SAME: tensor<7x9xi1>) outs({{.*}}) -> tensor<2x7x4x8xf32>, tensor<2x4x7xf32>
func.func @masked(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x16xf32>, %v: tensor<2x9x8xf32>, %m: tensor<7x9xi1>,
                  %o: tensor<2x7x4x8xf32>, %s: tensor<2x4x7xf32>) -> tensor<2x7x4x8xf32> {
  %r:2 = pipeline.attention scale 1.250000e-01 fill -1.000000e+09 maps [#q, #k, #v, #m, #o, #s]
      ins(%q, %k, %v, %m : tensor<2x7x4x16xf32>, tensor<2x9x16xf32>, tensor<2x9x8xf32>, tensor<7x9xi1>)
      outs(%o, %s : tensor<2x7x4x8xf32>, tensor<2x4x7xf32>) -> tensor<2x7x4x8xf32>, tensor<2x4x7xf32>
  return %r#0 : tensor<2x7x4x8xf32>
}

#mq = affine_map<(i, j, w, v) -> (i, w)>
#mk = affine_map<(i, j, w, v) -> (j, w)>
#mv = affine_map<(i, j, w, v) -> (j, v)>
#mo = affine_map<(i, j, w, v) -> (i, v)>
#ms = affine_map<(i, j, w, v) -> (i)>

// On buffers, without batches, causal.
// CHECK-LABEL: func.func @gradient
// CHECK: pipeline.attention_gradient scale 1.000000e+00 causal maps
func.func @gradient(%x: memref<128x64xbf16>, %s: memref<128xf32>) {
  pipeline.attention_gradient scale 1.000000e+00 causal maps [#mq, #mk, #mv, #mo, #ms, #mo, #mq, #mk, #mv]
      ins(%x, %x, %x, %x, %s, %x : memref<128x64xbf16>, memref<128x64xbf16>, memref<128x64xbf16>, memref<128x64xbf16>,
          memref<128xf32>, memref<128x64xbf16>)
      outs(%x, %x, %x : memref<128x64xbf16>, memref<128x64xbf16>, memref<128x64xbf16>)
  return
}
