// RUN: pp-opt %s --pipeline-shard="stages=2,3 hints=*/up=1,*/down=0" | FileCheck %s
// RUN: pp-compile %s --cluster=local:5 --tensor-parallel=2,3 --shard='*/up=1,*/down=0' --microbatches=2 --emit=schedule 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: pp-compile %s --cluster=local:3 --tensor-parallel=2,3 --stage-devices='0-1;0-2' --shard='*/up=1,*/down=0' --microbatches=2 --emit=schedule 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: pp-opt %s --stagewright-pipeline="cluster=local:5 shards=3 stage-shards=2,3 shard=*/up=1,*/down=0 microbatches=2 to=schedule" | FileCheck %s --check-prefix=ORDER
// RUN: not pp-opt %s --pipeline-shard="stages=2,3,2 hints=*/up=1" 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: not pp-opt %s --pipeline-shard="stages=2,0 hints=*/up=1" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not pp-opt %s --pipeline-shard="stages=2,5 hints=*/up=0" 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: not pp-opt %s --pipeline-shard="stages=2,3 hints=*=whole" 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not pp-opt %s --pipeline-shard="stages=2,3 grid=2,2 hints=*/up=1" 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: not pp-opt %s --pipeline-shard="stages=2,3 stage-devices=0-1;1-2 hints=*/up=1" 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: not pp-opt %s --pipeline-shard="stages=2,3 stage-devices=0-1;1-x hints=*/up=1" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not pp-opt %s --pipeline-shard="stages=2,3 stage-devices=0-1;1,2,1 hints=*/up=1" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not pp-compile %s --cluster=local:4 --tensor-parallel=2,3 --emit=rank 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2,3 --stages=3 --emit=rank 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2,x --emit=rank 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2,3 --data-parallel=2 --emit=rank 2>&1 | FileCheck %s --check-prefix=COPIES
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2,3 --recompute-layers --emit=rank 2>&1 | FileCheck %s --check-prefix=REPEAT
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2,3 --shard='*/up=1,*/down=0' --schedule=interleaved --microbatches=2 --emit=rank 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2,3 --shard='*/up=1,*/down=0' --schedule=searched --emit=rank 2>&1 | FileCheck %s --check-prefix=SEARCHED
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2,3 --shard='*/up=1,*/down=0' --schedule=fast --emit=rank 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2 --stage-devices=0-1 --emit=rank 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: not pp-opt %s --pipeline-shard="ways=2 stage-devices=0-1 hints=*/up=1" 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not pp-opt %s --pipeline-shard="layers=flow" 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not pp-opt %s --stagewright-pipeline="cluster=local:5 shards=3 stage-shards=2,,3" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not pp-opt %s --stagewright-pipeline="cluster=local:5 shards=3 stage-shards=2,3," 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not pp-opt %s --stagewright-pipeline="cluster=local:5 shards=2 stage-shards=2,3" 2>&1 | FileCheck %s --check-prefix=MAX
// RUN: pp-compile %s --cluster=local:5 --tensor-parallel=2,3 --shard='*/up=1,*/down=0' --emit=graph -o %t.mlir
// RUN: not pp-compile %t.mlir --cluster=local:5 --tensor-parallel=2,2 --stage-devices='0-1;2-3' --emit=rank 2>&1 | FileCheck %s --check-prefix=FORMED
// RUN: not pp-compile %t.mlir --cluster=local:8 --tensor-parallel=2,3 --stage-devices='0-1;1-2' --emit=schedule 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: not pp-compile %t.mlir --cluster=local:5 --tensor-parallel=3 --emit=rank 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not pp-compile %t.mlir --cluster=local:9 --tensor-parallel=2,3,2 --emit=rank 2>&1 | FileCheck %s --check-prefix=THIRD
// RUN: pp-compile %s --cluster=local:1 --tensor-parallel=1,1 --stage-devices='0;0' --microbatches=2 --emit=schedule 2>&1 | FileCheck %s --check-prefix=WHOLES

