"""StableHLO -> linalg, in a separate process with torch-mlir's copy of MLIR. Never imported together with JAX."""
