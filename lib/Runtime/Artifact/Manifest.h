//===- Manifest.h - the manifest of an artifact -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manifest as plain data: arguments, results, channels and ranks. All of it
// is checked here, so the rest of the runtime need not check again (numbers in
// range, sizes that agree with shapes, one owner of each result). The program
// keeps the text for `--info`; parts that only `--info` reads (the plan, the
// grid) are not parsed here.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_MANIFEST_H
#define STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_MANIFEST_H

#include "stagewright-rt/runtime.h"
#include "stagewright/Support/SliceAxes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagewright::runtime {

/// An argument or a result of the original step, as the host program passes it.
/// `shape` is that of one microbatch; `bytes` is its size.
struct Interface {
  int64_t position = 0;
  std::string name;
  std::string role;    ///< parameter, batch, ... or loss, gradient, output
  std::string combine; ///< results: mean, sum, concat or last
  sw_dtype dtype = SW_F32;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  int64_t slices = 0; ///< > 0: ranks own it in that many slices
  /// Dimension 0 is divided into `rows` equal rows, each with the same number
  /// of slices. A slice is `runs` equally long runs of bytes; inside a row the
  /// runs of its slices alternate. A run is a number of units of `unit` bytes.
  /// If the units cannot be divided equally, each run of the first slices of a
  /// row has one unit more.
  int64_t rows = 1, runs = 1, unit = 1;
  /// On a grid of shards: how its axes split a row; `runs` is 1.
  SliceAxes axes;
  int64_t batchDim = 0; ///< results with combine "concat"
  std::string symbol;   ///< of the argument's data in the artifact, or empty
  /// State of averages over replicas, or of one replica alone. It is 0 at first
  /// and need not be set, and is not a part of the model.
  bool averaging = false;
  /// Results: the replicas differ, and the host gets their weighted sum.
  bool averaged = false;

  /// "3 ('params/wte')", for errors.
  std::string label() const;

  /// How many slices a row has.
  int64_t slicesOfRow() const { return slices / rows; }
  /// The bytes of the runs of all slices of a row with the same number.
  int64_t runBytes() const { return bytes / rows / runs; }
  /// Where the run of slice `number` of a row begins in these bytes.
  int64_t runStart(int64_t number) const;
  /// `shape` with the part of dimension 0 that one row has.
  std::vector<int64_t> rowShape() const;
  /// The bytes of slice `number` of a row; -1 if `axes` do not fit the shape.
  int64_t sliceBytes(int64_t number) const;
};

/// How many slots a ring has.
struct RingSize {
  int64_t depth = 1;
  bool depthAll = false; ///< one slot for every `depth` microbatches

  /// The number of slots if the step runs `microbatches`.
  int64_t slots(int64_t microbatches) const;
};

struct Channel : RingSize {
  /// The number of slots, and the max number of messages in a step.
  int64_t slots(int64_t microbatches) const;
  int64_t count(int64_t microbatches) const;
  /// Text that names message `m`: "microbatch 3", or "message 3" if `messages`
  /// is set; and "microbatch 3 of channel 'x'".
  std::string which(int64_t m) const;
  std::string describe(int64_t m) const;

  std::string name;
  int64_t from = 0, to = 0; ///< ranks
  int64_t bytes = 0;
  /// The round in which `from` and `to` create their communicator, which all
  /// channels from `from` to `to` share.
  int64_t round = 0;
  bool once = false; ///< one message a step, not one per microbatch
  /// Messages in a step, each with some value of some microbatch; 0: one
  /// message for each microbatch.
  int64_t messages = 0;
};

/// The part of a rank in a collective: consecutive buffers, or a slot of one.
struct Bucket {
  int64_t rank = 0;
  int64_t first = 0, count = 0; ///< buffers
  int64_t slot = 0;
};

