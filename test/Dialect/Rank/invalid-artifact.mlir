// The facts of an artifact have types. Every case changes one attribute of artifact.mlir and is refused at its place.
// DEFINE: %{change} = true
// DEFINE: %{run} = sed %{change} %S/artifact.mlir | not pp-opt 2>&1 | FileCheck %s --check-prefix

// Text, numbers, types, lists and names of kinds.
// REDEFINE: %{change} = 's#name = "w", role#name = 3, role#'
// RUN: %{run}=NAME
// NAME: <stdin>:{{[0-9]+:[0-9]+}}: error: invalid kind of attribute specified
// NAME: error: failed to parse Rank_InterfaceAttr parameter 'name' which is to be a `::mlir::StringAttr`
// REDEFINE: %{change} = 's#slices = 4#slices = "four"#'
// RUN: %{run}=NUMBER
// NUMBER: <stdin>:{{[0-9]+:[0-9]+}}: error: expected integer value
// REDEFINE: %{change} = 's#averaging = true#averaging = "yes"#'
// RUN: %{run}=FLAG
// FLAG: <stdin>:{{[0-9]+:[0-9]+}}: error: expected integer value
// REDEFINE: %{change} = 's#type = tensor<2xui32>#type = f32#'
// RUN: %{run}=TYPE
// TYPE: <stdin>:{{[0-9]+:[0-9]+}}: error: invalid kind of type specified
// REDEFINE: %{change} = 's#stages = .0, 2.#stages = 0#'
// RUN: %{run}=LIST
// LIST: <stdin>:{{[0-9]+:[0-9]+}}: error: expected '['
// REDEFINE: %{change} = 's#kind = stash#kind = heap#'
// RUN: %{run}=KIND
// KIND: <stdin>:{{[0-9]+:[0-9]+}}: error: expected ::stagewright::rank::BufferKind to be one of: parameter, constant,
// REDEFINE: %{change} = 's#weight = 5.0e-1 : f64>#weight = "half">#'
// RUN: %{run}=REAL
// REAL: <stdin>:{{[0-9]+:[0-9]+}}: error: {{.*}}FloatAttr
// REDEFINE: %{change} = 's#device = "d1", ##'
// RUN: %{run}=ABSENT
// ABSENT: <stdin>:{{[0-9]+:[0-9]+}}: error: struct is missing required parameter: device
// REDEFINE: %{change} = 's#entry = "step.1"#entry = "step.1", room = 3#'
// RUN: %{run}=UNKNOWN
// UNKNOWN: <stdin>:{{[0-9]+:[0-9]+}}: error: duplicate or unknown struct parameter name: room
// REDEFINE: %{change} = 's#device <kind = "cuda".*#device "cuda"#'
// RUN: %{run}=DEVICE
// DEVICE: <stdin>:{{[0-9]+:[0-9]+}}: error: {{.*}}expected '<'
// REDEFINE: %{change} = 's#constants .*#constants ["table"]#'
// RUN: %{run}=ELEMENT
// ELEMENT: <stdin>:{{[0-9]+:[0-9]+}}: error: 'rank.artifact' op attribute 'constants' failed to satisfy constraint: constants

// A plan in JSON is refused.
// RUN: echo 'module attributes {rank.plan = "{}"} {}' | not pp-opt 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: <stdin>:{{[0-9]+:[0-9]+}}: error: "rank.plan" must be a '#rank.plan' of a module, got "{}"
// RUN: echo 'func.func private @f() attributes {rank.plan = #rank.plan<>}' | not pp-opt 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: error: "rank.plan" must be a '#rank.plan' of a module, got #rank.plan<>
// RUN: echo 'func.func private @f() attributes {rank.kernel = 3}' | not pp-opt 2>&1 | FileCheck %s --check-prefix=LAUNCH
// LAUNCH: error: "rank.kernel" must be a '#rank.kernel', got 3

