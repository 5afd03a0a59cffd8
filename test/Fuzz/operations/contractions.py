"""Products of matrices: layers, attention, einsum, products of mixed precision, triangular systems."""

from operations import operation


def square_root(n):
    return round(max(n, 1) ** -0.5, 3)


@operation(10)
def layer(g):
    """A product with a parameter, sometimes followed by a nonlinear function or added to its input."""
    a = g.value(ndim=(1, 4), most=1024)
    n = a.shape[-1]
    m = n if g.maybe(0.4) else g.rng.randint(1, 8)
    w = g.parameter((n, m), a.dtype, square_root(n))
    texts = ["{a} @ {w}", "jnp.tanh({a} @ {w})", "jnp.tanh({a}) @ {w}", "jnp.einsum('...i,ij->...j', {a}, {w})"]
    if m == n:
        texts += ["{a} + {a} @ {w}", "{a} + jnp.tanh({a} @ {w})", "{a} + jnp.sin({a}) @ {w}", "{a} @ {w}.T"]
    return g.pick(*texts).format(a=a, w=w)


@operation(2)
def two_layers(g):
    """An MLP with biases; sometimes its second matrix is the first one transposed."""
    a = g.value(ndim=(1, 3), most=512)
    n, m = a.shape[-1], g.rng.randint(1, 8)
    w, b = g.parameter((n, m), a.dtype, square_root(n)), g.parameter((m,), a.dtype)
    if g.maybe(0.5):
        return f"jnp.tanh({a} @ {w} + {b}) @ {w}.T"
    return f"jax.nn.gelu({a} @ {w} + {b}) @ {g.parameter((m, n), a.dtype, square_root(m))} + {a}"


@operation(3)
def pair(g):
    """Two values contracted with each other."""
    a = g.value(ndim=(1, 3), most=512)
    b = g.value(lambda v: v.dtype == a.dtype and v.shape == a.shape)
    letters = "abc"[:a.ndim]
    out = "".join(c for c in letters if g.maybe(0.5))
    texts = [f"jnp.einsum('{letters},{letters}->{out}', {a}, {b})"]
    if a.ndim == 2:
        texts += [f"{a} @ {b}.T", f"{a}.T @ {b}"]
    if a.ndim == 3:
        texts += [f"jnp.einsum('abc,adc->abd', {a}, {b})", f"jnp.einsum('abc,dbc->adb', {a}, {b})",
                  f"jnp.einsum('abc,abd->acd', {a}, {b})"]
    return f"{g.pick(*texts)} * {round(max(1, a.size) ** -0.5, 2)}"


@operation(2)
def attention(g):
    a = g.value(ndim=(2, 3), most=256)
    n, m = a.shape[-1], g.rng.randint(1, 4)
    q, k, v = (g.parameter((n, m), a.dtype, square_root(n)) for _ in range(3))
    scores = f"jnp.einsum('...qd,...kd->...qk', {a} @ {q}, {a} @ {k}) * {square_root(m)}"
    if g.maybe(0.4):
        scores = f"({scores}).astype(F)"
    if g.maybe(0.5):
        t = a.shape[-2]
        scores = f"jnp.where(jnp.tril(jnp.ones(({t}, {t}), bool)), {scores}, {g.pick('-1e9', '-jnp.inf', '-30.0')})"
    return f"jnp.einsum('...qk,...kd->...qd', jax.nn.softmax({scores}, -1).astype({a.dtype}), {a} @ {v})"


@operation(1)
def heads(g):
    """jax.nn.dot_product_attention."""
    a = g.value(ndim=(3, 3), most=256)
    n = a.shape[-1]
    q, k = (g.parameter((n, 2, 3), a.dtype, square_root(n)) for _ in range(2))
    queries, keys = (f"jnp.einsum('btd,dhe->bthe', {a}, {w})" for w in (q, k))
    return f"jax.nn.dot_product_attention({queries}, {keys}, {queries}, is_causal={g.maybe()})"


@operation(2)
def mixed(g):
    """A product whose type is not that of the factors."""
    a = g.value(ndim=(1, 3), most=512)
    w = g.parameter((a.shape[-1], g.rng.randint(1, 6)), a.dtype, square_root(a.shape[-1]))
    return g.pick("jnp.matmul({a}, {w}, preferred_element_type=F)",
                  "jnp.einsum('...i,ij->...j', {a}, {w}, preferred_element_type=F)",
                  "lax.dot_general({a}, {w}, ((({d},), (0,)), ((), ())), preferred_element_type=F)",
                  "jnp.matmul({a}.astype(H), {w}.astype(H), preferred_element_type=F).astype({t})").format(
                      a=a, w=w, d=a.ndim - 1, t=a.dtype)


@operation(2)
def general(g):
    """lax.dot_general with batch dimensions in any order."""
    a = g.value(ndim=(3, 4), most=512)
    order = list(range(a.ndim))
    g.rng.shuffle(order)
    batch, contracted = sorted(order[:g.rng.randint(0, 2)]), order[-1:]
    shape = [a.shape[d] for d in batch] + [a.shape[d] for d in contracted] + [g.rng.randint(1, 3)]
    places = list(range(len(shape)))
    b = g.parameter(shape, a.dtype, square_root(a.shape[contracted[0]]))
    return (f"lax.dot_general({a}, {b}, ((({contracted[0]},), ({len(batch)},)), ({tuple(batch)}, "
            f"{tuple(places[:len(batch)])})))")


@operation(1)
def systems(g):
    """Triangular systems and Cholesky factors of well-conditioned matrices."""
    a = g.value(lambda v: v.dtype == "F" and v.shape[-1] <= 5, ndim=(2, 3), most=128)
    n = a.shape[-1]
    lower = f"(jnp.tril(jnp.tanh({g.parameter((n, n))})) * 0.3 + 1.5 * jnp.eye({n}))"
    if g.maybe(0.5):
        return f"jax.scipy.linalg.solve_triangular({lower}, {a}.reshape(-1, {n}).T, lower=True).T"
    return f"(jnp.linalg.cholesky({lower} @ {lower}.T + jnp.eye({n})) @ {a}.reshape(-1, {n}).T).T"
