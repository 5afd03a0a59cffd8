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

// -----

// Slices over a grid of shards have numbers for each axis that splits them, at most two.

// expected-error @below {{'pipeline.slice_ways' of argument 0 must be a list with an entry for each of at most 2 axes, got array<i64: 2, 2, 2>}}
func.func @step(%w: tensor<4x4xf32> {pipeline.slice_ways = array<i64: 2, 2, 2>}) { return }

// -----

// expected-error @below {{'pipeline.slice_ways' of argument 0 must be a list with an entry for each of at most 2 axes, got 2 : i64}}
func.func @step(%w: tensor<4x4xf32> {pipeline.slice_ways = 2 : i64}) { return }

// -----

// expected-error @below {{'pipeline.slice_ways' of argument 0 must be a list of 2 integers from 2 to 2147483647, got array<i64: 2, 1>}}
func.func @step(%w: tensor<4x4xf32> {pipeline.slice_ways = array<i64: 2, 1>}) { return }

// -----

// expected-error @below {{argument 0 has 'pipeline.slice_ways' and needs 'pipeline.slice_dim' for each axis}}
func.func @step(%w: tensor<4x4xf32> {pipeline.slice_ways = array<i64: 2, 2>}) { return }

// -----

// expected-error @below {{'pipeline.slice_dim' of result 0 must be a list of 2 integers from 0 to 1, got array<i64: 0, 2>}}
func.func @step(%w: tensor<4x4xf32>) -> (tensor<4x4xf32> {pipeline.slice_ways = array<i64: 2, 2>, pipeline.slice_dim = array<i64: 0, 2>}) {
  return %w : tensor<4x4xf32>
}

// -----

// expected-error @below {{'pipeline.slice_outer' of argument 0 must be a list of 2 integers from 1 to 2147483647, got array<i64: 1>}}
func.func @step(%w: tensor<4x4xf32> {pipeline.slice_ways = array<i64: 2, 2>, pipeline.slice_dim = array<i64: 0, 1>, pipeline.slice_outer = array<i64: 1>}) { return }

// -----

// expected-error @below {{'pipeline.grid' of the step must be a list of 2 integers from 2 to 2147483647, got array<i64: 4>}}
func.func @step(%w: tensor<4xf32>) attributes {pipeline.grid = array<i64: 4>} { return }
