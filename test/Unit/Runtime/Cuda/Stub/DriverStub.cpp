//===- DriverStub.cpp - a driver that only records ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stub.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <thread>
#include <vector>

using namespace stub;

namespace {

enum : int {
  outOfMemory = 2,
  invalidDevice = 101,
  invalidHandle = 400,
  notReady = 600,
  captureUnsupported = 900,
  captureUnjoined = 904,
  captureIsolation = 905
};

struct Context {
  int device;
};
struct Kernel {
  std::string name;
};

int deviceCount() {
  const char *count = std::getenv("STAGEWRIGHT_STUB_DEVICES");
  return count ? std::atoi(count) : 1;
}

Context *contextOf(int device) {
  static Context contexts[64];
  contexts[device].device = device;
  return &contexts[device];
}

thread_local int current = -1;
/// Words that the host copied to the device, by address.
std::map<uint64_t, uint32_t> words;
struct Graph {
  int id;
  std::vector<Task> tasks;
};
std::vector<Task> capturedTasks;
int streams = 0, eventIds = 0, graphs = 0;
int64_t ticks = 0;
std::vector<Stream *> all; ///< that were not destroyed
Stream *origin = nullptr;  ///< of the capture that is under way
int captured = 0;          ///< calls since it began

constexpr size_t reserve = size_t(1) << 36;
uint64_t arena() {
  static void *base = mmap(nullptr, reserve, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return reinterpret_cast<uint64_t>(base);
}
size_t used = 0;

} // namespace

int stub::currentDevice() { return current; }

void stub::later(Stream *stream, Task task) {
  if (stream && stream->capturing)
    capturedTasks.push_back(std::move(task));
  else
    startTasks({std::move(task)});
}

int stub::enqueue(Stream *stream) {
  if (!stream)
    return 0; // The default stream, used while a step is made.
  if (stream->device != current)
    return invalidHandle;
  ++stream->clock[stream->id];
  captured += stream->capturing;
  return 0;
}

STUB cuInit(unsigned) {
  if (int status = failure("cuInit"))
    return status;
  return deviceCount() ? 0 : 100;
}
STUB cuDriverGetVersion(int *version) {
  const char *given = std::getenv("STAGEWRIGHT_STUB_DRIVER");
  return *version = given ? std::atoi(given) : 13000, 0;
}
STUB cuDeviceGetCount(int *count) { return *count = deviceCount(), 0; }
STUB cuDeviceGet(int *device, int ordinal) {
  return *device = ordinal, ordinal < deviceCount() ? 0 : invalidDevice;
}
STUB cuDeviceGetName(char *name, int size, int) {
  return std::snprintf(name, size_t(size), "Recorder"), 0;
}
STUB cuDeviceGetUuid_v2(void *uuid, int device) {
  return std::memset(uuid, device + 1, 16), 0;
}
STUB cuDeviceGetAttribute(int *value, int attribute, int) {
  return *value = attribute == 75 ? 9 : 0, 0;
}
STUB cuDevicePrimaryCtxRetain(Context **context, int device) {
  return *context = contextOf(device), 0;
}
STUB cuDevicePrimaryCtxRelease_v2(int) { return 0; }
STUB cuCtxSetCurrent(Context *context) {
  return current = context ? context->device : -1, 0;
}
STUB cuDeviceCanAccessPeer(int *can, int, int) { return *can = 1, 0; }
STUB cuCtxEnablePeerAccess(Context *other, unsigned) {
  return log("reach device=%d other=%d", current, other->device), 0;
}
STUB cuModuleLoadData(void **module, const void *image) {
  if (int status = failure("cuModuleLoadData"))
    return status;
  *module = const_cast<void *>(image);
  return log("load device=%d", current), 0;
}
STUB cuModuleUnload(void *) { return log("unload device=%d", current), 0; }
STUB cuModuleGetFunction(Kernel **kernel, void *, const char *name) {
  if (int status = failure("cuModuleGetFunction"))
    return status;
  // As long as the process, as modules.
  static auto &kernels = *new std::map<std::string, Kernel>;
  return *kernel = &kernels.try_emplace(name, Kernel{name}).first->second, 0;
}
STUB cuFuncSetAttribute(Kernel *kernel, int attribute, int value) {
  log("function kernel=%s attribute=%d value=%d", kernel->name.c_str(),
      attribute, value);
  return 0;
}

STUB cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  if (int status = failure("cuMemAlloc_v2"))
    return status;
  size_t size = (bytes + 511) / 512 * 512;
  if (used + size > reserve)
    return outOfMemory;
  *address = arena() + used;
  used += size;
  log("alloc device=%d at=%#lx bytes=%zu", current, *address, bytes);
  return 0;
}
STUB cuMemFree_v2(uint64_t address) { return log("free at=%#lx", address), 0; }
STUB cuMemGetInfo_v2(size_t *free, size_t *total) {
  return *free = reserve - used, *total = reserve, 0;
}
STUB cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  return log("pin bytes=%zu", bytes), *memory ? 0 : outOfMemory;
}
STUB cuMemFreeHost(void *memory) {
  std::free(memory);
  return log("unpin"), 0;
}
STUB cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                          Stream *stream) {
  log("upload stream=%d to=%#lx bytes=%zu host=%p", stream ? stream->id : -1,
      to, bytes, from);
  for (size_t i = 0; i < bytes / 4 && bytes < 65536; ++i)
    std::memcpy(&words[to + 4 * i], static_cast<const char *>(from) + 4 * i, 4);
  return enqueue(stream);
}
STUB cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes,
                          Stream *stream) {
  if (auto word = words.find(from); word != words.end() && bytes == 4) {
    log("tell stream=%d number=%u", stream->id, word->second);
    later(stream, [to, number = word->second] {
      std::atomic_ref(*static_cast<uint32_t *>(to)).store(number);
    });
    return enqueue(stream);
  }
  log("download stream=%d from=%#lx bytes=%zu host=%p", stream->id, from, bytes,
      to);
  if (!stream->capturing)
    std::memset(to, 0, bytes); // All results are zero.
  return enqueue(stream);
}
STUB cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                          Stream *stream) {
  log("copy stream=%d to=%#lx from=%#lx bytes=%zu", stream->id, to, from,
      bytes);
  return enqueue(stream);
}
STUB cuMemcpyPeerAsync(uint64_t to, Context *there, uint64_t from,
                       Context *here, size_t bytes, Stream *stream) {
  log("peer stream=%d to=%#lx device=%d from=%#lx device=%d bytes=%zu",
      stream->id, to, there->device, from, here->device, bytes);
  return enqueue(stream);
}
STUB cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes,
                     Stream *stream) {
  log("fill stream=%d to=%#lx byte=%d bytes=%zu", stream ? stream->id : -1, to,
      byte, bytes);
  return enqueue(stream);
}

