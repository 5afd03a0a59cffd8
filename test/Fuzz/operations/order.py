"""Sorting, top-k, running sums, products and maxima."""

from operations import operation


@operation(3)
def running(g):
    a = g.value(ndim=(1, 3))
    d = g.rng.randrange(a.ndim)
    return g.pick("jnp.cumsum({a}, {d})", "lax.cumsum({a}, {d}, reverse=True)",
                  "jnp.cumprod(jnp.tanh({a}) * 0.3 + 1, {d})",
                  "lax.cumlogsumexp({a}, {d})", "lax.associative_scan(jnp.add, {a}, axis={d})",
                  "lax.associative_scan(jnp.multiply, jnp.tanh({a}) * 0.3 + 1, axis={d})",
                  "jnp.diff({a}, axis={d}, prepend=0)").format(a=a, d=d)


@operation(1)
def running_extreme(g):
    a = g.value(ndim=(1, 3), sharp=True)
    d = g.rng.randrange(a.ndim)
    return g.pick("lax.cummax({a}, {d})", "lax.cummin({a}, {d})",
                  "lax.associative_scan(jnp.maximum, {a}, axis={d})").format(
        a=a, d=d)


@operation(1)
def recurrence(g):
    """A linear recurrence by an associative scan, as in state-space models."""
    a = g.value(ndim=(2, 3), most=512)
    b = g.value(lambda v: v.shape == a.shape and v.dtype == a.dtype)
    d = g.rng.randrange(a.ndim)
    return (f"lax.associative_scan(lambda u, v: (u[0] * v[0], v[0] * u[1] + v[1]), (jax.nn.sigmoid({a}), {b}), "
            f"axis={d})[1]")


@operation(3)
def sorted_values(g):
    a = g.value(ndim=(1, 3), sharp=True, most=512)
    d = g.rng.randrange(a.ndim)
    return g.pick("jnp.sort({a}, {d})", "jnp.sort({a}, {d}, descending=True)", "jnp.median({a}, {d})",
                  "lax.sort_key_val({a}, jnp.sin({a}), {d})[1]").format(a=a, d=d)


@operation(1)
def order_of(g):
    a = g.value(ndim=(1, 2), sharp=True, most=128)
    return f"jnp.argsort({a}, {g.rng.randrange(a.ndim)})"


@operation(3)
def largest(g):
    a = g.value(ndim=(1, 3), sharp=True, most=512)
    k = g.rng.randint(1, min(3, a.shape[-1]))
    return g.pick("lax.top_k({a}, {k})[0]", "lax.top_k({a}, {k})[1]",
                  "(lambda v, i: v * jnp.sin(i.astype(F)))(*lax.top_k({a}, {k}))").format(a=a, k=k)


@operation(1)
def routed(g):
    """Rows sent to one of several matrices by their largest score: a small mixture of experts."""
    a = g.value(lambda v: v.dtype == "F", ndim=(2, 2), sharp=True, most=256)
    n, e, m = a.shape[-1], g.rng.randint(2, 3), g.rng.randint(1, 4)
    gate, w = g.parameter((n, e)), g.parameter((e, n, m), scale=0.5)
    scores = f"jax.nn.softmax({a} @ {gate}, -1)"
    return g.pick(f"(lambda s: jnp.einsum('bn,bnm->bm', {a}, {w}[jnp.argmax(s, -1)]) * s.max(-1, keepdims=True))({scores})",
                  f"(lambda v, i: jnp.einsum('bn,benm,be->bm', {a}, {w}[i], v))(*lax.top_k({scores}, 2))")
