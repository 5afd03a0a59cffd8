"""Functions of jax.numpy and jax.nn that libraries use and that consist of many operations."""

from operations import operation, same
from operations.contractions import square_root


@operation(3)
def losses(g):
    a = g.value(ndim=(1, 3), most=512)
    b = g.value(same(a))
    sharp = ["jnp.where(jnp.abs({a} - {b}) < 1, 0.5 * jnp.square({a} - {b}), jnp.abs({a} - {b}) - 0.5)",
             "jnp.maximum(0, 1 - {a} * {b})", "jnp.abs({a} - {b}).mean(-1)"]
    smooth = ["jnp.log(jnp.cosh({a} - {b}))", "jax.nn.softplus({a}) - {a} * {b}",
              "-jax.nn.log_sigmoid({a}) * jax.nn.sigmoid({b})",
              "(jax.nn.softmax({b}, -1) * (jax.nn.log_softmax({b}, -1) - jax.nn.log_softmax({a}, -1))).sum(-1)",
              "({a} * {b}).sum(-1) * lax.rsqrt((jnp.square({a}).sum(-1) + 0.2) * (jnp.square({b}).sum(-1) + 0.2))",
              "jax.nn.logsumexp(jnp.stack([{a}, {b}]), 0)", "-jnp.square({a} - {b}).sum(-1)"]
    return g.pick(*smooth, *(sharp if not (a.rough or b.rough) else ())).format(a=a, b=b)


@operation(2)
def algebra(g):
    a = g.value(lambda v: v.dtype == "F", ndim=(2, 2), most=64)
    w = g.parameter(a.shape)
    n, m = a.shape
    return g.pick("jnp.kron({a}, {w}[:1])", "jnp.linalg.norm({a} + 3, axis=0)", "jnp.trace({a} @ {w}.T)",
                  "jnp.cov({a})",
                  "jnp.vdot({a}, {w})", "jnp.tensordot({a}, {w}, 1 if {n} == {m} else [[0], [0]])",
                  "jnp.einsum('ij,kj,kl->il', {a}, {w}, {w})", "jnp.linalg.multi_dot([{a}, {w}.T, {a}])",
                  "jnp.inner({a}, {w})", "jnp.einsum('ij,ij->', {a}, {w})", "jnp.polyval({w}[:, 0] * 0.1, {a})",
                  "jnp.cross({a}[:, :3], {w}[:, :3]) if {m} > 2 else {a}").format(a=a, w=w, n=n, m=m)


@operation(2)
def rotary(g):
    """Halves rotated by angles that depend on the position, as in rotary embeddings."""
    a = g.value(lambda v: v.shape[-1] % 2 == 0, ndim=(2, 3), most=512)
    t, n = a.shape[-2:]
    angle = f"(jnp.arange({t})[:, None] * jnp.exp(-jnp.arange({n // 2}) / {n // 2}))"
    return g.pick("jnp.concatenate([{a}[..., :{h}] * jnp.cos({r}) - {a}[..., {h}:] * jnp.sin({r}), "
                  "{a}[..., {h}:] * jnp.cos({r}) + {a}[..., :{h}] * jnp.sin({r})], -1).astype({t})",
                  "jnp.stack([{a}[..., ::2] * jnp.cos({r}), {a}[..., 1::2] * jnp.sin({r})], -1).reshape({s}).astype({t})"
                  ).format(a=a, h=n // 2, r=angle, t=a.dtype, s=a.shape)


@operation(2)
def batch_norm(g):
    """Statistics over the batch, and running statistics."""
    a = g.value(ndim=(2, 4), most=512)
    c = a.shape[-1]
    scale, axes = g.parameter((c,), a.dtype), tuple(range(a.ndim - 1))
    mean = f"{a}.astype(F).mean({axes})"
    return g.pick("(({a} - {mean}) * lax.rsqrt({a}.astype(F).var({axes}) + 0.1)).astype({t}) * {s}",
                  "(({a} - {mean}) * lax.rsqrt(jnp.square({a}.astype(F)).mean({axes}) - jnp.square({mean}) + 0.3))"
                  ".astype({t}) * {s}",
                  "0.9 * {s} + 0.1 * {mean}").format(a=a, mean=mean, axes=axes, t=a.dtype, s=scale)


@operation(2)
def grouped_heads(g):
    """Attention with fewer key heads than query heads, a bias and a soft cap."""
    a = g.value(ndim=(3, 3), most=256)
    n, t = a.shape[-1], a.shape[1]
    q, k = g.parameter((n, 2, 2, 2), a.dtype, square_root(n)), g.parameter((n, 2, 2), a.dtype, square_root(n))
    scores = f"jnp.einsum('btd,dkge,bsd,dke->bkgts', {a}, {q}, {a}, {k})"
    if g.maybe():
        scores = f"(2 * jnp.tanh({scores} / 2))"
    if g.maybe():
        scores = f"({scores} + {g.parameter((t, t), a.dtype)})"
    return f"jnp.einsum('bkgts,bsd,dke->btkge', jax.nn.softmax({scores}, -1), {a}, {k}).reshape({a.shape[0]}, {t}, -1)"


@operation(1)
def inserted(g):
    a = g.value(ndim=(1, 2), most=128)
    n = a.shape[0]
    i = g.rng.randrange(n)
    return g.pick("jnp.insert({a}, {i}, 0.5, axis=0)", "jnp.delete({a}, {i}, axis=0)",
                  "jnp.append({a}, {a}[:1] * 2, axis=0)",
                  "jnp.concatenate(jnp.array_split({a}, 2)[::-1])", "jnp.vstack([{a}, {a} * 2])",
                  "jnp.hstack([{a}, {a}])",
                  "jnp.select([jnp.arange({n}) > 1, jnp.arange({n}) > 0], [{a}.T, {a}.T * 2], 0.0)",
                  "jnp.meshgrid({a}.ravel()[:3], {a}.ravel()[:2])[0]").format(a=a, i=i, n=n)


@operation(1)
def bits(g):
    """Integer arithmetic, unsigned and signed."""
    a = g.value(dtypes="I", ndim=(0, 2), most=64)
    return g.pick("({a}.astype(jnp.uint32) * 7 >> 2).astype(I)", "lax.population_count({a})", "{a} // 3 - {a} % 3",
                  "jnp.bitwise_or({a}, 4)", "~{a}", "lax.clamp(I(0), {a}, I(3))", "jnp.sign({a})",
                  "({a} > 1).astype(I)",
                  "({a}.astype(jnp.int8) + 100).astype(I)", "lax.rem({a}, I(3))", "lax.div({a}, I(2))",
                  "({a}.astype(F) * 1.5).astype(I)", "jnp.cumsum(jnp.atleast_1d({a}))", "{a} ** 2",
                  "({a}.astype(jnp.uint8) + 250).astype(I)").format(a=a)


@operation(1)
def searched(g):
    a = g.value(lambda v: v.dtype == "F", ndim=(1, 1), sharp=True, most=64)
    return g.pick("jnp.searchsorted(jnp.array([-1.0, 0.0, 0.7]), {a})", "jnp.digitize({a}, jnp.array([-0.5, 0.5]))",
                  "jnp.interp({a}, jnp.array([-1.0, 0.1, 1.2]), jnp.array([0.5, -0.3, 2.0]))",
                  "jnp.bincount(jnp.clip({a}, 0, 3).astype(I), length=4)", "jnp.cumsum({a} > 0)",
                  "jnp.argsort(jnp.argsort({a}))").format(a=a)
