// RUN: pp-opt --split-input-file --verify-diagnostics %s

// One case per constraint of graph, node and yield; the label stands above it.

// graph_c1
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  // expected-error @below {{layer must be at least 0 and less than 1, the number of layers, got 1}}
  %h = pipeline.node "a.F" phase F layer 1 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}

// -----

// graph_c2
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{name 'a.F' is taken by another node}}
  %k = pipeline.node "a.F" phase F layer 0 (%h) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %k results [0] : tensor<f32>
}

// -----

// graph_c3: a forward reads no backward.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  // expected-note @below {{made by node 'a.B'}}
  %h = pipeline.node "a.B" phase B layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{of phase F must take values of phase F, got one of phase B}}
  %k = pipeline.node "a.F" phase F layer 0 (%h) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %k results [0] : tensor<f32>
}

// -----

// graph_c3: a forward reads no later layer.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a", "b"]} {
  // expected-note @below {{made by node 'b.F'}}
  %h = pipeline.node "b.F" phase F layer 1 (%x) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{of phase F in layer 0 cannot take a value of layer 1}}
  %k = pipeline.node "a.F" phase F layer 0 (%h) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %k results [0] : tensor<f32>
}

// -----

// graph_c4: a backward reads no earlier layer's backward.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a", "b"]} {
  // expected-note @below {{made by node 'a.I'}}
  %h = pipeline.node "a.I" phase I layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{of phase W in layer 1 cannot take a value of layer 0}}
  %k = pipeline.node "b.W" phase W layer 1 (%h) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %k results [0] : tensor<f32>
}

// -----

// node_c1: no such body.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  // expected-error @below {{body @nobody is not a function}}
  %h = pipeline.node "a.F" @nobody phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}

// -----

// node_c1: other types.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  // expected-error @below {{body @body has other types than the node, got '(tensor<2xf32>) -> tensor<f32>' and '(tensor<f32>) -> tensor<f32>'}}
  %h = pipeline.node "a.F" @body phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}
// expected-note @below {{the body is declared here}}
func.func private @body(tensor<2xf32>) -> tensor<f32>

// -----

// yield_c1: as many numbers as operands.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  // expected-error @below {{needs one result number per operand, got 2 and 1}}
  pipeline.yield %x results [0, 0] : tensor<f32>
}

// -----

// yield_c1: within the results.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  // expected-error @below {{result number must be from 0 to 0, got 1}}
  pipeline.yield %x results [1] : tensor<f32>
}

// -----

// yield_c2: the type of the result.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<2xf32>) attributes {layers = ["a"]} {
  // expected-error @below {{result 0 must be 'tensor<2xf32>', got 'tensor<f32>'}}
  pipeline.yield %x results [0] : tensor<f32>
}

// -----

// yield_c2: every result.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {layers = ["a"]} {
  // expected-error @below {{result 1 has no operand}}
  pipeline.yield %x results [0] : tensor<f32>
}

// -----

// yield_c3
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32> {pipeline.role = "output"}) attributes {layers = ["a"]} {
  // expected-error @below {{result 0 has 2 operands, and only a gradient or a loss may come in parts}}
  pipeline.yield %x, %x results [0, 0] : tensor<f32>, tensor<f32>
}

// -----

// Costs are finite and not negative.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  // expected-error @below {{costs cannot be negative, got flops -1, read 0, written 0}}
  %h = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = -1, read = 0, written = 0> : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}

// -----

pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  // expected-error @below {{seconds of device class 'cpu-core' must be a finite number of at least 0, got -1.000000e+00 : f64}}
  %h = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 1, read = 0, written = 0, seconds = {"cpu-core" = -1.0 : f64}> : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}

// -----

// node_c4: only a forward has levels.
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32>
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  // expected-error @below {{of phase B has levels, which only a forward has}}
  %h = pipeline.node "a.B" phase B layer 0 (%x) {levels = [#pipeline.level<forward = @f, again = @f, results = [0],
      inputs = [-1], remade = [0]>]} : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}

// -----

// node_c4: its bodies are there,
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  // expected-error @below {{level @f, @g names a symbol that is not a function}}
  %h = pipeline.node "a.F" phase F layer 0 (%x) {levels = [#pipeline.level<forward = @f, again = @g, results = [0],
      inputs = [-1], remade = [0]>]} : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}

// -----

// node_c4: with a number for every value,
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32>
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  // expected-error @below {{level @f, @f needs one number in results for each result of forward, in inputs for each argument of again, and in remade for each result of again}}
  %h = pipeline.node "a.F" phase F layer 0 (%x) {levels = [#pipeline.level<forward = @f, again = @f, results = [0],
      inputs = [], remade = [0]>]} : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}

// -----

// node_c4: of a value that is there, of its type.
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32>
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  // expected-error @below {{level @f, @f takes value -2, which does not exist or has another type than the argument}}
  %h = pipeline.node "a.F" phase F layer 0 (%x) {levels = [#pipeline.level<forward = @f, again = @f, results = [0],
      inputs = [-2], remade = [0]>]} : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}

// -----

// Annotations are one string for each layer.
// expected-error @below {{'pipeline.annotations' must be a list on a pipeline.graph, got 7 : i64}}
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"], pipeline.annotations = 7} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}

// -----

// expected-error @below {{'pipeline.shard_annotations' must be a list on a pipeline.graph, got []}}
func.func private @f() attributes {pipeline.shard_annotations = []}

// -----

// expected-error @below {{'pipeline.shard_annotations' must have an annotation or "" for each layer, got 1 for 2 layers}}
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a", "b"], pipeline.shard_annotations = [""]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}

// -----

// expected-error @below {{'pipeline.shard_annotations' has 7 : i64, which is not an annotation; expected stagewright:replicate:N:NUMBER:PLACE or stagewright:split:N:NUMBER:PLACE}}
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"], pipeline.shard_annotations = [7]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}

// -----

// expected-error @below {{'pipeline.annotations' has "split(2)", which is not an annotation; expected stagewright:replicate:N:NUMBER:PLACE or stagewright:split:N:NUMBER:PLACE}}
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"], pipeline.annotations = ["split(2)"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}

// -----

// node_c5: U is the end of a step, not a part of a layer.
pipeline.graph @update(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  // expected-error @below {{has phase U, which no layer has; write F, B, I, W or R}}
  %h = pipeline.node "a.U" phase U layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}

// -----

pipeline.graph @letter(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  // expected-error @below {{expected F, B, I, W, R or U, got 'X'}}
  %h = pipeline.node "a.X" phase X layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}

// -----

// node_c4: of the node's own arguments.
func.func private @f(%x: tensor<8xf32>) -> tensor<4xf32>
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  // expected-error @below {{level @f, @f takes other arguments than the node}}
  %h = pipeline.node "a.F" phase F layer 0 (%x) {levels = [#pipeline.level<forward = @f, again = @f, results = [0],
      inputs = [-1], remade = [0]>]} : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}

// -----

// A graph holds nodes only.
// expected-error @below {{'pipeline.graph' op holds nodes only, got 'arith.constant'}}
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  %c = arith.constant 0 : index
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}

// -----

// expected-error @below {{'pipeline.graph' op needs a body}}
pipeline.graph @step(tensor<4xf32>) -> tensor<4xf32> attributes {layers = ["a"]}
