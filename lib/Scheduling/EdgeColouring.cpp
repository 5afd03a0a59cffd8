//===- EdgeColouring.cpp - proper edge colouring of a graph ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Channels.h"
#include <algorithm>

namespace stagewright {

namespace {

/// Colours edges one by one.
class Colouring {
public:
  Colouring(int64_t vertices,
            const std::vector<std::pair<int64_t, int64_t>> &edges);

  std::vector<int64_t> run();

private:
  static constexpr int64_t kNone = -1;

  bool isBipartite() const;
  /// The edge of `colour` at `vertex`, or kNone.
  int64_t &at(int64_t vertex, int64_t colour) {
    return edgeAt[vertex * colours + colour];
  }
  int64_t other(int64_t edge, int64_t vertex) const {
    return edges[edge].first == vertex ? edges[edge].second : edges[edge].first;
  }
  int64_t freeColour(int64_t vertex);
  bool isFree(int64_t vertex, int64_t colour) {
    return at(vertex, colour) == kNone;
  }
  void paint(int64_t edge, int64_t colour);
  void swapPath(int64_t start, int64_t first, int64_t second);
  void addBipartite(int64_t edge);
  void addByFan(int64_t edge);
  std::vector<int64_t> fanOf(int64_t vertex, int64_t edge);

  const std::vector<std::pair<int64_t, int64_t>> &edges;
  std::vector<std::vector<int64_t>> adjacent; ///< Edges of each vertex.
  int64_t colours = 0;
  std::vector<int64_t> colourOf; ///< By edge.
  std::vector<int64_t> edgeAt;   ///< By vertex and colour.
};

} // namespace

Colouring::Colouring(int64_t vertices,
                     const std::vector<std::pair<int64_t, int64_t>> &edges)
    : edges(edges), adjacent(vertices), colourOf(edges.size(), kNone) {
  for (size_t e = 0; e < edges.size(); ++e) {
    adjacent[edges[e].first].push_back(e);
    adjacent[edges[e].second].push_back(e);
  }
  size_t degree = 0;
  for (const std::vector<int64_t> &list : adjacent)
    degree = std::max(degree, list.size());
  colours = int64_t(degree) + !isBipartite();
  edgeAt.assign(vertices * colours, kNone);
}

bool Colouring::isBipartite() const {
  std::vector<int> side(adjacent.size(), 0);
  for (size_t root = 0; root < adjacent.size(); ++root) {
    if (side[root] != 0)
      continue;
    side[root] = 1;
    std::vector<int64_t> open = {int64_t(root)};
    while (!open.empty()) {
      int64_t vertex = open.back();
      open.pop_back();
      for (int64_t edge : adjacent[vertex]) {
        int64_t next = other(edge, vertex);
        if (side[next] == side[vertex])
          return false;
        if (side[next] == 0)
          open.push_back(next);
        side[next] = -side[vertex];
      }
    }
  }
  return true;
}

int64_t Colouring::freeColour(int64_t vertex) {
  int64_t colour = 0;
  while (!isFree(vertex, colour))
    ++colour;
  return colour;
}

/// Changes the colour of `edge`; kNone removes it.
void Colouring::paint(int64_t edge, int64_t colour) {
  auto [a, b] = edges[edge];
  // An adjacent edge may already have the entry of the old colour.
  if (int64_t old = colourOf[edge]; old != kNone)
    for (int64_t end : {a, b})
      if (at(end, old) == edge)
        at(end, old) = kNone;
  colourOf[edge] = colour;
  if (colour != kNone)
    at(a, colour) = at(b, colour) = edge;
}

/// Swaps two colours along the path that alternates between them and starts at
/// `start` with an edge of colour `first`; `second` must be free at `start`.
void Colouring::swapPath(int64_t start, int64_t first, int64_t second) {
  std::vector<int64_t> path;
  int64_t vertex = start, colour = first;
  for (int64_t edge; (edge = at(vertex, colour)) != kNone;) {
    path.push_back(edge);
    vertex = other(edge, vertex);
    colour = first + second - colour;
  }
  std::vector<int64_t> swapped;
  for (int64_t edge : path) {
    swapped.push_back(first + second - colourOf[edge]);
    paint(edge, kNone);
  }
  for (size_t i = 0; i < path.size(); ++i)
    paint(path[i], swapped[i]);
}

/// König's theorem: takes a colour free at one end and one free at the other,
/// and swaps them along the alternating path from one end. The path cannot
/// reach the other end, as it would close an odd cycle.
void Colouring::addBipartite(int64_t edge) {
  auto [a, b] = edges[edge];
  int64_t ofA = freeColour(a), ofB = freeColour(b);
  if (ofA != ofB)
    swapPath(b, ofA, ofB);
  paint(edge, ofA);
}

/// A maximal fan: edges of `vertex`, starting with `edge`, each with a colour
/// that is free at the far end of the previous one.
std::vector<int64_t> Colouring::fanOf(int64_t vertex, int64_t edge) {
  std::vector<int64_t> fan = {edge};
  for (bool longer = true; longer;) {
    longer = false;
    int64_t last = other(fan.back(), vertex);
    for (int64_t next : adjacent[vertex])
      if (colourOf[next] != kNone && isFree(last, colourOf[next]) &&
          std::find(fan.begin(), fan.end(), next) == fan.end()) {
        fan.push_back(next);
        longer = true;
        break;
      }
  }
  return fan;
}

/// Misra and Gries: swap colours so that one is free both at the centre and at
/// the end of a fan, then shift the colours along the fan by one edge.
void Colouring::addByFan(int64_t edge) {
  int64_t centre = edges[edge].first;
  std::vector<int64_t> fan = fanOf(centre, edge);
  int64_t c = freeColour(centre), d = freeColour(other(fan.back(), centre));
  if (c != d)
    swapPath(centre, d, c);
  // Now d is free at the centre. The swap may have cut the fan short, but at
  // the far end of some edge of the part that is still a fan, d is free.
  size_t end = 0;
  while (!isFree(other(fan[end], centre), d))
    ++end;
  std::vector<int64_t> turned;
  for (size_t i = 0; i < end; ++i)
    turned.push_back(colourOf[fan[i + 1]]);
  turned.push_back(d);
  for (size_t i = 0; i <= end; ++i)
    paint(fan[i], kNone);
  for (size_t i = 0; i <= end; ++i)
    paint(fan[i], turned[i]);
}

std::vector<int64_t> Colouring::run() {
  bool bipartite = isBipartite();
  for (size_t edge = 0; edge < edges.size(); ++edge)
    bipartite ? addBipartite(edge) : addByFan(edge);
  return std::move(colourOf);
}

std::vector<int64_t>
colourEdges(int64_t vertices,
            const std::vector<std::pair<int64_t, int64_t>> &edges) {
  return Colouring(vertices, edges).run();
}

} // namespace stagewright
