// RUN: pp-opt --split-input-file --verify-diagnostics %s

// Role attributes that contradict each other or the shapes are refused wherever they stand.

// expected-error @below {{'pipeline.role' of argument 0 must be one of "parameter", "batch", "constant", "seed", "microbatch", "gradient", "state", got "weight"}}
func.func @step(%w: tensor<4xf32> {pipeline.role = "weight"}) { return }

// -----

// expected-error @below {{'pipeline.batch_dim' of argument 0 must be an integer from 0 to 1, got 2}}
func.func @step(%x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.batch_dim = 2 : i64}) { return }

// -----

// expected-error @below {{'pipeline.slices' of argument 0 must equal dimension 0 of 'tensor<8x4xf32>', got 4}}
func.func @step(%w: tensor<8x4xf32> {pipeline.role = "parameter", pipeline.slices = 4 : i64}) { return }

// -----

// expected-error @below {{'pipeline.slices' of argument 0 needs a tensor with a dimension 0, got 'tensor<f32>'}}
func.func @step(%w: tensor<f32> {pipeline.role = "parameter", pipeline.slices = 1 : i64}) { return }

// -----

// expected-error @below {{argument 0 has role "microbatch" and must be tensor<i32>, got 'tensor<f32>'}}
func.func @step(%m: tensor<f32> {pipeline.role = "microbatch"}) { return }

// -----

// expected-error @below {{result 0 has role "loss" and must be a scalar tensor of floats, got 'tensor<4xf32>'}}
func.func @step(%x: tensor<4xf32>) -> (tensor<4xf32> {pipeline.role = "loss"}) { return %x : tensor<4xf32> }

// -----

// expected-error @below {{result 0 has role "gradient" and needs 'pipeline.of', the number of its argument}}
func.func @step(%x: tensor<4xf32>) -> (tensor<4xf32> {pipeline.role = "gradient"}) { return %x : tensor<4xf32> }

// -----

// expected-error @below {{'pipeline.of' of result 0 must be an integer from 0 to 0, got 1}}
func.func @step(%x: tensor<4xf32>) -> (tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1 : i64}) { return %x : tensor<4xf32> }

// -----

// expected-error @below {{result 0 is the gradient of argument 0, which must have role "parameter", got "batch"}}
func.func @step(%x: tensor<4xf32> {pipeline.role = "batch"}) -> (tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{result 0 is the gradient of argument 0 and must have its shape, got 'tensor<2xf32>' and 'tensor<4xf32>'}}
func.func @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<2xf32>)
    -> (tensor<2xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64}) {
  return %x : tensor<2xf32>
}

// -----

// expected-error @below {{'pipeline.combine' of result 0 must be one of "mean", "sum", "concat", "last", got "max"}}
func.func @step(%x: tensor<4xf32>) -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "max"}) { return %x : tensor<4xf32> }

// -----

// expected-error @below {{result 0 is joined by "concat" and has no dimension to join along, got 'tensor<f32>'}}
func.func @step(%x: tensor<f32>) -> (tensor<f32> {pipeline.role = "output", pipeline.combine = "concat"}) { return %x : tensor<f32> }

// -----

// expected-error @below {{'pipeline.microbatches' of the module must be an integer from 1 to 65536, got 0}}
module attributes {pipeline.microbatches = 0 : i64} {}

// -----

// expected-error @below {{'pipeline.cluster' must be a string such as "local:2", got 2}}
module attributes {pipeline.cluster = 2 : i64} {}

// -----

// expected-error @below {{'pipeline.name' of argument 0 must be a string, got 3}}
func.func @step(%a: tensor<2xf32> {pipeline.name = 3 : i64}) { return }

// -----

// expected-error @below {{'pipeline.position' of argument 0 must be an integer from 0 to 2147483647, got -5}}
func.func @step(%a: tensor<2xf32> {pipeline.position = -5 : i64}) { return }

// -----

// expected-error @below {{'pipeline.value' of argument 0 must be elements of type 'tensor<2xf32>'}}
func.func @step(%a: tensor<2xf32> {pipeline.value = dense<1.0> : tensor<3xf32>}) { return }
