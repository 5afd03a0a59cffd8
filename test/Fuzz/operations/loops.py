"""Loops and branches: scans over layers and over time, fori_loop with buffers, cond, switch."""

from operations import operation
from operations.contractions import square_root


@operation(3)
def scan_layers(g):
    """A scan over parameters that are stacked by layer."""
    a = g.value(ndim=(1, 3), most=256)
    n, count = a.shape[-1], g.rng.randint(1, 4)
    w = g.parameter((count, n, n), a.dtype, square_root(n))
    if g.maybe(0.3):
        return f"lax.scan(lambda h, w: (jnp.tanh(h @ w), h.sum()), {a}, {w})[{g.rng.randrange(2)}]"
    if g.maybe(0.4):
        b = g.parameter((count, n), a.dtype)
        return f"lax.scan(lambda h, l: (h + jnp.sin(h @ l[0] + l[1]), None), {a}, ({w}, {b}))[0]"
    return g.pick("lax.scan(lambda h, w: (h + jnp.tanh(h @ w), None), {a}, {w})[0]",
                  "lax.scan(jax.checkpoint(lambda h, w: (jnp.tanh(h @ w), None)), {a}, {w})[0]",
                  "lax.scan(lambda h, w: (jnp.tanh(h @ w), h), {a}, {w}, reverse=True)[1]",
                  "lax.fori_loop(0, {n}, lambda i, h: jnp.tanh(h @ {w}[i]), {a})").format(a=a, w=w, n=count)


@operation(3)
def scan_time(g):
    """A recurrent cell over the rows of a value."""
    a = g.value(ndim=(2, 3), most=256)
    n = a.shape[-1]
    w = g.parameter((n, n), a.dtype, square_root(n))
    start = f"jnp.zeros({a.shape[1:]}, {a.dtype})"
    return g.pick("lax.scan(lambda h, x: (jnp.tanh(h @ {w} + x),) * 2, {s}, {a})[1]",
                  "lax.scan(lambda h, x: (jnp.tanh(h + x @ {w}), h), {s}, {a})[0]",
                  "lax.scan(lambda h, x: (h * 0.5 + x, h * x), {s}, {a}, reverse=True)[1]",
                  "lax.scan(lambda h, x: (h + x * x, x.sum()), {s}, {a})[1] + {w}.sum()",
                  "lax.map(lambda x: jnp.tanh(x @ {w}), {a})").format(a=a, w=w, s=start)


@operation(3)
def fill_buffer(g):
    """A loop that writes a buffer row by row, and may read rows that it wrote."""
    a = g.value(ndim=(1, 3), most=256)
    n = a.shape[0]
    s = g.parameter((), a.dtype)
    return g.pick("lax.fori_loop(0, {n}, lambda i, b: b.at[i].set(jnp.sin({a}[i]) * {s}), jnp.zeros_like({a}))",
                  "lax.fori_loop(1, {n}, lambda i, b: b.at[i].add(b[i - 1] * {s}), {a})",
                  "lax.fori_loop(0, {n}, lambda i, b: b.at[i].multiply({s}), {a})",
                  "lax.fori_loop(0, {n}, lambda i, b: lax.dynamic_update_slice_in_dim(b, {a}[i][None] * {s}, {n} - 1 - i, 0), "
                  "{a})",
                  "lax.fori_loop(0, 3, lambda i, b: b.at[i % {n}].set(b.mean(0) * {s}), {a})").format(a=a, n=n, s=s)


@operation(2)
def repeated(g):
    a = g.value(ndim=(0, 3), most=512)
    s = g.parameter((), a.dtype)
    return g.pick("lax.fori_loop(0, 3, lambda i, h: jnp.tanh(h * {s} + i), {a})",
                  "lax.scan(lambda h, _: (h * {s} + 0.1, None), {a}, length=3)[0]",
                  "lax.scan(lambda h, i: (h + jnp.sin(h) * i, None), {a}, jnp.arange(3, dtype={t}))[0]").format(
                      a=a, s=s, t=a.dtype)


@operation(2)
def branches(g):
    """One of two or three functions, chosen by an argument or a comparison."""
    a = g.value(ndim=(0, 3), most=512)
    s = g.parameter((), a.dtype)
    i = g.value(dtypes="I", ndim=(0, 0))
    return g.pick("lax.cond({i} > 1, lambda x: jnp.sin(x) * {s}, lambda x: x * x, {a})",
                  "lax.switch({i} % 3, [lambda x: x * {s}, jnp.tanh, lambda x: -x], {a})",
                  "lax.switch({i}, [jnp.sin, lambda x: x * {s}], {a})",
                  "jnp.where({i} % 2 == 0, {a} * {s}, jnp.tanh({a}))").format(a=a, s=s, i=i)


@operation(2)
def dropped(g):
    """Dropout by a random key; the mask differs in every microbatch."""
    a = g.value(ndim=(1, 3))
    key = g.key()
    salt = g.rng.randint(0, 9)
    mask = f"(jax.random.uniform(jax.random.fold_in({key}, {salt}), {a.shape}, jnp.float32) < 0.75)"
    return g.pick(f"jnp.where({mask}, {a} / 0.75, 0).astype({a.dtype})", f"{a} * {mask}.astype({a.dtype})")
