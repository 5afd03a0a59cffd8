"""Every layer of a GPT on two cores at once, split by parameters: two shards of ours beside one rank with two threads, and
beside jax.jit with NamedSharding on two host devices. Loss and gradients of 8 microbatches, float32."""

from ..stand.models import GPT, MODELS
from ..stand.report import RATIO_COLUMNS, Result, Table

CORES = "0,1"
# As Megatron-LM splits them; the projection to queries, keys and values is three arrays side by side.
OURS = "*/qkv=1:3,*/o=0,*/fc=1,*/proj=0"
THEIRS = OURS.replace(":3", "")
THREADS_AT_MOST, JAX_AT_MOST = 1.10, 1.0


def run(session):
    result = Result("shards", [Table(__doc__, RATIO_COLUMNS)])
    for model in (GPT, MODELS["gpt-512"]):
        module = session.imported(model)
        shards = session.compiled(module, 2, "--tensor-parallel=2", f"--shard={OURS}", name="shards", whole=True)
        alone = session.compiled(module, 1)

        def threads():
            side = session.ours(alone, module, CORES, 2)
            side.name = "threads"
            return side
        found = session.compare(f"{model.name}, two shards", [
            lambda: session.ours(shards, module, CORES), threads, lambda: session.jax(model, CORES, THEIRS)])
        for peer, limit in (("threads", THREADS_AT_MOST), ("jax", JAX_AT_MOST)):
            session.note(result, result.tables[0], f"{model.name}, two shards, beside {peer}", found[peer], limit,
                         f"{model.name}_{peer}")
    return result
