"""The lit suite: every *.mlir and *.test under test/, run with the tools of one build tree."""

import os
import shutil
import sys

import lit.formats

config.name = "Stagewright"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Consumer", "Unit", "Integration", "Python"]
# Without the compiler only pp-run is built.
if config.compiler != "ON":
    config.excludes += ["Conversion", "Dialect", "Plugin", "Target", "Tools"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.stagewright_build + "/test"

# Our tools first, then FileCheck, not and mlir-opt of the LLVM that they were built with.
config.environment["PATH"] = os.pathsep.join(
    [config.stagewright_build + "/bin", config.llvm_tools, os.environ.get("PATH", "")])
# The code cache stays in the build tree.
config.environment["XDG_CACHE_HOME"] = config.stagewright_build + "/cache"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LLVM_PROFILE_FILE"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%plugin", config.stagewright_build + "/lib/StagewrightPlugin.so"))
config.substitutions.append(("%inputs", config.test_source_root + "/Inputs"))
config.substitutions.append(("%python", config.python or sys.executable))
config.substitutions.append(("%interposer", config.stagewright_build + "/lib/stagewright-interposer.so"))
# Artifacts with hand-written rank programs, see test/Unit/Runtime.
config.substitutions.append(("%fixtures", config.stagewright_build + "/unit/fixtures"))

# `REQUIRES: cuda-toolkit`: assembles kernels; no GPU is needed.
toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
if os.path.exists(os.path.join(toolkit, "bin", "ptxas")):
    config.available_features.add("cuda-toolkit")
    config.substitutions.append(("%cuda", toolkit))
if "CUDA_HOME" in os.environ:
    config.environment["CUDA_HOME"] = toolkit

# `REQUIRES: no-sanitizer`: loads our code into a program that is not instrumented, or counts allocations.
if not config.sanitize:
    config.available_features.add("no-sanitizer")

# `REQUIRES: mpi`: ranks as processes. Allows more ranks than processors, and root, as in containers.
if shutil.which("mpirun") and os.path.exists(config.stagewright_build + "/lib/libstagewright-mpi.so") and not config.sanitize:
    config.available_features.add("mpi")
    config.substitutions.append(("%mpirun", "mpirun --quiet --oversubscribe"))
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        config.environment[name] = "1"
