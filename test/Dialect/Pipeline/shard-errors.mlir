// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2 --shard=w=0 --stages=4 --schedule=searched --emit=rank 2>&1 | FileCheck %s --check-prefix=SEARCHED
// RUN: not pp-opt %s --pipeline-shard="ways=2 hints=w=2" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not pp-opt %s --pipeline-shard="ways=5 hints=w=0" 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: not pp-opt %s --pipeline-shard="ways=2 hints=w=1:3" 2>&1 | FileCheck %s --check-prefix=THIRDS
// RUN: not pp-opt %s --pipeline-shard="ways=3 hints=w=1:1:2" 2>&1 | FileCheck %s --check-prefix=UNITS
// RUN: not pp-opt %s --pipeline-shard="ways=2 hints=w=1:1:0" 2>&1 | FileCheck %s --check-prefix=UNIT
// RUN: not pp-opt %s --pipeline-shard="ways=2 hints=v=0" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not pp-opt %s --pipeline-shard="ways=2 hints=w" 2>&1 | FileCheck %s --check-prefix=HINT
// RUN: not pp-opt %s --pipeline-shard="ways=2 hints=w=0:x" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not pp-opt %s --pipeline-shard="ways=2 hints=w=0:9223372036854775807" 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not pp-opt %s --pipeline-shard="ways=2 hints=[=0" 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not pp-opt %s --pipeline-shard="ways=0" 2>&1 | FileCheck %s --check-prefix=WAYS
// RUN: not pp-opt %s --pipeline-form-graph --pipeline-shard="ways=2 hints=w=0" 2>&1 | FileCheck %s --check-prefix=GRAPH
// RUN: not pp-opt %s --pipeline-shard="ways=2 hints=w=0" --pipeline-shard="ways=2 hints=w=1" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not pp-compile %s --cluster=local:1 --tensor-parallel=2 --shard=w=0 --emit=rank 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not pp-compile %s --cluster=local:2 --tensor-parallel=2 --shard=w=0 --stages=2 --emit=rank 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2 --shard=w=0 --stages=4 --emit=rank 2>&1 | FileCheck %s --check-prefix=LEVELS
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2 --shard=w=0 --stages=3 --schedule=interleaved --emit=rank 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2 --shard=w=0 --stages=4 --schedule=dualpipe --emit=rank 2>&1 | FileCheck %s --check-prefix=AROUND
// RUN: not pp-compile %s --cluster=local:2 --tensor-parallel=2 --shard=w=0 --stages=2 --schedule=zb-v --emit=rank 2>&1 | FileCheck %s --check-prefix=BACK
// RUN: not pp-compile %s --cluster=local:8 --tensor-parallel=2 --shard=w=0 --chunks=2 --emit=rank 2>&1 | FileCheck %s --check-prefix=CHUNKED
// RUN: not pp-compile %s --cluster=local:2 --tensor-parallel=2 --shard=w=0 --schedule=auto --emit=rank 2>&1 | FileCheck %s --check-prefix=NAMED
// RUN: pp-compile %s --cluster=local:2 --tensor-parallel=1 --shard=w=0 --microbatches=1 --emit=rank > /dev/null
// RUN: not pp-compile %s --cluster=local:2 --shard=w=0 --emit=rank 2>&1 | FileCheck %s --check-prefix=OVER
// RUN: not pp-compile %s --cluster=local:2 --tensor-parallel=2 --shard=w=0 "--plan=[0,1)" --emit=rank 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not pp-compile %s --cluster=local:4 --tensor-parallel=2 --data-parallel=3 --shard=w=0 --emit=rank 2>&1 | FileCheck %s --check-prefix=COPIES
// RUN: not pp-compile %s --cluster=local:4 --data-parallel=2 --emit=rank 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not pp-compile %s --cluster=local:4 --recompute-layers --emit=rank 2>&1 | FileCheck %s --check-prefix=REPEAT
// RUN: not pp-opt %s --stagewright-pipeline="cluster=local:4 recompute-layers" 2>&1 | FileCheck %s --check-prefix=WHOLE

// RANGE: error: parameter 'w' of type {{.*}}tensor<4x4xf32>{{.*}} cannot be split over 2 shards by 'w=2': it has no dimension 2
// FEWER: error: parameter 'w' of type {{.*}} cannot be split over 5 shards by 'w=0': dimension 0 must be at least 5, got 4
// THIRDS: dimension 1 must be a multiple of 3, and at least 6, got 4
// UNITS: dimension 1 must be a multiple of 2, and at least 6, got 4
// UNIT: '0' is not a size of units
// NAME: error: no parameter has a name like 'v=0'
// HINT: error: 'w' does not say how a parameter is split: it has no dimension; write GLOB=DIM, GLOB=whole, GLOB=auto, GLOB=DIM:CHUNKS as in */qkv=1:3, or GLOB=DIM:CHUNKS:UNIT
// HUGE: '9223372036854775807' is not a number of chunks
// NUMBER: 'x' is not a number of chunks
// GLOB: error: '[=0' does not say how a parameter is split
// WAYS: error: ways must be from 1 to 1024, got 0
// GRAPH: error: pipeline-shard splits a step, but the module has a graph
// SEARCHED: error: 'searched' searches an order for stages that are not split; with shards give a schedule such as 1f1b
// TWICE: shard-errors.mlir:[[# @LINE + 21]]:{{.*}} error: pipeline-shard splits whole layers, but argument 0 is a part that one shard has; split the layers once
// FEW: error: 2 shards need 2 devices, and there are 1; name a larger cluster, such as --cluster=local:2
// OVER: error: --shard says what --tensor-parallel splits
// STAGES: error: 2 shards of 2 stages at a time need 4 devices, and there are 2; name a larger cluster, such as --cluster=local:4
// LEVELS: error: layers that are split over shards cannot be cut into 4 stages, but into 1 at most
// MULTIPLE: error: 3 stages are not a multiple of 2 on each device; give a multiple with --stages
// AROUND: error: stages of shards go around the devices or back, as for 1f1b, interleaved or zb-v; 'dualpipe' with 1 on each places them otherwise
// BACK: error: 'zb-v' goes to the last gang and back, and needs 2 gangs; give --stages=4 or more
// CHUNKED: error: layers are split over 2 shards, which places stages by itself; leave out a number of chunks
// NAMED: error: layers that are split over shards take a schedule by its name, such as levels, not 'auto'
// PLAN: error: --tensor-parallel places its stages itself
// COPIES: error: 2 shards in 3 copies need 6 devices, and there are 4; name a larger cluster, such as --cluster=local:6
// ALONE: error: --data-parallel says how many copies of the shards of --tensor-parallel there are; without shards give --max-replicas or --plan
// RUN: pp-compile %s --cluster=local:2 --tensor-parallel=2 --shard=w=0 --emit=graph -o %t.mlir
// RUN: not pp-compile %t.mlir --cluster=local:2 --tensor-parallel=auto --recompute-layers --emit=rank 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not pp-opt %s --stagewright-pipeline="cluster=local:4 shards=2 plan=[0,1) recompute-layers" 2>&1 | FileCheck %s --check-prefix=GIVEN

// REPEAT: error: --recompute-layers is about layers that are split over shards; give --tensor-parallel too, or without shards --recompute-level
// WHOLE: error: recompute-layers needs shards and no plan, but there are no shards; give their number, or leave out recompute-layers
// GIVEN: error: recompute-layers needs shards and no plan, but a plan is given; leave that out, or leave out recompute-layers

func.func @step(%w: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                %x: tensor<4x4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<4x4xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
