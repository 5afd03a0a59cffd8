// Inference has no backwards to split: single gangs are planned for it too.
// RUN: pp-compile %s --cluster=local:2 --tensor-parallel=auto --microbatches=1 --emit=program 2>&1 >/dev/null | FileCheck %s
// RUN: pp-compile %s --cluster=local:2 --tensor-parallel=auto --microbatches=1 --schedule=zb-h1 --emit=program 2>&1 >/dev/null | FileCheck %s --check-prefix=SPLITS

// CHECK: remark: layers over 2 shards: {{.*}} a step, in 1 stage and 1 copy; at least
// A schedule that splits backwards is a pipeline, which one gang is not: a reason is stated.
// SPLITS: remark: layers over 2 shards have no plan: {{[a-z].*}}

func.func @step(%w: tensor<64x64xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                %x: tensor<32x64xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<32x64xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x64xf32>) outs(%init : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}
