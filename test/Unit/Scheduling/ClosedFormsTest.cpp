//===- ClosedFormsTest.cpp - bubbles and peaks by formula -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The closed forms of docs/schedules.md, for all p up to 8 and m up to 32 in
// the domain of each, with random times for which it holds. Times are whole
// numbers, so that sums are exact.
//
//===----------------------------------------------------------------------===//

#include "UnitProblem.h"
#include "stagewright/Scheduling/Timing.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace stagewright;

namespace {
/// A shape with the times of all stages of one rank together (its share).
struct Case {
  double p, m, F, I, W, c;
  double B() const { return I + W; }
};

using Random = std::mt19937_64;
using Formula = double (*)(const Case &);

/// The closed forms of one family: bubbles of makespan and span, and the peak
/// of activations on rank r, in shares.
struct Form {
  const char *name;
  int64_t chunks;
  bool (*domain)(int64_t p, int64_t m);
  void (*draw)(Case &of, Random &random);
  Formula makespan, span;
  double (*peak)(const Case &of, double r);
};
} // namespace

static double between(Random &random, double low, double high) {
  return std::uniform_int_distribution<int>(int(low), int(high))(random);
}

/// A multiple of 4, so that a quarter of it is a whole number.
static double time(Random &random) { return 4 * between(random, 50, 150); }

static void anyTimes(Case &of, Random &random) {
  of.F = time(random), of.I = time(random), of.W = time(random);
  of.c = between(random, 0, 1000);
}
static void noHops(Case &of, Random &random) {
  anyTimes(of, random);
  of.c = 0;
}
/// 2c <= F + B.
static void hiddenHops(Case &of, Random &random) {
  anyTimes(of, random);
  of.c = between(random, 0, (of.F + of.B()) / 2);
}
/// F = I = W, no hops.
static void oneTime(Case &of, Random &random) {
  of.F = of.I = of.W = time(random);
  of.c = 0;
}
/// B = 2F.
static void doubleBackward(Case &of, Random &random) {
  anyTimes(of, random);
  of.I = 4 * between(random, 1, of.F / 2 - 1);
  of.W = 2 * of.F - of.I;
}
/// F = B, no hops.
static void equalBackward(Case &of, Random &random) {
  anyTimes(of, random);
  of.F = of.B();
  of.c = 0;
}
/// Hops of at most half a chunk's forward or backward.
template <int Chunks> static void halfChunkHops(Case &of, Random &random) {
  anyTimes(of, random);
  of.c = between(random, 0, std::min(of.F, of.B()) / Chunks / 2);
}
/// 2c <= W <= min(F, I).
static void shortHops(Case &of, Random &random) {
  anyTimes(of, random);
  of.W = 4 * between(random, 10, std::min(of.F, of.I) / 4);
  of.c = between(random, 0, of.W / 2);
}

static bool always(int64_t, int64_t) { return true; }
static bool rounds(int64_t p, int64_t m) { return m % p == 0; }
/// Excludes one rank, where hops between chunks cost nothing.
static bool apart(int64_t p, int64_t m) { return p > 1 && m % p == 0; }

static double flush(const Case &of) {
  return (of.p - 1) * (of.F + of.B() + 2 * of.c);
}
static double flushExposed(const Case &of) {
  return flush(of) + 2 * of.c * std::floor((of.p - 1) * (of.m - 1) / of.p);
}
template <int Chunks> static double interleaved(const Case &of) {
  return (of.p - 1) * (of.F + of.B()) / Chunks + 2 * (Chunks * of.p - 1) * of.c;
}
template <int Chunks> static double interleavedPeak(const Case &of, double r) {
  double most = (Chunks - 1) * of.p + 2 * (of.p - 1 - r) + 1;
  return std::min(most / Chunks, of.m);
}
template <int Chunks> static double breadthFirst(const Case &of) {
  return (of.p - 1) * (of.F + of.B()) / Chunks;
}
template <int Chunks> static double interleavedZb(const Case &of) {
  return (of.p - 1) * of.F / Chunks;
}
static double zbH1(const Case &of) {
  return (of.p - 1) * (of.F + of.I - of.W + 4 * of.c);
}
static double zbH2Span(const Case &of) {
  return (of.p - 1) * (of.F + of.I - 2 * of.W + 2 * of.c);
}
static double zbH2(const Case &of) {
  return std::max((of.p - 1) * (of.F + of.c), zbH2Span(of));
}
static double zbV(const Case &of) { return (of.p - 1) * of.F / 2; }
static double chimera(const Case &of) { return (of.p - 2) * of.F / 2; }
static double none(const Case &) { return 0; }

static double all(const Case &of, double) { return of.m; }
static double ranks(const Case &of, double) { return std::min(of.p, of.m); }

