//===- DrawSvg.cpp - a simulated step as a picture ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/DrawSvg.h"
#include "BlockLook.h"
#include "stagewright/Support/Printed.h"
#include "stagewright/Support/SvgCanvas.h"
#include "stagewright/Support/Text.h"
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace stagewright {

std::string PipelineNames::ofProcessor(size_t number) const {
  return number < processors.size() ? processors[number]
                                    : "processor " + std::to_string(number);
}

std::string PipelineNames::ofTime(Seconds time) const {
  return plainTime ? plainly(time.value) : precisely(time);
}

namespace {

/// Lengths in pixels.
constexpr double kMargin = 16, kRow = 24, kThinRow = 14, kGap = 4, kDigit = 6;
/// The min width of a bar that has room for two digits; the min and the max
/// width of the drawing.
constexpr double kGoodBar = 14, kLeastWidth = 900, kMostWidth = 2400;

class Drawing {
public:
  Drawing(const PipelineModel &model, const PipelineTimeline &timeline,
          const PipelineNames &names);
  std::string draw();

private:
  void drawHead();
  void drawLegend();
  void drawAxis(double top, double bottom);
  void drawRows();
  void drawProcessor(const std::vector<PipelineBlock> &blocks, double y);
  void drawBar(const PipelineBlock &block, double y, double height);
  void drawCollectives(size_t processor, double y);
  double at(Seconds time) const { return left + time.value * pixels; }
  bool runsStage(size_t processor, size_t stage) const;
  std::string tip(const PipelineBlock &block) const;
  bool isCritical(const PipelineBlock &block) const;

  const PipelineModel &model;
  const PipelineTimeline &timeline;
  const PipelineNames &names;
  double left = 0, width = 0, pixels = 0, bottom = 0;
  std::vector<std::set<size_t>> stagesOf; ///< By processor.
  std::vector<size_t> shades;             ///< By stage: index of its shade.
  std::set<std::tuple<int, size_t, int64_t>> critical;
  std::set<BlockKind> seen;
  SvgCanvas canvas;
};

} // namespace

static std::tuple<int, size_t, int64_t> keyOf(const PipelineBlock &block) {
  return {int(block.kind), block.number, block.microbatch};
}

static std::string channelName(const PipelineChannel &channel) {
  return std::to_string(channel.from) + " → " + std::to_string(channel.to);
}

Drawing::Drawing(const PipelineModel &model, const PipelineTimeline &timeline,
                 const PipelineNames &names)
    : model(model), timeline(timeline), names(names) {
  size_t longest = 8;
  stagesOf.resize(timeline.processors.size());
  shades.assign(model.stages.size(), 0);
  std::vector<double> lengths;
  for (size_t p = 0; p < timeline.processors.size(); ++p) {
    longest = std::max(longest, names.ofProcessor(p).size());
    for (const PipelineBlock &block : timeline.processors[p]) {
      stagesOf[p].insert(block.number);
      seen.insert(block.kind);
      if (block.end > block.start)
        lengths.push_back((block.end - block.start).value);
    }
    size_t shade = 0;
    for (size_t stage : stagesOf[p])
      shades[stage] = std::max(shades[stage], shade++);
  }
  for (const auto &blocks : timeline.channels)
    for (const PipelineBlock &block : blocks)
      seen.insert(block.kind);
  for (const PipelineBlock &block : timeline.collectives)
    seen.insert(block.kind);
  for (const CriticalBlock &block : timeline.criticalPath)
    critical.insert(keyOf(block.block));

  left = 2 * kMargin + kDigit * double(std::min<size_t>(longest, 40)) * 1.1;
  // Wide enough that most short blocks have room for their number.
  double makespan = timeline.makespan.value;
  width = kLeastWidth;
  if (!lengths.empty() && makespan > 0) {
    auto low = lengths.begin() + std::ptrdiff_t(lengths.size() / 10);
    std::nth_element(lengths.begin(), low, lengths.end());
    width = std::clamp(kGoodBar / *low * makespan, kLeastWidth, kMostWidth);
  }
  pixels = makespan > 0 ? width / makespan : 0;
}

void Drawing::drawHead() {
  canvas.text(kMargin, 28, names.title,
              " font-size=\"16\" font-weight=\"bold\" fill=\"#222\"");
  std::string facts = "makespan " + names.ofTime(timeline.makespan);
  if (timeline.span != timeline.makespan)
    facts += ", span " + names.ofTime(timeline.span);
  facts += ", " + inPixels(100 * timeline.bubbleShare()) + " % bubble, " +
           std::to_string(model.microbatches) +
           (model.microbatches == 1 ? " microbatch" : " microbatches");
  canvas.text(kMargin, 48, facts, " fill=\"#444\"");
}

void Drawing::drawLegend() {
  double x = kMargin, y = 62;
  auto entry = [&](const std::string &words, const std::string &fill,
                   double height) {
    canvas.rect(x, y + 12 - height, 14, height,
                "rx=\"2\" fill=\"" + fill + "\"");
    canvas.text(x + 19, y + 10, words, " fill=\"#444\"");
    x += 19 + kDigit * double(words.size()) + 18;
  };
  for (BlockKind kind : seen)
    entry(lookOf(kind).words, lookOf(kind).fill, 12);
  entry("on the critical path", "#222", 3);
}

/// The smallest 1, 2 or 5 times a power of ten that is at least `range` / 10.
static double niceStep(double range) {
  double step = std::pow(10, std::floor(std::log10(range / 10)));
  for (double factor : {1.0, 2.0, 5.0, 10.0})
    if (range / (step * factor) <= 10.001)
      return step * factor;
  return step * 10;
}

void Drawing::drawAxis(double top, double bottom) {
  double makespan = timeline.makespan.value;
  if (makespan <= 0)
    return;
  const char *unit = names.plainTime ? "" : " s";
  double scale = 1;
  for (auto [name, factor] :
       {std::pair(" ms", 1e3), std::pair(" us", 1e6), std::pair(" ns", 1e9)})
    if (!names.plainTime && makespan * scale < 1) {
      unit = name;
      scale = factor;
    }
  double step = niceStep(makespan * scale);
  for (int tick = 0; double(tick) * step <= makespan * scale * 1.0001; ++tick) {
    double value = double(tick) * step, x = at(Seconds(value / scale));
    canvas.rect(x - 0.5, top, 1, bottom - top + 4, "fill=\"#d8d8d8\"");
    std::string text = printed("%.6g", value);
    if (tick == 0)
      text += unit;
    canvas.text(x, bottom + 18, text,
                " text-anchor=\"middle\" font-size=\"11\" fill=\"#444\"");
  }
}

std::string Drawing::tip(const PipelineBlock &block) const {
  std::string words = lookOf(block.kind).words;
  if (isTransfer(block.kind)) {
    const PipelineChannel &channel = model.channels[block.number];
    words += " of microbatch " + std::to_string(block.microbatch) +
             " between stages " + std::to_string(channel.from) + " and " +
             std::to_string(channel.to);
  } else if (block.kind == BlockKind::Tie) {
    words += " from stage " + std::to_string(model.ties[block.number].from) +
             " to stage " + std::to_string(model.ties[block.number].to);
  } else {
    if (block.kind != BlockKind::AllReduce)
      words += " of microbatch " + std::to_string(block.microbatch);
    words += " on stage " + std::to_string(block.number);
  }
  return words + ", " + names.ofTime(block.start) + " to " +
         names.ofTime(block.end);
}

bool Drawing::isCritical(const PipelineBlock &block) const {
  return critical.count(keyOf(block)) != 0;
}

void Drawing::drawBar(const PipelineBlock &block, double y, double height) {
  double x = at(block.start), length = at(block.end) - x;
  if (length <= 0)
    return;
  Look look = lookOf(block.kind);
  canvas.beginGroup(tip(block));
  canvas.rect(x, y, std::max(length - 0.8, 0.4), height,
              "rx=\"" + std::string(length > 5 ? "2" : "0") + "\" fill=\"" +
                  fillOf(block, shades) + "\"");
  std::string label = std::to_string(block.microbatch);
  bool numbered = block.kind != BlockKind::AllReduce &&
                  block.kind != BlockKind::Tie && height >= 12;
  if (numbered && length >= kDigit * double(label.size()) + 2)
    canvas.text(x + length / 2 - 0.4, y + height / 2 + 3.5, label,
                " text-anchor=\"middle\" font-size=\"10\" fill=\"" +
                    std::string(look.ink) + "\"");
  if (isCritical(block))
    canvas.rect(x, y + height - 2.5, std::max(length - 0.8, 0.4), 2.5,
                "fill=\"#222\"");
  canvas.endGroup();
}

bool Drawing::runsStage(size_t processor, size_t stage) const {
  return stagesOf[processor].count(stage) != 0;
}

/// Collectives are drawn behind the blocks that run at the same time.
void Drawing::drawCollectives(size_t processor, double y) {
  for (const PipelineBlock &block : timeline.collectives) {
    bool ties = block.kind == BlockKind::Tie;
    size_t stage = ties ? model.ties[block.number].from : block.number;
    if (!runsStage(processor, stage))
      continue;
    // If a stage has both kinds, each has half the height.
    bool both = std::any_of(
        timeline.collectives.begin(), timeline.collectives.end(),
        [&](const PipelineBlock &other) {
          return other.kind != block.kind &&
                 stage == (ties ? other.number : model.ties[other.number].from);
        });
    drawBar(block, both && ties ? y + kRow / 2 : y, both ? kRow / 2 : kRow);
  }
}

/// Two blocks with the same start and end, a pair, have half the height each.
void Drawing::drawProcessor(const std::vector<PipelineBlock> &blocks,
                            double y) {
  auto areOne = [&](size_t a, size_t b) {
    return b < blocks.size() && blocks[a].start == blocks[b].start &&
           blocks[a].end == blocks[b].end;
  };
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!areOne(i, i + 1)) {
      drawBar(blocks[i], y, kRow);
      continue;
    }
    drawBar(blocks[i], y, kRow / 2);
    drawBar(blocks[++i], y + kRow / 2, kRow / 2);
  }
}

