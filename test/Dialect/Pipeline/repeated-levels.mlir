// RUN: pp-opt %s --pipeline-repeat-layers=layers=0-3 -o %t.again.mlir
// RUN: pp-compile %t.again.mlir --cluster=local:4 --tensor-parallel=2 --stages=2 --microbatches=2 --emit=program | FileCheck %s
// RUN: not pp-compile %t.again.mlir --cluster=local:4 --tensor-parallel=2 --stages=2 --microbatches=2 --recompute-layers --emit=program 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TWICE
// TWICE: error: layer 'b.t2.s1.again' repeats a forward already; leave out recompute-layers
// RUN: not pp-compile %t.again.mlir --cluster=local:6 --tensor-parallel=2 --stages=3 --microbatches=2 --emit=program 2>&1 \
// RUN:     | FileCheck %s --check-prefix=MANY
// RUN: pp-opt %s --pipeline-repeat-layers=layers=0-1,2-3 -o %t.each.mlir
// RUN: pp-compile %t.each.mlir --cluster=local:2 --tensor-parallel=2 --microbatches=2 --explain-memory -o %t.swx \
// RUN:     | FileCheck %s --check-prefix=MEMORY
// RUN: pp-opt %s --pipeline-repeat-layers=layers=0-0 -o %t.some.mlir
// RUN: pp-compile %t.some.mlir --cluster=local:2 --tensor-parallel=2 --microbatches=2 --emit=program | FileCheck %s --check-prefix=SOME
// RUN: pp-opt %s --pipeline-repeat-layers=layers=3-3 -o %t.other.mlir
// RUN: pp-compile %t.other.mlir --cluster=local:2 --tensor-parallel=2 --microbatches=2 --emit=program | FileCheck %s --check-prefix=OTHER
// RUN: echo '{"device_class": "cpu-core", "nodes": {"a.t0.s0.F": 1e-6}}' > %t.json
// RUN: pp-compile %s --cluster=local:2 --tensor-parallel=2 --recompute-layers --microbatches=2 --profile=%t.json --emit=program 2>&1 \
// RUN:     | FileCheck %s --check-prefix=ONCE

// Two levels that repeat together run on the devices of their repeats; no stage of the pipeline ends between them.
// CHECK: pipeline.stage 6 on [@d0] layers [7]
// CHECK-NEXT: pipeline.stage 7 on [@d1] layers [6]
// CHECK-NEXT: pipeline.stage 8 on [@d2] layers [8]
// MANY: error: layers that are split over shards cannot be cut into 3 stages, but into 2 at most

// Costs are estimated again, of what repeats, without the same remarks.
// ONCE: remark: profile '{{.*}}' has no time for 'a.t0.s1.F',
// ONCE-NOT: has no time
// ONCE: pipeline.node "a.t0.s0.again"

// A layer keeps what other layers make for it.
// MEMORY: a.t0.s0: keeps 0 B
// MEMORY: the plan keeps 0 B and repeats {{[0-9]+}} % of the forward's operations
// MEMORY: b.t2.s0: keeps 0 B
// MEMORY: the plan keeps 4.0 KiB and repeats {{[0-9]+}} % of the forward's operations

// One shard of a level may repeat its layer, and the other one not.
// SOME: pipeline.stage 0 on [@d0] layers [0, 1]
// OTHER: pipeline.stage 3 on [@d1] layers [3, 4]

pipeline.graph @step(%x: tensor<32x32xf32> {pipeline.role = "batch"},
                     %v: tensor<32x32xf32> {pipeline.role = "parameter"}, %w: tensor<32x32xf32> {pipeline.role = "parameter"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<32x32xf32> {pipeline.role = "gradient", pipeline.of = 1},
        tensor<32x32xf32> {pipeline.role = "gradient", pipeline.of = 2})
    attributes {layers = ["a.t0.s0", "a.t0.s1", "b.t2.s0", "b.t2.s1", "c.t4.s0", "c.t4.s1"],
                pipeline.stash = [{keeps = [], kept = 0 : i64, layer = "a.t0.s0", read = 0 : i64, repeats = []},
                                  {keeps = [], kept = 0 : i64, layer = "b.t2.s0", read = 0 : i64, repeats = []}]} {
  %a:2 = pipeline.node "a.t0.s0.F" @a.F phase F layer 0 (%x, %v)
      : (tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>)
  %b:2 = pipeline.node "a.t0.s1.F" @a.F phase F layer 1 (%x, %w)
      : (tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>)
  %c:2 = pipeline.node "b.t2.s0.F" @b.F phase F layer 2 (%a#0) : (tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>)
  %d:2 = pipeline.node "b.t2.s1.F" @b.F phase F layer 3 (%b#0) : (tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>)
  %l = pipeline.node "c.t4.s0.F" @c.F phase F layer 4 (%c#0) : (tensor<32x32xf32>) -> tensor<f32>
  %dc = pipeline.node "c.t4.s0.B" @c.B phase B layer 4 (%c#0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %dd = pipeline.node "c.t4.s1.B" @c.B phase B layer 5 (%d#0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %da = pipeline.node "b.t2.s0.B" @b.B phase B layer 2 (%dc, %c#1) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %db = pipeline.node "b.t2.s1.B" @b.B phase B layer 3 (%dd, %d#1) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %g = pipeline.node "a.t0.s0.B" @b.B phase B layer 0 (%da, %a#1) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %h = pipeline.node "a.t0.s1.B" @b.B phase B layer 1 (%db, %b#1) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  pipeline.yield %l, %g, %h results [0, 1, 2] : tensor<f32>, tensor<32x32xf32>, tensor<32x32xf32>
}
func.func private @a.F(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %k = arith.mulf %x, %w : tensor<32x32xf32>
  %y = math.exp %k : tensor<32x32xf32>
  return %y, %k : tensor<32x32xf32>, tensor<32x32xf32>
}
func.func private @b.F(%y: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %j = math.sin %y : tensor<32x32xf32>
  %z = math.exp %y : tensor<32x32xf32>
  return %z, %j : tensor<32x32xf32>, tensor<32x32xf32>
}
func.func private @c.F(%z: tensor<32x32xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce ins(%z : tensor<32x32xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
      (%in: f32, %out: f32) {
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return %sum : tensor<f32>
}
func.func private @c.B(%z: tensor<32x32xf32>) -> tensor<32x32xf32> {
  return %z : tensor<32x32xf32>
}
func.func private @b.B(%d: tensor<32x32xf32>, %j: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %e = arith.mulf %d, %j : tensor<32x32xf32>
  return %e : tensor<32x32xf32>
}
