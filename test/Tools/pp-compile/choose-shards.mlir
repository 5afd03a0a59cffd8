// RUN: pp-compile %s --cluster=local:2 --tensor-parallel=auto --microbatches=1 --emit=program 2>&1 | FileCheck %s
// RUN: pp-opt %s --stagewright-pipeline="to=program shards=0 cluster=local:2 microbatches=1" 2>&1 | FileCheck %s
// RUN: pp-compile %s --cluster=local:2 --tensor-parallel=auto --data-parallel=1 --microbatches=1 --emit=graph 2>&1 | FileCheck %s --check-prefix=GRAPH
// RUN: not pp-compile %s --cluster=local:2 --tensor-parallel=auto --microbatches=1 --memory=1KiB --emit=program 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not pp-compile %s --tensor-parallel=auto --emit=program 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not pp-compile %s --cluster=local:2 --tensor-parallel=auto --schedule=auto --emit=program 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not pp-compile %s --cluster=local:2 --tensor-parallel=some --emit=program 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: pp-compile %s --cluster=local:2 --tensor-parallel=auto --schedule=gpipe --microbatches=1 --emit=schedule | FileCheck %s --check-prefix=NAMED
// RUN: not pp-compile %s --cluster=local:4 --tensor-parallel=auto --schedule=zb-v --microbatches=8 --emit=program 2>&1 | FileCheck %s --check-prefix=BACK
// RUN: pp-compile %s --cluster=local:2 --tensor-parallel=auto --recompute-layers --microbatches=1 --emit=program 2>&1 | FileCheck %s
// RUN: sed 's/12xf32/1200xf32/g; s/<12x4/<1200x4/g; s/<8x/<2x/g' %s > %t.wide.mlir
// RUN: pp-compile %t.wide.mlir --cluster=local:4 --tensor-parallel=auto --microbatches=16 --memory=60KiB --emit=program 2>&1 | FileCheck %s --check-prefix=BOUND

// CHECK: remark: whole layers: {{.*}} a step
// CHECK: remark: layers over 2 shards: {{.*}} a step{{.*}}; at least {{.*}}
// CHECK: pipeline.stage 0 on [@d0]

// The bound is that of all plans, including those of whole layers even if no such plan is found.
// BOUND: remark: whole layers have no plan:
// BOUND: remark: layers over 2 shards: {{.*}}; at least 28.9 us
// BOUND: remark: layers over 4 shards: {{.*}}; at least 27.1 us
// BOUND: pipeline.program {{.*}} bound = 2.499{{[0-9]+}}E-5

// Copies are of shards, so whole layers are not tried.
// GRAPH-NOT: whole layers
// GRAPH: remark: layers over 2 shards: {{.*}} a step
// GRAPH: pipeline.graph @step
// GRAPH: pipeline.node "net.t1.s1.F"
// GRAPH-NOT: pipeline.program

// SMALL: remark: whole layers have no plan: no plan fits in memory; {{.*}} needs 1.3 KiB on device d0, has 1.0 KiB
// SMALL: remark: layers over 2 shards have no plan: rank {{[01]}} needs {{.*}} KiB on device d{{[01]}}
// SMALL: error: no number of shards has a plan for 2 devices:
// NOWHERE: error: choosing the number of shards needs a cluster; name one, such as --cluster=local:4
// ORDER: error: the number of shards can be chosen for a schedule by name, such as 1f1b, or for the planner's own, but not for 'auto'
// WORD: error: --tensor-parallel must be auto, a grid such as 2x2, a number for each stage such as 4,2, or a positive number, but is 'some'
// BACK: remark: layers over 2 shards have no plan: the planner of gangs has only schedules with linear or loop placement, not 'zb-v'; use another schedule, such as interleaved-zb, or give --tensor-parallel=N and --stages
// NAMED: pipeline.schedule @gpipe of @plan kind "gpipe"

func.func @step(%up: tensor<4x12xf32> {pipeline.role = "parameter", pipeline.name = "up"},
                %down: tensor<12x4xf32> {pipeline.role = "parameter", pipeline.name = "down"},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"})
    -> (tensor<f32> {pipeline.role = "loss"},
        tensor<4x12xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64},
        tensor<12x4xf32> {pipeline.role = "gradient", pipeline.of = 1 : i64}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<8x4xf32>
  %eh = tensor.empty() : tensor<8x12xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<8x12xf32>) -> tensor<8x12xf32>
  %h = linalg.matmul ins(%x, %up : tensor<8x4xf32>, tensor<4x12xf32>) outs(%zh : tensor<8x12xf32>) -> tensor<8x12xf32> loc(#forward)
  %ey = tensor.empty() : tensor<8x4xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = linalg.matmul ins(%h, %down : tensor<8x12xf32>, tensor<12x4xf32>) outs(%zy : tensor<8x4xf32>) -> tensor<8x4xf32> loc(#forward)
  %el = tensor.empty() : tensor<f32>
  %zl = linalg.fill ins(%zero : f32) outs(%el : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%y : tensor<8x4xf32>) outs(%zl : tensor<f32>) {
  ^bb0(%in: f32, %sum: f32):
    %q = arith.mulf %in, %in : f32
    %a = arith.addf %sum, %q : f32
    linalg.yield %a : f32
  } -> tensor<f32> loc(#forward)
  // dy = 2 y, ddown = h^T dy, dh = dy down^T, dup = x^T dh.
  %dy = linalg.add ins(%y, %y : tensor<8x4xf32>, tensor<8x4xf32>) outs(%ey : tensor<8x4xf32>) -> tensor<8x4xf32> loc(#backward)
  %ed = tensor.empty() : tensor<12x4xf32>
  %zd = linalg.fill ins(%zero : f32) outs(%ed : tensor<12x4xf32>) -> tensor<12x4xf32>
  %ddown = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %dy : tensor<8x12xf32>, tensor<8x4xf32>) outs(%zd : tensor<12x4xf32>) {
  ^bb0(%p: f32, %q: f32, %sum: f32):
    %m = arith.mulf %p, %q : f32
    %a = arith.addf %sum, %m : f32
    linalg.yield %a : f32
  } -> tensor<12x4xf32> loc(#backward)
  %dh = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%dy, %down : tensor<8x4xf32>, tensor<12x4xf32>) outs(%zh : tensor<8x12xf32>) {
  ^bb0(%p: f32, %q: f32, %sum: f32):
    %m = arith.mulf %p, %q : f32
    %a = arith.addf %sum, %m : f32
    linalg.yield %a : f32
  } -> tensor<8x12xf32> loc(#backward)
  %eu = tensor.empty() : tensor<4x12xf32>
  %zu = linalg.fill ins(%zero : f32) outs(%eu : tensor<4x12xf32>) -> tensor<4x12xf32>
  %dup = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %dh : tensor<8x4xf32>, tensor<8x12xf32>) outs(%zu : tensor<4x12xf32>) {
  ^bb0(%p: f32, %q: f32, %sum: f32):
    %m = arith.mulf %p, %q : f32
    %a = arith.addf %sum, %m : f32
    linalg.yield %a : f32
  } -> tensor<4x12xf32> loc(#backward)
  return %loss, %dup, %ddown : tensor<f32>, tensor<4x12xf32>, tensor<12x4xf32>
}
#forward = loc("jit(step)/jvp(net)/op")
#backward = loc("jit(step)/transpose(jvp(net))/op")
