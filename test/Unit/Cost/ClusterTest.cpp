//===- ClusterTest.cpp - clusters and rooflines ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Roofline.h"
#include <gtest/gtest.h>

using namespace stagewright;

static const char *kDevice = R"({"name": "d0", "class": "cpu-core", "node": 0,
  "flops": 4e9, "bandwidth": 2e9, "memory": 1024})";

/// The error of reading a cluster file with these devices and links.
static std::string errorOf(const std::string &devices,
                           const std::string &links) {
  Result<Cluster> cluster =
      parseCluster(R"({"name": "lab", "devices": [)" + devices +
                       R"(], "links": [)" + links + "]}",
                   "lab.json");
  return cluster ? "" : cluster.error().message;
}

/// `text` with `from` replaced by `to`, such as a field by nothing.
static std::string changed(std::string text, const std::string &from,
                           const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(Cluster, LocalPresetLinksEveryPair) {
  Result<Cluster> cluster = loadCluster("local:4");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->devices.size(), 4u);
  EXPECT_EQ(cluster->links.size(), 6u);
  EXPECT_EQ(cluster->devices[3].name, "d3");
  EXPECT_EQ(cluster->classes(), std::vector<std::string>{"cpu-core"});
  EXPECT_TRUE(cluster->find(3, 1));
  EXPECT_FALSE(cluster->find(1, 1));
  EXPECT_TRUE(cluster->check());
}

TEST(Cluster, WrongNames) {
  EXPECT_EQ(loadCluster("local:0").error().message,
            "cluster 'local' has 1 to 1024 cores, got 0");
  EXPECT_EQ(loadCluster("local:x").error().message,
            "cluster 'local:x' needs a number of cores, as in local:4");
  EXPECT_EQ(loadCluster("moon").error().message,
            "unknown cluster 'moon'; there are local:N, dapple-a[:HOSTS], "
            "dapple-b[:HOSTS], dapple-c[:HOSTS], pipedream-p4[:HOSTS], "
            "uneven-8-4-2-2, a100[:HOSTS], h100[:HOSTS], h200[:HOSTS], "
            "b200[:HOSTS], and the path of a .json file, each "
            "with ',peak' for contractions at the devices' rates whatever "
            "their size");
  EXPECT_EQ(loadCluster("h100:x").error().message,
            "cluster 'h100:x' needs a number of hosts, as in h100:4");
  EXPECT_EQ(loadCluster("h100:513").error().message,
            "cluster 'h100' has 1 to 512 hosts, got 513");
  EXPECT_EQ(loadCluster("uneven-8-4-2-2:2").error().message,
            "cluster 'uneven-8-4-2-2' has a fixed list of hosts, got "
            "'uneven-8-4-2-2:2'; leave the number out");
  EXPECT_EQ(loadCluster("no-such.json").error().message,
            "cannot read 'no-such.json': No such file or directory");
}

TEST(Cluster, ReadsAFile) {
  std::string second = changed(kDevice, "d0", "d1");
  Result<Cluster> cluster = parseCluster(
      R"({"name": "lab", "devices": [)" + std::string(kDevice) + "," + second +
          R"(], "links": [{"from": "d1", "to": "d0", "bandwidth": 1e9,
                           "latency": 1e-6}]})",
      "lab.json");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->name, "lab");
  EXPECT_EQ(cluster->devices[1].memory, Bytes(1024));
  EXPECT_EQ(cluster->find(0, 1)->latency, Seconds(1e-6));
}

