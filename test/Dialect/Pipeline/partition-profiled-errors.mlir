// RUN: pp-opt --verify-diagnostics %s -pipeline-partition="cluster=local:1 microbatches=2 planner=balance"

// A node without a body has times only for the classes on which it was measured.
pipeline.graph @step() -> () attributes {layers = ["a"]} {
  // expected-error @below {{'a.F' has no seconds for device class 'cpu-core', nor for 'profiled'}}
  pipeline.node "a.F" phase F layer 0 () cost <seconds = {"gpu" = 1.0 : f64}> : () -> ()
  pipeline.yield results []
}
