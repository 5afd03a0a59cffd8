// The hints that a remark writes give the same layouts: a glob stands for names with other numbers only if it matches no parameter
// that is split otherwise, and letters of a name that a glob would interpret are escaped.
// RUN: pp-opt %s --pipeline-shard="ways=2 hints='w1=1,h/*/u\[0\]=1,v=auto'" -o %t.given 2>&1 | FileCheck %s
// RUN: pp-opt %s --pipeline-shard="ways=2 hints='w1=1,h/*/u\[*\]=1,v=0'" -o %t.written
// RUN: cmp %t.given %t.written

// CHECK: as by --shard='w1=1,h/*/u\[*\]=1,v=0'
func.func @step(%w1: tensor<8x8xf32> {pipeline.role = "parameter", pipeline.name = "w1"},
                %wo: tensor<8x8xf32> {pipeline.role = "parameter", pipeline.name = "wo"},
                %u0: tensor<8x8xf32> {pipeline.role = "parameter", pipeline.name = "h/0/u[0]"},
                %u1: tensor<8x8xf32> {pipeline.role = "parameter", pipeline.name = "h/1/u[0]"},
                %v: tensor<8x8xf32> {pipeline.role = "parameter", pipeline.name = "v"},
                %x: tensor<4x8xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<4x8xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = linalg.matmul ins(%x, %w1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = linalg.matmul ins(%a, %wo : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = linalg.matmul ins(%b, %u0 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = linalg.matmul ins(%c, %u1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.matmul ins(%d, %v : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
