"""Operations that a compiled step does not support, with the reason and an alternative."""

from __future__ import annotations

from stagewright.frontend.evaluate import rule

BEFORE = "compute it before the step and pass the result as an argument"
FACTORED = (f"no LAPACK is called from a compiled step; {BEFORE}, or, for a positive definite matrix, use "
            "jax.scipy.linalg.cho_factor and cho_solve")
SERIES = f"no series is written for this special function; {BEFORE}, or write it with lax.lgamma, digamma or erf_inv"

REASONS = {
    "fft": f"it computes with complex numbers; {BEFORE}, or multiply by matrices of cosines and sines",
    **dict.fromkeys(("eig", "eigh", "svd", "qr", "geqrf", "geqp3", "householder_product", "ormqr", "lu", "hessenberg",
                     "schur", "tridiagonal", "tridiagonal_solve", "cholesky_update"), FACTORED),
    **dict.fromkeys(("pure_callback", "io_callback", "python_callback"),
                    f"Python cannot be called from a compiled step; write the function in JAX, or {BEFORE}"),
    "ffi_call": f"a library cannot be called from a compiled step; write the function in JAX, or {BEFORE}",
    **dict.fromkeys(("igamma", "igammac", "igamma_grad_a", "bessel_i0e", "bessel_i1e", "random_gamma_grad",
                     "regularized_incomplete_beta"), SERIES),
    "nextafter": f"the step to the next float is not implemented; {BEFORE}",
    "symmetric_product": "write it as alpha * a @ a.mT + beta * c",
    "random_gamma": f"it draws until a draw is accepted, which depends on its arguments; {BEFORE}",
    **dict.fromkeys(("infeed", "outfeed"), f"a compiled step reads its arguments only; {BEFORE}"),
}


CALLBACKS = ("pure_callback", "io_callback", "python_callback", "ffi_call", "infeed", "outfeed")


@rule(*(name for name in REASONS if name not in CALLBACKS))
@rule(*CALLBACKS, folded=False)
def refuse(evaluator, eqn, _values):
    raise evaluator.failure(eqn, REASONS[eqn.primitive.name])
