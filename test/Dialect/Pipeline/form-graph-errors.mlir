// RUN: pp-opt --pipeline-form-graph --split-input-file --verify-diagnostics %s
// RUN: not pp-opt --pipeline-form-graph=layers=0 --split-input-file %s 2>&1 | FileCheck %s --check-prefix=DEPTH
// RUN: not pp-opt --pipeline-inline-graph --split-input-file %s 2>&1 | FileCheck %s --check-prefix=INLINE

// DEPTH: error: layers must be auto, flow, a depth of at least 1 or a pattern such as transformer/h/*, got '0'
func.func private @print(tensor<4xf32>)
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'func.call' has side effects and cannot be moved to a stage; a step is made of operations on tensors}}
  func.call @print(%x) : (tensor<4xf32>) -> ()
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{@step must have one block, got 2; use structured control flow (scf) instead}}
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<4xf32>
}

// -----

// INLINE: error: 'a.F' has no body to inline; it is known by its costs alone
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}

// -----

// INLINE: error: 'a.F' calls @a.F, which has no body to inline
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  %h = pipeline.node "a.F" @a.F phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}
func.func private @a.F(tensor<4xf32>) -> tensor<4xf32>
