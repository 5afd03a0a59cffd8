//===- Neighbours.cpp - a source of sampled neighbours, as a library ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same batches as `sample` of models/sampling.py, bit for bit, by another
// program. The text with which the source is opened is the path of a file:
// int64 numbers of nodes, edges, target nodes and both fan-outs; starts (int64,
// nodes + 1), neighbours (int32) and classes (int32).
//
//===----------------------------------------------------------------------===//

#include "stagewright-rt/source.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace {

uint64_t random(uint64_t word) {
  word += 0x9E3779B97F4A7C15u;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

/// Number `i` of the stream `key`, below `below`.
int64_t draw(uint64_t key, int64_t i, int64_t below) {
  return int64_t((random(key + uint64_t(i)) >> 32) * uint64_t(below) >> 32);
}

struct Sampler {
  uint64_t seed = 0;
  int64_t sizes[5] = {}; // nodes, edges, targets, near, far
  std::vector<int64_t> starts, shape[3];
  std::vector<int32_t> target, classes, ids, labels;
  std::vector<float> mask;
  sw_source_tensor tensors[3];

  template <typename T>
  void read(std::ifstream &file, std::vector<T> &into, int64_t count) {
    into.resize(size_t(count));
    file.read(reinterpret_cast<char *>(into.data()),
              count * int64_t(sizeof(T)));
  }

  bool open(const char *path) {
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char *>(sizes), sizeof(sizes));
    if (!file)
      return false;
    read(file, starts, sizes[0] + 1);
    read(file, target, sizes[1]);
    read(file, classes, sizes[0]);
    auto [nodes, edges, count, near, far] = sizes;
    int64_t others = near + near * far;
    ids.resize(size_t(count * (1 + others)));
    mask.resize(size_t(count * others));
    labels.resize(size_t(count));
    shape[0] = {count, 1 + others}, shape[1] = {count, others};
    shape[2] = {count};
    tensors[0] = {"ids", {SW_I32, 2, shape[0].data(), ids.data()}};
    tensors[1] = {"mask", {SW_F32, 2, shape[1].data(), mask.data()}};
    tensors[2] = {"classes", {SW_I32, 1, shape[2].data(), labels.data()}};
    return bool(file);
  }

  /// Neighbour `j` of `fan` of node `node`, shifted by draw number `i`; false
  /// if it has fewer.
  bool neighbour(uint64_t key, int64_t i, int64_t node, int64_t j, int64_t fan,
                 int32_t &found) const {
    int64_t first = starts[size_t(node)];
    int64_t degree = starts[size_t(node) + 1] - first;
    int64_t place = j * std::max(degree, fan) / fan;
    if (place >= degree)
      return false;
    place = (place + draw(key, i, degree)) % degree;
    found = target[size_t(first + place)];
    return true;
  }

  void sample(int64_t step, int64_t microbatch) {
    auto [nodes, edges, count, near, far] = sizes;
    uint64_t key = seed;
    for (int64_t word : {step, microbatch})
      key = random(key ^ random(uint64_t(word)));
    uint64_t nearKey = random(key), farKey = random(nearKey);
    std::fill(ids.begin(), ids.end(), 0);
    std::fill(mask.begin(), mask.end(), 0.0f);
    for (int64_t b = 0; b < count; ++b) {
      int64_t node = draw(key, b, nodes * 4 / 5);
      int32_t *id = ids.data() + b * shape[0][1];
      float *valid = mask.data() + b * shape[1][1];
      id[0] = int32_t(node);
      labels[size_t(b)] = classes[size_t(node)];
      for (int64_t k = 0; k < near; ++k) {
        valid[k] = neighbour(nearKey, b, node, k, near, id[1 + k]);
        for (int64_t l = 0; valid[k] > 0 && l < far; ++l) {
          int64_t at = near + k * far + l;
          valid[at] =
              neighbour(farKey, b * near + k, id[1 + k], l, far, id[1 + at]);
        }
      }
    }
  }
};

void *open(const char *text, uint64_t seed, const char **error) {
  static std::string reason;
  auto *made = new Sampler;
  made->seed = seed;
  if (made->open(text))
    return made;
  delete made;
  reason = "cannot read the graph '" + std::string(text) + "'";
  *error = reason.c_str();
  return nullptr;
}

int64_t next(void *state, int64_t step, int64_t microbatch,
             const sw_source_tensor **tensors, const char ** /*error*/) {
  auto *sampler = static_cast<Sampler *>(state);
  sampler->sample(step, microbatch);
  *tensors = sampler->tensors;
  return 3;
}

void close(void *state) { delete static_cast<Sampler *>(state); }

} // namespace

const sw_source stagewright_source = {SW_SOURCE_VERSION, open, next, close};
