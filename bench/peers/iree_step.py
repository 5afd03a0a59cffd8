"""Peer: the step that jax_step.py exported, compiled by IREE for the CPU it runs on.

usage: iree_step.py compile PREFIX               PREFIX.stablehlo.mlir to PREFIX.vmfb
       iree_step.py serve PREFIX CORES           for each input line N, prints the seconds of N steps

On one core the calling thread works alone; on several, IREE's task system has one worker for each.
"""

import json
import sys
import time

import numpy as np


def compile_step(prefix):
    import iree.compiler
    iree.compiler.compile_file(f"{prefix}.stablehlo.mlir", output_file=f"{prefix}.vmfb", input_type="stablehlo",
                               target_backends=["llvm-cpu"],
                               extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"])


def serve(prefix, cores):
    import iree.runtime as runtime
    from importlib.metadata import version
    runtime.flags.parse_flags(f"--task_topology_group_count={cores}")
    runtime.flags.FUNCTION_INPUT_VALIDATION = False
    device = runtime.get_device("local-sync" if cores == "1" else "local-task")
    config = runtime.Config(device=device)
    context = runtime.SystemContext(config=config)
    module = runtime.VmModule.mmap(config.vm_instance, f"{prefix}.vmfb")
    context.add_vm_module(module)
    run = context.modules[module.name]["main"]
    with np.load(f"{prefix}.npz") as stored:
        arguments = [runtime.asdevicearray(device, stored[name]) for name in stored.files]
    loss = run(*arguments)[0].to_host()
    print(json.dumps(dict(peer="IREE", version=version("iree-base-runtime"), loss=float(loss))), flush=True)
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            began = time.perf_counter()
            run(*arguments)
            seconds.append(time.perf_counter() - began)
        print(json.dumps(dict(seconds=seconds)), flush=True)


if __name__ == "__main__":
    {"compile": compile_step, "serve": serve}[sys.argv[1]](*sys.argv[2:])
