//===- Dilation.cpp - ranks that run slower than their cores --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Threads/Dilation.h"

#include "Recording/Recorder.h"
#include "stagewright/Runtime/Error.h"
#include "stagewright/Support/ParseNumber.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <sstream>
#include <sys/prctl.h>

namespace stagewright::runtime {

namespace {
constexpr double maxFactor = 1e6;
constexpr int64_t second = 1'000'000'000;
/// A sleep is cut into parts of at most a millisecond, and messages move
/// between the parts. Without a sleep they move at every contraction, which
/// takes about as long.
constexpr int64_t part = 1'000'000;

int64_t threadTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * second + time.tv_nsec;
}

/// Sleeps until a time of the steady clock. By default the kernel may add 50 us
/// to every sleep, more than a short node takes.
void sleepUntil(int64_t time) {
  thread_local int precise = prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  static_cast<void>(precise);
  timespec until = {time / second, time % second};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

template <typename Number> bool read(std::string_view text, Number &number) {
  std::optional<Number> parsed = parseNumber<Number>(text);
  number = parsed.value_or(number);
  return parsed.has_value();
}

std::pair<int64_t, double> parse(const std::string &entry, int64_t ranks) {
  std::string_view text = entry;
  size_t colon = std::min(text.find(':'), text.size());
  int64_t rank = 0;
  double factor = 0;
  if (colon == text.size() || !read(text.substr(0, colon), rank) ||
      !read(text.substr(colon + 1), factor))
    raise(
        "dilate has '", entry,
        "', expected RANK:FACTOR, such as 2:1.48, with commas between several");
  if (rank < 0 || rank >= ranks)
    raise("dilate has '", entry, "', but the artifact has no rank ", rank,
          "; expected 0 to ", ranks - 1);
  if (!(factor >= 1 && factor <= maxFactor))
    raise("dilate has '", entry, "', but the factor is ", factor,
          ", expected 1 to ", int64_t(maxFactor),
          "; to make a rank faster than others, dilate the others");
  return {rank, factor};
}
} // namespace

Pace Pace::parse(const std::string &text) {
  Pace pace;
  std::istringstream in(text);
  for (std::string entry; std::getline(in, entry, ',');) {
    std::string_view all = entry;
    size_t colon = std::min(all.find(':'), all.size());
    std::string_view name = all.substr(0, colon);
    std::string_view value = all.substr(std::min(colon + 1, all.size()));
    double number = 0;
    bool isKind = name.size() == 1 && strchr("FBIWRU", name[0]);
    bool isTime = (isKind || name == "hop") && value.ends_with("ms");
    if (isTime)
      value.remove_suffix(2);
    bool isValid = read(value, number) && number >= 0 && number <= maxFactor;
    if (all == "sends")
      pace.sends = true;
    else if (isTime && isValid)
      (isKind ? pace.seconds[size_t(name[0])] : pace.hop) = number * 1e-3;
    else if (name == "jitter" && isValid)
      pace.jitter.mean = number;
    else if (name != "seed" || !read(value, pace.jitter.seed))
      raise(
          "pace has '", entry,
          "', expected the milliseconds of a kind of action, such as F:5ms, or "
          "hop:1ms, jitter:0.5, seed:7 or sends, with commas between "
          "several");
  }
  return pace;
}

bool Pace::changesActions() const {
  return jitter.mean > 0 ||
         std::ranges::any_of(seconds, [](double time) { return time > 0; });
}

std::unique_ptr<Dilation> Dilation::of(const std::string &text,
                                       const std::string &pace, int64_t rank,
                                       int64_t ranks) {
  std::map<int64_t, double> factors;
  std::istringstream in(text);
  for (std::string entry; std::getline(in, entry, ',');) {
    auto [of, factor] = parse(entry, ranks);
    if (auto [known, isNew] = factors.try_emplace(of, factor); !isNew)
      raise("dilate gives rank ", of, " the factors ", known->second, " and ",
            factor, "; give it one");
  }
  auto found = factors.find(rank);
  double factor = found == factors.end() ? 1 : found->second;
  Pace times = Pace::parse(pace);
  if (factor == 1 && !times.changesActions())
    return nullptr;
  return std::make_unique<Dilation>(factor, times, rank, ranks);
}

void Dilation::beginAction(int32_t kind, int64_t m) {
  late = 0;
  planned = pace.seconds[size_t(kind) % pace.seconds.size()] *
            (1 + pace.jitter.of(char(kind), m, rank, ranks));
}

void Dilation::beginNode() {
  begun = now();
  used = threadTime();
}

void Dilation::endNode(Transport &transport) {
  double plain =
      planned > 0 ? planned * double(second) : double(threadTime() - used);
  auto taken = int64_t(factor * plain);
  planned = 0;
  int64_t end = begun - late + taken;
  for (int64_t time; (time = now()) < end;) {
    sleepUntil(std::min(end, time + part));
    transport.progress();
    transport.checkFailed();
  }
  late = now() - end;
}

} // namespace stagewright::runtime
