"""Peer: a step of M microbatches, loss and gradients accumulated by lax.scan, under jax.jit on the CPU.

usage: jax_step.py serve FILE.py:NAME M                 for each input line N, prints the seconds of N steps
       jax_step.py export FILE.py:NAME M PREFIX         PREFIX.stablehlo.mlir and PREFIX.npz, the step's arguments in order
       jax_step.py compile FILE.py:NAME M               CPU and wall seconds that XLA takes to compile the step, without tracing
       jax_step.py memory FILE.py:NAME M                bytes that the compiled step needs according to XLA

NAME returns (function, (parameters, *batches)); all microbatches are the same.
"""

import fnmatch
import importlib
import json
import os
import pathlib
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np


def load(specification):
    file, _, name = specification.rpartition(":")
    sys.path.insert(0, str(pathlib.Path(file).parent))
    return getattr(importlib.import_module(pathlib.Path(file).stem), name)()


def accumulated(function, count):
    """The step over batches with a leading dimension of microbatches: the mean of the function's results. With BENCH_UNROLL=1
    the microbatches are unrolled for XLA instead of scanned."""
    unroll = count if os.environ.get("BENCH_UNROLL") == "1" else 1

    def step(parameters, *batches):
        def one(total, batch):
            return jax.tree.map(jnp.add, total, function(parameters, *batch)), None
        shapes = jax.eval_shape(function, parameters, *(batch[0] for batch in batches))
        total, _ = jax.lax.scan(one, jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes), batches,
                                unroll=unroll)
        return jax.tree.map(lambda a: a / count, total)
    return step


def sharded(arguments):
    """The arguments placed on all devices, and the shardings of the loss and the gradients. BENCH_SHARDS gives the split
    dimension of parameters as GLOB=DIM, separated by commas; all others are replicated."""
    mesh = jax.sharding.Mesh(jax.devices(), ("shards",))
    hints = [hint.rsplit("=", 1) for hint in os.environ["BENCH_SHARDS"].split(",")]

    def place(path, leaf):
        name = "params/" + jax.tree_util.keystr(path, simple=True, separator="/")
        dims = [int(dim) for glob, dim in hints if fnmatch.fnmatch(name, glob)]
        spec = [None] * leaf.ndim
        if dims:
            spec[dims[0]] = "shards"
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
    parameters, *batches = arguments
    places = jax.tree_util.tree_map_with_path(place, parameters)
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    return (jax.device_put(parameters, places), *(jax.device_put(batch, everywhere) for batch in batches)), (everywhere, places)


def serve(step, arguments):
    out = None
    if "BENCH_SHARDS" in os.environ:
        arguments, out = sharded(arguments)
    run = jax.jit(step, out_shardings=out)
    loss = jax.tree.leaves(jax.block_until_ready(run(*arguments)))[0]
    print(json.dumps(dict(peer="jax.jit", version=jax.__version__, loss=float(loss))), flush=True)
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            began = time.perf_counter()
            jax.block_until_ready(run(*arguments))
            seconds.append(time.perf_counter() - began)
        print(json.dumps(dict(seconds=seconds)), flush=True)


def export(step, arguments, prefix):
    pathlib.Path(f"{prefix}.stablehlo.mlir").write_text(jax.jit(step).lower(*arguments).as_text())
    np.savez(f"{prefix}.npz", *map(np.asarray, jax.tree.leaves(arguments)))


def compile_only(step, arguments):
    lowered = jax.jit(step).lower(*arguments)
    began, cpu = time.perf_counter(), time.process_time()
    lowered.compile()
    print(json.dumps(dict(version=jax.__version__, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - began)))


def memory(step, arguments):
    needs = jax.jit(step).lower(*arguments).compile().memory_analysis()
    parts = dict(arguments=needs.argument_size_in_bytes, outputs=needs.output_size_in_bytes,
                 temporaries=needs.temp_size_in_bytes, shared=needs.alias_size_in_bytes)
    print(json.dumps(dict(version=jax.__version__, **parts)))


def main(what, model, count, *more):
    function, (parameters, *batches) = load(model)
    count = int(count)
    arguments = jax.tree.map(jnp.asarray, (parameters, *(np.stack([np.asarray(b)] * count) for b in batches)))
    {"serve": serve, "export": export, "compile": compile_only,
     "memory": memory}[what](accumulated(function, count), arguments, *more)


if __name__ == "__main__":
    main(*sys.argv[1:])
