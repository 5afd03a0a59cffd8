//===- Stub.h - a CUDA that only records ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shared library with the entry points of libcuda, libcublasLt and libnccl
// that the runtime opens, and of the plug-in for graphs. Nothing is computed:
// every call that a device would see becomes a line of text. It is a double for
// the order of calls; it tells nothing about numbers. It does refuse what CUDA
// refuses: work for a stream of another device, a wait for the host while a
// stream is captured, streams that do not come back to the one that began the
// capture.
//
// Messages of NCCL meet their partners in other processes, in the order in
// which they were enqueued on the device, one at a time: the worst that a
// device may do. So several processes go through whole steps, and hang where
// one is missing. No byte of a message is moved.
//
// Device memory is reserved and not accessible: a host that reads it crashes.
// Of what the host copied there, single words can be copied back.
//
// STAGEWRIGHT_STUB_LOG      file that gets the text when the process ends, or
//                           NCCL aborts; "%d" in it is the process' number
// STAGEWRIGHT_STUB_DEVICES  how many GPUs there are; 1 if not set
// STAGEWRIGHT_STUB_FAIL     "cuMemAlloc_v2=2": a call and the status it gives
// STAGEWRIGHT_STUB_HANG     set: no event is ever reached
// STAGEWRIGHT_STUB_DRIVER   the driver's version; 13000 if not set
// STAGEWRIGHT_STUB_NCCL     NCCL's version; 23004 if not set
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_RUNTIME_CUDA_STUB_STUB_H
#define STAGEWRIGHT_UNIT_RUNTIME_CUDA_STUB_STUB_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#define STUB extern "C" __attribute__((visibility("default"))) int

namespace stub {

/// What a stream or event knows of: calls seen, by stream.
using Clock = std::map<int, int>;

struct Stream {
  int id, device;
  bool capturing = false;
  Clock clock = {};
};

struct Event {
  int id;
  bool recorded = false, captured = false;
  Clock clock = {};
  int64_t time = 0;
  int64_t after = 0; ///< tasks that are done when it is reached
};

/// What takes a while, as a message does.
using Task = std::function<void()>;

/// Adds a line: a word and `key=value` pairs.
void log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// The status that STAGEWRIGHT_STUB_FAIL wants of this call, else 0.
int failure(const char *symbol);
/// A call on a stream: refused for a stream of another device; counted.
int enqueue(Stream *stream);
/// Does it after all that came before; in a capture, at each replay.
void later(Stream *stream, Task task);
/// Tasks to do so far; whether as many are done.
int64_t tasks();
bool reached(int64_t count);
void startTasks(const std::vector<Task> &list);
/// The device of the calling thread.
int currentDevice();
/// Writes the text now.
void writeLog();

} // namespace stub

#endif // STAGEWRIGHT_UNIT_RUNTIME_CUDA_STUB_STUB_H
