//===- DelayedAverages.cpp - averages of replicas on GPUs -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DelayedAverages.h"
#include "Averaging.h"

#include "DType.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cstring>

namespace stagewright::runtime::cuda {

namespace {
constexpr unsigned threads = 256;

/// to[i] = wa a[i] + wb b[i] + wc c[i] for i below `count`, of float32. The
/// driver compiles it; `target` is the oldest GPU that artifacts are for.
constexpr char code[] = R"(.version 7.8
.target sm_80
.address_size 64
.visible .entry weighted_sum(
.param .u64 weighted_sum_param_0,
.param .u64 weighted_sum_param_1,
.param .u64 weighted_sum_param_2,
.param .u64 weighted_sum_param_3,
.param .f32 weighted_sum_param_4,
.param .f32 weighted_sum_param_5,
.param .f32 weighted_sum_param_6,
.param .u64 weighted_sum_param_7
)
.maxntid 256, 1, 1
{
.reg .pred %p<2>;
.reg .b32 %r<4>;
.reg .b32 %f<8>;
.reg .b64 %rd<12>;
mov.u32 %r0, %ctaid.x;
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd0, %r0, 256;
cvt.u64.u32 %rd1, %r1;
add.s64 %rd0, %rd0, %rd1;
ld.param.b64 %rd2, [weighted_sum_param_7];
setp.ge.u64 %p0, %rd0, %rd2;
@%p0 bra done;
shl.b64 %rd0, %rd0, 2;
ld.param.b64 %rd3, [weighted_sum_param_0];
ld.param.b64 %rd4, [weighted_sum_param_1];
ld.param.b64 %rd5, [weighted_sum_param_2];
ld.param.b64 %rd6, [weighted_sum_param_3];
add.s64 %rd3, %rd3, %rd0;
add.s64 %rd4, %rd4, %rd0;
add.s64 %rd5, %rd5, %rd0;
add.s64 %rd6, %rd6, %rd0;
ld.param.b32 %f0, [weighted_sum_param_4];
ld.param.b32 %f1, [weighted_sum_param_5];
ld.param.b32 %f2, [weighted_sum_param_6];
ld.global.b32 %f3, [%rd4];
ld.global.b32 %f4, [%rd5];
ld.global.b32 %f5, [%rd6];
mul.rn.f32 %f6, %f0, %f3;
fma.rn.f32 %f6, %f1, %f4, %f6;
fma.rn.f32 %f6, %f2, %f5, %f6;
st.global.b32 [%rd3], %f6;
done:
ret;
}
)";
} // namespace

Averages::Averages(const Manifest &manifest, const Memory &memory,
                   const std::vector<const Device *> &devices,
                   const std::vector<Stream> &streams, Sum sum)
    : manifest(manifest), memory(memory), devices(devices), streams(streams),
      sum(std::move(sum)),
      steps(int64_t(manifest.collectives.size() * sizeof(int64_t))) {
  for (size_t r = 0; r < manifest.ranks.size(); ++r) {
    if (!devices[r])
      continue;
    const Device &device = *devices[r];
    device.use();
    summing.try_emplace(int64_t(r), device, Priority::Highest);
    load(device);
    for (const Averaging &rule : manifest.ranks[r].averages) {
      if (rule.dtype != SW_F32)
        raise("replicas on GPUs average parameters of ", dtypeName(SW_F32),
              ", not ", dtypeName(rule.dtype),
              "; run them on CPUs, or leave out --average-every");
      rounds[rule.collective].members.push_back(
          {int64_t(r), &rule, EventOwner(device, eventDisableTiming),
           EventOwner(device, eventDisableTiming)});
      for (int64_t buffer : {rule.step, rule.sum, rule.snapshot})
        if (buffer >= 0) // Zero until the host sets it.
          driver().fill(
              at(rounds[rule.collective].members.back(), buffer),
              static_cast<unsigned char>(0),
              size_t(memory.layouts[r].buffers[size_t(buffer)].bytes()),
              streams[r]);
    }
  }
  alone = std::count(devices.begin(), devices.end(), nullptr) == 0 &&
          std::all_of(manifest.collectives.begin(), manifest.collectives.end(),
                      [](const Collective &it) { return it.carried; });
}

Averages::~Averages() {
  for (auto &[device, it] : codes)
    if (it.module)
      driver().moduleUnload.status(it.module);
}

void Averages::load(const Device &device) {
  auto [it, isNew] = codes.try_emplace(&device);
  if (!isNew)
    return;
  driver().moduleLoad(&it->second.module, static_cast<const void *>(code));
  driver().moduleFunction(&it->second.kernel, it->second.module,
                          "weighted_sum");
}

Address Averages::at(const Member &member, int64_t buffer) const {
  auto rank = size_t(member.rank);
  return memory.arenas[rank] +
         Address(memory.layouts[rank].buffers[size_t(buffer)].offset);
}

