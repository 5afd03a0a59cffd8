"""StableHLO -> linalg, in a process of its own with torch-mlir's copy of MLIR. Never imported beside JAX."""
