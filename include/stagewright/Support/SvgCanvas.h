//===- SvgCanvas.h - writes SVG elements ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_SVGCANVAS_H
#define STAGEWRIGHT_SUPPORT_SVGCANVAS_H

#include <string>
#include <utility>
#include <vector>

namespace stagewright {

/// Appends rectangles, lines and text to an SVG file. Lengths are in pixels;
/// `more` holds further attributes of the element.
class SvgCanvas {
public:
  void text(double x, double y, const std::string &words,
            const std::string &more = "");
  void rect(double x, double y, double width, double height,
            const std::string &more);
  /// A line through points (x, y).
  void line(const std::vector<std::pair<double, double>> &points,
            const std::string &more);
  /// Starts a group, up to `endGroup`, with the tooltip `tip`.
  void beginGroup(const std::string &tip);
  void endGroup();

  /// The complete file. Fills may refer to the patterns `hatch` and `ties`.
  std::string document(double width, double height) const;

private:
  std::string svg;
};

/// `value` with one decimal.
std::string inPixels(double value);

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_SVGCANVAS_H
