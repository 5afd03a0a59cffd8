"""Elementwise functions, casts, selections, random masks."""

from operations import operation, same

SMOOTH = ("jnp.tanh({a})", "jnp.sin({a})", "jnp.cos({a})", "jnp.exp(-jnp.square({a}))", "jax.nn.sigmoid({a})",
          "jax.nn.gelu({a})", "jax.nn.gelu({a}, approximate=False)", "jax.nn.silu({a})", "jax.nn.softplus({a})",
          "jnp.log1p(jnp.square({a}))", "jnp.sqrt(jnp.square({a}) + 0.5)", "lax.rsqrt(jnp.square({a}) + 0.5)",
          "lax.erf({a})", "lax.erfc({a})", "jnp.expm1(jnp.tanh({a}))", "1 / (1 + jnp.square({a}))", "jnp.arctan({a})",
          "jnp.tanh({a}) ** 3", "jnp.arcsinh({a})", "lax.stop_gradient({a}) * {a}", "jnp.log(jnp.square({a}) + 0.3)",
          "jnp.exp2(jnp.tanh({a}))", "jnp.sinh(jnp.tanh({a}))", "jnp.cosh(jnp.tanh({a}))", "-{a}", "{a} * {n}",
          "{a} + {n}",
          "{n} - {a}", "jax.nn.swish({a}) + {a}", "jnp.cbrt(jnp.square({a}) + 0.2)", "jnp.tan(0.4 * jnp.tanh({a}))",
          "jnp.arctanh(0.8 * jnp.tanh({a}))", "jnp.arccosh(1.2 + jnp.square({a}))", "jnp.arcsin(0.8 * jnp.tanh({a}))",
          "jnp.arccos(0.8 * jnp.tanh({a}))", "lax.logistic({a}) * {a}", "jax.nn.mish({a})", "jnp.sinc({a} + 3.3)",
          "jnp.exp(jnp.tanh({a}))", "jnp.square({a})")
KINKED = ("jax.nn.relu({a})", "jnp.abs({a})", "jnp.maximum({a}, {n})", "jnp.minimum({a}, {n})",
          "jnp.clip({a}, -0.7, 0.9)", "jax.nn.leaky_relu({a}, 0.1)", "jax.nn.relu6({a} * 3)", "jax.nn.elu({a})",
          "jnp.where({a} > {n}, {a}, {a} * {n})", "jnp.sign({a}) * jnp.square({a})", "jax.nn.hard_tanh({a})",
          "jnp.floor({a} * 1.7) + {a}", "jnp.ceil({a} * 1.3) * {a}", "jnp.round({a} * 2.1) + {a}",
          "jnp.trunc({a} * 2) * {a}",
          "jnp.fmod({a}, 0.7)", "{a} % 0.9", "jnp.nan_to_num({a})", "jnp.where(jnp.isnan({a}), {n}, {a})",
          "jax.nn.selu({a})", "jax.nn.celu({a})")
BINARY = ("{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / (1 + jnp.square({b}))", "jnp.arctan2({a}, 1 + jnp.square({b}))",
          "(jnp.abs({a}) + 0.5) ** jnp.tanh({b})", "jnp.logaddexp({a}, {b})", "jnp.hypot({a}, jnp.square({b}) + 0.3)")
BINARY_KINKED = ("jnp.maximum({a}, {b})", "jnp.minimum({a}, {b})", "jnp.where({a} > {b}, {a}, {b} * {n})",
                 "jnp.where({a} < {b}, {b}, {n})", "jnp.fmax({a}, {b})")


@operation(8)
def smooth(g):
    return g.pick(*SMOOTH).format(a=g.value(), n=g.number())


@operation(3)
def kinked(g):
    return g.pick(*KINKED).format(a=g.value(sharp=True), n=g.number())


@operation(5)
def binary(g):
    a = g.value()
    return g.pick(*BINARY).format(a=a, b=g.value(same(a)))


@operation(3)
def binary_kinked(g):
    a = g.value(sharp=True)
    return g.pick(*BINARY_KINKED).format(a=a, b=g.value(same(a), sharp=True), n=g.number())


@operation(4)
def with_parameter(g):
    """A value and a parameter of the same shape, or shaped as a row, a column or a scalar."""
    a = g.value()
    kind = g.rng.randrange(4)
    shape = (a.shape, a.shape[-1:], tuple(n if d == 0 else 1 for d, n in enumerate(a.shape)), ())[kind]
    return g.pick(*BINARY[:4]).format(a=a, b=g.parameter(shape, a.dtype))


