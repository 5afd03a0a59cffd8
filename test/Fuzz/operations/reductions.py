"""Sums, means, maxima and functions that use them."""

from operations import operation


def axes(g, a):
    """One or two dimensions as text."""
    d = g.rng.randrange(a.ndim)
    return str(d) if a.ndim == 1 or g.maybe(0.7) else str(tuple(sorted(g.rng.sample(range(a.ndim), 2))))


@operation(5)
def reduced(g):
    a = g.value(ndim=(1, 4))
    return g.pick("{a}.sum({d})", "{a}.mean({d})", "{a}.sum()", "{a}.mean()", "jnp.var({a}, axis={d})",
                  "jnp.sqrt(jnp.var({a}, axis={d}) + 0.1)", "jax.nn.logsumexp({a}, axis={d})",
                  "jnp.prod(jnp.tanh({a}) + 1.2, axis={d})", "jnp.sqrt(jnp.sum(jnp.square({a}), axis={d}) + 0.1)",
                  "jnp.sum({a} * {a}, axis={d}, dtype=F)", "jnp.mean({a}, axis={d}, keepdims=True)",
                  "{a}.sum({d}, keepdims=True)").format(a=a, d=axes(g, a))


@operation(4)
def extreme(g):
    a = g.value(ndim=(1, 4), sharp=True)
    return g.pick("{a}.max({d})", "{a}.min({d})", "jnp.max({a}, axis={d}, keepdims=True)", "jnp.ptp({a}, axis={d})",
                  "jnp.abs({a}).max({d})", "jnp.max({a}, axis={d}, initial=0.1)", "{a}.max()").format(a=a, d=axes(g, a))


@operation(2)
def pooled(g):
    """An array combined with a reduction of itself."""
    a = g.value(ndim=(1, 3))
    d = g.rng.randrange(a.ndim)
    sharp = ["{a} - {a}.max({d}, keepdims=True)", "{a} / (0.5 + jnp.abs({a}).max({d}, keepdims=True))"]
    smooth = ["{a} - {a}.mean({d}, keepdims=True)", "{a} * {a}.sum({d}, keepdims=True)",
              "{a} / jnp.sqrt(jnp.square({a}).sum({d}, keepdims=True) + 0.1)"]
    return g.pick(*smooth, *(sharp if not a.rough else ())).format(a=a, d=d)


@operation(3)
def normalised(g):
    a = g.value(ndim=(1, 4))
    d = g.rng.randrange(a.ndim)
    last = a.shape[-1:]
    kind = g.rng.randrange(6)
    if kind < 2:
        return g.pick(f"jax.nn.softmax({a}, {d})", f"jax.nn.log_softmax({a}, {d})")
    if kind == 2:
        return f"jax.nn.softmax({a}.astype(F), {d}).astype({a.dtype})"
    if kind == 3:
        return f"jax.nn.standardize({a}, {d}, epsilon=0.1)"
    scale = g.parameter(last, a.dtype)
    if kind == 4:
        return f"{a} * lax.rsqrt(jnp.square({a}).mean(-1, keepdims=True) + 0.1) * {scale}"
    return (f"({a} - {a}.mean(-1, keepdims=True)) * lax.rsqrt({a}.var(-1, keepdims=True) + 0.1) * {scale} + "
            f"{g.parameter(last, a.dtype)}")


@operation(1)
def counted(g):
    a = g.value(ndim=(1, 3), dtypes="IB")
    if a.dtype == "B":
        return g.pick("{a}.sum({d})", "{a}.any({d})", "{a}.all({d})", "{a}.sum()").format(a=a, d=axes(g, a))
    return g.pick("{a}.sum({d})", "{a}.max({d})", "{a}.min({d})").format(a=a, d=axes(g, a))


@operation(2)
def picked(g):
    a = g.value(ndim=(1, 3), sharp=True)
    d = g.rng.randrange(a.ndim)
    return g.pick("jnp.argmax({a}, {d})", "jnp.argmin({a}, {d})", "jnp.argmax({a}, -1)").format(a=a, d=d)


@operation(2)
def cross_entropy(g):
    a = g.value(lambda v: v.shape[-1] > 1, ndim=(2, 3))
    i = g.value(lambda v: v.shape == a.shape[:-1], dtypes="I")
    m = a.shape[-1]
    return g.pick(f"-jnp.take_along_axis(jax.nn.log_softmax({a}, -1), ({i} % {m})[..., None], -1)",
                  f"-(jax.nn.one_hot({i} % {m}, {m}, dtype=F) * jax.nn.log_softmax({a}, -1)).sum(-1)")


@operation(1)
def penalty(g):
    """The gradient of a function inside the function."""
    a = g.value(lambda v: v.dtype == "F", ndim=(2, 2), most=256)
    w = g.parameter((a.shape[-1], 2), scale=0.5)
    return f"jnp.square(jax.grad(lambda x: jnp.tanh(x @ {w}).sum())({a})).sum(-1)"