void Averages::add(const Member &member, Address to,
                   std::span<const Term> terms, int64_t bytes) const {
  Address from[3];
  float weights[3];
  for (size_t i = 0; i < 3; ++i) {
    bool isTerm = i < terms.size();
    from[i] = isTerm ? terms[i].from : terms[0].from;
    weights[i] = isTerm ? terms[i].weight : 0;
  }
  auto count = uint64_t(bytes / dtypeSize(member.rule->dtype));
  void *arguments[] = {&to,         &from[0],    &from[1],
                       &from[2],    &weights[0], &weights[1],
                       &weights[2], &count,      nullptr};
  const Device *device = devices[size_t(member.rank)];
  driver().launch(
      codes.at(device).kernel, unsigned((count + threads - 1) / threads), 1u,
      1u, threads, 1u, 1u, 0u, streams[size_t(member.rank)],
      static_cast<void **>(arguments), static_cast<void **>(nullptr));
}

/// Calls `visit` for each parameter with its address, its offset in the sum and
/// its bytes.
template <typename Visit>
void Averages::visitParameters(const Member &member, Visit visit) const {
  forParameters(manifest.ranks[size_t(member.rank)], *member.rule,
                [&](int64_t parameter, int64_t from, int64_t bytes) {
                  if (bytes > 0)
                    visit(at(member, parameter), Address(from), bytes);
                });
}

void Averages::begin(int64_t collective, Round &round) {
  for (const Member &member : round.members) {
    const Averaging &rule = *member.rule;
    Stream stream = streams[size_t(member.rank)];
    devices[size_t(member.rank)]->use();
    visitParameters(member,
                    [&](Address parameter, Address from, int64_t bytes) {
                      Term weighted[] = {{float(rule.weight), parameter}};
                      add(member, at(member, rule.sum) + from, weighted, bytes);
                      if (rule.snapshot >= 0)
                        driver().copyOnDevice(at(member, rule.snapshot) + from,
                                              parameter, size_t(bytes), stream);
                    });
    driver().eventRecord(member.begun.get(), stream,
                         unsigned(eventRecordDefault));
    driver().streamWait(summing.at(member.rank).get(), member.begun.get(), 0u);
  }
  for (const Member &member : round.members) {
    devices[size_t(member.rank)]->use();
    sum(collective, member.rank, at(member, member.rule->sum),
        summing.at(member.rank).get());
  }
  for (const Member &member : round.members) {
    devices[size_t(member.rank)]->use();
    driver().eventRecord(member.summed.get(), summing.at(member.rank).get(),
                         unsigned(eventRecordDefault));
    if (!alone)
      driver().streamWait(streams[size_t(member.rank)], member.summed.get(),
                          0u);
  }
}

void Averages::merge(Round &round) {
  for (const Member &member : round.members) {
    const Averaging &rule = *member.rule;
    devices[size_t(member.rank)]->use();
    driver().streamWait(streams[size_t(member.rank)], member.summed.get(), 0u);
    Address average = at(member, rule.sum);
    visitParameters(member, [&](Address parameter, Address from,
                                int64_t bytes) {
      Address snapshot =
          rule.snapshot >= 0 ? at(member, rule.snapshot) + from : Address();
      add(member, parameter,
          mergeTerms<Term>(rule, parameter, average + from, snapshot), bytes);
    });
  }
}

void Averages::writeSteps(int64_t collective, const Round &round) {
  std::byte *step = steps.base() + size_t(collective) * sizeof(int64_t);
  std::memcpy(step, &round.step, sizeof(int64_t));
  for (const Member &member : round.members) {
    devices[size_t(member.rank)]->use();
    driver().copyToDevice(at(member, member.rule->step),
                          static_cast<const void *>(step), sizeof(int64_t),
                          streams[size_t(member.rank)]);
  }
}

void Averages::endStep() {
  for (auto &[collective, round] : rounds) {
    const Averaging &rule = *round.members.front().rule;
    ++round.step;
    applyRule(
        rule, round.step, [&, c = collective] { begin(c, round); },
        [&] { merge(round); });
    writeSteps(collective, round);
  }
}

void Averages::awaitSums() const {
  for (const auto &[collective, round] : rounds)
    for (const Member &member : round.members) {
      devices[size_t(member.rank)]->use();
      driver().streamWait(streams[size_t(member.rank)], member.summed.get(),
                          0u);
    }
}

std::optional<std::string> Averages::awaited() const {
  if (alone)
    return std::nullopt;
  for (const auto &[collective, round] : rounds)
    for (const Member &member : round.members)
      if (driver().eventQuery.status(member.summed.get()) == statusNotReady)
        return manifest.collectives[size_t(collective)].name;
  return std::nullopt;
}

void Averages::restart() {
  for (auto &[collective, round] : rounds) {
    round.step = 0;
    writeSteps(collective, round);
  }
}

} // namespace stagewright::runtime::cuda
