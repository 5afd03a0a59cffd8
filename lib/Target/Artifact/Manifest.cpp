//===- Manifest.cpp - the facts of an artifact as JSON --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format that lib/Runtime/Artifact reads. The keys of an object are in
// alphabetical order, except that what later levels add stands at the end of
// the manifest. The text is streamed, because a program of thousands of buffers
// has megabytes of it.
//
//===----------------------------------------------------------------------===//

#include "Emission.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Rank/IR/FlowRates.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <cmath>

namespace stagewright {
namespace {

class Writer {
public:
  explicit Writer(llvm::raw_ostream &stream) : out(stream) {}

  void write(rank::ArtifactOp artifact, ArrayRef<Processor> processors) {
    int64_t stages = 0;
    for (auto program : artifact.getPrograms().getAsRange<rank::ProgramAttr>())
      for (int64_t stage : program.getStages())
        stages = std::max(stages, stage + 1);
    rank::PlanAttr plan = artifact.getPlanAttr();
    rank::DeviceAttr device = artifact.getDeviceAttr();
    out.objectBegin();
    list<rank::InterfaceAttr>("arguments", artifact.getStepArguments());
    list<rank::ChannelAttr>("channels", artifact.getChannels());
    if (!artifact.getCollectives().empty())
      list<rank::CollectiveAttr>("collectives", artifact.getCollectives());
    if (auto flows = artifact->getAttrOfType<ArrayAttr>(rank::kFlows))
      list<DictionaryAttr>("flows", flows);
    if (plan)
      ifAny("grid", plan.getGrid());
    entry("microbatches", artifact.getMicrobatches());
    entry("name", artifact.getName());
    entry("only", artifact.getOnly());
    ifAny("plan", plan);
    list<rank::ProgramAttr>("ranks", artifact.getPrograms());
    list<rank::InterfaceAttr>("results", artifact.getStepResults());
    entry("schedule", artifact.getSchedule());
    entry("stages", stages);
    entry("stagewright", versionOf(artifact));
    if (std::optional<ArrayAttr> kernels = artifact.getKernels())
      list<rank::KernelAttr>("kernels", *kernels);
    if (std::optional<ArrayAttr> constants = artifact.getConstants())
      list<rank::ConstantAttr>("constants", *constants);
    entry("libraries",
          device ? ArrayRef<StringRef>() : ArrayRef<StringRef>("blas"));
    out.attributeObject("target", [&] { target(device, processors); });
    out.objectEnd();
  }

private:
  template <typename T> void value(const T &it, int64_t number = 0) {
    if constexpr (std::is_floating_point_v<T>) {
      out.value(std::isfinite(it) ? llvm::json::Value(it) : nullptr);
    } else if constexpr (std::is_integral_v<T>) {
      out.value(it);
    } else if constexpr (std::is_same_v<T, FloatAttr>) {
      value(it.getValueAsDouble());
    } else if constexpr (std::is_same_v<T, DenseI64ArrayAttr>) {
      value(it.asArrayRef());
    } else if constexpr (std::is_convertible_v<T, StringRef>) {
      StringRef text = it; // In a file of MLIR it may have any bytes.
      out.value(llvm::json::isUTF8(text)
                    ? llvm::json::Value(text)
                    : llvm::json::Value(llvm::json::fixUTF8(text)));
    } else if constexpr (std::is_base_of_v<Attribute, T>) {
      out.object([&] { members(it, number); });
    } else {
      out.array([&] {
        for (auto [index, element] : llvm::enumerate(it))
          value(element, int64_t(index));
      });
    }
  }
  template <typename T> void entry(StringRef key, const T &it) {
    out.attributeBegin(key);
    value(it);
    out.attributeEnd();
  }
  template <typename T> void list(StringRef key, ArrayAttr all) {
    entry(key, all.getAsRange<T>());
  }
  /// An entry that is absent if it is null, 0, false or empty.
  template <typename T> void ifAny(StringRef key, const T &it) {
    if constexpr (std::is_constructible_v<bool, T>) {
      if (it)
        entry(key, it);
    } else if (!it.empty()) {
      entry(key, it);
    }
  }
  void depth(int64_t depth) {
    entry("depth", std::abs(depth));
    entry("depth_all", depth < 0);
  }
  void elementType(RankedTensorType type) {
    entry("dtype", rank::getElementName(type.getElementType()));
  }

