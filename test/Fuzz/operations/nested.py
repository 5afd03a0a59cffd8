"""Nested functions: vmap over rows, derivatives inside the function, nested loops."""

from operations import operation, same
from operations.contractions import square_root


@operation(3)
def slice_of_each(g):
    """A slice at a different place in each row: gathers and scatters with batch dimensions."""
    a = g.value(lambda v: v.shape[1] > 1, ndim=(2, 3), most=512)
    i = g.value(lambda v: v.shape == a.shape[:1], dtypes="I")
    w = g.rng.randint(1, a.shape[1])
    s = g.parameter((), a.dtype)
    return g.pick("jax.vmap(lambda r, i: lax.dynamic_slice_in_dim(r, i, {w}))({a}, {i})",
                  "jax.vmap(lambda r, i: lax.dynamic_update_slice_in_dim(r, r[:{w}] * {s}, i, 0))({a}, {i})",
                  "jax.vmap(lambda r, i: r.at[i % {m}].set({s}))({a}, {i})",
                  "jax.vmap(lambda r, i: r.at[i % {m}].add(r[0] * {s}))({a}, {i})",
                  "jax.vmap(lambda r, i: r.at[i % {m}].multiply({s}, unique_indices=True))({a}, {i})",
                  "jax.vmap(lambda r, i: r[i % {m}])({a}, {i})",
                  "jax.vmap(lambda r, i: jnp.roll(r, i, 0))({a}, {i})",
                  "jax.vmap(lambda r, i: lax.cond(i > 1, jnp.sin, lambda x: x * {s}, r))({a}, {i})").format(
                      a=a, i=i, w=w, m=a.shape[1], s=s)


@operation(2)
def of_each(g):
    """A function of one row, mapped over all rows."""
    a = g.value(ndim=(2, 3), most=512)
    n = a.shape[-1]
    w = g.parameter((n, n), a.dtype, square_root(n))
    return g.pick("jax.vmap(lambda r: jnp.tanh(r @ {w}))({a})", "jax.vmap(lambda r: r * r.sum(), 1, 1)({a})",
                  "jax.vmap(lambda r: jnp.cumsum(r, 0))({a})",
                  "jax.vmap(lambda r, c: r * c.sum(), (0, None))({a}, {w})",
                  "jax.vmap(lambda r: lax.scan(lambda h, x: (jnp.tanh(h + x), h), jnp.zeros({rest}, r.dtype), r)[1])({a})",
                  "jax.vmap(lambda r: jax.nn.softmax(r, 0))({a})").format(a=a, w=w, rest=a.shape[2:])


@operation(2)
def own_derivative(g):
    """Derivatives inside the function, vectorize, stop_gradient."""
    a = g.value(lambda v: v.dtype == "F", ndim=(1, 3), most=512)
    b = g.value(same(a))
    return g.pick("jax.jvp(jnp.sin, ({a},), ({b},))[1]", "jax.vjp(lambda x: jnp.tanh(x) * x, {a})[1]({b})[0]",
                  "jax.jvp(jax.grad(lambda x: jnp.sin(x).sum()), ({a},), ({b},))[1]",
                  "jax.linearize(lambda x: x * jnp.sin(x), {a})[1]({b})",
                  "jax.numpy.vectorize(lambda x, y: x * y + x)({a}, {b})",
                  "jax.custom_jvp(jnp.sin)({a}) if False else jnp.sin({a}) * {b}",
                  "lax.stop_gradient(jnp.sin({a})) * {b} + {a}", "{a} + lax.stop_gradient(jnp.round({a}) - {a}) * {b}",
                  "jax.value_and_grad(lambda x: (x * {b}).sum())({a})[1] * {a}").format(a=a, b=b)


@operation(2)
def loop_in_loop(g):
    a = g.value(ndim=(1, 3), most=128)
    n = a.shape[-1]
    w = g.parameter((2, n, n), a.dtype, square_root(n))
    return g.pick(
        "lax.scan(lambda h, l: (lax.scan(lambda k, _: (jnp.tanh(k @ l), None), h, length=2)[0], None), {a}, {w})[0]",
        "lax.fori_loop(0, 2, lambda i, h: lax.fori_loop(0, 2, lambda j, k: jnp.sin(k @ {w}[j]) + i, h), {a})",
        "lax.scan(lambda h, i: (h.at[..., 0].set(jnp.sin(h[..., -1]) * {w}[i, 0, 0]), h.sum()), {a}, jnp.arange(2))[0]",
        "lax.scan(lambda h, l: ((h[1], jnp.tanh(h[0] @ l)), h[0]), ({a}, {a} * 2), {w})[1]",
        "{a} * lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, 1))[1] + {w}.sum()").format(a=a, w=w)


@operation(2)
def running_state(g):
    """A loop that keeps a window of the last rows, or that reads or writes rows at indices from an argument."""
    a = g.value(ndim=(2, 3), most=256)
    n = a.shape[0]
    i = g.value(lambda v: v.shape == a.shape[:1], dtypes="I")
    return g.pick(
        "lax.scan(lambda c, x: (jnp.concatenate([c[1:], x[None]]), (c * x[None]).sum(0)), jnp.ones_like({a}[:2]), {a})[1]",
        "lax.scan(lambda c, x: (c.at[x[1] % {n}].add(jnp.sin(x[0])), c[0]), jnp.zeros_like({a}), ({a}, {i}))[0]",
        "lax.scan(lambda c, x: (c.at[x[1] % {n}].set(x[0] * c[0]), c.sum()), {a}, ({a}, {i}))[0]",
        "lax.scan(lambda c, x: (c, c[x % {n}] * 2), {a}, {i})[1]",
        "lax.fori_loop(0, {n}, lambda t, c: c.at[t].set(lax.dynamic_index_in_dim({a}, {i}[t] % {n}, 0, False) * c[0]), {a})",
        "lax.fori_loop(0, {n}, lambda t, c: lax.dynamic_update_slice_in_dim(c, {a}[t][None] * 2, {i}[t], 0), {a})").format(
            a=a, i=i, n=n)
