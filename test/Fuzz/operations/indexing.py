"""Reading parts of arrays: slices, dynamic slices, gathers, and their transposes, sums by index."""

from operations import operation
from operations.updates import index, place


@operation(5)
def part(g):
    a = g.value(ndim=(1, 4), least=2)
    return f"{a}[{place(g, a.shape)[0]}]"


@operation(4)
def dynamic_slice(g):
    a = g.value(ndim=(1, 3), least=2)
    window = [g.rng.randint(1, n) for n in a.shape]
    starts = [f"I({g.rng.randint(0, n - w)})" for n, w in zip(a.shape, window)]
    d = g.rng.randrange(a.ndim)
    starts[d] = f"{g.value(dtypes='I', ndim=(0, 0))}"
    return f"lax.dynamic_slice({a}, ({', '.join(starts)},), {tuple(window)})"


@operation(3)
def dynamic_row(g):
    a = g.value(ndim=(1, 4), least=2)
    i = g.value(dtypes="I", ndim=(0, 0))
    d = g.rng.randrange(a.ndim)
    return g.pick("lax.dynamic_index_in_dim({a}, {i}, {d}, keepdims=False)", "{a}[{i} % {n}]",
                  "jnp.take({a}, {i}, axis={d}, mode='clip')", "{a}[{i}]",
                  "lax.dynamic_slice_in_dim({a}, {i}, {w}, {d})").format(
                      a=a, i=i, d=d, n=a.shape[0], w=g.rng.randint(1, a.shape[d]))


@operation(4)
def rows(g):
    """Rows listed by an argument."""
    a = g.value(ndim=(1, 3), most=512)
    i = g.value(dtypes="I", ndim=(1, 2), most=24)
    d = g.rng.randrange(a.ndim)
    return g.pick("{a}[{i} % {n}]", "{a}[{i}]", "jnp.take({a}, {i}, axis={d}, mode='clip')",
                  "jnp.take({a}, {i}, axis={d}, mode='fill', fill_value=0)",
                  "jnp.take({a}, {i} - 1, axis={d}, mode='wrap')",
                  "jnp.take({a}, {i}, axis={d}, mode='fill', fill_value=0.5).sum({d})").format(
                      a=a, i=i, d=d, n=a.shape[0])


@operation(2)
def rows_of_parameter(g):
    """An embedding."""
    i = g.value(dtypes="I", ndim=(0, 2), most=24)
    table = g.parameter((g.rng.randint(2, 6), g.rng.randint(1, 6)))
    return g.pick("{t}[{i} % {n}]", "{t}[{i}]", "jnp.take({t}, {i}, axis=0, mode='clip')").format(
        t=table, i=i, n=table.shape[0])


@operation(2)
def static_rows(g):
    a = g.value(ndim=(1, 3), most=512)
    d = g.rng.randrange(a.ndim)
    chosen = [g.rng.randrange(-a.shape[d], a.shape[d]) for _ in range(g.rng.randint(1, 5))]
    return g.pick("jnp.take({a}, jnp.array({c}), axis={d})", "{a}[{colons}np.array({c})]").format(
        a=a, c=chosen, d=d, colons=":, " * d)


@operation(2)
def along_axis(g):
    a = g.value(ndim=(1, 3))
    d = g.rng.randrange(a.ndim)
    i = g.value(lambda v: v.shape == a.shape, dtypes="I") if g.maybe(0.4) else None
    if i is None:
        return f"jnp.take_along_axis({a}, jnp.argsort({g.value(lambda v: v.shape == a.shape, sharp=True)}, {d}), {d})"
    return f"jnp.take_along_axis({a}, {i} % {a.shape[d]}, {d})"


@operation(2)
def element_of_each(g):
    a = g.value(ndim=(2, 3))
    i = g.value(lambda v: v.shape == a.shape[:1], dtypes="I")
    return g.pick("{a}[jnp.arange({n}), {i} % {m}]",
                  "jnp.take_along_axis({a}, ({i} % {m}).reshape({n}{ones}), 1)").format(
                      a=a, i=i, n=a.shape[0], m=a.shape[1], ones=", 1" * (a.ndim - 1))


@operation(2)
def sums_by_index(g):
    a = g.value(ndim=(1, 3))
    i = g.value(lambda v: v.shape == a.shape[:1], dtypes="I")
    n = g.rng.randint(2, 5)
    return g.pick("jax.ops.segment_sum({a}, {i} % {n}, {n})", "jnp.zeros(({n}, *{s}), {t}).at[{i} % {n}].add({a})",
                  "jax.ops.segment_sum({a}, {i}, {n})").format(a=a, i=i, n=n, s=a.shape[1:], t=a.dtype)


@operation(1)
def largest_by_index(g):
    a = g.value(ndim=(1, 2), sharp=True)
    i = g.value(lambda v: v.shape == a.shape[:1], dtypes="I")
    n = g.rng.randint(2, 5)
    return f"jnp.zeros(({n}, *{a.shape[1:]}), {a.dtype}).at[{i} % {n}].{g.pick('max', 'min')}({a})"


@operation(2)
def rolled(g):
    a = g.value(ndim=(1, 3))
    d = g.rng.randrange(a.ndim)
    if g.maybe(0.3):
        return f"jnp.roll({a}, {index(g, a.shape[d], scalar=True)[1]}, {d})"
    return f"jnp.roll({a}, {g.rng.randint(-3, 3)}, {d})"


@operation(0.5)
def first_integer(g):
    return f"{g.value(dtypes='I', ndim=(1, 1), most=8)}[0]"