TEST(Cluster, ErrorsNameFileDeviceAndField) {
  EXPECT_EQ(parseCluster("{", "lab.json").error().message,
            "'lab.json' is not JSON");
  EXPECT_EQ(parseCluster("[]", "lab.json").error().message,
            "lab.json must be an object, got array");
  EXPECT_EQ(parseCluster(R"({"name": "x"})", "lab.json").error().message,
            "lab.json has no field 'devices'");
  EXPECT_EQ(errorOf(changed(kDevice, R"(, "memory": 1024)", ""), ""),
            "lab.json: device 'd0' has no field 'memory'");
  EXPECT_EQ(errorOf(changed(kDevice, "1024", "\"big\""), ""),
            "lab.json: device 'd0': field 'memory' must be a whole number, got "
            "\"big\"");
  EXPECT_EQ(
      errorOf(changed(kDevice, "1024", "\"" + std::string(58, 'x') + "é\""),
              ""),
      "lab.json: device 'd0': field 'memory' must be a whole number, got "
      "\"" +
          std::string(58, 'x') + "\\...");
  EXPECT_EQ(errorOf(changed(kDevice, "1024", "18446744073709551615"), ""),
            "lab.json: device 'd0': field 'memory' must be at most "
            "9223372036854775807, got 18446744073709551615");
  EXPECT_EQ(errorOf("7", ""), "lab.json: device 0 must be an object, got "
                              "number");
  EXPECT_EQ(errorOf(kDevice, R"({"from": "d0", "to": "d9", "bandwidth": 1.0,
                                 "latency": 0})"),
            "lab.json: link 0: 'd9' is not a device of the file");
  EXPECT_EQ(errorOf(kDevice, R"({"from": "d0", "bandwidth": 1, "latency": 0})"),
            "lab.json: link 0 has no field 'to'");
}

TEST(Cluster, ChecksQuantities) {
  EXPECT_EQ(errorOf("", ""), "lab.json: cluster 'lab' has no devices");
  EXPECT_EQ(errorOf(std::string(kDevice) + "," + kDevice, ""),
            "lab.json: cluster 'lab' has two devices 'd0'");
  EXPECT_EQ(errorOf(changed(kDevice, "4e9", "-1.5"), ""),
            "lab.json: device 'd0' needs positive flops, bandwidth and memory, "
            "got -1.5, 2000000000.0 and 1024");
  std::string faster = changed(changed(kDevice, "d0", "d1"), "4e9", "8e9");
  EXPECT_EQ(errorOf(std::string(kDevice) + "," + faster, ""),
            "lab.json: devices 'd0' and 'd1' have the same class 'cpu-core', "
            "but different flops, bandwidth, speed, rates, contractions or "
            "bandwidth to the host; give them two classes");
  std::string second = changed(kDevice, "d0", "d1");
  EXPECT_EQ(errorOf(std::string(kDevice) + "," + second,
                    R"({"from": "d0", "to": "d1", "bandwidth": 0,
                        "latency": 0})"),
            "lab.json: link between 'd0' and 'd1' needs a positive bandwidth "
            "and a latency of at least 0, got 0.0 and 0.0");
}

TEST(Cluster, ChecksSpeedRatesAndFabric) {
  auto with = [](const char *field) {
    return changed(kDevice, "\"memory\"", std::string(field) + ", \"memory\"");
  };
  EXPECT_EQ(errorOf(with(R"("speed": 0)"), ""),
            "lab.json: device 'd0' needs a positive speed, got 0.0");
  EXPECT_EQ(errorOf(with(R"("rates": {"bf16": -1})"), ""),
            "lab.json: device 'd0' needs a positive rate for 'bf16', got -1.0");
  EXPECT_EQ(errorOf(with(R"("rates": {"bf61": 1})"), ""),
            "lab.json: device 'd0' has a rate for 'bf61', which is not one of "
            "the element types bf16, f16, f32, f4, f64, f8, i4, i8, tf32");
  EXPECT_EQ(errorOf(with(R"("rates": {"bf16": "fast"})"), ""),
            "lab.json: device 'd0': rates: field 'bf16' must be a number, got "
            "\"fast\"");
  auto fabricError = [](const std::string &fabric) {
    return parseCluster(R"({"name": "lab", "devices": [)" +
                            std::string(kDevice) + R"(], "fabric": )" + fabric +
                            "}",
                        "lab.json")
        .error()
        .message;
  };
  EXPECT_EQ(fabricError(R"({"inside": {"bandwidth": 0, "latency": 0}})"),
            "lab.json: fabric inside hosts needs a positive bandwidth and a "
            "latency of at least 0, got 0.0 and 0.0");
  EXPECT_EQ(fabricError(R"({"between": {"bandwidth": 1}})"),
            "lab.json: fabric between hosts has no field 'latency'");
  EXPECT_EQ(fabricError(R"({"inside": 3})"),
            "lab.json: fabric: field 'inside' must be an object, got 3");
  EXPECT_EQ(fabricError(R"({"nic": -2})"),
            "lab.json: nic of the fabric needs a positive bandwidth, got -2.0");
  EXPECT_EQ(fabricError(R"({"port": 0})"),
            "lab.json: port of the fabric needs a positive bandwidth, got 0.0");
  EXPECT_EQ(fabricError("[]"),
            "lab.json: field 'fabric' must be an object, got []");
}

