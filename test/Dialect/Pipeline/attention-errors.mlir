// RUN: pp-opt %s --split-input-file --verify-diagnostics

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, v)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
func.func @attention_c1_count(%x: memref<8x8xf32>, %s: memref<8xf32>) {
  // expected-error @below {{needs one map for each of its operands, got 4 maps and 5 operands}}
  pipeline.attention scale 1.0 maps [#q, #k, #v, #o]
      ins(%x, %x, %x : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) outs(%x, %s : memref<8x8xf32>, memref<8xf32>)
  return
}

// -----

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, v)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
func.func @attention_c1_extents(%x: memref<8x8xf32>, %k: memref<8x4xf32>, %s: memref<8xf32>) {
  // expected-error @below {{query has 8 elements along a dimension in which another operand has 4}}
  pipeline.attention scale 1.0 maps [#q, #k, #v, #o, #s]
      ins(%x, %k, %x : memref<8x8xf32>, memref<8x4xf32>, memref<8x8xf32>) outs(%x, %s : memref<8x8xf32>, memref<8xf32>)
  return
}

// -----

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, w)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
func.func @attention_c2(%x: memref<8x8xf32>, %s: memref<8xf32>) {
  // expected-error @below {{value must not have dimension 2}}
  pipeline.attention scale 1.0 maps [#q, #k, #v, #o, #s]
      ins(%x, %x, %x : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) outs(%x, %s : memref<8x8xf32>, memref<8xf32>)
  return
}

// -----

#q = affine_map<(b, i, j, w, v) -> (b, i, w)>
#k = affine_map<(b, i, j, w, v) -> (b, j, w)>
#v = affine_map<(b, i, j, w, v) -> (j, v)>
#o = affine_map<(b, i, j, w, v) -> (b, i, v)>
#s = affine_map<(b, i, j, w, v) -> (b, i)>
func.func @attention_c3(%x: memref<2x8x8xf32>, %v: memref<8x8xf32>, %s: memref<2x8xf32>) {
  // expected-error @below {{value has other batch dimensions than key}}
  pipeline.attention scale 1.0 maps [#q, #k, #v, #o, #s]
      ins(%x, %x, %v : memref<2x8x8xf32>, memref<2x8x8xf32>, memref<8x8xf32>)
      outs(%x, %s : memref<2x8x8xf32>, memref<2x8xf32>)
  return
}

// -----

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, v)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
func.func @attention_c4(%x: memref<8x8xf32>, %s: memref<8xbf16>) {
  // expected-error @below {{statistics cannot have elements of type 'bf16'}}
  pipeline.attention scale 1.0 maps [#q, #k, #v, #o, #s]
      ins(%x, %x, %x : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) outs(%x, %s : memref<8x8xf32>, memref<8xbf16>)
  return
}

// -----

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, v)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
func.func @attention_c5(%x: memref<8x8xf32>, %k: memref<9x8xf32>, %s: memref<8xf32>) {
  // expected-error @below {{is causal and needs as many queries as keys, got 8 and 9}}
  pipeline.attention scale 1.0 causal maps [#q, #k, #v, #o, #s]
      ins(%x, %k, %k : memref<8x8xf32>, memref<9x8xf32>, memref<9x8xf32>) outs(%x, %s : memref<8x8xf32>, memref<8xf32>)
  return
}

// -----

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, v)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
func.func @attention_c6(%x: memref<8x8xf32>, %s: memref<8xf32>) {
  // expected-error @below {{needs fill exactly if its mask is of i1}}
  pipeline.attention scale 1.0 fill -1.0 maps [#q, #k, #v, #o, #s]
      ins(%x, %x, %x : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) outs(%x, %s : memref<8x8xf32>, memref<8xf32>)
  return
}

// -----

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, v)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
#e = affine_map<(i, j, w, v) -> (i, j)>
func.func @attention_c4_keep(%x: memref<8x8xf32>, %s: memref<8xf32>) {
  // expected-error @below {{keep cannot have elements of type 'f32'}}
  pipeline.attention scale 1.0 kept 2.0 maps [#q, #k, #v, #e, #o, #s]
      ins(%x, %x, %x, %x : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>)
      outs(%x, %s : memref<8x8xf32>, memref<8xf32>)
  return
}

// -----

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, v)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
func.func @attention_c1_keep(%x: memref<8x8xf32>, %s: memref<8xf32>) {
  // expected-error @below {{needs 7 operands (query, key, value, mask, keep, output, statistics), got 5}}
  pipeline.attention scale 1.0 kept 2.0 maps [#q, #k, #v, #o, #s]
      ins(%x, %x, %x : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) outs(%x, %s : memref<8x8xf32>, memref<8xf32>)
  return
}

// -----

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, v)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
func.func @attention_c7(%x: memref<8x8xf32>, %s: memref<8xf32>) {
  // expected-error @below {{cap is 0.000000e+00, not above 0}}
  pipeline.attention scale 1.0 cap 0.0 maps [#q, #k, #v, #o, #s]
      ins(%x, %x, %x : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) outs(%x, %s : memref<8x8xf32>, memref<8xf32>)
  return
}

// -----

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, v)>
#m = affine_map<(i, j, w, v) -> (i, j)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
func.func @attention_c8(%x: memref<8x8xf32>, %m: memref<8x8xi1>, %s: memref<8xf32>) {
  // expected-error @below {{is causal and has a mask of i1; leave out 'causal' and let the mask hide later keys}}
  pipeline.attention scale 1.0 causal fill -1.0e9 maps [#q, #k, #v, #m, #o, #s]
      ins(%x, %x, %x, %m : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>, memref<8x8xi1>) outs(%x, %s : memref<8x8xf32>, memref<8xf32>)
  return
}

// -----

#q = affine_map<(i, j, w) -> (i, w)>
#k = affine_map<(i, j, w) -> (j, w)>
#s = affine_map<(i, j, w) -> (i)>
func.func @attention_c1_dimensions(%x: memref<8x8xf32>, %s: memref<8xf32>) {
  // expected-error @below {{needs maps of at least four dimensions, got 3}}
  pipeline.attention scale 1.0 maps [#q, #k, #k, #q, #s]
      ins(%x, %x, %x : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) outs(%x, %s : memref<8x8xf32>, memref<8xf32>)
  return
}

// -----

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, v)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
func.func @attention_c1_rank(%x: memref<8x8xf32>, %s: memref<8x1xf32>) {
  // expected-error @below {{statistics of type 'memref<8x1xf32>' does not fit its map}}
  pipeline.attention scale 1.0 maps [#q, #k, #v, #o, #s]
      ins(%x, %x, %x : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) outs(%x, %s : memref<8x8xf32>, memref<8x1xf32>)
  return
}

// -----

#q = affine_map<(i, j, w, v) -> (i, w)>
#k = affine_map<(i, j, w, v) -> (j, w)>
#v = affine_map<(i, j, w, v) -> (j, v)>
#o = affine_map<(i, j, w, v) -> (i, v)>
#s = affine_map<(i, j, w, v) -> (i)>
func.func @attention_c1_outputs(%x: memref<8x8xf32>, %s: memref<8xf32>) {
  // expected-error @below {{needs 2 of its operands as outputs, got 1}}
  pipeline.attention scale 1.0 maps [#q, #k, #v, #o, #s]
      ins(%x, %x, %x, %x : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) outs(%s : memref<8xf32>)
  return
}
