pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%w, %x) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l:2 = pipeline.node "b.F" phase F layer 1 (%h) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  %d = pipeline.node "b.I" phase I layer 1 (%l#1) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %g = pipeline.node "a.W" phase W layer 0 (%d) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l#0, %g results [0, 1] : tensor<f32>, tensor<4xf32>
}
pipeline.cluster @pair {
  pipeline.device @d0 class "unit" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "unit" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.link @d0 to @d1 bandwidth 4.0 latency 0.0
}
pipeline.program @plan of @step on @pair microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}
pipeline.schedule @waits of @plan kind "by hand" {
  pipeline.order 0 <0F0, 0B0, 0F1, 0B1>
  pipeline.order 1 <1F0, 1F1, 1B0, 1B1>
}
