// RUN: pp-opt %s --device-call-attention --device-call-convolutions | FileCheck %s

// Operands may lie anywhere in a buffer, even 256 MiB and more after its start: offsets are values, because constant indices of
// a GEP hold 29 bits.

// CHECK-LABEL: func.func private @layer.F(
// CHECK-SAME: %[[RANK:.*]]: !llvm.ptr, %[[X:[^:]*]]: memref
// CHECK: %[[BASE:.*]] = builtin.unrealized_conversion_cast %[[X]]
// CHECK: %[[FAR:.*]] = llvm.mlir.constant(603979776 : i64) : i64
// CHECK: %[[Q:.*]] = llvm.getelementptr %[[BASE]][%[[FAR]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK: %[[DESC:.*]] = llvm.mlir.addressof @attend.0
// CHECK: llvm.call @sw_attend(%[[RANK]], %[[DESC]], %[[Q]],
#q = affine_map<(h, i, j, w, v) -> (i, h, w)>
#k = affine_map<(h, i, j, w, v) -> (j, h, w)>
#v = affine_map<(h, i, j, w, v) -> (j, h, v)>
#o = affine_map<(h, i, j, w, v) -> (i, h, v)>
#s = affine_map<(h, i, j, w, v) -> (h, i)>
#far = strided<[256, 64, 1], offset: 301989888>
func.func private @layer.F(%rank: !llvm.ptr, %x: memref<128x4x64xbf16, #far>, %o: memref<128x4x64xbf16>, %s: memref<4x128xf32>) {
  pipeline.attention scale 1.250000e-01 causal library maps [#q, #k, #v, #o, #s]
      ins(%x, %x, %x : memref<128x4x64xbf16, #far>, memref<128x4x64xbf16, #far>, memref<128x4x64xbf16, #far>)
      outs(%o, %s : memref<128x4x64xbf16>, memref<4x128xf32>)
  return
}

// CHECK-LABEL: func.func private @layer.C(
// CHECK-SAME: %[[RANK:.*]]: !llvm.ptr, %[[X:[^:]*]]: memref
// CHECK: %[[BASE:.*]] = builtin.unrealized_conversion_cast %[[X]]
// CHECK: %[[FAR:.*]] = llvm.mlir.constant(268435456 : i64) : i64
// CHECK: %[[IMAGE:.*]] = llvm.getelementptr %[[BASE]][%[[FAR]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK: llvm.call @sw_convolve(%[[RANK]], %{{.*}}, %[[IMAGE]], %{{.*}}, %{{.*}})
#image = strided<[128, 32, 8, 1], offset: 67108864>
func.func private @layer.C(%rank: !llvm.ptr, %x: memref<1x4x4x8xf32, #image>, %w: memref<2x3x3x8xf32>, %y: memref<1x2x2x2xf32>) {
  rank.convolve result image_dims [0, 3, 1, 2] filter_dims [0, 3, 1, 2] result_dims [0, 3, 1, 2] stride [1, 1] dilation [1, 1] before [0, 0] after [0, 0] ins(%x, %w : memref<1x4x4x8xf32, #image>, memref<2x3x3x8xf32>) outs(%y : memref<1x2x2x2xf32>)
  return
}
