"""A step of 8 microbatches in float32, compared with jax.jit, IREE, torch and the same step with products by OpenBLAS.

One stage on one core, the same on two cores (one rank with two threads), and the GPT on two ranks beside torch's pipeline.
"""

from ..harness.models import GPT, MODELS
from ..harness.report import RATIO_COLUMNS, Result, Table

IREE_AT_MOST, TWO_CORES_AT_MOST, TORCH_AT_MOST, BLAS_AT_MOST = 0.40, 0.60, 0.65, 1.02


def one_stage(session, result, table, model, cores):
    """One rank compared with the peers, with a thread for each core."""
    count = len(cores.split(","))
    words = {1: "one core", 2: "two cores"}[count]
    module = session.imported(model)
    artifact = session.compiled(module, 1)
    peers = {"jax": lambda: session.jax(model, cores), "iree": lambda: session.iree(model, cores)}
    if model.name != "convnet":  # Convolutions are always computed by tiles.
        peers["openblas"] = lambda: session.blas(artifact, module, cores, count)
    found = session.compare(f"{model.name}, {words}", [
        lambda: session.ours(artifact, module, cores, count),
        *(make for name, make in peers.items() if name in session.options.peers)])
    limits = {"jax": model.one_core if count == 1 else TWO_CORES_AT_MOST, "iree": IREE_AT_MOST, "openblas": BLAS_AT_MOST}
    for peer, one in found.items():
        key = f"{peer}_{words.replace(' ', '_')}"
        session.note(result, table, f"{model.name}, {words}, beside {peer}", one, limits[peer],
                     key if model is GPT else None)
        result.ratios["models"].setdefault(model.name, {})[key] = one.value


def two_ranks(session, result, table, model=GPT):
    module = session.imported(model)
    artifact = session.compiled(module, 2, "--schedule=1f1b")
    found = session.compare(f"{model.name}, two ranks, 1F1B", [
        lambda: session.ours(artifact, module, "0,1"), lambda: session.torch(model, 2)])
    session.note(result, table, f"{model.name}, two ranks, 1F1B, beside torch", found["torch"], TORCH_AT_MOST,
                 "torch_pipelining")


def run(session):
    result = Result("step", [Table(__doc__.splitlines()[0], RATIO_COLUMNS)], dict.fromkeys(
        ("jax_one_core", "jax_two_cores", "iree_one_core", "torch_pipelining")))
    result.ratios["models"] = {}
    chosen = [MODELS[name] for name in session.options.models]
    counts = session.options.cores
    for model in chosen:
        if 1 in counts:
            one_stage(session, result, result.tables[0], model, "0")
        if 2 in counts and session.has_threads():
            one_stage(session, result, result.tables[0], model, "0,1")
    if 2 in counts and GPT in chosen and "torch" in session.options.peers:
        two_ranks(session, result, result.tables[0])
    return result