/// A sum over ranks, of buckets of equal length; or one slot of a gather.
struct Collective {
  std::string name;
  sw_dtype dtype = SW_F32;
  int64_t elements = 0;        ///< including the padding of buffers to 64 bytes
  std::vector<Bucket> buckets; ///< by increasing rank
  /// The sum of an average over replicas: it may be awaited in a later step
  /// than the one in which it begins.
  bool carried = false;
  /// A gather: `elements` are those of one part, each bucket is a slot that has
  /// the parts of all ranks in their order, and may run several times a step.
  bool gathers = false;
  /// A gather that is an exchange: each rank has another part for every rank. A
  /// bucket has the parts that its rank sends, by receiver, then those that it
  /// receives, by sender.
  bool exchanges = false;

  /// Bytes of a bucket of a sum, or of one part of a gather.
  int64_t bytes() const;
  /// Parts in a slot of a gather.
  int64_t parts() const {
    return int64_t(buckets.size()) * (exchanges ? 2 : 1);
  }
  /// Whether one rank may begin it again while another still waits for it.
  bool overlaps() const { return carried || gathers; }
  /// "sum 'x'", "gather 'x'" or "exchange 'x'"; of a microbatch, "microbatch 3
  /// of gather 'x'".
  std::string describe() const;
  std::string describe(int64_t m) const;
  /// All ranks except `rank`, such as "ranks 0, 2 and 3".
  std::string others(int64_t rank) const;
  /// The index of `rank` in `buckets`; throws if it has none.
  size_t placeOf(int64_t rank) const;
};

/// An average of parameters over replicas, on one rank (`rank.average`).
struct Averaging {
  int64_t collective = 0;  ///< which sums the buffer `sum` over the replicas
  sw_dtype dtype = SW_F32; ///< of the collective
  int64_t every = 1;       ///< steps from one average to the next
  int64_t delay = 0;       ///< steps until it is merged, at most `every`
  double xi = 0;           ///< the share of its own parameters a replica keeps
  bool corrected = false;  ///< merge by adding average - snapshot
  double weight = 1;       ///< of this rank's parameters in the average
  int64_t turns = 1;       ///< replicas that take microbatches in turn
  int64_t step = 0, sum = 0, snapshot = -1; ///< buffers
  std::vector<int64_t> parameters;          ///< buffers

  /// Whether the average is begun, or merged, at the end of step `step`, which
  /// counts from 1. If both, it is merged first, unless `delay` is 0.
  bool beginsAt(int64_t step) const { return step % every == 0; }
  bool mergesAt(int64_t step) const {
    return step - delay >= every && (step - delay) % every == 0;
  }
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
  int64_t place = -1;    ///< offset of its slots in the workspace, bytes
  int64_t starts = -1;   ///< index into RankManifest::starts
  bool onHost = false;   ///< is in the memory of the device's host
  /// If replicas have different values: the argument and the result (indices as
  /// above) with which the host sets and reads the value of this rank alone,
  /// and the weight of this buffer in the weighted sum that is `result`. Weight
  /// 0: the buffer is the result.
  int64_t ownArgument = -1, ownResult = -1;
  double weight = 0;
  /// If several ranks have microbatches of `result`: those that this one has,
  /// modulo `period`; 0: it has all.
  std::vector<int64_t> turns;
  int64_t period = 0;

  /// Whether it has a slot of `result` for microbatch `m`.
  bool has(int64_t m) const {
    return period == 0 ||
           std::find(turns.begin(), turns.end(), m % period) != turns.end();
  }
};

/// A kernel of the device code, with its launch configuration.
struct Kernel {
  std::string name;
  int64_t grid[3] = {1, 1, 1};  ///< blocks
  int64_t block[3] = {1, 1, 1}; ///< threads of a block
  int64_t shared = 0;           ///< bytes of dynamic shared memory
  int64_t arguments = 0;        ///< values of 8 bytes
  /// What the kernel computes: tensor attention, attention, rows, sums,
  /// elements, scatter or loops. Empty if an older compiler did not count; then
  /// the three numbers below are 0.
  std::string form = {};
  int64_t read = 0, written = 0; ///< distinct bytes of a launch
  int64_t flops = 0;             ///< scalar operations of a launch
  /// By argument: bytes that the kernel may use from that address on; 0 if the
  /// argument is a number. Empty for artifacts of older compilers.
  std::vector<int64_t> bytes = {};
  /// Arguments to which the kernel adds: to all elements (`sums`), or to some
  /// (`adds`). If there are any, the last argument is an `sw_sums`, whose bits
  /// are numbered by `sums`, then by `adds`; those of `adds` never begin with
  /// zeros.
  std::vector<int64_t> sums = {}, adds = {};
  /// Whether the kernel only divides all numbers at the addresses in its
  /// arguments by its first argument without bytes.
  bool mean = false;

