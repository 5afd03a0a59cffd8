//===- Program.cpp - rank programs as data --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "Constants.h"
#include "FirstSums.h"
#include "Means.h"
#include "Slots.h"
#include "Threads/Step.h"
#include "stagewright/Runtime/Error.h"

#include <csetjmp>
#include <cstring>

namespace stagewright::runtime::cuda {

namespace {

/// A rank while its entry is recorded; generated code gets it as its sw_rank.
struct Recording : sw_rank {
  Recording(const Manifest &manifest, const Memory &memory,
            const Constants &constants, int64_t number, int64_t count)
      : manifest(manifest), memory(memory), constants(constants),
        slots(manifest, memory.layouts[number], number, count) {
    index = number;
    microbatches = count;
    layout = &memory.layouts[number];
  }

  void add(Command::Kind kind, int64_t id = 0, int64_t m = 0, Address to = 0,
           Address from = 0, int64_t bytes = 0) {
    program.commands.push_back({kind, id, m, to, from, bytes});
  }

  /// Adds a call of a library; `otherwise`: kernels that can replace it follow.
  void call(Command::Kind kind, size_t number, int32_t otherwise) {
    library = otherwise ? int64_t(program.commands.size()) : -1;
    add(kind, int64_t(number));
  }

  void launch(int64_t kernel, void *const *arguments);

  /// The address on the device.
  Address at(uint64_t address) const {
    return constants.onDevice(address, memory.constants[size_t(index)]);
  }
  Address at(const void *pointer) const {
    return at(reinterpret_cast<uint64_t>(pointer));
  }

  const Manifest &manifest;
  const Memory &memory;
  const Constants &constants;
  Slots slots;
  RankProgram program;
  int64_t node = -1;
  int64_t library = -1; ///< the last call that kernels can replace
  std::string error;
  jmp_buf frame;
};

void Recording::launch(int64_t kernel, void *const *arguments) {
  const auto &kernels = manifest.kernels;
  if (kernel < 0 || size_t(kernel) >= kernels.size())
    raise("kernel ", kernel, " does not exist; there are ", kernels.size());
  auto &values = program.values;
  int64_t count = kernels[kernel].arguments;
  add(Command::Launch, kernel, 0, values.size(), 0, count);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, arguments[i], sizeof(value));
    values.push_back(at(value));
  }
}

/// The rank being recorded, for functions without a rank argument (`gemm`).
thread_local Recording *current = nullptr;

/// Runs `body`; an exception ends the recording.
template <typename Body> auto recorded(sw_rank *rank, Body body) {
  auto *self = static_cast<Recording *>(rank);
  try {
    return body(*self);
  } catch (const std::exception &error) {
    self->error = error.what();
  }
  _longjmp(self->frame, 1);
}

void *pointer(Address address) { return reinterpret_cast<void *>(address); }

void *slot(sw_rank *rank, int64_t buffer, int64_t m) {
  return recorded(rank, [&](Recording &self) {
    self.slots.use(buffer, m);
    return pointer(self.memory.slot(self.index, buffer, m));
  });
}

void *acquire(sw_rank *rank, int64_t buffer, int64_t m) {
  return recorded(rank, [&](Recording &self) {
    self.slots.acquire(buffer, m);
    Address to = self.memory.slot(self.index, buffer, m);
    self.add(Command::Acquire, buffer, m, to);
    return pointer(to);
  });
}

void release(sw_rank *rank, int64_t buffer, int64_t m) {
  recorded(rank, [&](Recording &self) {
    self.slots.release(buffer, m);
    self.add(Command::Release, buffer, m);
  });
}

/// Records a copy of a stash; its slot in `from` is released, that in `to`
/// acquired.
void copySlot(Recording &self, Command::Kind kind, int64_t from, int64_t to,
              int64_t m) {
  const Ring &ring = self.slots.use(from, m);
  self.slots.acquire(to, m);
  if (ring.stride != self.layout->buffers[to].stride)
    raise("stash '", self.manifest.ranks[self.index].buffers[from].name,
          "' is copied to slots of another size");
  bool leaves = kind == Command::Offload;
  self.add(kind, leaves ? from : to, m, self.memory.slot(self.index, to, m),
           self.memory.slot(self.index, from, m), ring.stride);
  self.program.commands.back().host = leaves ? to : from;
  self.slots.release(from, m);
}

