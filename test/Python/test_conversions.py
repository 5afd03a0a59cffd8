"""Every conversion, value by value against JAX: import, lower with upstream passes, run, compare."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from native import compile_module
from stagewright import import_jax
from stagewright.frontend.examples import stored

F = jnp.float32


def normal(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def ints(high, *shape, seed=1):
    return jnp.asarray(np.random.default_rng(seed).integers(0, high, shape, np.int32))


def check(directory, function, arguments, tolerance=2e-6):
    """Imports all cases of a family at once, because starting processes takes most of a test's time."""
    path = str(directory / "cases.mlir")
    # As seeds, random keys would have the microbatch folded in; this test compares only the operations on them.
    import_jax(function, (arguments,), path, roles={0: "constant"})
    leaves = [stored(jnp.asarray(leaf)) for leaf in jax.tree.leaves(arguments)]
    found = compile_module(path, str(directory))(leaves)
    wanted = jax.tree.leaves_with_path(function(arguments))
    assert len(found) == len(wanted)
    for ours, (keys, theirs) in zip(found, wanted):
        name, theirs = jax.tree_util.keystr(keys), stored(theirs)
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, name
        if np.issubdtype(theirs.dtype, np.integer) or theirs.dtype == np.bool_:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
        else:
            np.testing.assert_allclose(ours.astype(np.float64), theirs.astype(np.float64), rtol=tolerance,
                                       atol=tolerance, err_msg=name)


def gradient(function, *positions):
    """A function's gradient for a loss that weighs every element differently."""
    def loss(*arguments):
        leaves = jax.tree.leaves(function(*arguments))
        return sum((leaf * jnp.cos(jnp.arange(leaf.size, dtype=F).reshape(leaf.shape))).sum() for leaf in leaves
                   if jnp.issubdtype(leaf.dtype, jnp.floating))
    return jax.grad(loss, positions or (0,))


def pool(x, window=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="VALID"):
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding)


def average(x, window=(1, 3, 3, 1), strides=(1, 2, 2, 1), padding="SAME"):
    return lax.reduce_window(x, 0.0, lax.add, window, strides, padding)


def convolution(x, w, strides=(2, 2), padding="SAME", **options):
    return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)


def sharded(function):
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("d",))
    of = jax.sharding.PartitionSpec("d")
    return jax.shard_map(function, mesh=mesh, in_specs=of, out_specs=jax.sharding.PartitionSpec(), check_vma=False)


@jax.custom_vjp
def _halved(x):
    return jnp.sin(x)


_halved.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x) / 2,))


@jax.custom_jvp
def _tripled(x):
    return jnp.sin(x)


_tripled.defjvp(lambda x, t: (jnp.sin(x[0]), 3 * t[0] * jnp.cos(x[0])))


def printed(x):
    jax.debug.print("x {x}", x=x)
    return x * 2


TIED = jnp.array([[1., 3., 3., 2., 1., 3.], [0., -0., 0., -1., 5., 5.]])
IMAGE = normal(2, 8, 8, 3)

