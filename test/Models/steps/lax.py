"""Operations of jax.lax and jax.numpy, each between two dense layers: elementwise, reductions, sorting, products."""

import jax
import jax.numpy as jnp
from jax import lax

from building import around, integers
from catalog import add

ELEMENTWISE = {
    "trigonometric": lambda h: jnp.sin(h) + jnp.cos(2 * h) * jnp.tan(h),
    "hyperbolic": lambda h: jnp.sinh(h) + jnp.cosh(h) * jnp.tanh(h),
    "inverse-trigonometric": lambda h: jnp.arcsin(0.9 * h) + jnp.arccos(0.8 * h) + jnp.arctan(h),
    "inverse-hyperbolic": lambda h: jnp.arcsinh(h) + jnp.arccosh(1.5 + h * h) + jnp.arctanh(0.8 * h),
    "exponentials": lambda h: jnp.exp(h) + jnp.exp2(h) + jnp.expm1(h),
    "logarithms": lambda h: jnp.log(1.5 + h) + jnp.log1p(0.5 * h) + jnp.log2(2 + h) + jnp.log10(2 + h),
    "roots": lambda h: jnp.sqrt(1.5 + h) + lax.rsqrt(1.5 + h) + jnp.cbrt(2 + h),
    "erf": lambda h: lax.erf(h) + lax.erfc(h / 2),
    "erf-inv": lambda h: lax.erf_inv(0.9 * h),
    "lgamma": lambda h: lax.lgamma(2.5 + h),
    "digamma": lambda h: lax.digamma(2.5 + h),
    "rounding": lambda h: h * jnp.floor(3 * h) + jnp.ceil(2 * h) + jnp.trunc(4 * h) * h,
    "round": lambda h: h + h * jnp.round(4 * h) + lax.stop_gradient(jnp.round(8 * h, 1)),
    "straight-through": lambda h: h + lax.stop_gradient(jnp.round(h * 4) / 4 - h),
    "sign-abs": lambda h: jnp.abs(h) * jnp.sign(h + 0.1) + jnp.copysign(h * h, h),
    "powers": lambda h: (1.5 + h) ** 2.5 + h ** 3 + jnp.power(1.5 + h, h) + jnp.float_power(1.5 + h, 0.5),
    "atan2-hypot": lambda h: jnp.arctan2(h, 1 + h * h) + jnp.hypot(h, h + 2),
    "remainder": lambda h: jnp.remainder(5 * h, 1.5) + jnp.fmod(5 * h, 1.5),
    "logaddexp": lambda h: jnp.logaddexp(h, 2 * h) + jnp.logaddexp2(h, -h),
    "min-max-clip": lambda h: jnp.maximum(h, 0.1) + jnp.minimum(h, -0.1) + jnp.clip(h, -0.3, 0.4),
    "where-finite": lambda h: jnp.where(jnp.isfinite(h) & (h > 0), h, jnp.nan_to_num(h * 0.1)),
    "sinc-deg": lambda h: jnp.sinc(h + 2) + jnp.deg2rad(h) + jnp.heaviside(h, 0.5) * h,
    "casts": lambda h: h + (3 * h).astype(jnp.int32).astype(h.dtype) + h.astype(jnp.float32).astype(h.dtype)
    + lax.stop_gradient(jnp.round(16 * h)).astype(jnp.float16).astype(h.dtype),  # exact, so that rounding does not decide
    "bits": lambda h: h * (1 + ((h * 8).astype(jnp.int32) & 3 | 4 ^ 1).astype(h.dtype)) + jnp.left_shift(
        (h * 8).astype(jnp.int32), 2).astype(h.dtype),
    "integer-pow-chain": lambda h: lax.integer_pow(h, 5) + lax.integer_pow(1.5 + h, -2) + jnp.square(h),
    "polyval": lambda h: jnp.polyval(jnp.array([0.5, -1, 0.25, 2], h.dtype), h),
    "interp": lambda h: jnp.interp(h.astype(jnp.promote_types(h.dtype, jnp.float32)), jnp.linspace(-1, 1, 9),
                                   jnp.linspace(0, 2, 9) ** 2).astype(h.dtype),
}

