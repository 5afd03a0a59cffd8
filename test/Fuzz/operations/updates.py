"""Parts of arrays replaced, added to, multiplied: `.at[]` in all its forms, dynamic_update_slice."""

from operations import operation

SMOOTH = ("set", "add", "multiply", "divide")
KINKED = ("max", "min")


def place(g, shape):
    """(text of a static index, shape of the part that it selects)."""
    parts, left = [], []
    for n in shape[:g.rng.randint(1, len(shape))]:
        kind = g.rng.randrange(6)
        if kind == 0 or n == 1:
            at = g.rng.randrange(n)
            parts.append(str(at if g.maybe(0.7) else at - n))
        elif kind == 1:
            start = g.rng.randrange(n)
            stop = g.rng.randint(start + 1, n)
            parts.append(f"{start}:{stop}"), left.append(stop - start)
        elif kind == 2:
            step = g.rng.randint(2, 3)
            start = g.rng.randrange(min(step, n))
            parts.append(f"{start}::{step}"), left.append(len(range(start, n, step)))
        elif kind == 3:
            parts.append("::-1"), left.append(n)
        else:
            parts.append(":"), left.append(n)
    return ", ".join(parts), (*left, *shape[len(parts):])


def amount(g, a, shape):
    """The value to write: a number, a parameter that broadcasts to the shape, a mean of the array, another value."""
    kind = g.rng.randrange(6)
    if kind == 0:
        return g.number(0.3, 1.5)
    if kind == 1:
        return str(g.parameter((), a.dtype))
    if kind == 2:
        return str(g.parameter(shape, a.dtype))
    if kind == 3 and shape:
        return f"jnp.tanh({g.parameter(shape[-1:], a.dtype)})"
    if kind == 4:
        return f"({a}.mean() * {g.parameter((), a.dtype)})"
    return str(g.value_or_parameter(shape, a.dtype))


def _changed(g, a, index, by):
    """An update of distinct places; a divisor is made at least 0.6."""
    methods = SMOOTH + (KINKED if not a.rough and a.dtype == "F" else ())
    method = g.pick(*methods)
    if method == "divide":
        by = f"(jnp.square({by}) + 0.6)"
    # JAX differentiates a product of rows only if it is declared that no row occurs twice.
    unique = ", unique_indices=True" if method in ("multiply", "divide") else ""
    return f"{a}.at[{index}].{method}({by}{unique})"


@operation(7)
def at_static(g):
    a = g.value(ndim=(1, 4))
    index, shape = place(g, a.shape)
    return _changed(g, a, index, amount(g, a, shape))


@operation(3)
def at_own_part(g):
    """Parts exchanged or computed from one another."""
    a = g.value(lambda v: v.shape[0] > 1 and v.shape[-1] > 1, ndim=(2, 4))
    n, m = a.shape[0], a.shape[-1]
    half = m // 2
    return g.pick(f"{a}.at[..., :{half}].set({a}[..., {m - half}:])",
                  f"{a}.at[0].set({a}[{n - 1}]).at[{n - 1}].set({a}[0])",
                  f"{a}.at[0].set({a}.mean(0) * {g.parameter((), a.dtype)})",
                  f"{a}.at[..., 0].add({a}[..., {m - 1}] * {a}[..., 0])",
                  f"{a}.at[{n - 1}].multiply({a}[0])", f"{a}.at[1:].add({a}[:-1])", f"{a}.at[:-1].set({a}[1:] * 0.5)",
                  f"{a}.at[::2].set(jnp.sin({a}[::2]))",
                  f"{a}.at[..., :{half}].set({a}[..., {m - half}:]).at[..., {m - half}:].set({a}[..., :{half}])")


@operation(4)
def at_list(g):
    """At a static list of rows; a row occurs twice only in an `add`."""
    a = g.value(ndim=(1, 3))
    n = a.shape[0]
    rows = g.rng.sample(range(n), g.rng.randint(1, min(n, 4)))
    if g.maybe(0.3):
        return f"{a}.at[jnp.array({rows + rows[:1]})].add({amount(g, a, (len(rows) + 1, *a.shape[1:]))})"
    return _changed(g, a, f"jnp.array({rows})", amount(g, a, (len(rows), *a.shape[1:])))


def index(g, n, scalar=False, unique=False):
    """(value, text) of an integer or a list of integers from the arguments; the text is mostly taken modulo n."""
    i = g.value(dtypes="I", ndim=(0, 0) if scalar else (1, 1), most=16)
    return i, f"{i} % {n}" if g.maybe(0.8) else str(i)


@operation(4)
def at_computed(g):
    """At one row, given by an argument."""
    a = g.value(ndim=(1, 4))
    _, i = index(g, a.shape[0], scalar=True)
    return _changed(g, a, i, amount(g, a, a.shape[1:]))


@operation(2)
def at_computed_column(g):
    a = g.value(ndim=(2, 3))
    _, i = index(g, a.shape[1], scalar=True)
    return _changed(g, a, f":, {i}", amount(g, a, (a.shape[0], *a.shape[2:])))


@operation(3)
def at_computed_list(g):
    """At rows given by an argument, which may repeat: an `add`, because its order does not matter."""
    a = g.value(ndim=(1, 3))
    i, text = index(g, a.shape[0])
    return f"{a}.at[{text}].add({amount(g, a, (*i.shape, *a.shape[1:]))})"


@operation(2)
def at_pairs(g):
    """Elements (row, column) given by two lists."""
    a = g.value(ndim=(2, 2))
    i, rows = index(g, a.shape[0])
    columns = f"{g.value(lambda v: v.shape == i.shape, dtypes='I')} % {a.shape[1]}"
    return f"{a}.at[{rows}, {columns}].add({g.parameter(i.shape, a.dtype)})"


@operation(2)
def at_row_of_each(g):
    """One element of each row."""
    a = g.value(ndim=(2, 2))
    i = g.value(lambda v: v.shape == a.shape[:1], dtypes="I")
    by = g.parameter(a.shape[:1], a.dtype)
    return g.pick("{a}.at[jnp.arange({n}), {i} % {m}].set({b})",
                  "{a}.at[jnp.arange({n}), {i} % {m}].multiply({b}, unique_indices=True)").format(
        a=a, i=i, n=a.shape[0], m=a.shape[1], b=by)


@operation(4)
def update_slice(g):
    """dynamic_update_slice, at static and computed places, of a part of the same array or of a parameter."""
    a = g.value(ndim=(1, 3))
    window = [g.rng.randint(1, n) for n in a.shape]
    starts = [str(g.rng.randint(0, n - w)) for n, w in zip(a.shape, window)]
    if g.maybe(0.5):
        d = g.rng.randrange(a.ndim)
        starts = [f"I({s})" for s in starts]
        starts[d] = f"{g.value(dtypes='I', ndim=(0, 0))}"
    if g.maybe(0.4):
        part = f"{a}[{', '.join(f':{w}' for w in window)}] * {g.number()}"
    else:
        part = str(g.parameter(window, a.dtype))
    return f"lax.dynamic_update_slice({a}, {part}, ({', '.join(starts)},))"


@operation(1)
def update_in_dim(g):
    a = g.value(ndim=(1, 3))
    d = g.rng.randrange(a.ndim)
    rest = a.shape[:d] + a.shape[d + 1:]
    i = g.value(dtypes="I", ndim=(0, 0)) if g.maybe(0.6) else g.rng.randrange(a.shape[d])
    return f"lax.dynamic_update_index_in_dim({a}, {amount(g, a, rest)} * jnp.ones({rest}, {a.dtype}), {i}, {d})"