void Drawing::drawRows() {
  double top = 84, y = top;
  double rows = double(timeline.processors.size()) * (kRow + kGap) +
                double(timeline.channels.size()) * (kThinRow + kGap) +
                (timeline.channels.empty() ? 0 : kGap);
  bottom = top + rows;
  for (size_t p = 0; p < timeline.processors.size(); ++p)
    canvas.rect(left, top + double(p) * (kRow + kGap), width, kRow,
                "fill=\"#f3f3f3\"");
  drawAxis(top, bottom);
  for (size_t p = 0; p < timeline.processors.size(); ++p, y += kRow + kGap) {
    canvas.text(left - 8, y + kRow / 2 + 4, names.ofProcessor(p),
                " text-anchor=\"end\" fill=\"#222\"");
    drawCollectives(p, y);
    drawProcessor(timeline.processors[p], y);
  }
  y += kGap;
  for (size_t c = 0; c < timeline.channels.size(); ++c, y += kThinRow + kGap) {
    const PipelineChannel &channel = model.channels[c];
    canvas.text(left - 8, y + kThinRow / 2 + 4, channelName(channel),
                " text-anchor=\"end\" font-size=\"11\" fill=\"#555\"");
    // Unless both directions share one lane, each has half of the row.
    bool shared = channel.forwardLanes == channel.backwardLanes &&
                  channel.forwardLanes.size() == 1;
    for (const PipelineBlock &block : timeline.channels[c]) {
      bool lower = !shared && block.kind == BlockKind::SendBackward;
      drawBar(block, lower ? y + kThinRow / 2 : y,
              shared ? kThinRow : kThinRow / 2);
    }
  }
}

std::string Drawing::draw() {
  drawHead();
  drawLegend();
  drawRows();
  return canvas.document(left + width + kMargin + 8, bottom + 28);
}

std::string drawSvg(const PipelineModel &model,
                    const PipelineTimeline &timeline,
                    const PipelineNames &names) {
  return Drawing(model, timeline, names).draw();
}

} // namespace stagewright
