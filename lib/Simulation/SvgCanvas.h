//===- SvgCanvas.h - the text of a picture ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SIMULATION_SVGCANVAS_H
#define STAGEWRIGHT_LIB_SIMULATION_SVGCANVAS_H

#include <string>

namespace stagewright {

/// Rectangles and words in the order in which they were drawn; lengths in
/// pixels, `more` attributes of the element.
class SvgCanvas {
public:
  void text(double x, double y, const std::string &words,
            const std::string &more = "");
  void rect(double x, double y, double width, double height,
            const std::string &more);
  /// What is drawn until `endGroup` shows `tip` when pointed at.
  void beginGroup(const std::string &tip);
  void endGroup();

  /// The whole file. Fills may name the patterns `hatch` and `ties`.
  std::string document(double width, double height) const;

private:
  std::string svg;
};

/// With one digit after the point.
std::string inPixels(double value);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_SIMULATION_SVGCANVAS_H
