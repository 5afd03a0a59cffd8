"""Memory of a step compared with XLA's figure for jax.jit: one stage, 8 microbatches.

Our figure is the size of the arena, which the runtime allocates once; JAX's is the sum of arguments, results and temporaries of
the compiled step, less what they share. Nothing is timed, so one run is enough.
"""

import json

from ..harness.models import MODELS
from ..harness.report import Result, Table, number, size
from ..harness.sides import spend


def run(session):
    table = Table("Memory of a step of one stage, beside jax.jit's own analysis",
                  ["", "ours", "jax.jit", "its arguments", "results", "temporaries", "ratio", "limit",
                   "pp-run, resident", "pp-compile, resident"])
    result = Result("memory", [table])
    for name in session.options.models:
        model = MODELS[name]
        module = session.imported(model)
        artifact = session.compiled(module, 1)
        compiler = spend([session.tool("pp-compile"), module, "--cluster=local:1", "--stages=1", "--quiet",
                          "--microbatches=8", "-o", artifact], log=session.work / "memory.log")
        ran = spend(session.ours(artifact, module, "0").command, log=session.work / "memory.log")
        ours, jax = json.loads(ran.output)["arena_bytes"], json.loads(session.jax_says("memory", model))
        whole = jax["arguments"] + jax["outputs"] + jax["temporaries"] - jax["shared"]
        result.ratios[name] = ours / whole
        result.figures[name] = dict(ours=ours, jax=whole, jax_parts=jax, run_resident=ran.peak,
                                    compiler_resident=compiler.peak)
        table.rows.append([name, size(ours), size(whole), size(jax["arguments"]), size(jax["outputs"]),
                           size(jax["temporaries"]), number(ours / whole),
                           result.want(f"{name}, memory of a step", ours / whole, 1), size(ran.peak),
                           size(compiler.peak)])
        session.say(f"{name}: {size(ours)} beside {size(whole)}, ratio {ours / whole:.2f}")
    return result
