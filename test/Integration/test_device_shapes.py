"""Device kernels on random, ragged shapes, run on the emulator and compared with JAX.

All graphs of a family are one step, so that a family is one import, one compile and one run; a failure prints its shapes.
STAGEWRIGHT_SEED selects other shapes."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file

from emulator import NEEDED, TARGET, emulated
from workshop import tool

pytestmark = NEEDED

SEED = int(os.environ.get("STAGEWRIGHT_SEED", "20"))


def layer_norm(x, g, b):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * g + b


def root_mean_square_norm(x, g):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * g


def masked_softmax(x):
    keep = jnp.arange(x.shape[-1]) <= jnp.arange(x.shape[-2])[:, None]
    return jax.nn.softmax(jnp.where(keep, x, -1e9), -1)


def cross_entropy(x, labels):
    logp = jax.nn.log_softmax(x, -1)
    return -jnp.take_along_axis(logp, labels[..., None], -1).mean()


def with_gradient(function, *positions):
    """The function's result and its gradients, for a loss that weights every element differently."""
    def both(*arguments):
        def loss(*chosen):
            given = list(arguments)
            for position, value in zip(positions, chosen):
                given[position] = value
            y = function(*given)
            return (y * jnp.cos(jnp.arange(y.size, dtype=y.dtype).reshape(y.shape))).sum()
        grads = jax.grad(loss, tuple(range(len(positions))))(*(arguments[p] for p in positions))
        return (function(*arguments), *grads)
    return both


class Draw:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def extent(self, most):
        """A power of two, one more, one less, or any number up to `most`."""
        power = 1 << int(self.rng.integers(0, most.bit_length()))
        return int(min(most, max(1, self.rng.choice([power, power + 1, power - 1, self.rng.integers(1, most + 1)]))))

    def shape(self, *most):
        return tuple(self.extent(m) for m in most)

    def normal(self, *shape, dtype=np.float32):
        return jnp.asarray(self.rng.standard_normal(shape).astype(np.float32)).astype(dtype)

    def integers(self, high, *shape):
        return jnp.asarray(self.rng.integers(0, high, shape, np.int32))


def rows(draw):
    for _ in range(4):
        r, c = draw.shape(200, 700)
        x, g, b = draw.normal(r, c), draw.normal(c) + 1, draw.normal(c)
        yield jax.nn.softmax, (x,)
        yield with_gradient(layer_norm, 0, 1, 2), (x, g, b)
        yield with_gradient(root_mean_square_norm, 0, 1), (x, g)
        yield jax.value_and_grad(cross_entropy), (x, draw.integers(c, r))
    for shape in ((2, 3, 17, 33), (3, 2, 64, 64), (1, 5, 40, 9)):
        yield with_gradient(masked_softmax, 0), (draw.normal(*shape),)


def sums(draw):
    for _ in range(6):
        x = draw.normal(*draw.shape(3000, 70))
        yield lambda x: (x.sum(0), (x * x).sum(), x.max(0), x.min(), jnp.tanh(x).mean(1)), (x,)
    for _ in range(4):
        x = draw.normal(*draw.shape(12, 40, 12, 20))
        yield lambda x: (x.sum((0, 2)), x.sum((1, 3)), x.max((0, 1, 2)), x.sum(2), jnp.exp(x).sum((0, 1))), (x,)


def elements(draw):
    for _ in range(5):
        a, b, c = draw.shape(30, 40, 50)
        x, y = draw.normal(a, b, c), draw.normal(c, a, b)
        yield lambda x, y: (jax.nn.gelu(x) + y.transpose(1, 2, 0), jnp.where(x > 0, x, y.transpose(1, 2, 0) * 2)), (x, y)
        yield lambda x: (x[:, ::-1], jnp.pad(x, ((1, 0), (0, 2), (1, 1))), x.reshape(-1) * 2, jnp.roll(x, 3, 2)), (x,)
        yield lambda x, y: jnp.concatenate([x, jnp.sin(x), y.transpose(1, 2, 0)], 2), (x, y)


def places(draw):
    for _ in range(5):
        n, width, rows = draw.shape(150, 60, 80)
        ids = draw.integers(rows, n)
        yield lambda t, i: t[i], (draw.normal(rows, width), ids)
        yield lambda i, u, rows=rows: jnp.zeros((rows, u.shape[1])).at[i].add(u), (ids, draw.normal(n, width))
        yield lambda x: (jnp.argmax(x, 1), jnp.cumsum(x, 0)), (draw.normal(n, width),)


def narrow(draw):
    for _ in range(4):
        r, c = draw.shape(120, 300)
        x = draw.normal(r, c, dtype=jnp.bfloat16)
        yield lambda x: (jax.nn.softmax(x.astype(jnp.float32)).astype(jnp.bfloat16), x * 2, x.sum(0), x.sum(1)), (x,)
        yield lambda x: jax.nn.relu(x).astype(jnp.float16), (x,)
    for eighth in (jnp.float8_e4m3fn, jnp.float8_e5m2):
        x = draw.normal(*draw.shape(60, 60)) * 10.0 ** draw.rng.integers(-5, 3, ())
        yield lambda x, eighth=eighth: x.astype(eighth).astype(jnp.float32), (x,)
    x, w = draw.normal(32, 48), draw.normal(48, 16)
    yield lambda x, w: jax.lax.dot(x.astype(jnp.float8_e4m3fn), w.astype(jnp.float8_e5m2),
                                   preferred_element_type=jnp.float32), (x, w)


FAMILIES = {"rows": rows, "sums": sums, "elements": elements, "places": places, "narrow": narrow}


@pytest.mark.parametrize("family", FAMILIES)
def test_equals_jax(family, tmp_path):
    from safetensors.numpy import save_file
    from stagewright import import_jax
    from stagewright.frontend.examples import stored

    cases = list(FAMILIES[family](Draw(SEED)))
    arguments = tuple(given for _, given in cases)

    def step(arguments):
        return [function(*given) for (function, _), given in zip(cases, arguments)]

    module, artifact, out = tmp_path / "step.mlir", tmp_path / "step.swx", tmp_path / "out.safetensors"
    import_jax(step, (arguments,), str(module), roles={0: "constant"}, combine={"out": "last"})
    tool("pp-compile", module, *TARGET, "--cluster=local:1", "--stages=1", "--microbatches=1", "-o", artifact)
    leaves = [stored(jnp.asarray(leaf)) for leaf in jax.tree.leaves(arguments)]
    save_file({str(i): leaf for i, leaf in enumerate(leaves)}, tmp_path / "in.safetensors")
    tool("pp-run", artifact, f"--inputs={tmp_path / 'in.safetensors'}", "--microbatches=1", f"--outputs={out}",
         env=emulated())
    found, position = load_file(out), 0
    for (_, given), wanted in zip(cases, jax.jit(step)(arguments)):
        shapes = [leaf.shape for leaf in jax.tree.leaves(given)]
        for theirs in map(stored, jax.tree.leaves(wanted)):
            ours, name = found[str(position)], f"result {position} of {shapes}"
            position += 1
            assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, name
            if theirs.dtype.kind in "iub":
                np.testing.assert_array_equal(ours, theirs, err_msg=name)
                continue
            bound = 1e-5 if theirs.dtype == np.float32 else 2.0 ** -9
            a, b = ours.astype(np.float64), theirs.astype(np.float64)
            assert np.linalg.norm(a - b) <= bound * np.linalg.norm(b) + 1e-6, name
    assert position == len(found)
