"""Steps on small matrices and on random numbers: new arguments of the program, well conditioned where that matters."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from tinytrace.records import NamedTuple
from tinytrace.testing.random_programs import Block, draw_from
from tinytrace.testing.values import INT32, Shape, Value

FLOAT32, UINT32 = np.dtype("float32"), np.dtype("uint32")
STRONG = "({0} + 16 * jnp.eye(3))"
"""A matrix whose diagonal outweighs its rows: no pivoting, and small errors stay small."""
LARGER_EIGENVALUES = "jnp.linalg.eigvalsh(jnp.pad({0} + {0}.T, (0, 6)) + jnp.diag(jnp.arange(9.0)))"
"""Of a matrix so large that its eigenvectors, which nobody reads, are not computed (`passes/eigenvalues.py`)."""


class Factor(NamedTuple):
    """A function of a 3 by 3 matrix between -4 and 4."""

    text: str
    shape: Shape
    bound: float


FACTORS = [
    Factor("jnp.linalg.cholesky({0} @ {0}.T + 16 * jnp.eye(3))", (3, 3), 9),
    Factor(f"lax.linalg.lu({STRONG})[0]", (3, 3), 24), Factor(f"lax.linalg.qr({STRONG})[1]", (3, 3), 24),
    Factor("jnp.linalg.svd({0}, compute_uv=False)", (3,), 12), Factor(LARGER_EIGENVALUES, (9,), 32),
    Factor(f"jax.scipy.linalg.solve_triangular({STRONG}, jnp.ones(3))", (3,), 1),
    Factor(f"lax.custom_linear_solve(lambda x_: {STRONG} @ x_, jnp.ones(3), "
           f"lambda f_, y_: jnp.linalg.solve({STRONG}, y_), lambda f_, y_: jnp.linalg.solve({STRONG}.T, y_))", (3,), 1),
    Factor("jnp.sort(jnp.diag(lax.linalg.schur({0} + {0}.T)[0]))", (3,), 24),
    Factor("jnp.diag(lax.linalg.hessenberg({0})[0])", (3,), 24),
    Factor("lax.linalg.tridiagonal({0} + {0}.T)[1]", (3,), 24),
    Factor("lax.linalg.householder_product({0}, jnp.full(2, 0.0625))", (3, 3), 16),
    Factor("lax.linalg.tridiagonal_solve(jnp.zeros(3), jnp.full(3, 16.0), jnp.zeros(3), {0})", (3, 3), 1),
    Factor("lax.ragged_dot({0}, {0}[None], jnp.array([2]))", (3, 3), 48),
]  # fmt: skip


def factorization(draw: st.DrawFn, block: Block) -> Value | None:
    """A factorization of a new argument, or a linear system with it."""
    if block.depth:
        return None
    m = block.argument(draw, (3, 3), FLOAT32, tame=True)
    factor = draw_from(draw, FACTORS)
    return block.add(factor.text.format(m.name), factor.shape, FLOAT32, factor.bound, 3e-4 * factor.bound)


def pivots(draw: st.DrawFn, block: Block) -> Value | None:
    """The permutation that the pivots of a factorization stand for."""
    if block.depth:
        return None
    m = block.argument(draw, (3, 3), FLOAT32, tame=True)
    factors = f"lax.linalg.lu({STRONG.format(m.name)})"
    return block.add(f"lax.linalg.lu_pivots_to_permutation({factors}[1], 3)", (3,), INT32, 3.0)


COMPLEX = ("lax.real(lax.conj(lax.complex({0}, {0})))", "lax.imag(lax.complex({0}, -{0}))",
           "lax.real(lax.fft(lax.complex({0}, {0}), 'FFT', (4,)))", "lax.real(lax.linalg.eig(jnp.diag({0}))[0])")
"""A real array of four by way of complex numbers."""


def complex_numbers(draw: st.DrawFn, block: Block) -> Value | None:
    """Parts of complex numbers that are made of a new argument, of its Fourier transform, of eigenvalues."""
    if block.depth:
        return None
    x = block.argument(draw, (4,), FLOAT32, tame=True)
    text = draw_from(draw, COMPLEX).format(x.name)
    return block.add(text, (4,), FLOAT32, 8 * x.bound, 1e-4 * x.bound)


def random_numbers(draw: st.DrawFn, block: Block) -> Value | None:
    """Bits, uniform and gamma distributed numbers from keys that are made in the program."""
    if block.depth:
        return None
    seed = draw(st.integers(0, 9))
    made = draw_from(draw, [
        "jax.random.key({})", "jax.random.split(jax.random.key({}))[1]",
        "jax.random.fold_in(jax.random.key({}), jnp.arange(2)[1])",
        "jax.random.fold_in(jax.random.key({}), 3)",
        "jax.random.PRNGKey({})",
    ]).format(seed)  # fmt: skip
    kind = draw_from(draw, ["bits", "uniform", "gamma", "data"])
    if kind == "bits":
        if draw(st.booleans()):
            made = f"jax.random.key({seed}, impl='rbg')"
        return block.add(f"jax.random.bits({made}, (3,))", (3,), UINT32, math.inf)
    if kind == "data":
        words = block.argument(draw, (2,), UINT32, tame=False)
        return block.add(f"jax.random.key_data(jax.random.wrap_key_data({words.name}))", (2,), UINT32, math.inf)
    if kind == "gamma":
        return block.add(f"jax.random.gamma({made}, 1.5, (3,))", (3,), FLOAT32, 30.0, 1e-3)
    return block.add(f"jax.random.uniform({made}, (2, 2))", (2, 2), FLOAT32, 1.0)
