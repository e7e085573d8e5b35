"""The programs of numpy.json, `fn | args` a line: what `jax.numpy`, `jax.lax`, `jax.nn` and `jax.scipy.special` offer.

numpy_programs.txt has the programs that follow no rule; numpy_expressions.txt and linear_algebra_expressions.txt have
expressions in x, each of which is batched, differentiated or jitted by turns.
"""

import pathlib

SCENE = """
from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, nn, vmap, grad, jit

s = 2.5
v = jnp.array([0.5, -1.5, 2.0])
w = jnp.array([1.0, 2.0, 3.0])
p = jnp.array([0.25, 0.5, 0.75])
m = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
sq = jnp.array([[2.0, 1.0], [1.0, 3.0]])
t3 = jnp.arange(24.0).reshape(2, 3, 4)
i3 = jnp.array([3, -1, 2])
j3 = jnp.array([1, 2, 3])
im = jnp.array([[1, 2, 3], [4, 5, 6]])
b3 = jnp.array([True, False, True])
c3 = jnp.array([True, True, False])
u3 = jnp.array([1, 2, 250], dtype=jnp.uint8)
h3 = jnp.array([0.5, 1.5, 2.5], dtype=jnp.float16)
bf3 = jnp.array([0.5, 1.5, 2.5], dtype=jnp.bfloat16)
nan3 = jnp.array([1.0, jnp.nan, 3.0])
inf4 = jnp.array([1.0, jnp.inf, -jnp.inf, jnp.nan])
x7 = jnp.array([3.0, 1.0, 2.0, 5.0, 4.0, 1.0, 3.0])
a33 = jnp.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
a44 = jnp.eye(4) * 3 + jnp.arange(16.0).reshape(4, 4) / 20
rhs = jnp.array([1.0, -2.0, 0.5])
sp = jax.scipy.special
"""

UNARY = ["abs", "absolute", "fabs", "negative", "positive", "sign", "floor", "ceil", "trunc", "fix", "rint", "round", "square", "sqrt", "cbrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "deg2rad", "rad2deg", "degrees", "radians", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit", "real", "imag", "conj", "conjugate", "angle", "iscomplex", "isreal", "nan_to_num", "logical_not", "sinc", "spacing", "modf", "frexp", "i0"]
BINARY = ["add", "subtract", "multiply", "divide", "true_divide", "floor_divide", "mod", "remainder", "fmod", "divmod", "power", "pow", "float_power", "maximum", "minimum", "fmax", "fmin", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "arctan2", "atan2", "hypot", "logaddexp", "logaddexp2", "copysign", "nextafter", "heaviside", "isclose", "allclose", "array_equal", "array_equiv"]
BITWISE = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm"]
REDUCTIONS = ["sum", "prod", "max", "min", "all", "any", "mean", "std", "var", "median", "ptp", "amax", "amin", "argmax", "argmin", "nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanstd", "nanvar", "nanmedian", "nanargmax", "nanargmin", "count_nonzero", "cumsum", "cumprod", "nancumsum", "nancumprod", "average", "sort", "argsort"]

REGULAR = "\n".join(
    [f"jnp.{name} | {x}" for name in UNARY for x in ("p", "i3", "s")]
    + [f"jnp.{name} | {x}" for name in ("floor", "sin", "sign", "square", "isnan", "exp", "log2", "negative")
       for x in ("h3", "bf3", "b3", "u3", "3", "True") if not (name in ("negative", "sign") and x in ("b3", "True"))]
    + [f"jnp.{name} | v, w" for name in BINARY]
    + [f"jnp.{name} | i3, j3" for name in BINARY if name not in ("nextafter",)]
    + [f"lambda x: jnp.{name}(x, 2) | v" for name in BINARY]
    + [f"lambda x: jnp.{name}(x, m) | v" for name in BINARY if name not in ("array_equal", "array_equiv", "allclose")]
    + [f"jnp.{name} | i3, j3" for name in BITWISE] + [f"lambda x: jnp.{name}(x, 2) | j3" for name in BITWISE]
    + [f"jnp.{name} | {x}" for name in ("bitwise_not", "invert", "bitwise_invert", "bitwise_count")
       for x in ("i3", "u3")]
    + [f"jnp.{name} | {x}" for name in REDUCTIONS for x in ("m", "im", "b3")
       if not (x == "b3" and name in ("ptp", "median", "nanmedian", "sort"))]
    + [f"lambda x: jnp.{name}(x, axis=0) | m" for name in REDUCTIONS]
    + [f"lambda x: jnp.{name}(x, axis=-1, keepdims=True) | t3" for name in REDUCTIONS
       if name not in ("cumsum", "cumprod", "nancumsum", "nancumprod", "sort", "argsort")]
    + [f"jnp.{name} | nan3" for name in REDUCTIONS]
)

WRAPPERS = (
    "vmap(lambda x: {e}) | jnp.stack([{x}, {x} + 1])",
    "grad(lambda x: sum(jnp.sum(y).astype(float) for y in jax.tree_util.tree_leaves({e}))) | {x}",
    "lambda x: jax.jvp(lambda x: {e}, (x,), (x,)) | {x}",
    "jit(lambda x: {e}) | {x}",
)


def lines(name: str) -> list[str]:
    """The lines of a file beside this one."""
    return (pathlib.Path(__file__).parent / f"{name}.txt").read_text().splitlines()


def wrapped(expressions: list[str], x: str) -> list[str]:
    """Wrap each expression in one of WRAPPERS, by turns."""
    return [WRAPPERS[i % len(WRAPPERS)].format(e=e, x=x) for i, e in enumerate(expressions)]


LINEAR_ALGEBRA = lines("linear_algebra_expressions")
PROGRAMS = "\n".join([
    REGULAR, *lines("numpy_programs"), *wrapped(lines("numpy_expressions"), "m"), *wrapped(LINEAR_ALGEBRA, "a33"),
    *[f"lambda x: {e} | {x}" for e in LINEAR_ALGEBRA for x in ("a33", "a44") if x == "a33" or "rhs" not in e]])