static const Form kForms[] = {
    {"gpipe", 1, always, anyTimes, flush, flush, all},
    {"1f1b", 1, always, anyTimes, flushExposed, flushExposed,
     [](const Case &of, double r) { return std::min(of.p - r, of.m); }},
    {"early-backward", 1, always, hiddenHops, flush, flush,
     [](const Case &of, double r) {
       return std::min(2 * (of.p - r) - 1, of.m);
     }},
    {"eager-1f1b", 1, always, doubleBackward, flush, flush,
     [](const Case &of, double r) {
       double hops = of.p - 1 - r, more = std::ceil(2 * of.c / (3 * of.F));
       return std::min(1 + hops * (1 + more), of.m);
     }},
    {"interleaved", 2, apart, halfChunkHops<2>, interleaved<2>, interleaved<2>,
     interleavedPeak<2>},
    {"interleaved", 4, apart, halfChunkHops<4>, interleaved<4>, interleaved<4>,
     interleavedPeak<4>},
    {"looped-bfs", 2, rounds, noHops, breadthFirst<2>, breadthFirst<2>, all},
    {"looped-bfs", 4, rounds, noHops, breadthFirst<4>, breadthFirst<4>, all},
    {"breadth-first", 2, rounds, noHops, breadthFirst<2>, breadthFirst<2>, all},
    {"breadth-first", 4, rounds, noHops, breadthFirst<4>, breadthFirst<4>, all},
    {"zb-h1", 1, [](int64_t p, int64_t m) { return m >= p + 1; }, shortHops,
     zbH1, zbH1, ranks},
    {"zb-h2", 1, [](int64_t p, int64_t m) { return m >= 2 * p - 1; }, shortHops,
     zbH2, zbH2Span,
     [](const Case &of, double) { return std::min(2 * of.p - 1, of.m); }},
    {"interleaved-zb", 2, rounds, oneTime, interleavedZb<2>, interleavedZb<2>,
     ranks},
    {"interleaved-zb", 4, rounds, oneTime, interleavedZb<4>, interleavedZb<4>,
     ranks},
    {"zb-v", 2, [](int64_t p, int64_t m) { return m >= 2 * p - 1; }, oneTime,
     zbV, none, ranks},
    {"chimera", 1,
     [](int64_t p, int64_t m) { return p % 2 == 0 && m % p == 0; },
     equalBackward, chimera, nullptr, nullptr}};

/// Compares one random case with its closed forms.
static void check(const Form &form, Random &random, int64_t p, int64_t m) {
  Case of{double(p), double(m), 0, 0, 0, 0};
  form.draw(of, random);
  Generator generator = *findGenerator(form.name);
  ScheduleShape shape{p, m, false, form.chunks, 0, of.c / of.F};
  bool twin = generator.placement == Placement::Twin;
  double share = 1. / double(twin ? 2 : form.chunks);
  ScheduleProblem problem =
      equalStages(generator.placement, shape,
                  {of.F * share, of.I * share, of.W * share, of.c});
  SCOPED_TRACE(std::string(form.name) + " v=" + std::to_string(form.chunks) +
               " p=" + std::to_string(p) + " m=" + std::to_string(m) +
               " F=" + std::to_string(of.F) + " I=" + std::to_string(of.I) +
               " W=" + std::to_string(of.W) + " c=" + std::to_string(of.c));
  Result<Schedule> schedule = generator.generate(shape);
  ASSERT_TRUE(schedule) << schedule.error().message;
  Result<Timeline> timing = timeSchedule(*schedule, problem);
  ASSERT_TRUE(timing) << timing.error().message;
  double work = of.m * (of.F + of.B()) * (twin ? 0.5 : 1);
  EXPECT_EQ(timing->makespan.value, work + form.makespan(of));
  if (form.span)
    EXPECT_EQ(timing->span.value, work + form.span(of));
  for (int64_t rank = 0; rank < p && form.peak; ++rank)
    EXPECT_EQ(timing->peaks[rank] * share, form.peak(of, double(rank)));
}

TEST(ClosedForms, HoldInTheirDomains) {
  constexpr uint64_t kSeed = 20261122;
  for (const Form &form : kForms) {
    Random random(kSeed);
    for (int64_t p = 1; p <= 8; ++p)
      for (int64_t m = 1; m <= 32; ++m)
        if (form.domain(p, m))
          check(form, random, p, m);
  }
}

// The bubble in DualPipe's README with F&B = F + B: a pair runs as one, but
// takes as long as both. Holds for F = I and W <= F.
TEST(ClosedForms, DualPipesWithPairsInOne) {
  Random random(20261123);
  for (const char *name : {"dualpipe", "dualpipe-v"})
    for (int64_t p = 1; p <= 8; ++p)
      for (int64_t m = 2 * p; m <= 32; ++m) {
        Generator generator = *findGenerator(name);
        ScheduleShape shape{p, m, false, generator.leastChunks};
        Result<Schedule> schedule = generator.generate(shape);
        bool twin = generator.placement == Placement::Twin;
        ASSERT_EQ(bool(schedule), !twin || (p % 2 == 0 && m % 2 == 0));
        if (!schedule)
          continue;
        double F = time(random);
        double W = 4 * between(random, 10, F / 4);
        ScheduleProblem problem =
            equalStages(generator.placement, shape, {F, F, W, 0});
        problem.overlap = 1;
        Timeline timing = *timeSchedule(*schedule, problem);
        double stages = double(twin ? p : 2 * p);
        double B = F + W, work = double(twin ? m : 2 * m) * (F + B);
        EXPECT_EQ(timing.makespan.value,
                  work + (stages / 2 - 1) * (F + B + B - 3 * W))
            << name << " p=" << p << " m=" << m << " F=" << F << " W=" << W;
        for (double peak : timing.peaks)
          EXPECT_EQ(peak, stages + 1);
      }
}
