// RUN: pp-opt --pipeline-infer-roles --split-input-file --verify-diagnostics %s

// expected-error @below {{no function @step, and 2 public functions to choose from; rename the one to compile to @step}}
module {
  // expected-note @below {{@f is a candidate}}
  func.func @f() { return }
  // expected-note @below {{@g is a candidate}}
  func.func @g() { return }
}

// -----

// expected-error @below {{no function @step, and 0 public functions to choose from}}
module {}

// -----

// expected-error @below {{@step has no body}}
func.func private @step(tensor<4xf32>) -> tensor<4xf32>

// -----

// expected-error @below {{argument 0 %arg0 has dynamic shape 'tensor<?x4xf32>'; a step is compiled for fixed sizes: import it with static shapes}}
func.func @step(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}

// -----

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %n = arith.constant 4 : index
  // expected-error @below {{value %0 has dynamic shape 'tensor<?xf32>'}}
  %e = tensor.empty(%n) : tensor<?xf32>
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 %arg0 must be a ranked tensor, got 'f32'}}
func.func @step(%x: f32) -> f32 {
  return %x : f32
}

// -----

// expected-error @below {{result 0 must be a ranked tensor, got 'f32'}}
func.func @step(%x: tensor<4xf32>) -> f32 {
  %c = arith.constant 1.0 : f32
  return %c : f32
}

// -----

// expected-error @below {{argument 1 has no 'pipeline.role' while others have one; give every argument a role, or none for an inference graph}}
func.func @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32>) -> (tensor<4xf32> {pipeline.role = "output"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{result 0 has no 'pipeline.role' while others have one}}
func.func @step(%x: tensor<4xf32> {pipeline.role = "batch"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 has role "batch" but no batch dimension, got 'tensor<f32>'; its role may be "constant"}}
func.func @step(%x: tensor<f32> {pipeline.role = "batch"}) -> (tensor<f32> {pipeline.role = "loss"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{results 0 and 1 are both the gradient of argument 0; one of them may be an "output"}}
func.func @step(%w: tensor<4xf32> {pipeline.role = "parameter"})
    -> (tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64}) {
  return %w, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{arguments 0 and 1 both have 'pipeline.position' 0; give every argument its own}}
func.func @step(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.position = 0 : i64},
                %x: tensor<4xf32> {pipeline.role = "batch", pipeline.position = 0 : i64}) -> (tensor<4xf32> {pipeline.role = "output"}) {
  %0 = arith.addf %w, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 %arg0 has more than 281474976710656 bytes: 'tensor<4611686018427387904x8xf32>'}}
func.func @step(%x: tensor<4611686018427387904x8xf32>) -> tensor<4611686018427387904x8xf32> {
  return %x : tensor<4611686018427387904x8xf32>
}
