"""Arrays concatenated, broadcast and rearranged."""

from operations import operation


@operation(3)
def rearranged(g):
    a = g.value(ndim=(1, 4))
    order = list(range(a.ndim))
    g.rng.shuffle(order)
    d = g.rng.randrange(a.ndim)
    return g.pick("jnp.transpose({a}, {o})", "jnp.flip({a}, {d})", "jnp.swapaxes({a}, 0, -1)",
                  "jnp.moveaxis({a}, {d}, 0)",
                  "{a}.T", "jnp.expand_dims({a}, {d})", "{a}[..., None]",
                  "jnp.atleast_2d({a})").format(a=a, o=order, d=d)


@operation(3)
def reshaped(g):
    a = g.value(ndim=(1, 4), least=2)
    divisors = [n for n in range(1, a.size + 1) if a.size % n == 0]
    n = g.rng.choice(divisors)
    return g.pick("{a}.reshape(-1)", "{a}.reshape({n}, {m})", "{a}.reshape({s0}, -1)", "jnp.squeeze({a})",
                  "{a}.reshape(-1, {last})").format(a=a, n=n, m=a.size // n, s0=a.shape[0], last=a.shape[-1])


@operation(3)
def spread(g):
    a = g.value(ndim=(0, 2), most=128)
    d = g.rng.randrange(a.ndim) if a.ndim else 0
    n = g.rng.randint(2, 4)
    if not a.ndim:
        return f"jnp.broadcast_to({a}, ({n}, {g.rng.randint(2, 5)}))"
    return g.pick("jnp.broadcast_to({a}, ({n}, *{s}))", "jnp.tile({a}, {n})", "jnp.repeat({a}, {n}, axis={d})",
                  "jnp.broadcast_to({a}[..., None], (*{s}, {n}))", "jnp.stack([{a}] * {n}, {d})",
                  "jnp.repeat({a}, jnp.array({counts}), axis=0, total_repeat_length={total})").format(
                      a=a, n=n, s=a.shape, d=d, counts=[1 + i % 2 for i in range(a.shape[0])],
                      total=sum(1 + i % 2 for i in range(a.shape[0])))


@operation(4)
def joined(g):
    """A value concatenated with itself, another value or a parameter."""
    a = g.value(ndim=(1, 3), most=1024)
    d = g.rng.randrange(a.ndim)
    def beside(v):
        return v.dtype == a.dtype and v.ndim == a.ndim and all(
            n == m for i, (n, m) in enumerate(zip(v.shape, a.shape)) if i != d)
    b = g.value(beside, most=1024)
    if g.maybe(0.3):
        shape = [g.rng.randint(1, 3) if i == d else n for i, n in enumerate(a.shape)]
        return f"jnp.concatenate([{a}, {g.parameter(shape, a.dtype)}, {b}], {d})"
    return g.pick("jnp.concatenate([{a}, {b}], {d})", "jnp.concatenate([{b}, jnp.tanh({a}), {b}], {d})",
                  "jnp.concatenate([{a}, jnp.zeros_like({b}), {b}], {d})").format(a=a, b=b, d=d)


@operation(2)
def stacked(g):
    a = g.value(ndim=(0, 3), most=512)
    b = g.value(lambda v: v.shape == a.shape and v.dtype == a.dtype)
    return f"jnp.stack([{a}, {b}, {a} * {b}], {g.rng.randint(0, a.ndim)})"


@operation(3)
def padded(g):
    a = g.value(ndim=(1, 3), most=512)
    widths = [(g.rng.randint(0, 2), g.rng.randint(0, 2)) for _ in a.shape]
    inner = [(low, high, g.rng.randint(0, 2)) for low, high in widths]
    cut = [(-g.rng.randint(0, (n - 1) // 2), g.rng.randint(-((n - 1) // 2), 2), 0) for n in a.shape]
    return g.pick("jnp.pad({a}, {w})", "lax.pad({a}, {t}({n}), {i})", "lax.pad({a}, {t}(0), {c})",
                  "jnp.pad({a}, {w}, constant_values={n})", "jnp.pad({a}, {w}, mode='edge')",
                  "jnp.pad({a}, 1, mode='wrap')").format(a=a, w=widths, i=inner, c=cut, n=g.number(), t=a.dtype)


@operation(2)
def halves(g):
    """Split, then joined differently."""
    a = g.value(lambda v: v.shape[-1] % 2 == 0, ndim=(1, 3))
    return g.pick("jnp.multiply(*jnp.split({a}, 2, -1))", "jax.nn.glu({a}, -1)",
                  "jnp.concatenate(jnp.split({a}, 2, -1)[::-1], -1)", "jnp.add(*jnp.split({a}, 2, -1))",
                  "(lambda u, v: jnp.concatenate([-v, u], -1))(*jnp.split({a}, 2, -1))").format(a=a)


@operation(1)
def triangles(g):
    a = g.value(ndim=(2, 3))
    return g.pick("jnp.tril({a})", "jnp.triu({a}, 1)", "jnp.diagonal({a}, axis1=0, axis2=1)",
                  "jnp.rot90({a})").format(a=a)
