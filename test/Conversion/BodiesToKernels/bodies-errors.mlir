// RUN: pp-opt %s --split-input-file --body-pass-destinations --verify-diagnostics

// expected-error @below {{body has a dynamic shape in its signature; every shape must be static}}
func.func private @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// expected-error @below {{body accumulates into 2 arguments but has 1 results}}
func.func private @sums(%x: tensor<8xf32> {rank.accumulate}, %y: tensor<8xf32> {rank.accumulate}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