REDUCTIONS = {
    "sums": lambda h: h.sum(1) + h.mean(1) + jnp.nansum(h, 1),
    "extremes": lambda h: h.max(1) + h.min(1) + jnp.ptp(h, 1),
    "product": lambda h: jnp.prod(1.2 + h, 1),
    "variance": lambda h: h.var(1) + h.std(1, ddof=1),
    "logsumexp": lambda h: jax.nn.logsumexp(h, 1) + jax.scipy.special.logsumexp(h, 1, b=0.5),
    "norms": lambda h: jnp.linalg.norm(h, axis=1) + jnp.linalg.norm(h, ord=1, axis=1) + jnp.linalg.norm(h, ord=jnp.inf, axis=1),
    "any-all": lambda h: h.mean(1) * ((h > 0).any(1) & (h < 2).all(1)),
    "argmax": lambda h: jnp.take_along_axis(h, jnp.argmax(h, -1)[..., None], -1) * h,
    "argmin-one-hot": lambda h: jax.nn.one_hot(jnp.argmin(h, -1), 16, dtype=h.dtype) * h,
    "median": lambda h: jnp.median(h, 1),
    "quantile": lambda h: jnp.quantile(h, 0.3, axis=1).astype(h.dtype),
    "count-nonzero": lambda h: h.mean(1) * jnp.count_nonzero(h > 0, 1, keepdims=False).astype(h.dtype),
    "average": lambda h: jnp.average(h, 1, weights=jnp.arange(1, 7, dtype=h.dtype)),
    "cov": lambda h: jnp.cov(h.reshape(-1, 16), rowvar=False),
    "cumsum": lambda h: jnp.cumsum(h, 1) + lax.cumsum(h, 1, reverse=True),
    "cumprod": lambda h: jnp.cumprod(1.1 + h, 1),
    "cummax": lambda h: lax.cummax(h, 1) + lax.cummin(h, 2),
    "cumlogsumexp": lambda h: lax.cumlogsumexp(h, 1),
    "associative-scan": lambda h: lax.associative_scan(jnp.add, h * h, axis=1),
    "associative-scan-pairs": lambda h: lax.associative_scan(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (jax.nn.sigmoid(h), h), axis=1)[1],
    "associative-scan-reverse": lambda h: lax.associative_scan(jnp.maximum, h, reverse=True, axis=1),
    "reduce-window": lambda h: lax.reduce_window(h, 0.0, lax.add, (1, 3, 2), (1, 2, 2), "SAME"),
    "reduce-precision": lambda h: lax.reduce_precision(h, 8, 7),
}

ORDERS = {
    "sort": lambda h: jnp.sort(h, -1),
    "sort-descending": lambda h: jnp.sort(h, 1, descending=True),
    "argsort": lambda h: jnp.take_along_axis(h, jnp.argsort(h, -1), -1) * h,
    "argsort-long": lambda h: h * jnp.argsort(jnp.argsort(jnp.tile(h.ravel(), 40))).reshape(40, *h.shape).mean(0).astype(
        h.dtype) / 3000,
    "sort-pairs": lambda h: lax.sort((h, h * h), num_keys=1, dimension=1)[1],
    "top-k": lambda h: lax.top_k(h, 4)[0],
    "top-k-gather": lambda h: jnp.take_along_axis(h * h, lax.top_k(h, 4)[1], -1),
    "searchsorted": lambda h: h * jnp.searchsorted(jnp.linspace(-1, 1, 5, dtype=h.dtype), h).astype(h.dtype),
    "digitize": lambda h: h * jnp.digitize(h, jnp.array([-0.5, 0, 0.5], h.dtype)).astype(h.dtype),
    "lexsort-rank": lambda h: h * jnp.argsort(jnp.argsort(h, -1), -1).astype(h.dtype),
}

