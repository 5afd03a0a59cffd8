// RUN: pp-opt %s | pp-opt | FileCheck %s
// RUN: pp-opt %s --mlir-print-op-generic | pp-opt | FileCheck %s
// RUN: pp-opt %s --emit-bytecode | pp-opt | FileCheck %s

// A node without a body, with the facts of a profile that was measured elsewhere.

// CHECK-LABEL: pipeline.graph @step
pipeline.graph @step() -> () attributes {layers = ["a", "b"]} {
  // CHECK: "a.F" {{.*}} cost <seconds = {profiled = 2.500000e-01 : f64}> {sliceable = false, transfer = array<f64: 5.000000e-01>} : () -> (tensor<8xi8>, tensor<0xi8>)
  %a:2 = pipeline.node "a.F" phase F layer 0 () cost <seconds = {"profiled" = 0.25 : f64}>
      {sliceable = false, transfer = array<f64: 0.5>} : () -> (tensor<8xi8>, tensor<0xi8>)
  // CHECK: "b.F" {{.*}} cost <> {alternatives = [#pipeline.alternative<name = "plain", seconds = 1.000000e+00 : f64>,
  // CHECK-SAME: #pipeline.alternative<name = "split", ways = 2, recompute = true, seconds = 5.000000e-01 : f64, parameters = 64, per_sample = 8.000000e+00 : f64, fixed = 3.200000e+01 : f64, sync_in = {"0" = 4.000000e+00 : f64}, sync_out = {"1" = 0.000000e+00 : f64}>]}
  pipeline.node "b.F" phase F layer 1 (%a#0, %a#1) cost <>
      {alternatives = [#pipeline.alternative<name = "plain", seconds = 1.0 : f64>,
                       #pipeline.alternative<name = "split", ways = 2, recompute = true, seconds = 0.5 : f64, parameters = 64,
                                             per_sample = 8.0 : f64, fixed = 32.0 : f64, sync_in = {"0" = 4.0 : f64},
                                             sync_out = {"1" = 0.0 : f64}>]} : (tensor<8xi8>, tensor<0xi8>) -> ()
  pipeline.yield results []
}