@operation(3)
def broadcast_pair(g):
    """Values of different shapes that broadcast: an outer sum, a row with a matrix."""
    a = g.value(ndim=(1, 3), most=512)
    b = g.value(lambda v: v.dtype == a.dtype and (v.ndim < a.ndim and v.shape == a.shape[a.ndim - v.ndim:] or
                                                  v.ndim == 1 and a.ndim == 1), ndim=(0, 2), most=64)
    if a.ndim == 1 and b.ndim == 1:
        return g.pick("{a}[:, None] * {b}[None]", "{a}[None] + {b}[:, None]", "jnp.outer({a}, {b})").format(a=a, b=b)
    return g.pick(*BINARY[:5]).format(a=a, b=b)


@operation(2)
def masked(g):
    """Masked by an argument, an iota or a comparison of two values."""
    a = g.value(ndim=(1, 4))
    if g.maybe(0.6):
        d = g.rng.randrange(a.ndim)
        test = g.pick("lax.broadcasted_iota(I, {s}, {d}) % 2 == 0", "lax.broadcasted_iota(I, {s}, {d}) >= 1")
        return g.pick(f"jnp.where({test}, {{a}}, {{n}})", f"{{a}} * ({test}).astype({a.dtype})",
                      f"jnp.where({test}, 0, {{a}})", f"lax.select({test}, {{a}}, -{{a}})").format(
                          a=a, s=a.shape, d=d, n=g.number())
    mask = g.value(lambda v: v.shape == a.shape, dtypes="B")
    return g.pick("jnp.where({m}, {a}, {n})", "lax.select({m}, {a}, {a} * {a})").format(a=a, m=mask, n=g.number())


@operation(1)
def compare(g):
    a = g.value(sharp=True, ndim=(1, 4))
    return g.pick("{a} > {n}", "{a} <= {n}", "({a} > {n}) & ({a} < 1.1)", "jnp.logical_not({a} < {n})").format(
        a=a, n=g.number())


@operation(3)
def cast(g):
    """A cast to the other floating-point type, sometimes there and back."""
    a = g.value()
    other = "H" if a.dtype == "F" else "F"
    return g.pick("{a}.astype({o})", "{a}.astype({o})", "({a}.astype({o}) * 2).astype({t})",
                  "jnp.tanh({a}.astype({o})).astype({t})").format(a=a, o=other, t=a.dtype)


@operation(1)
def cast_discrete(g):
    a = g.value(dtypes="IB")
    return g.pick("{a}.astype(F)", "{a}.astype(F) * 0.25", "{a}.astype(H)", "{a}.astype(I) + 1").format(a=a)


@operation(1)
def cast_to_integers(g):
    a = g.value(sharp=True)
    return g.pick("({a} * 3).astype(I)", "jnp.round({a} * 2).astype(I)", "jnp.floor({a}).astype(I)").format(a=a)


@operation(1)
def integers(g):
    a = g.value(dtypes="I")
    return g.pick("{a} + 1", "{a} * 2", "{a} // 2", "{a} % 3", "jnp.abs({a} - 2)", "jnp.minimum({a}, 2)", "{a} ^ 1",
                  "{a} & 3", "-{a}", "jnp.where({a} > 1, {a}, 0)", "{a} << 1", "{a} >> 1").format(a=a)


@operation(1)
def one_hot(g):
    a = g.value(dtypes="I", ndim=(1, 2), most=64)
    return f"jax.nn.one_hot({a}, {g.rng.randint(2, 6)}, dtype=F)"


@operation(1)
def special(g):
    a = g.value(lambda v: v.dtype == "F")
    return g.pick("lax.lgamma(1.1 + jnp.square({a}))", "lax.digamma(1.5 + jnp.square({a}))",
                  "lax.erf_inv(0.8 * jnp.tanh({a}))").format(a=a)


@operation(1)
def wrapped(g):
    """Functions under a JAX transformation: checkpoint, vmap, jit, grad."""
    a = g.value(ndim=(1, 4))
    return g.pick("jax.checkpoint(lambda x: jnp.tanh(x) * jnp.sin(x))({a})", "jax.vmap(lambda x: x * jnp.cos(x))({a})",
                  "jax.jit(lambda x: x * x + {n})({a})", "jax.vmap(lambda x: x - x.mean())({a})",
                  "jax.grad(lambda x: jnp.sin(x).sum())({a})",
                  "jax.checkpoint(lambda x: jax.nn.silu(x @ jnp.ones((x.shape[-1], 3), x.dtype)))({a})").format(
                      a=a, n=g.number())


@operation(0)
def plain(g):
    """The operation that the minimiser puts in place of others."""
    return f"jnp.sin({g.value()})"