STUB cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return *least = 0, *greatest = -5, 0;
}
STUB cuStreamCreateWithPriority(Stream **stream, unsigned, int priority) {
  *stream = new Stream{streams++, current};
  all.push_back(*stream);
  log("stream id=%d device=%d priority=%d", (*stream)->id, current, priority);
  return 0;
}
STUB cuStreamDestroy_v2(Stream *stream) {
  std::erase(all, stream);
  delete stream;
  return 0;
}
STUB cuStreamWaitEvent(Stream *stream, Event *event, unsigned) {
  log("wait stream=%d event=%d%s", stream->id, event->id,
      event->recorded ? "" : " unrecorded");
  if (origin && event->captured)
    stream->capturing = true;
  if (stream->capturing && !event->captured)
    return captureIsolation;
  for (auto [id, count] : event->clock)
    stream->clock[id] = std::max(stream->clock[id], count);
  ++stream->clock[stream->id];
  captured += stream->capturing;
  return 0;
}
STUB cuStreamSynchronize(Stream *stream) {
  log("synchronize stream=%d", stream ? stream->id : -1);
  while (!reached(tasks()))
    std::this_thread::yield();
  return origin ? captureUnsupported : 0;
}

STUB cuEventCreate(Event **event, unsigned) {
  return *event = new Event{eventIds++}, 0;
}
STUB cuEventDestroy_v2(Event *event) { return delete event, 0; }
STUB cuEventRecordWithFlags(Event *event, Stream *stream, unsigned flags) {
  if (flags && !stream->capturing)
    return 1;
  ++stream->clock[stream->id];
  captured += stream->capturing;
  event->time = ++ticks;
  if (flags) // A time, not a dependence.
    return log("stamp stream=%d event=%d", stream->id, event->id), 0;
  event->after = tasks();
  event->recorded = true;
  event->captured = stream->capturing;
  event->clock = stream->clock;
  return log("record stream=%d event=%d", stream->id, event->id), 0;
}
STUB cuEventQuery(Event *event) {
  if (event->captured)
    return captureUnsupported;
  bool hangs = std::getenv("STAGEWRIGHT_STUB_HANG") || !reached(event->after);
  return hangs ? notReady : 0;
}
STUB cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
  return *milliseconds = float(end->time - start->time) * 1e-3f, 0;
}