// Constraints, by their labels.
// REDEFINE: %{change} = 's#tensor<2xui32>#tensor<2xi4>#'
// RUN: %{run}=INTERFACE1
// INTERFACE1: <stdin>:{{[0-9]+:[0-9]+}}: error: "x" has element type 'i4', which no file of tensors can hold
// REDEFINE: %{change} = 's#tensor<2xui32>#tensor<?xui32>#'
// RUN: %{run}=SHAPE
// SHAPE: error: "x" must have a static shape, got 'tensor<?xui32>'
// REDEFINE: %{change} = 's#position = 1,#position = -1,#'
// RUN: %{run}=INTERFACE2
// INTERFACE2: error: position, slices and batch_dim must be at least 0, got -1
// REDEFINE: %{change} = 's#rows = 2#rows = 0#'
// RUN: %{run}=ROWS
// ROWS: error: rows, runs and unit must be at least 1, got 0
// REDEFINE: %{change} = 's#rows = 2#rows = 2, axes = [2, 1, 1, 1, 2, 9, 1, 1]#'
// RUN: %{run}=AXES
// AXES: <stdin>:{{[0-9]+:[0-9]+}}: error: "w" of type 'tensor<8x4xf32>' has 4 slices in 2 rows, not those of axes [2, 1, 1, 1, 2, 9, 1, 1]
// REDEFINE: %{change} = 's#depth = 2#depth = 0#'
// RUN: %{run}=CHANNEL1
// CHANNEL1: error: "h" has depth 0
// REDEFINE: %{change} = 's#round = 1#round = -1#'
// RUN: %{run}=ROUND
// ROUND: error: round and messages must be at least 0, got -1
// REDEFINE: %{change} = 's#depth = -1, place#depth = 0, place#'
// RUN: %{run}=BUFFER1
// BUFFER1: error: "k" has depth 0
// REDEFINE: %{change} = 's#to = 1, type = tensor<4xf32>#to = 1, type = tensor<?xf32>#'
// RUN: %{run}=CHANNEL2
// CHANNEL2: error: "h" must have a static shape, of integers or floats, got 'tensor<?xf32>'
// REDEFINE: %{change} = 's#stash, type = tensor<4xf32>#stash, type = tensor<4xindex>#'
// RUN: %{run}=BUFFER2
// BUFFER2: error: "k" must have a static shape, of integers or floats, got 'tensor<4xindex>'
// REDEFINE: %{change} = 's#, period = 3##'
// RUN: %{run}=BUFFER3
// BUFFER3: error: buffer "y" has 2 turns and period 0; it needs both or neither
// REDEFINE: %{change} = 's#tensor<64xf32>#tensor<?xf32>#'
// RUN: %{run}=COLLECTIVE1
// COLLECTIVE1: error: "sum" must have a static shape, of integers or floats, got 'tensor<?xf32>'
// REDEFINE: %{change} = 's#receives = .1, 0.#receives = [1]#'
// RUN: %{run}=ROW1
// ROW1: error: row "0F0" must wait for pairs of a channel and a message
// REDEFINE: %{change} = 's#{arena = 128 : i64}#{arena = "128"}#'
// RUN: %{run}=PROGRAM1
// PROGRAM1: error: memory must be integers of 64 bits, got "arena" = "128"
// REDEFINE: %{change} = 's#starts = 0, on#starts = 1, on#'
// RUN: %{run}=PROGRAM2
// PROGRAM2: error: program "step.0" has no starts 1, it has 1
// REDEFINE: %{change} = 's#sum = 1, snap#sum = 2, snap#'
// RUN: %{run}=SUM
// SUM: error: program "step.0" has no buffer 2, it has 2
// REDEFINE: %{change} = 's#block = .32, 1, 1.#block = [32]#'
// RUN: %{run}=KERNEL1
// KERNEL1: error: kernel "kernel_0" needs a grid and a block of three numbers, got 3 and 1
// REDEFINE: %{change} = 's#grid = .1, 1, 1.#grid = [0, 1, 1]#'
// RUN: %{run}=GRID
// GRID: error: grid must be at least 1, got 0
// REDEFINE: %{change} = 's#read = 32#read = -32#'
// RUN: %{run}=READ
// READ: error: numbers of a kernel must be at least 0, got -32
// REDEFINE: %{change} = 's#bytes = 32, symbol#bytes = -32, symbol#'
// RUN: %{run}=CONSTANT1
// CONSTANT1: error: bytes must be at least 0, got -32
// REDEFINE: %{change} = 's#microbatches 8#microbatches 0#'
// RUN: %{run}=ARTIFACT1
// ARTIFACT1: error: 'rank.artifact' op needs a positive number of microbatches, got 0
// REDEFINE: %{change} = 's#from = 0, to = 1#from = 0, to = 2#'
// RUN: %{run}=ARTIFACT2
// ARTIFACT2: error: 'rank.artifact' op has no program 2, which #rank.channel<name = "h", from = 0, to = 2,
// REDEFINE: %{change} = 's#first = 0, buffers = 1#first = 1, buffers = 2#'
// RUN: %{run}=ARTIFACT3
// ARTIFACT3: error: 'rank.artifact' op has no buffer 2, which #rank.bucket<rank = 0, first = 1, buffers = 2> names
// REDEFINE: %{change} = 's#claims = .0, 0.#claims = [2, 0]#'
// RUN: %{run}=ARTIFACT4
// ARTIFACT4: error: 'rank.artifact' op has no channel 2, which #rank.row<name = "0F0",
// REDEFINE: %{change} = 's#<collective = 0#<collective = 1#'
// RUN: %{run}=COLLECTIVE
// COLLECTIVE: error: 'rank.artifact' op has no collective 1, which #rank.average<collective = 1,
