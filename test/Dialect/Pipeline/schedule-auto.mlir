// RUN: pp-opt %s -pipeline-schedule=kind=auto 2>&1 | FileCheck %s
// RUN: pp-opt %s -pipeline-partition="stages=2 max-replicas=1 schedule=1f1b" -pipeline-schedule="kind=auto split=false objective=span" 2>&1 | FileCheck %s --check-prefix=WHOLE

// The remark states the time of the order, the lower bound for this placement, and the source of the order.
// CHECK: remark: auto: makespan {{.*}}, at least {{.*}} placed linear ({{.*}}, rank {{[01]}}): gap 0.00 %; span {{.*}}, at least {{.*}} placed linear ({{.*}}, rank {{[01]}}): gap {{.*}} %; m*T of the busiest rank {{.*}}; from {{.+}}, optimal
// CHECK: pipeline.schedule @auto of @plan kind "auto" {
// WHOLE: remark: auto: {{.*}}; span {{.*}}: gap 0.00 %; {{.*}}, optimal
// WHOLE: pipeline.order 0 <0F0, {{[0-9FB, ]*}}>
module attributes {pipeline.cluster = "local:2", pipeline.microbatches = 4 : i64} {
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b", "c", "d"]} {
  %a = pipeline.node "a.F" phase F layer 0 (%w, %x) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = pipeline.node "b.F" phase F layer 1 (%a) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %c = pipeline.node "c.F" phase F layer 2 (%b) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %d = pipeline.node "d.F" phase F layer 3 (%c) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<f32>
  %di = pipeline.node "d.I" phase I layer 3 (%c) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %ci = pipeline.node "c.I" phase I layer 2 (%di) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %bi = pipeline.node "b.I" phase I layer 1 (%ci) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %aw = pipeline.node "a.W" phase W layer 0 (%bi) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %d, %aw results [0, 1] : tensor<f32>, tensor<4xf32>
}
}
