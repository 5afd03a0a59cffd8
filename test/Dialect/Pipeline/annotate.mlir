// RUN: echo '# The perceptrons, then what is left.' > %t.txt
// RUN: echo 'h/*/mlp = split(2)' | tr -d ' ' >> %t.txt
// RUN: echo 'params/h/0/attn/q=replicate(3)' >> %t.txt
// RUN: pp-opt --pipeline-annotate=annotate=%t.txt %s | FileCheck %s --check-prefixes=CHECK,FILE
// RUN: pp-opt --pipeline-annotate='annotate={h/*/mlp=split(2),*/q=replicate(3)}' %s | FileCheck %s --check-prefixes=CHECK,TEXT
// RUN: not pp-opt --pipeline-annotate=annotate=%t.txt --pipeline-form-graph --pipeline-partition="cluster=local:4 microbatches=2" %s 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not pp-opt --pipeline-annotate='annotate=mlp=split(2)' %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not pp-opt --pipeline-annotate='annotate=*=split(2),*/q=replicate(3)' %s 2>&1 | FileCheck %s --check-prefix=LATER
// RUN: not pp-opt --pipeline-annotate='annotate=*=split(0)' %s 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not pp-opt --pipeline-annotate='annotate=[=split(2)' %s 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not pp-opt --pipeline-annotate='annotate=%t.none' %s 2>&1 | FileCheck %s --check-prefix=FILE-NONE
// RUN: echo '*/mlp=halve(2)' > %t.wrong
// RUN: not pp-opt --pipeline-annotate='annotate=%t.wrong' %s 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: echo '# nothing' > %t.empty
// RUN: not pp-opt --pipeline-annotate='annotate=%t.empty' %s 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not pp-opt --pipeline-form-graph --pipeline-annotate='annotate=*=split(2)' %s 2>&1 | FileCheck %s --check-prefix=GRAPH

// A glob matches names of parameters or of modules that hold them, with or without the name of the argument in front.

// CHECK: func.func @step
// FILE-SAME: pipeline.annotation = "stagewright:replicate:3:1000001:{{.*}}annotate.mlir.tmp.txt%3A3", pipeline.name = "params/h/0/attn/q"
// FILE-SAME: pipeline.annotation = "stagewright:split:2:1000000:{{.*}}annotate.mlir.tmp.txt%3A2", pipeline.name = "params/h/0/mlp/fc"
// FILE-SAME: pipeline.annotation = "stagewright:split:2:1000000:{{.*}}annotate.mlir.tmp.txt%3A2", pipeline.name = "params/h/0/mlp/proj"
// TEXT-SAME: pipeline.annotation = "stagewright:replicate:3:1000001:%27%2A%2Fq%3Dreplicate%283%29%27", pipeline.name = "params/h/0/attn/q"
// WHOLE: error: 'pipeline.graph' op has layers that are to be split, by split(2) at {{.*}}annotate.mlir.tmp.txt:2, but they are whole; compile the step with pp-compile, or give stagewright-pipeline shards=2
// NONE: error: 'mlp=split(2)' matches no parameter, or only ones that an earlier line matches; names are as in 'params/h/0/attn/q'
// LATER: error: '*/q=replicate(3)' matches no parameter, or only ones that an earlier line matches; names are as in 'params/h/0/attn/q'
// ZERO: error: '*=split(0)' is not an annotation: the number of devices must be at least 1, got '0'; write GLOB=replicate(N) or GLOB=split(N), as in */mlp=split(2)
// GLOB: error: '[=split(2)' is not an annotation: {{.*}}; write GLOB=replicate(N) or GLOB=split(N)
// FILE-NONE: error: {{.*}}annotate.mlir.tmp.none
// KIND: error: {{.*}}annotate.mlir.tmp.wrong:1: '*/mlp=halve(2)' is not an annotation: it has no name, or neither replicate nor split; write GLOB=replicate(N) or GLOB=split(N), as in */mlp=split(2)
// EMPTY: error: '{{.*}}annotate.mlir.tmp.empty' has no annotations; write lines such as */mlp=split(2)
// GRAPH: error: pipeline-annotate marks parameters of a step, but the module has a graph
func.func @step(%x: tensor<4x4xf32> {pipeline.role = "batch", pipeline.name = "x"},
                %q: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "params/h/0/attn/q"},
                %f: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "params/h/0/mlp/fc"},
                %p: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "params/h/0/mlp/proj"})
    -> (tensor<4x4xf32> {pipeline.role = "output"}) {
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %q : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.matmul ins(%0, %f : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.matmul ins(%1, %p : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