  void members(rank::InterfaceAttr it, int64_t) {
    ifAny("averaging", it.getAveraging());
    ifAny("axes", it.getAxes());
    entry("batch_dim", it.getBatchDim());
    ifAny("combine", it.getCombine());
    elementType(it.getType());
    entry("name", it.getName());
    entry("of", it.getOf());
    entry("position", it.getPosition());
    entry("role", it.getRole());
    entry("rows", it.getRows());
    entry("runs", it.getRuns());
    entry("shape", it.getType().getShape());
    entry("slices", it.getSlices());
    ifAny("symbol", it.getSymbol());
    if (it.getUnit() != 1)
      entry("unit", it.getUnit());
  }

  void members(rank::ChannelAttr it, int64_t id) {
    entry("bytes", rank::getSlotBytes(it.getType()));
    depth(it.getDepth());
    entry("from", it.getFrom());
    entry("id", id);
    ifAny("messages", it.getMessages());
    entry("name", it.getName());
    ifAny("once", it.getOnce());
    entry("round", it.getRound());
    entry("to", it.getTo());
  }

  /// The rate of a flow.
  void members(DictionaryAttr it, int64_t) {
    entry("from", it.getAs<IntegerAttr>("from").getInt());
    entry("rate", it.getAs<FloatAttr>("rate"));
    entry("to", it.getAs<IntegerAttr>("to").getInt());
  }

  void members(rank::BucketAttr it, int64_t) {
    entry("buffers", it.getBuffers());
    entry("first", it.getFirst());
    entry("rank", it.getRank());
    ifAny("slot", it.getSlot());
  }

  void members(rank::CollectiveAttr it, int64_t id) {
    entry("buckets", it.getBuckets());
    elementType(it.getType());
    entry("elements", it.getType().getNumElements());
    ifAny("exchanges", it.getExchanges());
    ifAny("gathers", it.getGathers());
    entry("id", id);
    entry("name", it.getName());
  }

  void members(rank::BufferAttr it, int64_t id) {
    entry("argument", it.getArgument());
    entry("bytes", rank::getSlotBytes(it.getType()));
    depth(it.getDepth());
    elementType(it.getType());
    entry("id", id);
    entry("kind", rank::stringifyBufferKind(it.getKind()));
    entry("name", it.getName());
    ifAny("on_host", it.getOnHost());
    if (it.getOwnArgument() >= 0) {
      entry("own_argument", it.getOwnArgument());
      entry("own_result", it.getOwnResult());
    }
    ifAny("period", it.getPeriod());
    entry("place", it.getPlace());
    entry("result", it.getResult());
    entry("shape", it.getType().getShape());
    entry("slice", it.getSlice());
    entry("starts", it.getStarts());
    ifAny("turns", it.getTurns());
    ifAny("weight", it.getWeight());
  }

  void members(rank::AverageAttr it, int64_t) {
    entry("collective", it.getCollective());
    entry("corrected", it.getCorrected());
    entry("delay", it.getDelay());
    entry("every", it.getEvery());
    entry("parameters", it.getParameters());
    entry("snapshot", it.getSnapshot());
    entry("step", it.getStep());
    entry("sum", it.getSum());
    entry("turns", it.getTurns());
    entry("weight", it.getWeight());
    entry("xi", it.getXi());
  }

  void members(rank::RowAttr it, int64_t) {
    entry("after", it.getAfter());
    entry("claims", it.getClaims());
    entry("lane", it.getLane());
    entry("name", it.getName());
    entry("receives", it.getReceives());
    entry("turn", it.getTurn());
  }

  void members(rank::ProgramAttr it, int64_t rank) {
    ifAny("averages", it.getAverages());
    entry("buffers", it.getBuffers());
    entry("device", it.getDevice());
    entry("entry", it.getEntry());
    entry("host", it.getHost());
    out.attributeObject("memory", [&] {
      if (DictionaryAttr memory = it.getMemory())
        for (NamedAttribute use : memory)
          entry(llvm::json::fixUTF8(use.getName().getValue()),
                cast<IntegerAttr>(use.getValue()).getInt());
    });
    entry("nodes", it.getNodes());
    entry("rank", rank);
    ifAny("rows", it.getRows());
    entry("stages", it.getStages());
    entry("starts", it.getStarts());
  }