/// The runtime ends the list of arguments with a null pointer.
STUB cuLaunchKernel(Kernel *kernel, unsigned gx, unsigned gy, unsigned gz,
                    unsigned bx, unsigned by, unsigned bz, unsigned shared,
                    Stream *stream, void **arguments, void **) {
  std::string list;
  for (; *arguments; ++arguments) {
    char value[24];
    std::snprintf(value, sizeof(value), "%s%#lx", list.empty() ? "" : ",",
                  *static_cast<uint64_t *>(*arguments));
    list += value;
  }
  log("launch stream=%d kernel=%s grid=%u,%u,%u block=%u,%u,%u shared=%u "
      "arguments=%s",
      stream->id, kernel->name.c_str(), gx, gy, gz, bx, by, bz, shared,
      list.c_str());
  if (int status = failure("cuLaunchKernel"))
    return status;
  return enqueue(stream);
}

STUB cuStreamBeginCapture_v2(Stream *stream, int mode) {
  log("capture stream=%d mode=%d", stream->id, mode);
  origin = stream;
  stream->capturing = true;
  captured = 0;
  capturedTasks.clear();
  return 0;
}
STUB cuStreamEndCapture(Stream *stream, Graph **graph) {
  bool joined = true;
  for (Stream *other : all) {
    if (other->capturing)
      joined &= stream->clock[other->id] >= other->clock[other->id];
    other->capturing = false;
  }
  origin = nullptr;
  *graph = joined ? new Graph{++graphs, std::move(capturedTasks)} : nullptr;
  log("captured calls=%d%s", captured, joined ? "" : " unjoined");
  return joined ? 0 : captureUnjoined;
}
STUB cuGraphGetNodes(void *, void **, size_t *count) {
  return *count = size_t(captured), 0;
}
STUB cuGraphInstantiateWithFlags(Graph **executable, Graph *graph,
                                 unsigned long long flags) {
  log("instantiate flags=%llu", flags);
  *executable = new Graph(*graph);
  return failure("cuGraphInstantiateWithFlags");
}
STUB cuGraphUpload(Graph *, Stream *) { return 0; }
STUB cuGraphLaunch(Graph *graph, Stream *stream) {
  log("replay stream=%d graph=%d", stream->id, graph->id);
  startTasks(graph->tasks);
  return enqueue(stream);
}
STUB cuGraphExecDestroy(Graph *graph) { return delete graph, 0; }
STUB cuGraphDestroy(Graph *graph) { return delete graph, 0; }

STUB cuGetErrorName(int status, const char **name) {
  static thread_local char text[32];
  std::snprintf(text, sizeof(text), "STUB_ERROR_%d", status);
  return *name = text, 0;
}
STUB cuGetErrorString(int, const char **text) {
  return *text = "asked to fail", 0;
}
