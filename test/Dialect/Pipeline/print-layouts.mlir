// RUN: pp-opt %s --pipeline-print-layouts -o /dev/null | FileCheck %s
// RUN: pp-opt %s --pipeline-print-layouts=ways=3 -o /dev/null | FileCheck %s --check-prefix=THREE
// RUN: pp-opt %s --pipeline-print-layouts=ways=5 -o /dev/null | FileCheck %s --check-prefix=FIVE

// Two equal layers x up down and a pooling over windows of rows: hidden units can be split in both layers, with a sum in each;
// rows of x, up to the windows; the result of the pooling, only along its width.

// CHECK: 6 of 8 linkage classes can be split over 2 devices
// CHECK-NEXT: 100.0 % of the flops in contractions can be split
// CHECK-EMPTY:
// CHECK-NEXT: {{^}}h*
// CHECK: {{^}}  2 classes of size 12: h/*/up dim 1, h/*/down dim 0, 2 intermediate values
// CHECK-NEXT: {{^}}    whole, or in up to 12 parts
// CHECK-NEXT: {{^}}    split by --shard='h/*/up=1,h/*/down=0': 100.0 % of contraction flops on parts; 2 sums, 0 joins, 0 exchanges
// CHECK: {{^}}  1 class of size 8: x dim 0, 4 intermediate values
// CHECK: {{^}}    split by --shard='x=0': 100.0 % of contraction flops on parts; 0 sums, 1 join, 0 exchanges
// CHECK-NEXT: {{^}}    needs whole values: linalg.generic (add) in pool: it reads windows, strided elements or a diagonal of the split dimension
// CHECK: {{^}}h*, pool
// CHECK: split by --shard='h/1/down=1': 25.0 % of contraction flops on parts; 0 sums, 1 join, 0 exchanges
// CHECK: {{^}}pool
// CHECK: {{^}}  1 class of size 4: 1 intermediate value
// CHECK: {{^}}    not split: linalg.generic (add) in pool: no parameter or batch has this dimension

// Parts need not be equal, but every device has one.
// THREE: 6 of 8 linkage classes can be split over 3 devices
// THREE: {{^}}  1 class of size 4: h/*/up dim 0, x dim 1
// THREE-NEXT: {{^}}    whole, or in up to 4 parts
// THREE-NEXT: {{^}}    split by --shard='h/0/up=0,x=1': 25.0 % of contraction flops on parts
// FIVE: 3 of 8 linkage classes can be split over 5 devices
// FIVE-NEXT: 100.0 % of the flops
// FIVE: {{^}}  1 class of size 4: h/*/up dim 0, x dim 1
// FIVE: {{^}}    not split: linalg.matmul (dot) in h*: 4 is less than 5
// FIVE: {{^}}    split by --shard='h/*/up=1,h/*/down=0': 100.0 %

func.func @step(%up: tensor<4x12xf32> {pipeline.role = "parameter", pipeline.name = "h/0/up"},
                %down: tensor<12x4xf32> {pipeline.role = "parameter", pipeline.name = "h/0/down"},
                %up1: tensor<4x12xf32> {pipeline.role = "parameter", pipeline.name = "h/1/up"},
                %down1: tensor<12x4xf32> {pipeline.role = "parameter", pipeline.name = "h/1/down"},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"})
    -> (tensor<4x4xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %eh = tensor.empty() : tensor<8x12xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<8x12xf32>) -> tensor<8x12xf32>
  %ey = tensor.empty() : tensor<8x4xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<8x4xf32>) -> tensor<8x4xf32>
  %h0 = linalg.matmul ins(%x, %up : tensor<8x4xf32>, tensor<4x12xf32>) outs(%zh : tensor<8x12xf32>) -> tensor<8x12xf32> loc("jit(step)/h0/dot")
  %y0 = linalg.matmul ins(%h0, %down : tensor<8x12xf32>, tensor<12x4xf32>) outs(%zy : tensor<8x4xf32>) -> tensor<8x4xf32> loc("jit(step)/h0/dot")
  %h1 = linalg.matmul ins(%y0, %up1 : tensor<8x4xf32>, tensor<4x12xf32>) outs(%zh : tensor<8x12xf32>) -> tensor<8x12xf32> loc("jit(step)/h1/dot")
  %y1 = linalg.matmul ins(%h1, %down1 : tensor<8x12xf32>, tensor<12x4xf32>) outs(%zy : tensor<8x4xf32>) -> tensor<8x4xf32> loc("jit(step)/h1/dot")
  // Sums of two neighbours of the rows 2i: a window.
  %two = tensor.empty() : tensor<2xf32>
  %ep = tensor.empty() : tensor<4x4xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i * 2 + k, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y1, %two : tensor<8x4xf32>, tensor<2xf32>) outs(%zp : tensor<4x4xf32>) {
  ^bb0(%in: f32, %unused: f32, %sum: f32):
    %a = arith.addf %sum, %in : f32
    linalg.yield %a : f32
  } -> tensor<4x4xf32> loc("jit(step)/pool/add")
  return %p : tensor<4x4xf32>
}
