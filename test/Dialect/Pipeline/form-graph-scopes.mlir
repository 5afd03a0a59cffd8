// RUN: pp-opt --pipeline-form-graph %s | FileCheck %s
// RUN: pp-opt --pipeline-form-graph='layers=M/h/*' %s | FileCheck %s
// RUN: pp-opt --pipeline-form-graph=layers=2 %s | FileCheck %s --check-prefix=TWO
// RUN: pp-opt --pipeline-form-graph=layers=flow %s | FileCheck %s --check-prefix=FLOW
// RUN: pp-opt '--pipeline-partition=cluster=local:2 stages=2 microbatches=2 layers=2' %s | FileCheck %s --check-prefix=TWO
// RUN: pp-plan %s --cluster=local:2 --microbatches=2 --layers=2 --json | FileCheck %s --check-prefix=PLAN
// RUN: pp-compile %s --cluster=local:2 --microbatches=2 --layers=2 --emit=program | FileCheck %s --check-prefix=TWO
// RUN: not pp-compile %s --cluster=local:2 --microbatches=2 --layers=M//h --emit=graph 2>&1 | FileCheck %s --check-prefix=EMPTY

// Layers are the scopes at the level at which the model repeats: blocks 0 and 1, between which one value passes, not the
// list that holds them, nor their parts, between which the residual passes too. Operations of M itself join a neighbouring
// layer.
// CHECK: layers = ["M.h.0", "M.h.1", "M.head"]
// TWO: layers = ["M.h", "M.head"]
// FLOW: layers = ["layer0", "layer1", "layer2"]
// PLAN: M.h
// EMPTY: error: layers must be auto, flow, a depth of at least 1 or a pattern such as transformer/h/*, got 'M//h': a component is empty
func.func @step(%x: tensor<4x8xf32> {pipeline.role = "batch"}, %w: tensor<8x8xf32> {pipeline.role = "parameter"},
                %v: tensor<8x8xf32> {pipeline.role = "parameter"}, %u: tensor<8x8xf32> {pipeline.role = "parameter"})
    -> (tensor<4x8xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %x0 = math.sin %x : tensor<4x8xf32> loc("jit(step)/M/sin")
  %a0 = linalg.matmul ins(%x0, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32> loc("jit(step)/M/h/0/fc_0/dot")
  %b0 = math.tanh %a0 : tensor<4x8xf32> loc("jit(step)/M/h/0/act/tanh")
  %c0 = arith.addf %b0, %x0 : tensor<4x8xf32> loc("jit(step)/M/h/0/add")
  %a1 = linalg.matmul ins(%c0, %v : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32> loc("jit(step)/M/h/1/fc_0/dot")
  %b1 = math.tanh %a1 : tensor<4x8xf32> loc("jit(step)/M/h/1/act/tanh")
  %c1 = arith.addf %b1, %c0 : tensor<4x8xf32> loc("jit(step)/M/h/1/add")
  %y = linalg.matmul ins(%c1, %u : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32> loc("jit(step)/M/head/dot")
  return %y : tensor<4x8xf32>
}