// LAYERS: error: 3 stages with numbers of shards of their own need as many layers, and the step has 2; give fewer stages, or finer layers with --layers
// NONE: shard-stages.mlir:{{[1-9]}}{{.*}}: error: each stage has at least one shard, got 0
// FEWER: error: parameter 'h/1/up' of type {{.*}} cannot be split over 5 shards by '*/up=0': dimension 0 must be at least 5, got 4
// WHOLE: error: no parameter is split over 2, 3 shards; let a hint name one
// GRID: error: the shards of a stage form one axis, not a grid
// DEVICES: shard-stages.mlir{{.*}}:{{[1-9]}}{{.*}}: error: the stages have 2,3 shards, but their devices are '0-1;1-2'; give a device for each shard
// RANGE: error: '1-x' in '0-1;1-x' is neither a device nor a range of devices
// TWICE: error: device 1 is twice in the group '1,2,1'; a device has one shard of a stage
// FEW: error: stages with 2,3 shards need 5 devices, and there are 4; name a larger cluster, such as --cluster=local:5
// STAGES: error: --tensor-parallel=2,3 has numbers for 2 stages, but --stages is 3
// NUMBER: error: --tensor-parallel must be a number of shards for each stage, such as 4,2, but is '2,x'
// COPIES: shard-stages.mlir:{{[1-9]}}{{.*}}: error: copies of the shards need stages with equal numbers of shards, but these are 2,3
// REPEAT: error: recomputed layers need stages with equal numbers of shards, but these are 2,3
// CHUNKS: error: 'interleaved' wants the stages of a pipeline placed loop, 2 or more on each gang, but they are on gangs 0, 1; take a schedule with one stage on each, such as 1f1b, or place them otherwise
// SEARCHED: error: 'searched' searches an order for stages that are not split; with shards give a schedule such as 1f1b
// UNKNOWN: error: layers that are split over shards take a schedule by its name, such as levels, not 'fast'
// LIST: error: stage-devices are given, '0-1', but no numbers of shards for each stage
// ALONE: shard-stages.mlir:{{[1-9]}}{{.*}}: error: '{{stage-devices|layers}}' is '{{0-1|flow}}', but it is used only with 'stages'; give the numbers of shards of the stages, such as stages=4,2, or leave it out
// EMPTY: error: stage-shards is '2,{{,3|3,}}', expected a number of shards for each stage, such as 4,2
// MAX: error: stages have 2,3 shards, so the number of shards must be their max, 3, but it is 2
// FORMED: error: layer {{.*}} is of shard 2 of stage 1, which has 2 shards; give the numbers of shards for which the graph was formed
// THIRD: error: numbers of shards are given for 3 stages, but no layer of the graph is of stage 2; give the numbers of shards for which the graph was formed
// ONE: error: layer {{.*}} is of a stage with its own number of shards, but one number is given, 3

// The first stage scatters its sum over two shards. Each shard of the second receives its rows once, and joins those of all three.
// CHECK: func.func @step(%{{.*}}: tensor<6x4xf32>
// CHECK-SAME: tensor<4x4xf32> {{.*}}pipeline.slice = 0
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [2, 4] [1, 1] : tensor<3x4xf32> to tensor<2x4xf32>
// CHECK: linalg.copy {{.*}} -> tensor<2x4xf32>
// CHECK: tensor.insert_slice {{.*}} tensor<1x4xf32> into tensor<2x4xf32>

// By 1F1B, stage 0 of the pipeline on ranks 0 and 1, stage 1 on ranks 2 to 4.
// ORDER: pipeline.schedule @one_f_one_b {{.*}} "1f1b"
// ORDER: pipeline.order 4

// A stage of the pipeline is the levels of its shards.
// SHARED: pipeline.stage 0 on [@d0] {{.*}}gang_stage = 0 : i64
// SHARED: on [@d2] {{.*}}gang_stage = 1 : i64
// SHARED: pipeline.schedule @levels {{.*}} "levels"
// SHARED: pipeline.order 2
// SHARED-NOT: pipeline.order 3

// Stages with one shard each are whole.
// WHOLES-NOT: error
// WHOLES: pipeline.stage 1 on [@d0] {{.*}}gang_stage = 1 : i64
// WHOLES: pipeline.order 0 <0F0, 0F1, 1F0, 1F1, 2F0, 2F1>

func.func @step(%x: tensor<6x4xf32> {pipeline.role = "batch", pipeline.name = "x"},
                %up0: tensor<4x8xf32> {pipeline.role = "parameter", pipeline.name = "h/0/up"},
                %down0: tensor<8x4xf32> {pipeline.role = "parameter", pipeline.name = "h/0/down"},
                %up1: tensor<4x8xf32> {pipeline.role = "parameter", pipeline.name = "h/1/up"},
                %down1: tensor<8x4xf32> {pipeline.role = "parameter", pipeline.name = "h/1/down"})
    -> (tensor<6x4xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %ew = tensor.empty() : tensor<6x8xf32>
  %wide = linalg.fill ins(%zero : f32) outs(%ew : tensor<6x8xf32>) -> tensor<6x8xf32>
  %ez = tensor.empty() : tensor<6x4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%ez : tensor<6x4xf32>) -> tensor<6x4xf32>
  %h0 = linalg.matmul ins(%x, %up0 : tensor<6x4xf32>, tensor<4x8xf32>) outs(%wide : tensor<6x8xf32>) -> tensor<6x8xf32> loc("jit(step)/h0/dot")
  %y0 = linalg.matmul ins(%h0, %down0 : tensor<6x8xf32>, tensor<8x4xf32>) outs(%zeros : tensor<6x4xf32>) -> tensor<6x4xf32> loc("jit(step)/h0/dot")
  %h1 = linalg.matmul ins(%y0, %up1 : tensor<6x4xf32>, tensor<4x8xf32>) outs(%wide : tensor<6x8xf32>) -> tensor<6x8xf32> loc("jit(step)/h1/dot")
  %y1 = linalg.matmul ins(%h1, %down1 : tensor<6x8xf32>, tensor<8x4xf32>) outs(%zeros : tensor<6x4xf32>) -> tensor<6x4xf32> loc("jit(step)/h1/dot")
  return %y1 : tensor<6x4xf32>
}
