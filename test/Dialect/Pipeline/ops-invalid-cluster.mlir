// RUN: pp-opt --split-input-file --verify-diagnostics %s

// One case per constraint of speed, rates and fabric; the label stands above it.

// device_c2
pipeline.cluster @lab {
  // expected-error @below {{speed must be positive, got 0.000000e+00}}
  pipeline.device @d0 class "c" memory 1 node 0 flops 1.0 bandwidth 1.0 speed 0.0
}

// -----

// device_c3: the number.
pipeline.cluster @lab {
  // expected-error @below {{rate of 'bf16' must be a positive f64, got -1.000000e+00 : f64}}
  pipeline.device @d0 class "c" memory 1 node 0 flops 1.0 bandwidth 1.0 rates {bf16 = -1.0}
}

// -----

// device_c3: its type.
pipeline.cluster @lab {
  // expected-error @below {{rate of 'f16' must be a positive f64, got 7 : i64}}
  pipeline.device @d0 class "c" memory 1 node 0 flops 1.0 bandwidth 1.0 rates {bf16 = 2.0, f16 = 7}
}

// -----

// device_c4: the number of processors.
pipeline.cluster @lab {
  // expected-error @below {{processors of contractions must be an i64 of at least 0, got -1 : i64}}
  pipeline.device @d0 class "c" memory 1 node 0 flops 1.0 bandwidth 1.0 contractions {processors = -1 : i64}
}

// -----

// device_c4: the share.
pipeline.cluster @lab {
  // expected-error @below {{contractions of 'bf16' must be an array<f64> with two numbers, a share above 0 and at most 1, then a depth of at least 0, got array<f64: 1.5}}
  pipeline.device @d0 class "c" memory 1 node 0 flops 1.0 bandwidth 1.0 contractions {bf16 = array<f64: 1.5, 0.0>}
}

// -----

// device_c4: its type.
pipeline.cluster @lab {
  // expected-error @below {{contractions of 'bf16' must be an array<f64> with two numbers, a share above 0 and at most 1, then a depth of at least 0, got 1.0}}
  pipeline.device @d0 class "c" memory 1 node 0 flops 1.0 bandwidth 1.0 contractions {bf16 = 1.0}
}

// -----

// device_c5
pipeline.cluster @lab {
  // expected-error @below {{bandwidth to the host must be positive, got}}
  pipeline.device @d0 class "c" memory 1 node 0 flops 1.0 bandwidth 1.0 host_bandwidth 0.0
}

// -----

// fabric_c1
pipeline.cluster @lab {
  // expected-note @below {{the first one is declared here}}
  pipeline.fabric nic 1.0
  // expected-error @below {{is the second one of @lab, a cluster has one at most}}
  pipeline.fabric nic 2.0
}

// -----

// fabric_c2: nothing.
pipeline.cluster @lab {
  // expected-error @below {{needs 'inside', 'between', 'port' or 'nic'}}
  pipeline.fabric
}

// -----

// fabric_c2: half of it.
pipeline.cluster @lab {
  // expected-error @below {{needs both a bandwidth and a latency for 'inside', got one of them}}
  "pipeline.fabric"() {inside_bandwidth = 1.0, nic = 1.0} : () -> ()
}

// -----

// fabric_c3: bandwidth.
pipeline.cluster @lab {
  // expected-error @below {{needs a positive bandwidth and a latency of at least 0 for 'between', got 0.000000e+00 and 1.000000e+00}}
  pipeline.fabric between bandwidth 0.0 latency 1.0
}

// -----

// fabric_c3: latency.
pipeline.cluster @lab {
  // expected-error @below {{needs a positive bandwidth and a latency of at least 0 for 'inside', got 1.000000e+00 and -1.000000e+00}}
  pipeline.fabric inside bandwidth 1.0 latency -1.0
}

// -----

// fabric_c3: NIC.
pipeline.cluster @lab {
  // expected-error @below {{needs a positive bandwidth for 'nic', got 0.000000e+00}}
  pipeline.fabric nic 0.0
}

// -----

// fabric_c3: port.
pipeline.cluster @lab {
  // expected-error @below {{needs a positive bandwidth for 'port', got -1.000000e+00}}
  pipeline.fabric port -1.0
}

// -----

// device_c1
pipeline.cluster @lab {
  // expected-error @below {{memory, flops and bandwidth must be positive, got -5, 1.000000e+00 and 1.000000e+00}}
  pipeline.device @d0 class "c" memory -5 node 0 flops 1.0 bandwidth 1.0
}