  /// Max number of arguments: CUDA accepts 4096 bytes of parameters, and a null
  /// pointer follows them. Source: "CUDA C++ Programming Guide", "Technical
  /// Specifications per Compute Capability".
  static constexpr int64_t maxArguments = 4096 / 8 - 1;
};

/// An array of the artifact that kernels read; devices have copies of it.
struct ConstantArray {
  std::string symbol; ///< of the array in the shared object
  int64_t bytes = 0;
};

/// A message that is received, or the slot of one that is sent.
struct Need {
  int64_t channel = 0, m = 0;
  bool sends = false; ///< The slot; else the message.
};

/// An action, or several, of a rank that runs them as they become ready.
struct ReadyRow {
  std::string name; ///< of the last action, "1F0"
  int64_t lane = 0;
  int64_t turn = 0; ///< of several that are ready the lowest goes first
  std::vector<Need> needs;
  std::vector<int64_t> after; ///< earlier rows of the rank
};

struct RankManifest {
  std::string device, entry;
  int64_t host = 0; ///< number of the device's host in the plan
  std::vector<int64_t> stages;
  std::vector<Buffer> buffers;
  /// For stashes without a ring: the offset of each microbatch from
  /// Buffer::place, bytes.
  std::vector<std::vector<int64_t>> starts;
  std::vector<std::string> nodes;
  std::vector<ReadyRow> rows; ///< by lane; empty if the rank has an order
  std::vector<Averaging> averages;
  int64_t arena = 0;    ///< bytes for Manifest::microbatches
  int64_t livePeak = 0; ///< bytes for Manifest::microbatches

  /// The name of node `number`; throws if there is none.
  const std::string &node(int64_t number) const;
};

/// A processor that the artifact has code for.
struct ProcessorManifest {
  std::vector<std::string> features;
  std::string suffix; ///< appended to the names of entries
};

/// By sender and receiver: bytes per second.
using RankRates = std::map<std::pair<int64_t, int64_t>, double>;

struct Manifest {
  std::string name, schedule, triple;
  bool cuda = false;                      ///< rank programs run on GPUs
  std::vector<std::string> architectures; ///< of the device code
  std::vector<std::string> ptx;           ///< architectures that also have PTX
  std::vector<Kernel> kernels;
  std::vector<ConstantArray> constants; ///< that kernels read
  int64_t microbatches = 1;
  bool only = false;                         ///< no other number can run
  std::vector<ProcessorManifest> processors; ///< best first
  std::vector<std::string> libraries; ///< "blas" or the name of a library
  std::vector<Interface> arguments, results;
  std::vector<Channel> channels;
  std::vector<RankManifest> ranks;
  std::vector<Collective> collectives;
  /// The rates that messages between hosts are guaranteed; nullopt if the step
  /// was compiled without a policy for flows.
  std::optional<RankRates> flows;

  /// Collective `number` of the manifest; throws if there is none.
  const Collective &collective(int64_t number) const;
  /// A channel; throws unless it exists, `rank` is its sender (else receiver),
  /// and `m` is one of its messages in a step of so many microbatches.
  const Channel &channelAt(int64_t rank, int64_t number, bool sender, int64_t m,
                           int64_t microbatches) const;
};

/// Parses and checks the JSON text of a manifest; throws an `Error`.
Manifest parseManifest(std::string_view json);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_MANIFEST_H