TEST(Cluster, UnknownFieldsAreErrors) {
  EXPECT_EQ(errorOf(changed(kDevice, "\"memory\"", "\"memroy\""), ""),
            "lab.json: device 'd0': unknown field 'memroy'; there are name, "
            "class, node, flops, bandwidth, memory, speed, rates, "
            "contractions, host_bandwidth");
  EXPECT_EQ(errorOf(kDevice, R"({"from": "d0", "with": "d1"})"),
            "lab.json: link 0: unknown field 'with'; there are from, to, "
            "bandwidth, latency");
  EXPECT_EQ(parseCluster(R"({"nodes": []})", "lab.json").error().message,
            "lab.json: unknown field 'nodes'; there are name, devices, links, "
            "fabric");
  EXPECT_EQ(parseCluster(R"({"name": "lab", "devices": [],
                             "fabric": {"nics": 1}})",
                         "lab.json")
                .error()
                .message,
            "lab.json: fabric: unknown field 'nics'; there are inside, "
            "between, port, nic");
}

TEST(Cluster, EveryDeviceIsWithinReach) {
  std::string devices = std::string(kDevice) + "," +
                        changed(kDevice, "d0", "d1") + "," +
                        changed(kDevice, "d0", "d2");
  std::string link =
      R"({"from": "d1", "to": "d0", "bandwidth": 1, "latency": 0})";
  EXPECT_EQ(errorOf(devices, link),
            "lab.json: no path of links joins devices 'd0' and 'd2'; give a "
            "link to one of them, or a fabric");
  EXPECT_EQ(errorOf(devices, link + "," + link),
            "lab.json: cluster 'lab' has two links between 'd1' and 'd0'; give "
            "one with the bandwidth of both");
  EXPECT_EQ(errorOf(devices, link + "," + changed(link, "d0", "d2")), "");
}

TEST(Roofline, TakesTheLongerOfArithmeticAndTraffic) {
  Device device{"d0", "c", 0, FlopRate(4), Bandwidth(2), Bytes(1)};
  EXPECT_EQ(rooflineSeconds({Flops(8), Bytes(1), Bytes(1)}, device),
            Seconds(2));
  EXPECT_EQ(rooflineSeconds({Flops(8), Bytes(6), Bytes(4)}, device),
            Seconds(5));
}

TEST(Roofline, ContractionsRunAtTheRateOfTheirType) {
  Device device{"d0", "c", 0, FlopRate(4), Bandwidth(2), Bytes(1)};
  device.rates = {{"bf16", FlopRate(16)}, {"f8", FlopRate(32)}};
  // bf16 takes 4 s and f8 takes 1 s. f64 has no rate of its own: its 12 flops
  // and the other 8 take 5 s.
  EXPECT_EQ(
      rooflineSeconds(
          {Flops(116),
           Bytes(1),
           Bytes(1),
           {{{"bf16"}, Flops(64)}, {{"f8"}, Flops(32)}, {{"f64"}, Flops(12)}}},
          device),
      Seconds(10));
}
