"""What measuring needs: sides that take turns, ratios with their spread, tables."""
