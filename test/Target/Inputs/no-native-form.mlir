func.func private @body(%x: tensor<2xindex>) -> tensor<2xindex> {
  %c = arith.constant 1 : index
  %n = shape.reduce(%x, %c) : tensor<2xindex> -> index {
  ^bb0(%i: index, %extent: index, %acc: index):
    %a = arith.muli %acc, %extent : index
    shape.yield %a : index
  }
  %y = tensor.splat %n : tensor<2xindex>
  return %y : tensor<2xindex>
}
