//===- Manifest.h - what an artifact says about itself ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manifest as plain data: arguments, results, channels and ranks, checked
// so completely that the rest of the runtime need not check again (numbers in
// range, sizes that agree with shapes, each result owned once). The text
// itself stays with the program for `--info`; what only that reads (the plan,
// the grid) is not parsed here.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_MANIFEST_H
#define STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_MANIFEST_H

#include "stagewright-rt/runtime.h"

#include <string>
#include <string_view>
#include <vector>

namespace stagewright::runtime {

/// An argument or a result of the original step, as a host sees it. `shape`
/// is that of one microbatch; `bytes` is its size.
struct Interface {
  int64_t position = 0;
  std::string name;
  std::string role;    ///< parameter, batch, ... or loss, gradient, output
  std::string combine; ///< results: mean, sum, concat or last
  sw_dtype dtype = SW_F32;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  int64_t slices = 0; ///< > 0: owned in that many slices
  /// Slices are parts of that many rows along dimension 0, as many of each. A
  /// part is so many equal runs of bytes, of which those of all parts of the
  /// row lie in turn.
  int64_t rows = 1, runs = 1;
  int64_t batchDim = 0; ///< results with combine "concat"
  std::string symbol;   ///< exported data that an argument has; may be empty

  /// "3 ('params/wte')", for errors.
  std::string label() const;
};

/// How many slots a ring has.
struct RingSize {
  int64_t depth = 1;
  bool depthAll = false; ///< one for every `depth`-th microbatch

  /// When the step runs `microbatches`.
  int64_t slots(int64_t microbatches) const;
};

struct Channel : RingSize {
  /// How many slots it has, and how many messages pass in a step.
  int64_t slots(int64_t microbatches) const;
  int64_t count(int64_t microbatches) const;
  /// What message `m` is, for people: "microbatch 3", and "microbatch 3 of
  /// channel 'x'".
  std::string which(int64_t m) const;
  std::string describe(int64_t m) const;

  std::string name;
  int64_t from = 0, to = 0; ///< ranks
  int64_t bytes = 0;
  /// When its ranks make the communicator of all that `from` sends to `to`.
  int64_t round = 0;
  bool once = false; ///< one message a step, of no microbatch
  /// How many messages pass in a step, each of some value and microbatch; 0:
  /// one for each microbatch.
  int64_t messages = 0;
};

/// What a rank gives to a collective: buffers that lie one after the other.
struct Bucket {
  int64_t rank = 0;
  int64_t first = 0, count = 0; ///< buffers
};

/// A sum over ranks, of buckets that are as long as each other.
struct Collective {
  std::string name;
  sw_dtype dtype = SW_F32;
  int64_t elements = 0;        ///< with what pads buffers to 64 bytes
  std::vector<Bucket> buckets; ///< by increasing rank

  /// The place of `rank` among its ranks; throws if it is none.
  size_t placeOf(int64_t rank) const;
};

enum class BufferKind {
  Parameter,
  Constant,
  Seed,
  State,
  Batch,
  Microbatch,
  Gradient,
  Accumulator,
  Output,
  Stash,
  Workspace
};

struct Buffer : RingSize {
  std::string name;
  BufferKind kind = BufferKind::Workspace;
  int64_t bytes = 0;     ///< of one slot
  int64_t argument = -1; ///< index into Manifest::arguments
  int64_t result = -1;   ///< index into Manifest::results
  int64_t slice = -1;    ///< part of a sliced argument or result
  int64_t place = -1;    ///< byte of the workspace where its slots begin
  int64_t starts = -1;   ///< index into RankManifest::starts
  bool onHost = false;   ///< lies in the memory of the device's host
};

/// A function of the device code, and how every launch of it is shaped.
struct Kernel {
  std::string name;
  int64_t grid[3] = {1, 1, 1};  ///< blocks
  int64_t block[3] = {1, 1, 1}; ///< threads of a block
  int64_t shared = 0;           ///< bytes of shared memory given at the launch
  int64_t arguments = 0;        ///< values of 8 bytes
  /// What its code is for: attention, rows, sums, elements, scatter or
  /// loops; empty
  /// where an older compiler did not count, and the numbers are 0 then.
  std::string form = {};
  int64_t read = 0, written = 0; ///< distinct bytes of a launch
  int64_t flops = 0;             ///< scalar operations of a launch
  /// By argument: bytes from its address on that it may use, 0 of a number.
  /// Empty where an older compiler did not say.
  std::vector<int64_t> bytes = {};
  /// Arguments that the kernel adds to, all of each: with bit i set in the last
  /// argument number i of these begins with zeros instead of what it holds.
  std::vector<int64_t> sums = {};
  /// Whether it divides all numbers behind its first argument by its second,
  /// and does nothing else.
  bool mean = false;

  /// Most of them: CUDA takes 4096 bytes of parameters, and a null pointer
  /// follows them. Source: "CUDA C++ Programming Guide", "Technical
  /// Specifications per Compute Capability".
  static constexpr int64_t maxArguments = 4096 / 8 - 1;
};

/// An array of the artifact that kernels read; devices have copies of it.
struct ConstantArray {
  std::string symbol; ///< where it lies in the host's memory
  int64_t bytes = 0;
};

struct RankManifest {
  std::string device, entry;
  int64_t host = 0; ///< where the device is, in numbers of the plan
  std::vector<int64_t> stages;
  std::vector<Buffer> buffers;
  /// Where the microbatches of stashes lie that have no ring, in bytes behind
  /// their place.
  std::vector<std::vector<int64_t>> starts;
  std::vector<std::string> nodes;
  int64_t arena = 0;    ///< bytes for Manifest::microbatches
  int64_t livePeak = 0; ///< bytes for Manifest::microbatches
};

/// A processor that the artifact has code for.
struct ProcessorManifest {
  std::vector<std::string> features;
  std::string suffix; ///< of the entries' names
};

struct Manifest {
  std::string name, schedule, triple;
  bool cuda = false;                      ///< rank programs address a device
  std::vector<std::string> architectures; ///< of the device code
  std::vector<std::string> ptx;           ///< architectures with PTX beside it
  std::vector<Kernel> kernels;
  std::vector<ConstantArray> constants; ///< that these read
  int64_t microbatches = 1;
  bool only = false;                         ///< runs that number and no other
  std::vector<ProcessorManifest> processors; ///< the best first
  std::vector<std::string> libraries; ///< "blas" or the name of a library
  std::vector<Interface> arguments, results;
  std::vector<Channel> channels;
  std::vector<RankManifest> ranks;
  std::vector<Collective> collectives;

  /// Collective `number` of the manifest; throws if there is none.
  const Collective &collective(int64_t number) const;
};

/// Parses and checks the JSON text of a manifest; throws an `Error`.
Manifest parseManifest(std::string_view json);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_MANIFEST_H
