//===- SearchPicture.cpp - best time against evaluated plans --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Search.h"
#include "stagewright/Support/SvgCanvas.h"
#include "stagewright/Support/Text.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace stagewright {

static constexpr double kLeft = 80, kTop = 68, kWidth = 640, kHeight = 320;
/// Distinguishable with red-green colour blindness.
static constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73",
                                        "#cc79a7", "#7f7f7f"};

namespace {
class SearchPicture {
public:
  SearchPicture(const std::vector<SearchOutcome> &outcomes, Seconds bound)
      : outcomes(outcomes), bound(bound.value) {
    low = this->bound > 0 ? this->bound : 1e300;
    for (const SearchOutcome &outcome : outcomes) {
      last = std::max(last, double(outcome.evaluations));
      for (const SearchPoint &point : outcome.curve) {
        low = std::min(low, point.best.value);
        high = std::max(high, point.best.value);
      }
    }
    // All times may be equal, or 0.
    double margin = std::max({(high - low) * 0.08, high * 1e-3, 1e-12});
    low -= margin;
    high += margin;
  }

  std::string draw() {
    drawAxes();
    if (bound > 0)
      drawBound();
    for (size_t i = 0; i < outcomes.size(); ++i)
      drawCurve(i);
    return canvas.document(kLeft + kWidth + 40, kTop + kHeight + 60);
  }

private:
  double x(double evaluations) const {
    return kLeft + kWidth * std::log(evaluations) / std::log(last);
  }
  double y(double seconds) const {
    return kTop + kHeight * (high - seconds) / (high - low);
  }

  void drawAxes() {
    canvas.text(kLeft, 24, "Best step time after a number of evaluated plans",
                " font-size=\"15\"");
    for (double power = 1; power <= last; power *= 10) {
      canvas.line({{x(power), kTop}, {x(power), kTop + kHeight}},
                  "stroke=\"#e4e4e4\"");
      canvas.text(x(power), kTop + kHeight + 18, plainly(power),
                  " text-anchor=\"middle\" fill=\"#555\"");
    }
    for (int i = 0; i <= 4; ++i) {
      double seconds = low + (high - low) * i / 4;
      canvas.line({{kLeft, y(seconds)}, {kLeft + kWidth, y(seconds)}},
                  "stroke=\"#e4e4e4\"");
      canvas.text(kLeft - 8, y(seconds) + 4, precisely(Seconds(seconds)),
                  " text-anchor=\"end\" fill=\"#555\"");
    }
    canvas.text(kLeft + kWidth / 2, kTop + kHeight + 40, "evaluated plans",
                " text-anchor=\"middle\"");
  }

  void drawBound() {
    canvas.line({{kLeft, y(bound)}, {kLeft + kWidth, y(bound)}},
                "stroke=\"#000\" stroke-dasharray=\"6 4\"");
    canvas.text(kLeft + kWidth, y(bound) + 15,
                "no plan takes less than " + precisely(Seconds(bound)),
                " text-anchor=\"end\"");
  }

  void drawCurve(size_t number) {
    const SearchOutcome &outcome = outcomes[number];
    std::string colour = kColours[number % kColours.size()];
    std::vector<std::pair<double, double>> points;
    for (const SearchPoint &point : outcome.curve) {
      double from = x(double(point.evaluations));
      if (!points.empty())
        points.push_back({from, points.back().second});
      points.push_back({from, y(point.best.value)});
    }
    canvas.beginGroup(describeSearch(outcome));
    canvas.line(points, "stroke-width=\"2\" stroke=\"" + colour + "\"");
    canvas.endGroup();
    double left = kLeft + double(number) * kWidth / double(kColours.size());
    canvas.line({{left, 44}, {left + 16, 44}},
                "stroke-width=\"2\" stroke=\"" + colour + "\"");
    canvas.text(left + 20, 48, outcome.driver + " " + precisely(outcome.time));
  }

  const std::vector<SearchOutcome> &outcomes;
  double bound, low, high = 0, last = 2;
  SvgCanvas canvas;
};
} // namespace

std::string drawSearch(const std::vector<SearchOutcome> &outcomes,
                       Seconds bound) {
  return SearchPicture(outcomes, bound).draw();
}

} // namespace stagewright