PRODUCTS = {
    "einsum-ellipsis": lambda h, p: jnp.einsum("...td,df->...tf", h, p["w"]),
    "einsum-bilinear": lambda h, p: jnp.einsum("bti,ij,bsj->bts", h, p["w"], h),
    "einsum-diagonal": lambda h, p: jnp.einsum("ii,bti->bti", p["w"], h),
    "tensordot": lambda h, p: jnp.tensordot(h, p["w"], ((2,), (1,))),
    "outer-kron": lambda h, p: jnp.kron(h[:, 0, :4], h[:, 1, :4]) @ p["w"],
    "batched-matmul": lambda h, p: jnp.swapaxes(h, 1, 2) @ h @ p["w"],
    "vecdot": lambda h, p: jax.vmap(jnp.vdot)(h.reshape(24, 16), h.reshape(24, 16) @ p["w"])[:, None],
    "dot-general-mixed": lambda h, p: lax.dot_general(
        h, p["w"], (((2,), (0,)), ((), ())), preferred_element_type=jnp.promote_types(h.dtype, jnp.float32)).astype(h.dtype),
    "dot-general-batch": lambda h, p: lax.dot_general(h, h, (((2,), (2,)), ((0,), (0,)))),
    "dot-general-highest": lambda h, p: jnp.matmul(h, p["w"], precision="highest"),
    "matrix-power": lambda h, p: h @ jnp.linalg.matrix_power(p["w"], 5),
    "multi-dot": lambda h, p: jnp.linalg.multi_dot([h[:, 0], p["w"], p["w"].T, p["w"]]),
    "trace-diagonal": lambda h, p: h * jnp.trace(p["w"]) + jnp.diagonal(p["w"]),
    "triangles": lambda h, p: h @ jnp.tril(p["w"]) + h @ jnp.triu(p["w"], 1),
    "toeplitz-like": lambda h, p: h @ jnp.where(jnp.subtract.outer(jnp.arange(16), jnp.arange(16)) >= 0, p["w"], 0),
}

WITH_INDICES = {
    "embedding-gather": lambda h, p, i: h + p["w"][i % 16][:, None],
    "take-clip": lambda h, p, i: h + jnp.take(p["w"], i, axis=0, mode="clip")[:, None],
    "take-fill": lambda h, p, i: h + jnp.take(p["w"], i, axis=0, mode="fill", fill_value=0)[:, None],
    "segment-sum": lambda h, p, i: jax.ops.segment_sum(h, i % 3, 3),
    "segment-max": lambda h, p, i: jax.ops.segment_max(h, i % 3, 4, indices_are_sorted=False).clip(-5, 5),
    "one-hot": lambda h, p, i: h + (jax.nn.one_hot(i, 16, dtype=h.dtype) @ p["w"])[:, None],
    "dynamic-slice": lambda h, p, i: lax.dynamic_slice_in_dim(h, i[0] % 4, 3, 1),
    "dynamic-index": lambda h, p, i: h * lax.dynamic_index_in_dim(p["w"], i[0] % 16, 0, keepdims=False),
    "gather-pairs": lambda h, p, i: h[jnp.arange(4), i % 6] * p["w"][0],
    "scatter-add": lambda h, p, i: jnp.zeros((8, 16), h.dtype).at[i % 8].add(h.sum(1)) @ p["w"],
    "bincount": lambda h, p, i: h * jnp.bincount(i % 16, length=16).astype(h.dtype),
    "choose": lambda h, p, i: jnp.choose((i % 3)[:, None, None], [h, 2 * h, h * h], mode="clip"),
    "switch": lambda h, p, i: lax.switch(i[0] % 3, [lambda h: h @ p["w"], lambda h: 2 * h, jnp.sin], h),
    "select-n": lambda h, p, i: lax.select_n(jnp.broadcast_to((i % 3)[:, None, None], h.shape), h, h * h, h @ p["w"]),
}


def matrix(draw):
    return dict(w=draw(16, 16))


def indices(_draw):
    return (integers(24, 4),)


for group, table in (("elementwise", ELEMENTWISE), ("reduce", REDUCTIONS), ("order", ORDERS)):
    for name, op in table.items():
        add(f"lax/{group}-{name}", around(lambda h, p, op=op: op(h)),
            sample=name in ("erf", "roots", "logaddexp", "casts", "variance", "cumsum", "top-k"))
for name, op in PRODUCTS.items():
    add(f"lax/product-{name}", around(op, parameters=matrix), sample=name in ("einsum-bilinear", "dot-general-mixed"))
for name, op in WITH_INDICES.items():
    add(f"lax/index-{name}", around(op, parameters=matrix, more=indices), sample=name in ("embedding-gather", "segment-sum"))
