func.func private @a.F(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  BODY
  return %0 : tensor<4x8xf32>
}
pipeline.graph @step(%x: tensor<4x8xf32> {pipeline.role = "batch"}) -> (tensor<4x8xf32> {pipeline.role = "output"}) attributes {layers = ["a"]} {
  %0 = pipeline.node "a.F" @a.F phase F layer 0 (%x) cost <flops = 1000000, read = 0, written = 0> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  pipeline.yield %0 results [0] : tensor<4x8xf32>
}
