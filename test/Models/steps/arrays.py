"""Shapes, updates, windows, convolutions, images and factorisations, each between two dense layers."""

import jax
import jax.numpy as jnp
from jax import lax

from building import around
from catalog import add

SHAPES = {
    "reshape-transpose": lambda h, p: h.reshape(4, 3, 2, 16).transpose(0, 2, 1, 3).reshape(4, 6, 16),
    "concatenate-split": lambda h, p: jnp.concatenate(jnp.split(h, [4, 9], -1)[::-1], -1),
    "stack-moveaxis": lambda h, p: jnp.moveaxis(jnp.stack([h, h * h], 1), 1, 2).sum(2),
    "pad-interior": lambda h, p: lax.pad(h, jnp.array(0.5, h.dtype), ((0, 0, 0), (1, 2, 1), (0, 0, 0))),
    "pad-negative": lambda h, p: lax.pad(h, jnp.array(0, h.dtype), ((0, 0, 0), (-1, -1, 0), (2, -3, 0))),
    "pad-reflect": lambda h, p: jnp.pad(h, ((0, 0), (2, 2), (0, 0)), "reflect"),
    "pad-edge": lambda h, p: jnp.pad(h, ((0, 0), (1, 3), (0, 0)), "edge"),
    "pad-wrap": lambda h, p: jnp.pad(h, ((0, 0), (2, 1), (0, 0)), "wrap"),
    "flip-roll": lambda h, p: jnp.flip(h, 1) + jnp.roll(h, 2, 1) + jnp.roll(h, (1, 3), (1, 2)),
    "tile-repeat": lambda h, p: jnp.tile(h, (1, 2, 1)) + jnp.repeat(h, 2, 1),
    "broadcast-squeeze": lambda h, p: jnp.squeeze(jnp.broadcast_to(h[:, :1, None], (4, 1, 5, 16)), 1),
    "strided-slice": lambda h, p: h[:, ::2, 1:15:3] + h[:, 5::-2, ::-3][..., :5],
    "rot90-swap": lambda h, p: jnp.rot90(h, 1, (1, 2)).swapaxes(1, 2),
    "diff-gradient": lambda h, p: jnp.diff(h, axis=1)[:, :, :8] + jnp.gradient(h, axis=2)[:, 1:, :8],
    "meshgrid-arange": lambda h, p: h * sum(jnp.meshgrid(jnp.arange(16.), jnp.arange(6.))).astype(h.dtype),
    "vmap-in-axes": lambda h, p: jax.vmap(lambda a, b: a * b.sum(), (1, 1), 1)(h, h),
    "tril-indices": lambda h, p: h[:, :, :6][:, *jnp.tril_indices(6)],
    "depth-to-space": lambda h, p: h[:, :4].reshape(4, 2, 2, 4, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(4, 8, 8),
    "trapezoid": lambda h, p: jnp.trapezoid(h, axis=1),
    "unstack-loop": lambda h, p: jnp.stack([a * (i + 1) for i, a in enumerate(jnp.unstack(h, axis=1))], 1),
}

UPDATES = {
    "set-row": lambda h, p: h.at[:, 0].set(h.mean(1) * p["s"]),
    "set-swapped-halves": lambda h, p: h.at[:, :3].set(h[:, 3:]).at[:, 3:].set(h[:, :3] * p["s"]),
    "multiply-column": lambda h, p: h.at[:, 1].multiply(p["s"]),
    "add-slice": lambda h, p: h.at[:, 1:4].add(p["s"]),
    "max-slice": lambda h, p: h.at[:, 2].max(p["s"]),
    "min-slice": lambda h, p: h.at[:, 2].min(p["s"]),
    "power-divide": lambda h, p: (1.5 + h).at[:, 1].power(2.0).at[:, 2].divide(p["s"] + 2),
    "dynamic-update-slice": lambda h, p: lax.dynamic_update_slice(h, h[:, :4] * 2 * p["s"], (0, 2, 0)),
    "mask-update": lambda h, p: h.at[:, jnp.array([0, 3, 5])].set(p["s"]),
    "duplicates-add": lambda h, p: h.at[:, jnp.array([1, 1, 4])].add(p["s"]),
    "subtract": lambda h, p: h.at[:, 3].subtract(h[:, 2]) * p["s"],
    "get-fill": lambda h, p: h.at[:, jnp.array([0, 9])].get(mode="fill", fill_value=1.0) * p["s"],
    "loop-of-updates": lambda h, p: lax.fori_loop(0, 5, lambda i, a: a.at[:, i + 1].add(a[:, i] * p["s"]), h),
}

IMAGES = {  # of 8 x 8 with 16 channels
    "conv-same": lambda h, p: convolution(h, p["k"]),
    "conv-valid-strided": lambda h, p: convolution(h, p["k"], (2, 2), "VALID"),
    "conv-dilated": lambda h, p: convolution(h, p["k"], rhs_dilation=(2, 2)),
    "conv-transpose": lambda h, p: lax.conv_transpose(h, p["k"], (2, 2), "SAME"),
    "conv-grouped": lambda h, p: convolution(h, p["k"][:, :, :4], feature_group_count=4),
    "conv-depthwise": lambda h, p: convolution(h, p["k"][:, :, :1], feature_group_count=16),
    "conv-depthwise-multiplier": lambda h, p: convolution(
        h, jnp.concatenate([p["k"][:, :, :1], 2 * p["k"][:, :, 1:2]], -1), feature_group_count=16),
    "conv-1x1": lambda h, p: convolution(h, p["k"][:1, :1]),
    "conv-asymmetric-pad": lambda h, p: convolution(h, p["k"], (1, 2), ((0, 2), (1, 0))),
    "conv-nchw": lambda h, p: lax.conv(h.transpose(0, 3, 1, 2), p["k"].transpose(3, 2, 0, 1), (1, 1), "SAME"),
    "conv-patches": lambda h, p: lax.conv_general_dilated_patches(h, (3, 3), (1, 1), "SAME", dimension_numbers=NHWC),
    "conv-1d-causal": lambda h, p: lax.conv_general_dilated(
        h.reshape(2, 64, 16), p["k"][0], (1,), [(2, 0)], dimension_numbers=("NWC", "WIO", "NWC")),
    "conv-3d": lambda h, p: lax.conv_general_dilated(
        h.reshape(2, 4, 4, 4, 16), p["k"][None, :2, :2].repeat(2, 0), (1, 1, 1), "SAME",
        dimension_numbers=("NDHWC", "DHWIO", "NDHWC")),
    "max-pool": lambda h, p: lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    "max-pool-overlapping": lambda h, p: lax.reduce_window(
        h, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
    "average-pool": lambda h, p: lax.reduce_window(h, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4,
    "global-pool": lambda h, p: h.mean((1, 2)) + h.max((1, 2)),
    "resize-bilinear": lambda h, p: jax.image.resize(h, (2, 12, 12, 16), "bilinear"),
    "resize-nearest": lambda h, p: jax.image.resize(h, (2, 16, 16, 16), "nearest"),
    "resize-cubic-down": lambda h, p: jax.image.resize(h, (2, 5, 5, 16), "cubic"),
    "upsample-repeat": lambda h, p: h.repeat(2, 1).repeat(2, 2),
    "pixel-shuffle": lambda h, p: h.reshape(2, 8, 8, 2, 2, 4).transpose(0, 1, 3, 2, 4, 5).reshape(2, 16, 16, 4),
}
NHWC = ("NHWC", "HWIO", "NHWC")


def convolution(h, kernel, strides=(1, 1), padding="SAME", **more):
    return lax.conv_general_dilated(h, kernel, strides, padding, dimension_numbers=NHWC, **more)


def positive(h):
    """4 positive definite matrices of 6 x 6, computed from hidden values."""
    return h @ h.swapaxes(1, 2) + 3 * jnp.eye(6, dtype=h.dtype)


FACTORS = {
    "cholesky": lambda h, p: jnp.linalg.cholesky(positive(h)),
    "triangular-solve": lambda h, p: jax.scipy.linalg.solve_triangular(
        jnp.tril(h[..., :6]) + 2 * jnp.eye(6, dtype=h.dtype), h, lower=True),
    "triangular-solve-transposed": lambda h, p: lax.linalg.triangular_solve(
        jnp.triu(h[..., :6]) + 2 * jnp.eye(6, dtype=h.dtype), h, left_side=True, transpose_a=True),
    "cho-solve": lambda h, p: jax.vmap(lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b))(positive(h), h),
    "gaussian-log-density": lambda h, p: jax.vmap(lambda x, c: jax.scipy.stats.multivariate_normal.logpdf(
        x, jnp.zeros(6, h.dtype), c))(h[:, 0, :6], positive(h))[:, None],
}
REFUSED = {
    "solve": lambda h, p: jnp.linalg.solve(positive(h), h),
    "inverse": lambda h, p: jnp.linalg.inv(positive(h)),
    "determinant": lambda h, p: jnp.linalg.slogdet(positive(h))[1],
    "qr": lambda h, p: jnp.linalg.qr(positive(h))[1],
    "svd": lambda h, p: jnp.linalg.svd(positive(h), compute_uv=False),
    "eigh": lambda h, p: jnp.linalg.eigh(positive(h))[0],
    "fft": lambda h, p: jnp.abs(jnp.fft.rfft(h, axis=1)),
    "complex": lambda h, p: jnp.abs(jnp.exp(1j * h.astype(jnp.promote_types(h.dtype, jnp.float32)))),
    "pure-callback": lambda h, p: h + lax.stop_gradient(
        jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct(h.shape, h.dtype), lax.stop_gradient(h))),
    "io-callback": lambda h, p: h + jax.experimental.io_callback(
        lambda: __import__("numpy").float32(1), jax.ShapeDtypeStruct((), jnp.float32)).astype(h.dtype),
}

SAMPLE = ("concatenate-split", "flip-roll", "strided-slice", "set-row", "multiply-column", "dynamic-update-slice",
          "conv-same", "conv-depthwise", "max-pool", "resize-bilinear", "cholesky")
for name, op in SHAPES.items():
    add(f"arrays/{name}", around(op), sample=name in SAMPLE)
for name, op in UPDATES.items():
    add(f"arrays/update-{name}", around(op, parameters=lambda draw: dict(s=draw(16))), sample=name in SAMPLE)
for name, op in IMAGES.items():
    add(f"arrays/{name}", around(op, batch=(2, 8, 8, 16), parameters=lambda draw: dict(k=draw(3, 3, 16, 16, scale=0.1))),
        sample=name in SAMPLE)
for name, op in FACTORS.items():
    add(f"arrays/{name}", around(op), sample=name in SAMPLE, dtypes=("float32",))
for name, op in REFUSED.items():
    add(f"arrays/{name}", around(op), sample=name in ("fft", "pure-callback"), dtypes=("float32",), refused=r"not supported|cannot be converted",
        stages=("1",))
