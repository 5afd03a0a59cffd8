"""Shared code of the benchmarks: programs measured in turns, ratios of their times with the spread, tables."""
