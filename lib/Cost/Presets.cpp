//===- Presets.cpp - clusters by name -------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rates are the peaks of the vendors' data sheets; dense rates are taken if a
// sheet gives those with sparsity, and the bandwidth of one direction if it
// gives that of both. Memory is the sheet's GB of 1e9 bytes; what a device has
// beyond that is left to the driver.
//
// The shares of the rates that contractions reach are fitted to published
// measurements (ContractionTest.cpp compares them): in 16 and 8 bits, to the
// best rates over all sizes in S. Bekman, Machine Learning Engineering,
// "Maximum Achievable Matmul FLOPS"; in f8 on Hopper, to the rates by size in
// the first README of DeepGEMM (2025). Types not measured there have no entry.
//
//===----------------------------------------------------------------------===//

#include "Presets.h"

namespace stagewright {

/// Latency of one step of a ring between two GPUs, beside the transfer: NCCL's
/// own model, src/graph/tuning.cc, ring with protocol Simple.
static constexpr Seconds kNvlinkLatency{3.4e-6};
static constexpr Seconds kNetworkLatency{14.0e-6};

/// One direction of 16 lanes, as the data sheets of the A100 (64 GB/s both
/// ways), of the H100 and H200 (128 GB/s) and of the B200 state their ports.
static constexpr double kPcieGen4 = 32e9, kPcieGen5 = 64e9;

/// `rates` and `flops` are operations a second, `bandwidth` and `hostBandwidth`
/// (0: unknown) bytes a second, `memory` bytes.
static Device gpu(const char *deviceClass, double flops, double bandwidth,
                  double memory, const std::map<std::string, double> &rates,
                  const ContractionModel &contractions,
                  double hostBandwidth = 0) {
  Device device;
  device.deviceClass = deviceClass;
  device.flops = FlopRate(flops);
  device.bandwidth = Bandwidth(bandwidth);
  device.memory = Bytes(int64_t(memory));
  for (const auto &[type, rate] : rates)
    device.rates[type] = FlopRate(rate);
  device.contractions = contractions;
  if (hostBandwidth > 0)
    device.hostBandwidth = Bandwidth(hostBandwidth);
  return device;
}

/// NVIDIA Tesla V100 SXM2 data sheet: 15.7 TFLOPS single, 125 TFLOPS tensor,
/// 7.8 TFLOPS double precision, 16 GB HBM2 at 900 GB/s.
static Device v100() {
  return gpu("V100", 15.7e12, 900e9, 16e9, {{"f16", 125e12}, {"f64", 7.8e12}},
             {80, {}});
}

/// The same sheet's PCIe card: 14, 112 and 7 TFLOPS.
static Device v100Pcie() {
  return gpu("V100", 14e12, 900e9, 16e9, {{"f16", 112e12}, {"f64", 7e12}},
             {80, {}});
}

/// NVIDIA A100 80GB SXM data sheet: FP32 19.5, TF32 156, FP16 and BF16 312,
/// FP64 9.7 TFLOPS, INT8 624 TOPS, 80 GB HBM2e at 2,039 GB/s.
static Device a100() {
  return gpu("A100", 19.5e12, 2.039e12, 80e9,
             {{"tf32", 156e12},
              {"f16", 312e12},
              {"bf16", 312e12},
              {"f64", 9.7e12},
              {"i8", 624e12}},
             {108, {{"f16", {0.885, 64}}, {"bf16", {0.885, 64}}}}, kPcieGen4);
}

/// NVIDIA H100 SXM data sheet: FP32 67, FP64 34 TFLOPS; with sparsity, twice
/// the dense rate, TF32 989, FP16 and BF16 1,979, FP8 and INT8 3,958; 80 GB
/// HBM3 at 3.35 TB/s.
static Device h100() {
  return gpu(
      "H100", 67e12, 3.35e12, 80e9,
      {{"tf32", 494.5e12},
       {"f16", 989.5e12},
       {"bf16", 989.5e12},
       {"f8", 1979e12},
       {"f64", 34e12},
       {"i8", 1979e12}},
      {132, {{"f16", {0.825, 64}}, {"bf16", {0.825, 64}}, {"f8", {0.75, 560}}}},
      kPcieGen5);
}

/// NVIDIA H200 SXM data sheet: the rates of the H100, 141 GB HBM3e at 4.8 TB/s.
static Device h200() {
  Device device = h100();
  device.deviceClass = "H200";
  device.bandwidth = Bandwidth(4.8e12);
  device.memory = Bytes(int64_t(141e9));
  return device;
}

/// NVIDIA HGX B200 specification, one GPU: FP32 75, FP64 37 TFLOPS; with
/// sparsity, twice the dense rate, TF32 2.2, FP16 and BF16 4.5, FP8 and INT8 9,
/// FP4 18 PFLOPS; 180 GB HBM3e at 7.7 TB/s.
static Device b200() {
  return gpu(
      "B200", 75e12, 7.7e12, 180e9,
      {{"tf32", 1.1e15},
       {"f16", 2.25e15},
       {"bf16", 2.25e15},
       {"f8", 4.5e15},
       {"f4", 9e15},
       {"f64", 37e12},
       {"i8", 4.5e15}},
      {148, {{"f16", {0.8, 64}}, {"bf16", {0.8, 64}}, {"f8", {0.79, 128}}}},
      kPcieGen5);
}

/// Hosts of eight GPUs on NVSwitch (`nvlink` bytes a second from one GPU), one
/// InfiniBand port of `port` bytes a second for each GPU.
static Fabric switched(double nvlink, double port) {
  return {Joint{Bandwidth(nvlink), kNvlinkLatency},
          Joint{Bandwidth(port), kNetworkLatency}, Bandwidth(8 * port),
          Bandwidth(nvlink)};
}

/// The fabrics of published planners state no latency.
static Fabric published(double inside, double between) {
  return {Joint{Bandwidth(inside), Seconds(0)},
          Joint{Bandwidth(between), Seconds(0)}, Bandwidth(between)};
}

std::vector<Preset> presets() {
  auto hosts = [](size_t count, int64_t devices) {
    return std::vector<int64_t>(count, devices);
  };
  return {
      // DAPPLE (PPoPP 2021), section 6.1: V100 with NVLink, 25 Gb/s Ethernet;
      // then one V100 per server, with 25 and with 10 Gb/s. 25 GB/s on NVLink
      // is the constant of its planner's code.
      {"dapple-a", "2 hosts of 8 V100, NVLink 25 GB/s, Ethernet 25 Gb/s",
       hosts(2, 8), v100(), published(25e9, 3.125e9)},
      {"dapple-b", "16 hosts of 1 V100, Ethernet 25 Gb/s", hosts(16, 1), v100(),
       published(25e9, 3.125e9)},
      {"dapple-c", "16 hosts of 1 V100, Ethernet 10 Gb/s", hosts(16, 1), v100(),
       published(25e9, 1.25e9)},
      // PipeDream (SOSP 2019), table 1, cluster A: 4 V100 on PCIe, 10 Gb/s
      // Ethernet; its optimizer is run with 10 GB/s inside a host.
      {"pipedream-p4", "4 hosts of 4 V100, PCIe 10 GB/s, Ethernet 10 Gb/s",
       hosts(4, 4), v100Pcie(), published(10e9, 1.25e9)},
      // Unequal hosts with the links of dapple-a.
      {"uneven-8-4-2-2",
       "hosts of 8, 4, 2 and 2 V100, NVLink 25 GB/s, Ethernet 25 Gb/s",
       {8, 4, 2, 2},
       v100(),
       published(25e9, 3.125e9)},
      // DGX A100: NVLink 600 GB/s both ways, ConnectX-6 HDR 200 Gb/s.
      {"a100", "1 host of 8 A100 80GB, NVSwitch, InfiniBand HDR", hosts(1, 8),
       a100(), switched(300e9, 25e9)},
      // DGX H100, DGX H200: NVLink 900 GB/s both ways, ConnectX-7 NDR 400 Gb/s.
      {"h100", "1 host of 8 H100, NVSwitch, InfiniBand NDR", hosts(1, 8),
       h100(), switched(450e9, 50e9)},
      {"h200", "1 host of 8 H200, NVSwitch, InfiniBand NDR", hosts(1, 8),
       h200(), switched(450e9, 50e9)},
      // DGX B200: NVLink 1.8 TB/s both ways, ConnectX-7 NDR 400 Gb/s.
      {"b200", "1 host of 8 B200, NVSwitch, InfiniBand NDR", hosts(1, 8),
       b200(), switched(900e9, 50e9)},
  };
}

} // namespace stagewright
