"""Shared code of the benchmarks: sides that take turns, ratios with their spread, tables."""
