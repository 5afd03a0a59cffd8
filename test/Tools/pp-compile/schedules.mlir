// RUN: pp-compile %s --schedule=1f1b --emit=schedule | FileCheck %s --check-prefix=WHOLE
// RUN: pp-compile %s --schedule=zb-h1 --emit=schedule | FileCheck %s --check-prefix=APART
// RUN: pp-compile %s --schedule=auto --stages=2 --planner=balance --objective=span --emit=schedule 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: pp-compile %s --cluster=local:1 --schedule=interleaved --emit=schedule | FileCheck %s --check-prefix=CHUNKS
// RUN: pp-compile %s --cluster=local:1 --chunks=2 --emit=schedule | FileCheck %s --check-prefix=CHUNKS
// RUN: printf '0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n' > %t.csv
// RUN: pp-compile %s --schedule=%t.csv --emit=schedule | FileCheck %s --check-prefix=FILE
// RUN: not pp-compile %s --schedule=zigzag --emit=schedule 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not pp-compile %s --schedule=zb-v --chunks=1 --emit=schedule 2>&1 | FileCheck %s --check-prefix=FIT
// RUN: not pp-compile %s --schedule=%t.missing.csv --emit=schedule 2>&1 | FileCheck %s --check-prefix=MISSING

// I and W stay separate only for a schedule that runs them separately.
// WHOLE: pipeline.node "a.B"
// WHOLE: pipeline.schedule @one_f_one_b
// APART: pipeline.node "b.W"
// APART: pipeline.schedule @zb_h1
// APART-NEXT: pipeline.order 0 <0F0, {{.*}}0I0{{.*}}0W0
// AUTO: remark: auto: makespan
// AUTO: pipeline.schedule @auto of @plan kind "auto"
// CHUNKS: pipeline.stage 0 on [@d0] layers [0]
// CHUNKS-NEXT: pipeline.stage 1 on [@d0] layers [1]
// CHUNKS: pipeline.order 0 <0F0
// FILE: pipeline.schedule @csv of @plan kind "csv" {
// FILE-NEXT: pipeline.order 0 <0F0, 0F1, 0B0, 0B1>
// FILE-NEXT: pipeline.order 1 <1F0, 1B0, 1F1, 1B1>
// UNKNOWN: error: unknown schedule 'zigzag'; there are gpipe, 1f1b, {{.*}}, plan (what the plan was made for) and auto (the best that is found)
// FIT: error: zb-v wants 2 chunks per device placed v: partition with chunks=2 placement=v
// MISSING: error: {{.*}}missing.csv
module attributes {pipeline.cluster = "local:2", pipeline.microbatches = 2 : i64} {
  func.func @step(%w: tensor<8x8xf32> {pipeline.role = "parameter"}, %v: tensor<8x8xf32> {pipeline.role = "parameter"},
                  %x: tensor<8x8xf32> {pipeline.role = "batch", pipeline.batch_dim = 0 : i64})
      -> (tensor<8x8xf32> {pipeline.role = "output", pipeline.combine = "concat", pipeline.batch_dim = 0 : i64},
          tensor<8x8xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64, pipeline.combine = "mean"},
          tensor<8x8xf32> {pipeline.role = "gradient", pipeline.of = 1 : i64, pipeline.combine = "mean"}) {
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x8xf32>
    %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    %h = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32> loc("jit(step)/a/dot")
    %y = linalg.matmul ins(%h, %v : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32> loc("jit(step)/b/dot")
    %dv = linalg.matmul ins(%h, %y : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32> loc("jit(step)/transpose(b)/dot")
    %dh = linalg.matmul ins(%y, %v : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32> loc("jit(step)/transpose(b)/dot")
    %dw = linalg.matmul ins(%x, %dh : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32> loc("jit(step)/transpose(a)/dot")
    return %y, %dw, %dv : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