CASES = {
    "scatter": {
        "embedding": (lambda w, i: w[i], normal(7, 5), ints(7, 3, 4)),
        "embedding_gradient": (gradient(lambda w, i: w[i]), normal(7, 5), ints(7, 3, 4)),
        "embedding_negative_index": (gradient(lambda w, i: w[i]), normal(7, 5), ints(7, 6) - 7),
        "take_along_axis": (lambda x, i: jnp.take_along_axis(x, i[..., None], -1), normal(3, 4, 6), ints(6, 3, 4)),
        "take_along_axis_gradient": (gradient(lambda x, i: jnp.take_along_axis(x, i[..., None], -1)), normal(3, 4, 6),
                                     ints(6, 3, 4)),
        "take_along_axis_many_gradient": (gradient(lambda x, i: jnp.take_along_axis(x, i, -1)), normal(3, 6),
                                          ints(6, 3, 12)),
        "take_along_axis_few_gradient": (gradient(lambda x, i: jnp.take_along_axis(x, i, 0)), normal(6, 3),
                                         ints(6, 2, 3)),
        "index_arrays_gradient": (gradient(lambda x, i: x[jnp.arange(3), i]), normal(3, 6), ints(6, 3)),
        "take_fill_gradient": (gradient(lambda w, i: jnp.take(w, i, axis=0, mode="fill", fill_value=0)), normal(7, 5),
                               jnp.array([0, 9, 3, -1])),
        "take_clip_gradient": (gradient(lambda w, i: jnp.take(w, i, axis=0, mode="clip")), normal(7, 5),
                               jnp.array([0, 9, 3, -9])),
        "take_columns_gradient": (gradient(lambda w, i: w[:, i]), normal(5, 7), ints(7, 4)),
        "set_rows": (lambda w, i, u: w.at[i].set(u), normal(7, 5), jnp.array([1, 5, 2]), normal(3, 5, seed=2)),
        "set_one": (lambda w, i, u: w.at[i].set(u), normal(7, 5), jnp.int32(4), normal(5, seed=2)),
        "add_elements": (lambda w, i, j: w.at[i, j].add(2.0), normal(4, 5), ints(4, 20), ints(5, 20, seed=3)),
        "multiply_rows": (lambda w, i, u: w.at[i].multiply(u), normal(7, 5), jnp.array([1, 1, 2]),
                          normal(3, 5, seed=2)),
        "maximum_rows": (lambda w, i, u: w.at[i].max(u), normal(7, 5), jnp.array([1, 1, 2]), normal(3, 5, seed=2)),
        "minimum_rows": (lambda w, i, u: w.at[i].min(u), normal(7, 5), jnp.array([1, 1, 2]), normal(3, 5, seed=2)),
        "subtract_rows": (gradient(lambda w, i, u: w.at[i].subtract(u), 0, 2), normal(7, 5), jnp.array([1, 1, 2]),
                          normal(3, 5, seed=2)),
        "subtract_static": (lambda w, u: w.at[1:3, 2].subtract(u), normal(4, 5), normal(2, seed=2)),
        "count": (lambda i: jnp.zeros(5, jnp.int32).at[i].add(1), ints(5, 30)),
        "count_unsigned": (lambda i: jnp.zeros(5, jnp.uint32).at[i].add(1), ints(5, 30)),
        "apply_rows": (lambda w, i: w.at[i].apply(lambda a: jnp.sin(a) * a + 1), normal(7, 5), jnp.array([1, 5, 1])),
        "apply_known": (lambda w: w.at[jnp.array([0, 2, 0])].apply(lambda a: jnp.sin(a) * a), normal(4, 4)),
        "apply_slice": (lambda w: w.at[1:3, 2].apply(jax.scipy.special.erf), normal(4, 5)),
        "apply_columns": (lambda w, i: w.at[:, i].apply(jnp.exp), normal(4, 5), jnp.int32(3)),
        "apply_unsigned": (lambda w, i: w.at[i].apply(lambda a: a * 3), ints(9, 6).astype(jnp.uint32), jnp.array([1, 5])),
        "set_static_slice": (lambda w, u: w.at[1:3, 2].set(u), normal(4, 5), normal(2, seed=2)),
        "bfloat16_rows": (gradient(lambda w, i: w[i].astype(F)), normal(7, 5).astype(jnp.bfloat16), ints(7, 3, 2)),
    },
    "slices": {
        "static_index_gradient": (gradient(lambda x: x[1, 2:5] * x[-1, 0]), normal(4, 6)),
        "slice_gradient": (gradient(lambda x: x[1:3, ::2] ** 2), normal(4, 6)),
        "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 3)), normal(5, 6), jnp.int32(7)),
        "dynamic_slice_gradient": (gradient(lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 3))), normal(5, 6),
                                   jnp.int32(2)),
        "dynamic_update_slice": (lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 4)), normal(5, 6), normal(2, 3),
                                 jnp.int32(-3)),
        "dynamic_index_unsigned": (lambda x, i: lax.dynamic_index_in_dim(x, i, 0), normal(5, 6), jnp.uint32(2)),
        "dynamic_index_beyond_signed": (lambda x, i: lax.dynamic_index_in_dim(x, i, 0), normal(5, 6), jnp.uint32(3_000_000_000)),
        "clipped_index_beyond_signed": (lambda x, i: x.at[i].get(mode="clip"), normal(5, 6), jnp.array([1, 3_000_000_000], jnp.uint32)),
        "concatenate": (lambda x, y: jnp.concatenate([x, y, x], 1), normal(2, 3), normal(2, 4)),
        "concatenate_gradient": (gradient(lambda x, y: jnp.concatenate([x, y, x], 1), 0, 1), normal(2, 3),
                                 normal(2, 4)),
        "split_gradient": (gradient(lambda x: [a * a for a in jnp.split(x, 3, -1)][::-1]), normal(2, 6)),
        "stack": (lambda x, y: jnp.stack([x, y], 1), normal(2, 3), normal(2, 3)),
        "pad": (lambda x: lax.pad(x, 1.0, [(1, 2, 0), (0, 1, 2)]), normal(2, 3)),
        "pad_negative": (lambda x: lax.pad(x, 1.0, [(-1, 2, 0), (1, -1, 1)]), normal(3, 3)),
        "reverse": (lambda x: x[::-1, ::-1], normal(2, 3)),
        "roll": (lambda x: jnp.roll(x, 2, 1), normal(2, 5)),
        "tile": (lambda x: jnp.tile(x, (2, 3)), normal(2, 5)),
        "repeat": (lambda x: jnp.repeat(x, 3, axis=1), normal(2, 5)),
        "repeat_gradient": (gradient(lambda x: jnp.repeat(x, 3, axis=1)), normal(2, 5)),
    },
    "order": {
        "top_k": (lambda x: lax.top_k(x, 3), TIED),
        "top_k_gradient": (gradient(lambda x: lax.top_k(x, 2)[0]), normal(4, 8)),
        "top_k_infinite": (lambda x: lax.top_k(x, 3), jnp.array([[-jnp.inf, 1., -jnp.inf, -jnp.inf]])),
        "top_k_integer": (lambda x: lax.top_k(x, 4), ints(5, 3, 9)),
        "top_k_bfloat16": (lambda x: lax.top_k(x, 2), normal(3, 9).astype(jnp.bfloat16)),
        "top_k_nan": (lambda x: lax.top_k(x, 3)[1], jnp.array([[1., jnp.nan, 2., -jnp.inf]])),
        "argmax": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), TIED),
        "sort": (lambda x: jnp.sort(x, -1), TIED),
        "argsort": (lambda x: jnp.argsort(x, -1), TIED),
        "sort_long": (lambda x: (jnp.sort(x.reshape(2, -1), -1), jnp.argsort(x.ravel()), jnp.argsort(-jnp.round(x), 0, stable=True)),
                      normal(3000, 2).at[7].set(jnp.nan).at[9].set(jnp.inf)),
        "sort_long_integer": (lambda x: lax.sort((x, x[::-1]), num_keys=1), ints(50, 2500)),
        "sort_long_gradient": (gradient(lambda x: jnp.sort(x)), normal(2100)),
        "sort_gradient": (gradient(lambda x: jnp.sort(x, 0)), normal(6, 3)),
        "cumsum": (lambda x: (jnp.cumsum(x, 1), jnp.cumsum(x[:, ::-1], 0)), normal(4, 9)),
        "cumsum_integer": (lambda x: jnp.cumsum(x, 0), ints(5, 6, 2)),
        "cumsum_gradient": (gradient(lambda x: jnp.cumsum(x, 0)), normal(6, 3)),
        "cumulative": (lambda x: (lax.cummax(x, 1), lax.cummin(x, 1), lax.cumprod(x, 1), lax.cumlogsumexp(x, 1)),
                       normal(2, 7)),
    },
    "windows": {
        "max_pool": (pool, IMAGE),
        "max_pool_gradient": (gradient(pool), IMAGE),
        "max_pool_overlapping_gradient": (gradient(lambda x: pool(x, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")), IMAGE),
        "max_pool_ties_gradient": (gradient(lambda x: pool(x, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")),
                                   jnp.round(IMAGE)),
        "min_pool_gradient": (gradient(lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1, 2, 2, 1), (1, 2, 2, 1),
                                                                   "VALID")), IMAGE),
        "average_pool_gradient": (gradient(average), IMAGE),
        "convolution": (convolution, IMAGE, normal(3, 3, 3, 4)),
        "convolution_gradient": (gradient(convolution, 0, 1), IMAGE, normal(3, 3, 3, 4)),
        "convolution_1x1_gradient": (gradient(lambda x, w: convolution(x, w, (2, 2), "VALID"), 0, 1), IMAGE,
                                     normal(1, 1, 3, 4)),
        "convolution_depthwise_gradient": (gradient(
            lambda x, w: convolution(x, w, (1, 1), feature_group_count=3), 0, 1),
                                           IMAGE, normal(3, 3, 1, 6)),
        "convolution_dilated_gradient": (gradient(lambda x, w: convolution(x, w, (1, 1), rhs_dilation=(2, 2)), 0, 1),
                                         IMAGE, normal(3, 3, 3, 2)),
        "convolution_transposed": (lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), IMAGE, normal(3, 3, 3, 2)),
    },
    "functions": {
        "activations": (lambda x: (jax.nn.gelu(x), jax.nn.gelu(x, approximate=False), jax.nn.silu(x),
                                   jax.nn.softplus(x), jax.nn.relu(x), jax.nn.elu(x), jax.nn.sigmoid(x),
                                   jax.nn.hard_swish(x)), normal(3, 5)),
        "activations_gradient": (gradient(lambda x: (jax.nn.gelu(x), jax.nn.gelu(x, approximate=False), jax.nn.silu(x),
                                                     jax.nn.softplus(x), jax.nn.elu(x))), normal(3, 5)),
        "functions": (lambda x: (jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.sinh(x), jnp.cosh(x), jnp.arctan(x),
                                 jnp.expm1(x), jnp.cbrt(x), jnp.exp2(x), jnp.sign(x), jnp.round(x), jnp.floor(x),
                                 jnp.ceil(x)), normal(3, 5)),
        "inverse_functions": (lambda x: (jnp.arcsin(x), jnp.arccos(x), jnp.arctanh(x), jnp.arcsinh(x),
                                         jnp.arccosh(1.5 + x), lax.erf_inv(x), lax.erf(x), lax.erfc(x)),
                              jnp.linspace(-0.95, 0.95, 12)),
        "positive_functions": (lambda x: (jnp.log(x), jnp.log1p(x), jnp.sqrt(x), lax.rsqrt(x), x ** 2.5, jnp.log2(x)),
                               jnp.abs(normal(3, 5)) + 0.1),
        "binary": (lambda x, y: (jnp.arctan2(x, y), x % y, jnp.minimum(x, y), jnp.where(x > y, x, y), x // y,
                                 jnp.logaddexp(x, y), jnp.isfinite(x / y)), normal(3, 5), normal(3, 5, seed=4)),
        "integers": (lambda x, y: (x // y, x % y, x ^ y, x << 2, x >> 1, jnp.bitwise_count(x), x ** 3, lax.clz(x)),
                     ints(50, 20), ints(7, 20, seed=3) + 1),
        "boolean_constant": (lambda x: jnp.where(np.random.default_rng(0).random((9, 33)) > 0.5, x, 0), normal(9, 33)),
        "booleans": (lambda m, x: (jnp.where(m, x, 0), ~m, m.any(), m.all(0), m.sum()), normal(3, 5) > 0, normal(3, 5)),
        "casts": (lambda x: (x.astype(jnp.int32), x.astype(jnp.bfloat16), x.astype(bool), x.astype(jnp.float16),
                             x.astype(jnp.int8).astype(F), lax.reduce_precision(x, 8, 7)), normal(3, 5) * 3),
        "unsigned": (lambda x: (x.astype(F) / 255, x + 1, x >> 3), ints(256, 4, 5).astype(jnp.uint8)),
        "one_hot": (lambda i: jax.nn.one_hot(i, 6), ints(6, 2, 3)),
        "bfloat16_product": (lambda x, y: jnp.einsum("bij,bjk->bik", x, y), normal(2, 3, 4).astype(jnp.bfloat16),
                             normal(2, 4, 5).astype(jnp.bfloat16)),
        "bfloat16_accumulated": (lambda x, y: jnp.einsum("ij,jk->ik", x, y, preferred_element_type=F),
                                 normal(3, 4).astype(jnp.bfloat16), normal(4, 5).astype(jnp.bfloat16)),
        "contractions": (lambda x, y: (jnp.einsum("bhqd,bhkd->bhqk", x, y), jnp.einsum("bhqd,bhkd->hd", x, y),
                                       jnp.einsum("bhqd,bhkd->bqk", x, y)), normal(2, 3, 4, 5),
                         normal(2, 3, 4, 5, seed=2)),
        "reductions": (lambda x: (x.sum(1), x.max(), x.min(0), x.prod(1), jax.nn.logsumexp(x, 1), x.var(0), x.std()),
                       normal(3, 5)),
        "reductions_of_one": (lambda x: (x.sum(), x.max(), x.min(), x.prod(), x.astype(jnp.bfloat16).sum()), jnp.float32(2.5)),
        "norms": (lambda x: (jnp.linalg.norm(x), jnp.linalg.norm(x, axis=1), jnp.median(x)), normal(3, 5)),
    },
    "calls": {
        "shard_map": (sharded(lambda a: (lax.psum(a * 2, "d"), lax.pmax(a, "d"), lax.all_gather(a, "d"),
                                         lax.all_gather(a, "d", tiled=True), lax.axis_index("d"),
                                         lax.psum_scatter(a, "d", tiled=True), lax.ppermute(a, "d", [(0, 0)]),
                                         lax.all_to_all(a, "d", 0, 0), lax.pmean(a, "d"), lax.ppermute(a, "d", []))),
                      normal(1, 4)),
        "shard_map_gradient": (gradient(sharded(lambda a: jax.nn.softmax(lax.pmean(a @ a.T, "d") + jnp.arange(4.0)))),
                               normal(4, 4)),
        "vmap_collectives": (jax.vmap(lambda a: (lax.psum(a, "b"), lax.pmax(a.sum(), "b"), lax.pmin(a, "b")),
                                      axis_name="b"), normal(4, 3)),
        "vmap_collectives_gradient": (gradient(jax.vmap(lambda a: a * lax.pmean(a, "b"), axis_name="b")), normal(4, 3)),
        "custom_vjp": (gradient(_halved), normal(4)),
        "zeta": (jax.scipy.special.zeta, jnp.arange(-2, 5, 0.5)[:, None] + jnp.zeros(12), jnp.arange(-3, 3, 0.5) + jnp.zeros((14, 1))),
        "polygamma_at_poles": (lambda x: jax.scipy.special.polygamma(2, x), jnp.arange(-3, 3, 0.5)),
        "custom_jvp": (gradient(_tripled), normal(4)),
        "printed_gradient": (gradient(lambda x: lax.scan(lambda c, a: (printed(c) + a, None), 0.0, x)[0]), normal(4)),
    },
    "control": {
        "cond": (lambda x: lax.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, x), normal(3, 5)),
        "cond_gradient": (gradient(lambda x: lax.cond(x.sum() > 0, lambda a: a * a, lambda a: a - 1, x)), normal(3, 5)),
        "switch": (lambda i, x: lax.switch(i, [lambda a: a * 2, lambda a: a - 1, jnp.sin], x), jnp.int32(5), normal(4)),
        "fori_loop": (lambda x: lax.fori_loop(0, 4, lambda i, a: a.at[i].add(a[i + 1] * i), x), normal(6, 2)),
        "while_static": (lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 1.5), (0, x))[1],
                         normal(3)),
        "associative_scan": (lambda x: lax.associative_scan(jnp.add, x), normal(9, 2)),
        "map": (lambda x: lax.map(lambda r: jnp.tanh(r) * r.sum(), x), normal(5, 3)),
        "scan_gradient": (gradient(lambda w, x: lax.scan(lambda h, u: (jnp.tanh(h @ w + u), h.sum()), jnp.zeros(3), x)),
                          normal(3, 3), normal(6, 3)),
        "while_dynamic": (lambda x: lax.while_loop(lambda c: c.sum() < 50, lambda c: c * 1.5 + 1, jnp.abs(x)), normal(4)),
        "while_dynamic_in_vmap": (jax.vmap(lambda a: lax.while_loop(lambda c: jnp.abs(c * c - a) > 1e-3, lambda c: (c + a / c) / 2, a)),
                                  jnp.abs(normal(6)) + 1),
        "while_known_in_vmap": (lambda x: jax.vmap(lambda n: lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 2, c[1] * 3), (n, 1)))(
            jnp.arange(6))[1] + x, ints(5, 6)),
        "fori_in_two_vmaps": (jax.vmap(jax.vmap(lambda n, x: lax.fori_loop(0, n, lambda i, c: c * 0.5 + i, x))), ints(5, 2, 3), normal(2, 3)),
        "expi": (jax.scipy.special.expi, normal(5)),
        "fori_dynamic": (lambda n, x: lax.fori_loop(0, n, lambda i, c: c.at[i].add(c.sum()), x), jnp.int32(3), normal(6)),
        "scan_kept": (lambda x: lax.scan(lambda c, a: (c * 0.5 + a * a, c - a), 0.0, x), normal(700)),
        "scan_kept_reverse_gradient": (gradient(lambda x: lax.scan(lambda c, a: (c * 0.5 + jnp.sin(a), c), 0.0, x,
                                                                   reverse=True)), normal(700)),
        "scan_reverse": (lambda x: lax.scan(lambda c, a: (c * 0.5 + a, c), 0.0, x, reverse=True), normal(6)),
        "nested_scan_gradient": (gradient(lambda w, x: lax.scan(
            lambda h, ws: (lax.scan(lambda g, v: (jnp.tanh(g * v), None), h, ws)[0], None), x, w)[0], 0, 1),
            normal(3, 2, 4), normal(4)),
        "rematerialised_scan_gradient": (gradient(lambda w, x: lax.scan(jax.checkpoint(
            lambda h, v: (jnp.tanh(h @ v), None)), x, w)[0]), normal(3, 4, 4), normal(2, 4)),
        "vmap_gradient": (gradient(jax.vmap(lambda w, i: w[i] * w.sum())), normal(4, 5), ints(5, 4)),
    },
    "random": {
        "threefry": (lambda k: (jax.random.bits(k, (7,)), jax.random.split(k, 3)), jax.random.PRNGKey(3)),
        "random": (lambda k: (jax.random.normal(k, (3, 5)), jax.random.bernoulli(k, 0.3, (9,)),
                              jax.random.uniform(jax.random.fold_in(k, 7), (4,)), jax.random.randint(k, (5,), 0, 9)),
                   jax.random.PRNGKey(3)),
        "random_bits_width": (lambda k: (jax.random.bits(k, (5,), jnp.uint8), jax.random.bits(k, (5,), jnp.uint16)),
                              jax.random.PRNGKey(3)),
        "random_choices": (lambda k: (jax.random.gumbel(k, (4,)), jax.random.categorical(k, jnp.zeros((3, 4))),
                                      jax.random.truncated_normal(k, -1, 1, (4,)), jax.random.permutation(k, 8)),
                           jax.random.PRNGKey(3)),
        "random_keys": (lambda k: jax.vmap(lambda s: jax.random.normal(s, (2,)))(jax.random.split(k, 3)),
                        jax.random.PRNGKey(3)),
    },
}




@pytest.mark.parametrize("family", CASES)
def test_equals_jax(family, tmp_path):
    cases = {name: case[0] for name, case in CASES[family].items()}
    arguments = {name: case[1:] for name, case in CASES[family].items()}
    check(tmp_path, lambda values: {name: function(*values[name]) for name, function in cases.items()}, arguments)
