// RUN: pp-opt %s | pp-opt | FileCheck %s
// RUN: pp-opt %s --mlir-print-op-generic | pp-opt | FileCheck %s

// What has its default is not printed.
// CHECK: module attributes {rank.plan = #rank.plan<stages = [<index = 0, devices = ["d0", "d1"], layers = ["layer0"]>], promise = <time = 1.000000e-03 : f64, bound = 5.000000e-04 : f64, planner = "spp">, averaging = <every = 4, delay = 1, xi = 2.500000e-01 : f64, merge = "convex">, idle = [2.500000e-01, 0.000000e+00], grid = "d0 F0\0A">}
module attributes {rank.plan = #rank.plan<
    stages = [<index = 0, devices = ["d0", "d1"], layers = ["layer0"]>],
    promise = <time = 1.0e-3 : f64, bound = 5.0e-4 : f64, planner = "spp">,
    averaging = <every = 4, delay = 1, xi = 2.5e-1 : f64, merge = "convex">, idle = [0.25, 0.0], grid = "d0 F0\0A">} {
// CHECK: rank.artifact "step" microbatches 8 only schedule "1f1b" arguments [
// CHECK-NEXT: #rank.interface<position = 0, name = "w", role = "parameter", type = tensor<8x4xf32>, slices = 4, rows = 2, runs = 8, symbol = "data.0", unit = 2>,
// CHECK-NEXT: #rank.interface<position = 1, name = "x", role = "state", type = tensor<2xui32>, averaging = true>] results [
// CHECK-NEXT: #rank.interface<position = 0, name = "dw", role = "gradient", type = tensor<8x4xf32>, combine = "sum", of = 0>] channels [
// CHECK-NEXT: #rank.channel<name = "h", from = 0, to = 1, type = tensor<4xf32>, depth = 2, round = 1, messages = 3>,
// CHECK-NEXT: #rank.channel<name = "g", from = 1, to = 0, type = tensor<4xf32>, depth = 1, once = true>] collectives [
// CHECK-NEXT: #rank.collective<name = "sum", type = tensor<64xf32>, buckets = [<rank = 0, first = 0, buffers = 1>]>] programs [
// CHECK-NEXT: #rank.program<device = "d0", entry = "step.0", stages = [0, 2],
// CHECK-SAME: buffers = [<name = "w", kind = parameter, type = tensor<8x4xf32>, argument = 0, own_argument = 1, own_result = 0, weight = 5.000000e-01 : f64>,
// CHECK-SAME: <name = "k", kind = stash, type = tensor<4xf32>, depth = -1, place = 64, starts = 0, on_host = true>]
// CHECK-SAME: starts = {{\[\[}}0, 64]], nodes = ["layer0.F"], memory = {arena = 128 : i64},
// CHECK-SAME: averages = [<collective = 0, every = 4, delay = 1, xi = 2.500000e-01 : f64, corrected = true, weight = 5.000000e-01 : f64, turns = 2, step = 0, sum = 1, snapshot = 1, parameters = [0]>]
// CHECK-SAME: rows = [<name = "0F0", lane = 0, turn = 1, receives = [1, 0], claims = [0, 0]>, <name = "0F1", lane = 0, turn = 2, after = [0]>]>,
// CHECK-NEXT: #rank.program<device = "d1", host = 1, entry = "step.1", buffers = [<name = "y", kind = output, type = tensor<4xf32>, depth = -1, result = 1, turns = [0, 2], period = 3>]>] plan <stages = [<index = 0>]> kernels [
// CHECK-NEXT: #rank.kernel<arguments = 2, block = [32, 1, 1], bytes = [64, 0], flops = 8, form = "elements", grid = [1, 1, 1], mean = true, name = "kernel_0", read = 32, shared = 16, sums = [0], written = 32>] constants [
// CHECK-NEXT: #rank.constant<bytes = 32, symbol = "table">] device <kind = "cuda", architectures = ["sm_80"], ptx = ["sm_80"]>
rank.artifact "step" microbatches 8 only schedule "1f1b"
    arguments [#rank.interface<position = 0, name = "w", role = "parameter", type = tensor<8x4xf32>, slices = 4, rows = 2, runs = 8, symbol = "data.0", unit = 2>,
               #rank.interface<position = 1, name = "x", role = "state", type = tensor<2xui32>, averaging = true>]
    results [#rank.interface<position = 0, name = "dw", role = "gradient", type = tensor<8x4xf32>, combine = "sum", of = 0>]
    channels [#rank.channel<name = "h", from = 0, to = 1, type = tensor<4xf32>, depth = 2, round = 1, messages = 3>,
              #rank.channel<name = "g", from = 1, to = 0, type = tensor<4xf32>, depth = 1, once = true>]
    collectives [#rank.collective<name = "sum", type = tensor<64xf32>, buckets = [<rank = 0, first = 0, buffers = 1>]>]
    programs [#rank.program<device = "d0", entry = "step.0", stages = [0, 2],
                buffers = [<name = "w", kind = parameter, type = tensor<8x4xf32>, argument = 0, own_argument = 1, own_result = 0, weight = 5.0e-1 : f64>,
                           <name = "k", kind = stash, type = tensor<4xf32>, depth = -1, place = 64, starts = 0, on_host = true>],
                starts = [[0, 64]], nodes = ["layer0.F"], memory = {arena = 128 : i64},
                averages = [<collective = 0, every = 4, delay = 1, xi = 2.5e-1 : f64, corrected = true, weight = 5.0e-1 : f64,
                             turns = 2, step = 0, sum = 1, snapshot = 1, parameters = [0]>],
                rows = [<name = "0F0", lane = 0, turn = 1, receives = [1, 0], claims = [0, 0]>,
                        <name = "0F1", lane = 0, turn = 2, after = [0]>]>,
              #rank.program<device = "d1", host = 1, entry = "step.1",
                buffers = [<name = "y", kind = output, type = tensor<4xf32>, depth = -1, result = 1, turns = [0, 2], period = 3>]>]
    plan <stages = [<index = 0>]>
    kernels [#rank.kernel<arguments = 2, block = [32, 1, 1], bytes = [64, 0], flops = 8, form = "elements", grid = [1, 1, 1], mean = true,
                          name = "kernel_0", read = 32, shared = 16, sums = [0], written = 32>]
    constants [#rank.constant<bytes = 32, symbol = "table">]
    device <kind = "cuda", architectures = ["sm_80"], ptx = ["sm_80"]>
}
