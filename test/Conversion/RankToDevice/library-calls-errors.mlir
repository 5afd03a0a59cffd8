// RUN: pp-opt %s --split-input-file --device-call-attention --device-call-convolutions --verify-diagnostics

// Strides of a call are numbers of its description.
#rows = strided<[?, 32, 8, 1]>
func.func private @dynamic(%rank: !llvm.ptr, %x: memref<1x4x4x8xf32, #rows>, %w: memref<2x3x3x8xf32>, %y: memref<1x2x2x2xf32>) {
  // expected-error @below {{convolution needs buffers with static strides, but got 'memref<1x4x4x8xf32, strided<[?, 32, 8, 1]>>'}}
  rank.convolve result image_dims [0, 3, 1, 2] filter_dims [0, 3, 1, 2] result_dims [0, 3, 1, 2] stride [1, 1] dilation [1, 1] before [0, 0] after [0, 0] ins(%x, %w : memref<1x4x4x8xf32, #rows>, memref<2x3x3x8xf32>) outs(%y : memref<1x2x2x2xf32>)
  return
}

// -----

// Groups of heads share keys: the library takes one stride for all heads.
#q = affine_map<(b, h, g, i, j, w, v) -> (b, i, g, h, w)>
#k = affine_map<(b, h, g, i, j, w, v) -> (b, j, h, w)>
#v = affine_map<(b, h, g, i, j, w, v) -> (b, j, h, v)>
#o = affine_map<(b, h, g, i, j, w, v) -> (b, i, g, h, v)>
#s = affine_map<(b, h, g, i, j, w, v) -> (b, g, h, i)>
func.func private @uneven(%rank: !llvm.ptr, %x: memref<3x128x2x4x64xbf16>, %k: memref<3x128x4x64xbf16>, %o: memref<3x128x2x4x64xbf16>, %s: memref<3x2x4x128xf32>) {
  // expected-error @below {{heads of query are not evenly apart: 'memref<3x128x2x4x64xbf16>'}}
  pipeline.attention scale 1.250000e-01 causal library maps [#q, #k, #v, #o, #s]
      ins(%x, %k, %k : memref<3x128x2x4x64xbf16>, memref<3x128x4x64xbf16>, memref<3x128x4x64xbf16>)
      outs(%o, %s : memref<3x128x2x4x64xbf16>, memref<3x2x4x128xf32>)
  return
}
