//===- SvgCanvas.cpp - writes SVG elements --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/SvgCanvas.h"
#include "stagewright/Support/Printed.h"

namespace stagewright {

std::string inPixels(double value) { return printed("%.1f", value); }

static std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

void SvgCanvas::text(double x, double y, const std::string &words,
                     const std::string &more) {
  svg += "<text x=\"" + inPixels(x) + "\" y=\"" + inPixels(y) + "\"" + more +
         ">" + escaped(words) + "</text>\n";
}

void SvgCanvas::rect(double x, double y, double width, double height,
                     const std::string &more) {
  svg += "<rect x=\"" + inPixels(x) + "\" y=\"" + inPixels(y) + "\" width=\"" +
         inPixels(width) + "\" height=\"" + inPixels(height) + "\" " + more +
         "/>\n";
}

void SvgCanvas::line(const std::vector<std::pair<double, double>> &points,
                     const std::string &more) {
  svg += "<polyline fill=\"none\" points=\"";
  for (auto [x, y] : points)
    svg += inPixels(x) + "," + inPixels(y) + " ";
  svg += "\" " + more + "/>\n";
}

void SvgCanvas::beginGroup(const std::string &tip) {
  svg += "<g><title>" + escaped(tip) + "</title>";
}

void SvgCanvas::endGroup() { svg += "</g>\n"; }

std::string SvgCanvas::document(double width, double height) const {
  std::string size = inPixels(width) + " " + inPixels(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size +
         "\" width=\"" + inPixels(width) + "\" height=\"" + inPixels(height) +
         "\" font-family=\"sans-serif\" font-size=\"12\">\n"
         "<defs>\n"
         "<pattern id=\"hatch\" width=\"6\" height=\"6\" "
         "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
         "<rect width=\"6\" height=\"6\" fill=\"#d9c4dc\"/>"
         "<rect width=\"3\" height=\"6\" fill=\"#9d6fa5\"/></pattern>\n"
         "<pattern id=\"ties\" width=\"6\" height=\"6\" "
         "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(-45)\">"
         "<rect width=\"6\" height=\"6\" fill=\"#e3d6c6\"/>"
         "<rect width=\"3\" height=\"6\" fill=\"#9c755f\"/></pattern>\n"
         "</defs>\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" +
         svg + "</svg>\n";
}

} // namespace stagewright