void offload(sw_rank *rank, int64_t buffer, int64_t host, int64_t m) {
  recorded(rank, [&](Recording &self) {
    copySlot(self, Command::Offload, buffer, host, m);
  });
}

void fetch(sw_rank *rank, int64_t host, int64_t buffer, int64_t m) {
  recorded(rank, [&](Recording &self) {
    copySlot(self, Command::Fetch, host, buffer, m);
  });
}

void *fetched(sw_rank *rank, int64_t buffer, int64_t m) {
  return recorded(rank, [&](Recording &self) {
    self.slots.use(buffer, m);
    self.add(Command::Fetched, buffer, m);
    return pointer(self.memory.slot(self.index, buffer, m));
  });
}

void *claim(sw_rank *rank, int64_t channel, int64_t m) {
  return recorded(rank, [&](Recording &self) {
    self.slots.claim(channel, m);
    Address to = self.memory.sent(self.manifest, channel, m);
    self.add(Command::Claim, channel, m, to);
    return pointer(to);
  });
}

void send(sw_rank *rank, int64_t channel, int64_t m) {
  recorded(rank, [&](Recording &self) {
    self.slots.send(channel, m);
    self.add(Command::Send, channel, m);
  });
}

void *recv(sw_rank *rank, int64_t channel, int64_t m) {
  return recorded(rank, [&](Recording &self) {
    bool first = self.slots.receive(channel, m);
    Address to = self.memory.received(self.manifest, channel, m);
    if (first)
      self.add(Command::Receive, channel, m, to);
    return pointer(to);
  });
}

void giveBack(sw_rank *rank, int64_t channel, int64_t m) {
  recorded(rank, [&](Recording &self) {
    self.slots.giveBack(channel, m);
    self.add(Command::GiveBack, channel, m);
  });
}

void actionBegin(sw_rank *rank, int32_t kind, int64_t stage, int64_t m) {
  recorded(rank, [&](Recording &self) {
    self.add(Command::BeginAction, stage, m, 0, 0, kind);
  });
}

void actionEnd(sw_rank *rank) {
  recorded(rank, [&](Recording &self) { self.add(Command::EndAction); });
}

void nodeBegin(sw_rank *rank, int64_t node) {
  recorded(rank, [&](Recording &self) {
    self.node = node;
    self.add(Command::BeginNode, node);
  });
}

void nodeEnd(sw_rank *rank, int64_t node, int64_t bytes) {
  recorded(rank, [&](Recording &self) {
    self.slots.useWorkspace(node, bytes);
    self.add(Command::EndNode, node, 0, 0, 0, bytes);
  });
}

void fail(sw_rank *rank, const char *message) {
  recorded(rank, [&](Recording &) { raise(message); });
}

/// Rejects work on the CPU, which a program for a device must not request.
void refuse(const char *what) {
  recorded(current, [&](Recording &) {
    raise("the program calls '", what,
          "', but the artifact's target is a device");
  });
}

void gemm(const sw_gemm_desc *, const void *, const void *, void *) {
  refuse("gemm");
}

void parallel(void (*)(void **, int64_t, int64_t), void **, int64_t, int64_t) {
  refuse("parallel");
}

int64_t choose(sw_rank *) {
  refuse("choose");
  return 0;
}

void convolution(const sw_convolution_desc *, const void *, const void *,
                 void *) {
  refuse("convolution");
}

/// Adds no command: the host enqueues averages (DelayedAverages.h).
void average(sw_rank *rank, int64_t number) {
  recorded(rank, [&](Recording &self) {
    size_t known = self.manifest.ranks[size_t(self.index)].averages.size();
    if (number < 0 || size_t(number) >= known)
      raise("average ", number, " does not exist; there are ", known);
  });
}

void launch(sw_rank *rank, int64_t kernel, void *const *arguments) {
  recorded(rank, [&](Recording &self) {
    self.library = -1;
    self.launch(kernel, arguments);
  });
}

void otherwise(sw_rank *rank, int64_t kernel, void *const *arguments) {
  recorded(rank, [&](Recording &self) {
    if (self.library < 0)
      raise("kernel ", kernel,
            " is a fallback for a call of a library, but the call before it "
            "does not allow a fallback");
    self.launch(kernel, arguments);
    self.program.commands.back().instead = self.library;
  });
}

