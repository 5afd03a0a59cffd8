// RUN: pp-opt --pipeline-form-graph %s | FileCheck %s
// RUN: sed 's,/weight",/kernel/value",' %s | pp-opt --pipeline-form-graph | FileCheck %s
// RUN: pp-opt --pipeline-form-graph=layers=flow %s | FileCheck %s --check-prefix=FLOW
// RUN: pp-opt --pipeline-form-graph=layers=3 %s | FileCheck %s --check-prefix=DEEP

// Without scopes layers are the modules that hold the parameters, at the level at which the model repeats: the first reader of
// a parameter belongs to its module, an operation that reads none to that of its operands. The second reader of a tied
// embedding is not in it. Flax NNX keeps a parameter as the value of a variable; Equinox writes classes, not layers.

// CHECK: layers = ["blocks.0", "blocks.1"]
// CHECK: "blocks.0.F" @blocks.0.F phase F layer 0(
// CHECK: func.func private @blocks.0.F
// CHECK-COUNT-2: linalg.matmul
// CHECK: func.func private @blocks.1.F
// CHECK-COUNT-3: linalg.matmul
// FLOW: layers = ["layer0", "layer1", "layer2"
// DEEP: layers = ["blocks.0.up", "blocks.0.down", "blocks.1.up", "blocks.1.down"]
func.func @step(%x: tensor<4x8xf32> {pipeline.role = "constant"},
                %a: tensor<8x16xf32> {pipeline.role = "parameter", pipeline.name = "params/blocks/0/up/weight"},
                %b: tensor<16x8xf32> {pipeline.role = "parameter", pipeline.name = "params/blocks/0/down/weight"},
                %c: tensor<16x8xf32> {pipeline.role = "parameter", pipeline.name = "params/blocks/1/up/weight"},
                %d: tensor<16x8xf32> {pipeline.role = "parameter", pipeline.name = "params/blocks/1/down/weight"})
    -> (tensor<4x16xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x16xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%x, %a : tensor<4x8xf32>, tensor<8x16xf32>) outs(%z0 : tensor<4x16xf32>) -> tensor<4x16xf32> loc("jit(step)/jvp(eqx.nn.Linear)/dot_general")
  %1 = math.tanh %0 : tensor<4x16xf32>
  %2 = linalg.matmul ins(%1, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%z1 : tensor<4x8xf32>) -> tensor<4x8xf32> loc("jit(step)/jvp(eqx.nn.Linear)/dot_general")
  %3 = math.tanh %2 : tensor<4x8xf32>
  // A parameter through a transposition.
  %e2 = tensor.empty() : tensor<8x16xf32>
  %ct = linalg.transpose ins(%c : tensor<16x8xf32>) outs(%e2 : tensor<8x16xf32>) permutation = [1, 0]
  %4 = linalg.matmul ins(%3, %ct : tensor<4x8xf32>, tensor<8x16xf32>) outs(%z0 : tensor<4x16xf32>) -> tensor<4x16xf32> loc("jit(step)/jvp(eqx.nn.Linear)/dot_general")
  %5 = math.tanh %4 : tensor<4x16xf32>
  %6 = linalg.matmul ins(%5, %d : tensor<4x16xf32>, tensor<16x8xf32>) outs(%z1 : tensor<4x8xf32>) -> tensor<4x8xf32> loc("jit(step)/jvp(eqx.nn.Linear)/dot_general")
  %7 = linalg.matmul ins(%6, %a : tensor<4x8xf32>, tensor<8x16xf32>) outs(%z0 : tensor<4x16xf32>) -> tensor<4x16xf32> loc("jit(step)/jvp(eqx.nn.Linear)/dot_general")
  return %7 : tensor<4x16xf32>
}
