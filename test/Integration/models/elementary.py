"""One elementary function many times: the sum of f(x + s) over the shifts s. STAGEWRIGHT_ELEMENTARY="F,N,K": number of the function
in FUNCTIONS, rows and columns of x, shifts."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erf, erfc

from common import sizes

FUNCTIONS = {"exp": jnp.exp, "exp2": jnp.exp2, "expm1": jnp.expm1, "log": jnp.log, "log1p": jnp.log1p, "tanh": jnp.tanh, "erf": erf,
             "erfc": erfc, "sin": jnp.sin, "cos": jnp.cos}


def elementary():
    s = sizes("STAGEWRIGHT_ELEMENTARY", F=0, N=8, K=4)
    function = list(FUNCTIONS.values())[s["F"]]

    def total(shifts, x):
        parts = [function(x + lax.index_in_dim(shifts, k, keepdims=False)) for k in range(s["K"])]
        return sum(parts[1:], parts[0]).mean(0).mean()

    shifts = np.arange(s["K"], dtype=np.float32) / s["K"]
    return total, (shifts, np.linspace(0.25, 4.25, s["N"] ** 2, dtype=np.float32).reshape(s["N"], s["N"]))
