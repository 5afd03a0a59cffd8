// RUN: pp-opt --split-input-file --verify-diagnostics %s

// node_c2: no more times than results.
pipeline.graph @step() -> () attributes {layers = ["a"]} {
  // expected-error @below {{has 1 results and transfer times for 2}}
  %a = pipeline.node "a.F" phase F layer 0 () {transfer = array<f64: 1.0, 2.0>} : () -> tensor<8xi8>
  pipeline.yield results []
}

// -----

// node_c2: times are finite and not negative.
pipeline.graph @step() -> () attributes {layers = ["a"]} {
  // expected-error @below {{transfer times must be finite and at least 0, got -1.0}}
  %a = pipeline.node "a.F" phase F layer 0 () {transfer = array<f64: -1.0>} : () -> tensor<8xi8>
  pipeline.yield results []
}

// -----

// node_c2
pipeline.graph @step() -> () attributes {layers = ["a"]} {
  // expected-error @below {{transfer times must be finite and at least 0, got nan}}
  %a = pipeline.node "a.F" phase F layer 0 () {transfer = array<f64: 0x7FF8000000000000>} : () -> tensor<8xi8>
  pipeline.yield results []
}

// -----

// node_c3
pipeline.graph @step() -> () attributes {layers = ["a"]} {
  // expected-error @below {{alternative names layer 1, the graph has 1}}
  pipeline.node "a.F" phase F layer 0 () {alternatives = [#pipeline.alternative<name = "x", seconds = 1.0 : f64, sync_in = {"1" = 1.0 : f64}>]} : () -> ()
  pipeline.yield results []
}

// -----

// expected-error @below {{alternative "x": 'ways' must be at least 1 and 'parameters' at least 0, got 0 and 0}}
#way = #pipeline.alternative<name = "x", ways = 0, seconds = 1.0 : f64>

// -----

// expected-error @below {{costs of alternative "x" must be finite numbers of at least 0, got -1.000000e+00 : f64}}
#way = #pipeline.alternative<name = "x", seconds = -1.0 : f64>

// -----

// expected-error @below {{alternative "x": 'sync_in' and 'sync_out' map layer numbers to bytes of at least 0, got "first" = 1.000000e+00 : f64}}
#way = #pipeline.alternative<name = "x", seconds = 1.0 : f64, sync_out = {first = 1.0 : f64}>
