// RUN: pp-opt %s -body-bufferize -canonicalize | FileCheck %s

// A buffer is copied into a box of another: when its writer may write to that box, and when not. For results of one operation,
// reshaped ones and rows that begin at odd places see bufferize-copies.mlir.

// CHECK-LABEL: @moved
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<4x8xf32>, %[[OUT:[a-z0-9_]+]]: memref<4x32xf32>)
// CHECK-NEXT: %[[WHOLE:.*]] = memref.alloc() : memref<4x32xf32>
// CHECK-NEXT: %[[BOX:.*]] = memref.subview %[[WHOLE]][0, 8] [4, 8] [1, 1]
// CHECK-NEXT: linalg.exp ins(%[[X]] : {{.*}}) outs(%[[BOX]] :
// CHECK-NEXT: linalg.tanh ins(%[[WHOLE]]
// CHECK-NOT:  memref.copy
// CHECK:      return
func.func private @moved(%x: memref<4x8xf32>, %out: memref<4x32xf32>) {
  %part = memref.alloc() : memref<4x8xf32>
  linalg.exp ins(%x : memref<4x8xf32>) outs(%part : memref<4x8xf32>)
  %whole = memref.alloc() : memref<4x32xf32>
  %box = memref.subview %whole[0, 8] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1], offset: 8>>
  memref.copy %part, %box : memref<4x8xf32> to memref<4x8xf32, strided<[32, 1], offset: 8>>
  linalg.tanh ins(%whole : memref<4x32xf32>) outs(%out : memref<4x32xf32>)
  return
}

// A box with a computed number of rows may be defined only after the writer.
// CHECK-LABEL: @computed_size
// CHECK:      linalg.exp
// CHECK:      memref.copy
// CHECK:      return
func.func private @computed_size(%x: memref<?x8xf32>, %out: memref<4x32xf32>) {
  %c0 = arith.constant 0 : index
  %most = arith.constant 4 : index
  %part = memref.alloc(%most) : memref<?x8xf32>
  linalg.exp ins(%x : memref<?x8xf32>) outs(%part : memref<?x8xf32>)
  %rows = memref.dim %x, %c0 : memref<?x8xf32>
  %whole = memref.alloc() : memref<4x32xf32>
  %box = memref.subview %whole[0, 8] [%rows, 8] [1, 1] : memref<4x32xf32> to memref<?x8xf32, strided<[32, 1], offset: 8>>
  memref.copy %part, %box : memref<?x8xf32> to memref<?x8xf32, strided<[32, 1], offset: 8>>
  linalg.tanh ins(%whole : memref<4x32xf32>) outs(%out : memref<4x32xf32>)
  return
}

// The other box lies at a computed place, perhaps the same one: then the copy must replace its contents.
// CHECK-LABEL: @other_at_computed_place
// CHECK:      linalg.exp
// CHECK:      linalg.fill
// CHECK:      memref.copy
// CHECK:      return
func.func private @other_at_computed_place(%x: memref<4x8xf32>, %at: index, %out: memref<4x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %part = memref.alloc() : memref<4x8xf32>
  linalg.exp ins(%x : memref<4x8xf32>) outs(%part : memref<4x8xf32>)
  %whole = memref.alloc() : memref<4x32xf32>
  %other = memref.subview %whole[0, %at] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1], offset: ?>>
  linalg.fill ins(%zero : f32) outs(%other : memref<4x8xf32, strided<[32, 1], offset: ?>>)
  %box = memref.subview %whole[0, 8] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1], offset: 8>>
  memref.copy %part, %box : memref<4x8xf32> to memref<4x8xf32, strided<[32, 1], offset: 8>>
  linalg.tanh ins(%whole : memref<4x32xf32>) outs(%out : memref<4x32xf32>)
  return
}

// The whole is filled before the copy. If the part were written to its box directly, the fill would overwrite it.
// CHECK-LABEL: @filled_before
// CHECK:      linalg.exp
// CHECK:      linalg.fill
// CHECK:      memref.copy
// CHECK:      return
func.func private @filled_before(%x: memref<4x8xf32>, %out: memref<4x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %part = memref.alloc() : memref<4x8xf32>
  linalg.exp ins(%x : memref<4x8xf32>) outs(%part : memref<4x8xf32>)
  %whole = memref.alloc() : memref<4x32xf32>
  linalg.fill ins(%zero : f32) outs(%whole : memref<4x32xf32>)
  %box = memref.subview %whole[0, 8] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1], offset: 8>>
  memref.copy %part, %box : memref<4x8xf32> to memref<4x8xf32, strided<[32, 1], offset: 8>>
  linalg.tanh ins(%whole : memref<4x32xf32>) outs(%out : memref<4x32xf32>)
  return
}