  void members(rank::KernelAttr it, int64_t) {
    entry("adds", it.getAdds());
    entry("arguments", it.getArguments());
    entry("block", it.getBlock());
    entry("bytes", it.getBytes());
    entry("flops", it.getFlops());
    entry("form", it.getForm());
    entry("grid", it.getGrid());
    ifAny("mean", it.getMean());
    entry("name", it.getName());
    entry("read", it.getRead());
    entry("shared", it.getShared());
    entry("sums", it.getSums());
    entry("written", it.getWritten());
  }

  void members(rank::ConstantAttr it, int64_t) {
    entry("bytes", it.getBytes());
    entry("symbol", it.getSymbol());
  }

  void members(pipeline::AveragingAttr it, int64_t) {
    bool isTimed = it.getAllReduce() && it.getStep();
    ifAny("all_reduce_s", it.getAllReduce());
    entry("delay", it.getDelay());
    entry("every", it.getEvery());
    if (isTimed)
      entry("exposed_s", std::max(0., it.getAllReduce().getValueAsDouble() -
                                          double(it.getDelay()) *
                                              it.getStep().getValueAsDouble()));
    entry("merge", it.getMerge());
    entry("progress", it.progress());
    ifAny("step_s", it.getStep());
    if (!it.isCorrected())
      entry("xi", it.getXi());
  }

  void members(rank::StageAttr it, int64_t) {
    entry("devices", it.getDevices());
    entry("layers", it.getLayers());
    entry("stage", it.getIndex());
  }

  void members(rank::PlanAttr it, int64_t) {
    pipeline::PlanAttr promise = it.getPromise();
    ifAny("averaging", it.getAveraging());
    if (promise)
      entry("bound", promise.getBound());
    if (it.getIdle())
      entry("idle", it.getIdle().asArrayRef());
    if (promise)
      entry("planner", promise.getPlanner());
    entry("stages", it.getStages());
    if (promise)
      entry("time", promise.getTime());
  }

  void describe(const Processor &processor) {
    entry("cpu", processor.machine->getTargetCPU());
    entry("features", processor.features);
  }

  void target(rank::DeviceAttr device, ArrayRef<Processor> processors) {
    if (device)
      entry("architectures", device.getArchitectures());
    describe(processors.front());
    if (device)
      entry("kind", device.getKind());
    if (processors.size() > 1)
      out.attributeArray("others", [&] {
        for (const Processor &other : processors.drop_front())
          out.object([&] {
            describe(other);
            entry("suffix", other.suffix);
          });
      });
    if (device)
      entry("ptx", device.getPtx());
    entry("triple", processors.front().machine->getTargetTriple().str());
  }

  /// The lowest version that describes all that the programs use, so that
  /// runtimes which do not know it refuse the artifact.
  static int64_t versionOf(rank::ArtifactOp artifact) {
    int64_t version = 1;
    auto needs = [&](int64_t least, bool isNeeded) {
      version = std::max(version, isNeeded ? least : 1);
    };
    for (auto it : artifact.getPrograms().getAsRange<rank::ProgramAttr>()) {
      needs(2, !it.getStarts().empty());
      needs(3, llvm::any_of(it.getBuffers(), [](rank::BufferAttr buffer) {
              return buffer.getOnHost();
            }));
      needs(4, !it.getRows().empty() || !it.getAverages().empty());
      needs(5, llvm::any_of(it.getBuffers(), [](rank::BufferAttr buffer) {
              return buffer.getPeriod() > 0;
            }));
    }
    for (auto it : artifact.getCollectives().getAsRange<rank::CollectiveAttr>())
      needs(6, it.getGathers());
    for (ArrayAttr interfaces :
         {artifact.getStepArguments(), artifact.getStepResults()})
      for (auto it : interfaces.getAsRange<rank::InterfaceAttr>())
        needs(7, !it.getAxes().empty());
    return version;
  }

  llvm::json::OStream out;
};

} // namespace

std::string writeManifest(rank::ArtifactOp artifact,
                          ArrayRef<Processor> processors) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Writer(stream).write(artifact, processors);
  return text;
}

} // namespace stagewright
