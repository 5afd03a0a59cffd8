"""Reports on a run from its metrics (JSON lines): an HTML page, and events for TensorBoard."""
