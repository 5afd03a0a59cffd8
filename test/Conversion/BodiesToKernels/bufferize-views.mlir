// RUN: pp-opt %s -body-pass-destinations -body-bufferize | FileCheck %s

// A view that has steps and drops dimensions becomes two views.
// CHECK-LABEL: @stepped
// CHECK: %[[STEPPED:.*]] = memref.subview %{{.*}}[0, 0, 3] [2, 1, 1] [3, 1, 1] : memref<5x1x6xf32> to memref<2x1x1xf32,
// CHECK: memref.subview %[[STEPPED]][0, 0, 0] [2, 1, 1] [1, 1, 1] : memref<2x1x1xf32, {{.*}}> to memref<2xf32,
func.func private @stepped(%x: tensor<5x1x6xf32>) -> tensor<2xf32> {
  %0 = tensor.extract_slice %x[0, 0, 3] [2, 1, 1] [3, 1, 1] : tensor<5x1x6xf32> to tensor<2xf32>
  %1 = tensor.empty() : tensor<2xf32>
  %2 = linalg.exp ins(%0 : tensor<2xf32>) outs(%1 : tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// Branches yield one layout, so a slice that one of them yields unchanged is copied.
// CHECK-LABEL: @chosen
// CHECK: scf.if %{{.*}} -> (memref<4xf32>)
// CHECK: } else {
// CHECK: memref.copy
// CHECK-NOT: memref.cast
// CHECK: return
func.func private @chosen(%which: tensor<i1>, %at: tensor<index>, %x: tensor<8x4xf32>) -> tensor<4xf32> {
  %c = tensor.extract %which[] : tensor<i1>
  %i = tensor.extract %at[] : tensor<index>
  %row = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>
  %chosen = scf.if %c -> (tensor<4xf32>) {
    %0 = tensor.empty() : tensor<4xf32>
    %1 = linalg.exp ins(%row : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %row : tensor<4xf32>
  }
  %2 = tensor.empty() : tensor<4xf32>
  %3 = linalg.exp ins(%chosen : tensor<4xf32>) outs(%2 : tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// So is a slice that a branch could update in place, because the two branches may have different copies.
// CHECK-LABEL: @written
// CHECK: scf.if %{{.*}} -> (memref<4xf32>)
// CHECK-NOT: memref.cast
// CHECK: return
func.func private @written(%which: tensor<i1>, %at: tensor<index>, %x: tensor<8x4xf32>) -> tensor<4xf32> {
  %s = arith.constant 2.0 : f32
  %c = tensor.extract %which[] : tensor<i1>
  %i = tensor.extract %at[] : tensor<index>
  %empty = tensor.empty() : tensor<8x4xf32>
  %y = linalg.exp ins(%x : tensor<8x4xf32>) outs(%empty : tensor<8x4xf32>) -> tensor<8x4xf32>
  %row = tensor.extract_slice %y[%i, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>
  %chosen = scf.if %c -> (tensor<4xf32>) {
    %0 = tensor.extract_slice %row[1] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %1 = linalg.fill ins(%s : f32) outs(%0 : tensor<2xf32>) -> tensor<2xf32>
    %2 = tensor.insert_slice %1 into %row[1] [2] [1] : tensor<2xf32> into tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  } else {
    scf.yield %row : tensor<4xf32>
  }
  %3 = tensor.empty() : tensor<4xf32>
  %4 = linalg.exp ins(%chosen : tensor<4xf32>) outs(%3 : tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
