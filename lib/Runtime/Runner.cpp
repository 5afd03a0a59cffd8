//===- Runner.cpp - the interface of a runnable step ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include "Averaging.h"
#include "Cuda/DeviceStep.h"
#include "DType.h"
#include "Processes/ProcessStep.h"
#include "Threads/Step.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cstring>

namespace stagewright::runtime {

/// The bytes of a result as the host gets it.
static int64_t hostBytes(const Interface &result, int64_t microbatches) {
  HostTensor tensor = hostResult(result, microbatches);
  return tensorBytes(tensor.dtype, tensor.shape).value_or(0);
}

Runner::Runner(std::shared_ptr<const Artifact> source,
               const StepOptions &options)
    : artifact(std::move(source)), count(options.microbatches) {
  if (!artifact->entry(0))
    raise("the artifact was opened for its manifest only");
  if (count == 0)
    count = manifest().microbatches;
  if (count < 0)
    raise("the number of microbatches is ", count, ", expected at least 1");
  if (manifest().only && count != manifest().microbatches)
    raise("the number of microbatches is ", count, ", but the artifact runs ",
          manifest().microbatches, " only: its schedule '", manifest().schedule,
          "' is an order for that number; compile it with --microbatches=",
          count);
  layouts = layOut(manifest(), count);
  for (size_t r = 0; r < manifest().ranks.size(); ++r) {
    int64_t printed = manifest().ranks[r].arena;
    if (count == manifest().microbatches && layouts[r].total != printed)
      raise("rank ", r, " needs an arena of ", layouts[r].total,
            " bytes, but the compiler printed ", printed,
            "; compiler and runtime have different versions");
    predicted.push_back(runtime::predictedPeak(manifest(), int64_t(r), count));
  }
  for (size_t r = 0; r < manifest().ranks.size(); ++r)
    choosers.push_back(
        manifest().ranks[r].rows.empty()
            ? nullptr
            : std::make_unique<Chooser>(manifest().ranks[r], int64_t(r)));
  requireTurns(manifest(), count);
  for (const Interface &argument : manifest().arguments)
    given.push_back(argument.averaging); // Arenas are 0 at first.
  if (options.trace > 0 || options.profile)
    for (size_t r = 0; r < manifest().ranks.size(); ++r)
      records.push_back(std::make_unique<Recorder>(
          manifest(), r, count, options.trace, options.profile));
}

void Runner::getOutput(int64_t position, sw_tensor tensor) {
  requireResult(position);
  if (!receives())
    tensor.data = &tensor; // Never written.
  size_t result = findResult(manifest(), count, position, tensor);
  readPieces(result, {0, hostBytes(manifest().results[result], count)},
             static_cast<std::byte *>(tensor.data));
}

void Runner::readOutput(int64_t position, int64_t offset, int64_t bytes,
                        void *to) {
  requireResult(position);
  size_t result = findResult(manifest(), position);
  const Interface &it = manifest().results[result];
  int64_t all = hostBytes(it, count);
  if (offset < 0 || bytes < 0 || offset > all || bytes > all - offset)
    raise("result ", it.label(), " has ", all, " bytes, so ", bytes,
          " bytes from byte ", offset, " cannot be read");
  if (bytes > 0 && !to && receives())
    raise("result ", it.label(), " has null data, expected room for ", bytes,
          " bytes");
  readPieces(result, {offset, offset + bytes}, static_cast<std::byte *>(to));
}

void Runner::readPieces(size_t result, ByteRange range, std::byte *to) {
  if (const Interface &it = manifest().results[result]; it.averaged) {
    int64_t size = dtypeSize(it.dtype);
    if (range.begin % size != 0 || range.end % size != 0)
      raise("result ", it.label(),
            " is an average over replicas, so whole "
            "elements of ",
            size, " bytes are read, not bytes ", range.begin, " to ",
            range.end);
    if (receives() && range.end > range.begin)
      std::memset(to, 0, size_t(range.end - range.begin));
  }
  for (int64_t at = range.begin; at < range.end; at += pieceBytes) {
    ByteRange piece = {at, std::min(range.end, at + pieceBytes)};
    read(result, piece, receives() ? to + (at - range.begin) : nullptr);
  }
}

bool Runner::entersAverages(size_t argument, const HostArenas &arenas) const {
  const Interface &it = manifest().arguments[argument];
  if (it.role == "parameter")
    restartRounds(arenas);
  return it.averaging || it.role == "parameter";
}

void Runner::requireInputs() const {
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i] && manifest().arguments[i].role != "microbatch")
      raise("argument ", manifest().arguments[i].label(), " was not set");
}

void Runner::requireResult(int64_t position) const {
  if (ran)
    return;
  const std::vector<Interface> &arguments = manifest().arguments;
  for (const Interface &result : manifest().results)
    for (size_t i = 0; i < arguments.size() && fresh; ++i)
      if (result.position == position && given[i] &&
          (result.role == "parameter" || result.role == "state") &&
          arguments[i].role == result.role && arguments[i].name == result.name)
        return;
  raise("there are no results: no step has run, or the last one failed");
}

void Runner::fillConstants() {
  for (const Interface &argument : manifest().arguments)
    if (const void *data = artifact->data(argument))
      setInput(argument.position,
               {argument.dtype, int32_t(argument.shape.size()),
                argument.shape.data(), const_cast<void *>(data)});
}

/// Checks that the peak is what the compiler printed, within one alignment unit
/// per buffer; for another number of microbatches, that it is no higher.
std::string Runner::checkPeaks() const {
  for (size_t r = 0; r < layouts.size(); ++r) {
    int64_t seen = peak(int64_t(r));
    int64_t rings = int64_t(manifest().ranks[r].buffers.size());
    for (const Ring &ring : layouts[r].channels)
      rings += ring.stride > 0;
    bool exact = count == manifest().microbatches && !choosers[r];
    if (seen > predicted[r] + rings * alignment ||
        (exact && seen < predicted[r] - rings * alignment))
      return "rank " + std::to_string(r) + ": live bytes reached " +
             std::to_string(seen) + ", but the compiler printed " +
             std::to_string(predicted[r]);
  }
  return "";
}

std::vector<const Recorder *> Runner::recorders() const {
  std::vector<const Recorder *> list;
  list.reserve(records.size());
  for (auto &record : records)
    list.push_back(record.get());
  return list;
}

std::vector<double> Runner::lastIdle() {
  std::vector<double> shares;
  for (auto &record : records)
    shares.push_back(record->lastIdle());
  return shares;
}

std::unique_ptr<Runner> makeRunner(std::shared_ptr<const Artifact> artifact,
                                   const StepOptions &options) {
  for (auto [name, value] :
       {std::pair("dilate", &options.dilate), std::pair("pace", &options.pace)})
    if (!value->empty() && artifact->manifest().cuda)
      raise(name, " is '", *value,
            "', but only ranks on CPUs can be slowed down, and the artifact's "
            "target is a GPU; leave it out");
  if (options.processes) {
    if (!Processes::get())
      raise("this process runs one of several ranks; call sw_connect first");
    if (artifact->manifest().cuda)
      return std::make_unique<cuda::DeviceStep>(std::move(artifact), options,
                                                Processes::get());
    return makeProcessStep(std::move(artifact), options, *Processes::get());
  }
  if (artifact->manifest().cuda)
    return std::make_unique<cuda::DeviceStep>(std::move(artifact), options,
                                              nullptr);
  return std::make_unique<Step>(std::move(artifact), options);
}

} // namespace stagewright::runtime