void fill(sw_rank *rank, void *to, int32_t byte, int64_t bytes) {
  recorded(rank, [&](Recording &self) {
    if (bytes > 0)
      self.add(Command::Fill, 0, 0, self.at(to), Address(byte & 0xff), bytes);
  });
}

void copy(sw_rank *rank, void *to, const void *from, int64_t bytes) {
  recorded(rank, [&](Recording &self) {
    if (bytes > 0)
      self.add(Command::Copy, 0, 0, self.at(to), self.at(from), bytes);
  });
}

void contract(sw_rank *rank, const sw_contraction_desc *desc, const void *a,
              const void *b, void *c, void *bias, void *aux) {
  recorded(rank, [&](Recording &self) {
    auto &list = self.program.contractions;
    self.call(Command::Contract, list.size(), desc->otherwise);
    list.push_back({*desc, self.at(a), self.at(b), self.at(c), self.at(bias),
                    self.at(aux)});
  });
}

void attend(sw_rank *rank, const sw_attention_desc *desc, const void *q,
            const void *k, const void *v, void *o, void *stats,
            const void *bias) {
  recorded(rank, [&](Recording &self) {
    auto &list = self.program.attentions;
    self.call(Command::Attend, list.size(), desc->otherwise);
    list.push_back({*desc, false, self.at(q), self.at(k), self.at(v),
                    self.at(o), self.at(stats)});
    list.back().bias = self.at(bias);
  });
}

void attendGradient(sw_rank *rank, const sw_attention_desc *desc, const void *q,
                    const void *k, const void *v, const void *o,
                    const void *stats, const void *dO, void *dQ, void *dK,
                    void *dV, const void *bias) {
  recorded(rank, [&](Recording &self) {
    auto &list = self.program.attentions;
    self.call(Command::Attend, list.size(), desc->otherwise);
    list.push_back({*desc, true, self.at(q), self.at(k), self.at(v), self.at(o),
                    self.at(stats), self.at(dO), self.at(dQ), self.at(dK),
                    self.at(dV), self.at(bias)});
  });
}

void convolve(sw_rank *rank, const sw_convolve_desc *desc, void *x, void *w,
              void *y) {
  recorded(rank, [&](Recording &self) {
    auto &list = self.program.convolutions;
    self.call(Command::Convolve, list.size(), 0);
    list.push_back({*desc, self.at(x), self.at(w), self.at(y)});
  });
}

template <Command::Kind kind> void sum(sw_rank *rank, int64_t collective) {
  recorded(rank, [&](Recording &self) {
    self.manifest.collective(collective).placeOf(self.index);
    self.add(kind, collective);
  });
}

/// Must have no objects with destructors: generated code exits by longjmp.
void runEntry(sw_entry entry, Recording &rank) {
  current = &rank;
  if (_setjmp(rank.frame) == 0)
    entry(&rank, rank.microbatches);
  current = nullptr;
}

} // namespace

std::vector<RankProgram> recordProgram(const Artifact &artifact,
                                       const Memory &memory,
                                       int64_t microbatches) {
  const Manifest &manifest = artifact.manifest();
  Constants constants(artifact);
  std::vector<RankProgram> programs;
  for (size_t r = 0; r < manifest.ranks.size(); ++r) {
    Recording rank(manifest, memory, constants, int64_t(r), microbatches);
    runEntry(artifact.entry(int64_t(r)), rank);
    if (rank.error.empty())
      try {
        rank.slots.end();
      } catch (const Error &error) {
        rank.error = error.what();
      }
    if (!rank.error.empty())
      raise("rank ", r, ": ", rank.error);
    rank.program.livePeak = rank.slots.peak();
    overwriteFirstSums(rank.program, manifest.kernels);
    programs.push_back(std::move(rank.program));
  }
  foldMeans(programs, manifest, memory);
  return programs;
}

const sw_api &deviceCodeApi() {
  static const sw_api api = {slot,
                             acquire,
                             release,
                             claim,
                             send,
                             recv,
                             giveBack,
                             actionBegin,
                             actionEnd,
                             nodeBegin,
                             nodeEnd,
                             gemm,
                             fail,
                             parallel,
                             convolution,
                             launch,
                             fill,
                             copy,
                             contract,
                             attend,
                             attendGradient,
                             convolve,
                             sum<Command::Reduce>,
                             sum<Command::Await>,
                             otherwise,
                             offload,
                             fetch,
                             fetched,
                             choose,
                             average};
  return api;
}

} // namespace stagewright::runtime::cuda
