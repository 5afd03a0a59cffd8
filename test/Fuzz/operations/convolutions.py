"""Convolutions of every kind, and pooling."""

from operations import operation
from operations.contractions import square_root


@operation(4)
def convolution(g):
    """Two dimensions: strides, paddings, dilations, groups, depthwise."""
    a = g.value(ndim=(4, 4), most=1024)
    _, h, w, c = a.shape
    k = (g.rng.randint(1, min(3, h)), g.rng.randint(1, min(3, w)))
    kind = g.rng.randrange(4)
    groups = c if kind == 0 else 2 if kind == 1 and c % 2 == 0 else 1
    out = groups * g.rng.randint(1, 2) if groups > 1 else g.rng.randint(1, 4)
    kernel = g.parameter((*k, c // groups, out), a.dtype, square_root(k[0] * k[1] * c // groups))
    strides = (g.rng.randint(1, 2), g.rng.randint(1, 2))
    padding = g.pick("'SAME'", "'VALID'", "[(1, 0), (0, 1)]")
    more = f", feature_group_count={groups}" if groups > 1 else ""
    if g.maybe(0.2):
        more += f", rhs_dilation=({g.rng.randint(1, 2)}, {g.rng.randint(1, 2)})"
    elif g.maybe(0.2):
        more += f", lhs_dilation=({g.rng.randint(1, 2)}, {g.rng.randint(1, 2)})"
    return (f"lax.conv_general_dilated({a}, {kernel}, {strides}, {padding}, "
            f"dimension_numbers=('NHWC', 'HWIO', 'NHWC'){more})")


@operation(2)
def convolution_of_rows(g):
    """One dimension: causal, depthwise as in state-space models."""
    a = g.value(ndim=(3, 3), most=512)
    c, k = a.shape[-1], g.rng.randint(1, 3)
    depthwise = g.maybe(0.5)
    kernel = g.parameter((k, 1 if depthwise else c, c if depthwise else g.rng.randint(1, 4)), a.dtype,
                         square_root(k if depthwise else k * c))
    more = f", feature_group_count={c}" if depthwise and c > 1 else ""
    return (f"lax.conv_general_dilated({a}, {kernel}, (1,), [({k - 1}, 0)], "
            f"dimension_numbers=('NWC', 'WIO', 'NWC'){more})")


@operation(1)
def transposed_convolution(g):
    a = g.value(ndim=(4, 4), most=256)
    kernel = g.parameter((2, 2, a.shape[-1], g.rng.randint(1, 3)), a.dtype, square_root(4 * a.shape[-1]))
    return f"lax.conv_transpose({a}, {kernel}, (2, 2), {g.pick(repr('SAME'), repr('VALID'))})"


@operation(2)
def pooling(g):
    a = g.value(lambda v: v.shape[1] > 1 and v.shape[2] > 1, ndim=(4, 4), most=1024)
    window, strides = (1, g.rng.randint(1, 2), 2, 1), (1, g.rng.randint(1, 2), g.rng.randint(1, 2), 1)
    padding = g.pick("'SAME'", "'VALID'")
    if a.rough or a.dtype == "H" or g.maybe(0.4):
        return f"lax.reduce_window({a}, {a.dtype}(0), lax.add, {window}, {strides}, {padding})"
    return f"lax.reduce_window({a}, {a.dtype}(-jnp.inf), lax.max, {window}, {strides}, {padding})"


@operation(2)
def image(g):
    """Something to convolve: patches, channels."""
    a = g.value(ndim=(2, 3), most=256)
    return g.pick("{a}[..., None]", "{a}[None]", "{a}.reshape({n}, -1, 1, {m})").format(
        a=f"{a}[..., None]" if a.ndim == 2 else a, n=a.shape[0], m=1 if a.ndim == 2 else a.shape[-1])


@operation(1)
def resized(g):
    a = g.value(ndim=(4, 4), most=256)
    n, h, w, c = a.shape
    return f"jax.image.resize({a}, ({n}, {h * 2}, {w + 1}, {c}), {g.pick(repr('nearest'), repr('linear'))})"