// Rows of 9 float32: all but the first begin at addresses that wide loads do not support.
// CHECK-LABEL: @odd_rows
// CHECK:      linalg.exp
// CHECK:      memref.copy
// CHECK:      return
func.func private @odd_rows(%x: memref<4x8xf32>, %out: memref<4x9xf32>) {
  %part = memref.alloc() : memref<4x8xf32>
  linalg.exp ins(%x : memref<4x8xf32>) outs(%part : memref<4x8xf32>)
  %whole = memref.alloc() : memref<4x9xf32>
  %box = memref.subview %whole[0, 0] [4, 8] [1, 1] : memref<4x9xf32> to memref<4x8xf32, strided<[9, 1]>>
  memref.copy %part, %box : memref<4x8xf32> to memref<4x8xf32, strided<[9, 1]>>
  linalg.tanh ins(%whole : memref<4x9xf32>) outs(%out : memref<4x9xf32>)
  return
}

// 8 bfloat16 are 16 bytes: rows and boxes of 8 are written directly, those of 4 are copied.
// CHECK-LABEL: @bytes_not_elements
// CHECK:      %[[WHOLE:.*]] = memref.alloc() : memref<4x24xbf16>
// CHECK:      %[[BOX:.*]] = memref.subview %[[WHOLE]][0, 8] [4, 8] [1, 1]
// CHECK:      linalg.exp {{.*}}outs(%[[BOX]] :
// CHECK:      %[[PART:.*]] = memref.alloc() : memref<4x4xbf16>
// CHECK:      linalg.exp {{.*}}outs(%[[PART]] :
// CHECK:      memref.copy %[[PART]]
// CHECK-NOT:  memref.copy
// CHECK:      return
func.func private @bytes_not_elements(%x: memref<4x8xbf16>, %y: memref<4x4xbf16>, %out: memref<4x24xbf16>) {
  %whole = memref.alloc() : memref<4x24xbf16>
  %part = memref.alloc() : memref<4x8xbf16>
  linalg.exp ins(%x : memref<4x8xbf16>) outs(%part : memref<4x8xbf16>)
  %box = memref.subview %whole[0, 8] [4, 8] [1, 1] : memref<4x24xbf16> to memref<4x8xbf16, strided<[24, 1], offset: 8>>
  memref.copy %part, %box : memref<4x8xbf16> to memref<4x8xbf16, strided<[24, 1], offset: 8>>
  %small = memref.alloc() : memref<4x4xbf16>
  linalg.exp ins(%y : memref<4x4xbf16>) outs(%small : memref<4x4xbf16>)
  %last = memref.subview %whole[0, 20] [4, 4] [1, 1] : memref<4x24xbf16> to memref<4x4xbf16, strided<[24, 1], offset: 20>>
  memref.copy %small, %last : memref<4x4xbf16> to memref<4x4xbf16, strided<[24, 1], offset: 20>>
  linalg.tanh ins(%whole : memref<4x24xbf16>) outs(%out : memref<4x24xbf16>)
  return
}

// Another operation also reads the part. If the part were in the box, it would read strided rows of a larger array.
// CHECK-LABEL: @read_elsewhere
// CHECK:      linalg.exp
// CHECK:      memref.copy
// CHECK:      return
func.func private @read_elsewhere(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %out: memref<4x32xf32>) {
  %part = memref.alloc() : memref<4x8xf32>
  linalg.exp ins(%x : memref<4x8xf32>) outs(%part : memref<4x8xf32>)
  %whole = memref.alloc() : memref<4x32xf32>
  %box = memref.subview %whole[0, 8] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1], offset: 8>>
  memref.copy %part, %box : memref<4x8xf32> to memref<4x8xf32, strided<[32, 1], offset: 8>>
  linalg.tanh ins(%part : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
  linalg.tanh ins(%whole : memref<4x32xf32>) outs(%out : memref<4x32xf32>)
  return
}
