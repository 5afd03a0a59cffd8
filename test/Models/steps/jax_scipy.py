"""jax.scipy: special functions, log-densities, signals, images."""

import jax
import jax.numpy as jnp
from jax.scipy import ndimage, signal, special, stats

from building import around
from catalog import add

SPECIAL = {
    "gammaln-beta": lambda h: special.gammaln(2.5 + h) + special.betaln(2 + h, 3 - h),
    "polygamma": lambda h: special.polygamma(1, 2.5 + h),
    "digamma": lambda h: special.digamma(2.5 + h),
    "entropies": lambda h: special.entr(1.5 + h) + special.xlogy(h, 2 + h) + special.xlog1py(h, 0.5 * h),
    "divergences": lambda h: special.rel_entr(1.5 + h, 2 + h * h) + special.kl_div(1.5 + h, 2.0),
    "logit-expit": lambda h: special.logit(0.5 + 0.4 * h) + special.expit(3 * h),
    "normal-distribution": lambda h: special.ndtr(h) + special.log_ndtr(2 * h),
    "ndtri": lambda h: special.ndtri(0.5 + 0.4 * h),
    "erfinv": lambda h: special.erfinv(0.9 * h) + special.erf(h) + special.erfc(h),
    "bessel": lambda h: special.i0e(2 * h) + special.i1e(2 * h) + special.i0(h),
    "logsumexp-signs": lambda h: special.logsumexp(h, 1, b=jnp.arange(1, 7).astype(h.dtype)[None, :, None]),
    "softmax": lambda h: special.softmax(h, axis=1) + special.log_softmax(h, axis=-1),
    "multigammaln": lambda h: special.multigammaln(4 + h, 3),
}
DENSITIES = {
    "norm": lambda h: stats.norm.logpdf(h, 0.1, 1.3) + stats.norm.logcdf(h) + stats.norm.cdf(h),
    "laplace-logistic": lambda h: stats.laplace.logpdf(h) + stats.logistic.logpdf(h) + stats.cauchy.logpdf(h),
    "t": lambda h: stats.t.logpdf(h, 4.0),
    "gamma-beta": lambda h: stats.gamma.logpdf(1.5 + h, 2.0) + stats.beta.logpdf(0.5 + 0.3 * h, 2.0, 3.0),
    "exponential-pareto": lambda h: stats.expon.logpdf(1.5 + h) + stats.pareto.logpdf(2.5 + h, 1.5),
    "poisson": lambda h: stats.poisson.logpmf(jnp.round(4 + 2 * jax.lax.stop_gradient(h)), 2 + h),
    "bernoulli": lambda h: stats.bernoulli.logpmf((jax.lax.stop_gradient(h) > 0).astype(h.dtype), 0.5 + 0.4 * h),
    "dirichlet": lambda h: stats.dirichlet.logpdf(jax.nn.softmax(h[:, 0, :6]).T, 1.5 + h[0, 0, :6])[:, None],
    "truncnorm": lambda h: stats.truncnorm.logpdf(h, -2.0, 2.0),
    "multivariate": lambda h: stats.multivariate_normal.logpdf(h, jnp.zeros(16, h.dtype), 2 * jnp.eye(16, dtype=h.dtype)),
}
SIGNALS = {
    "convolve": lambda h: signal.convolve(h[0], h[1, :3, :3], mode="same", method="direct"),
    "correlate2d": lambda h: signal.correlate2d(h[0], h[1, :3, :3], mode="valid"),
    "convolve-1d": lambda h: jax.vmap(lambda a: jnp.convolve(a, jnp.array([0.25, 0.5, 0.25], h.dtype), mode="same"))(h[:, 0]),
    "map-coordinates": lambda h: jax.vmap(lambda a: ndimage.map_coordinates(
        a, [jnp.linspace(0, 5, 9), jnp.linspace(0, 15, 9)], order=1, mode="nearest"))(h.astype(jnp.promote_types(h.dtype, jnp.float32))),
    "detrend-like": lambda h: h - jnp.linspace(0, 1, 6, dtype=h.dtype)[:, None] * (h[:, -1:] - h[:, :1]),
    "logm-free-expm": lambda h: jax.vmap(lambda a: sum(jnp.linalg.matrix_power(a, k) / f for k, f in ((1, 1), (2, 2), (3, 6))))(
        0.1 * h @ h.swapaxes(1, 2)),
}
NARROW = ("norm", "bessel", "polygamma", "ndtri", "multigammaln", "erfinv", "digamma", "gammaln-beta", "normal-distribution", "truncnorm",
          "multivariate", "dirichlet")  # JAX has them in float32 only
for table in (SPECIAL, DENSITIES, SIGNALS):
    for name, op in table.items():
        only = dict(dtypes=("float32",)) if name in NARROW else {}
        if name == "bessel":
            only["refused"] = "no series is written for this special function"
        add(f"jax-scipy/{name}", around(lambda h, p, op=op: op(h)), sample=name in ("logit-expit", "norm"), **only)
